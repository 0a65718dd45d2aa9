/*
 * Words with a number in them become '#': 'rank5' is 'rank#', '0x7f3a' and '10' are '#'. Numbers that name a fault stay: 'Xid 79' is not
 * 'Xid 48', 'exit code 137' is not 'exit code 1'. Escape sequences and blanks between words are not said.
 */
#include "read/logs/message_key.h"

struct key_writer {
	char bytes[MESSAGE_KEY_BYTES + 1];
	size_t len;
	struct span word; /* the last one without a number */
	bool has_xid;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	char lower = (char)(c | 0x20);

	return is_digit(c) || (lower >= 'a' && lower <= 'z') || (c & 0x80);
}

static bool ends_with_blank(const struct key_writer *key)
{
	return !key->len || key->bytes[key->len - 1] == ' ';
}

static void put(struct key_writer *key, struct span text)
{
	for (size_t i = 0; i < text.len && key->len < MESSAGE_KEY_BYTES; i++)
		key->bytes[key->len++] = text.ptr[i];
}

/* Does a number behind this word name a fault? */
static bool names_fault(const struct key_writer *key)
{
	static const char *const words[] = {"code", "errno", "error", "exitcode", "signal", "status"};

	if (key->has_xid)
		return key->len >= 3 && !memcmp(key->bytes + key->len - 3, "): ", 3);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(key->word, span_from(words[i])))
			return true;
	return false;
}

static bool is_hex(struct span letters)
{
	for (size_t i = 0; i < letters.len; i++)
		if (span_hex_digit(letters.ptr[i]) < 0)
			return false;
	return true;
}

static void put_word(struct key_writer *key, struct span word)
{
	size_t letters = 0, digits;

	while (letters < word.len && !is_digit(word.ptr[letters]))
		letters++;
	for (digits = letters; digits < word.len && is_digit(word.ptr[digits]);)
		digits++;
	if (letters == word.len) {
		put(key, word);
		key->word = word;
		key->has_xid |= span_equal(word, SPAN("Xid"));
		return;
	}
	if (!letters && digits == word.len && word.len <= 3 && names_fault(key))
		put(key, word);
	else {
		put(key, digits == word.len && !is_hex(span_of(word.ptr, letters)) ? span_of(word.ptr, letters)
										   : SPAN(""));
		put(key, SPAN("#"));
	}
	key->word = SPAN("");
}

/* The length of an escape sequence that begins here; 0: none does. */
static size_t escape_length(struct span rest)
{
	size_t len = 2;

	if (rest.len < 2 || rest.ptr[0] != '\x1b' || rest.ptr[1] != '[')
		return 0;
	while (len < rest.len && (rest.ptr[len] < '@' || rest.ptr[len] > '~'))
		len++;
	return len < rest.len ? len + 1 : len;
}

struct hash128 message_key(struct span line)
{
	struct key_writer key = {.word = SPAN("")};
	struct hash128 hash = {0};

	line = span_cut(line, MESSAGE_KEY_BYTES);
	for (size_t i = 0; i < line.len;) {
		size_t skip = escape_length(span_of(line.ptr + i, line.len - i)), end = i;
		while (end < line.len && is_word(line.ptr[end]))
			end++;
		if (end > i)
			put_word(&key, span_of(line.ptr + i, end - i));
		else if (!skip && !(line.ptr[i] == ' ' && ends_with_blank(&key)))
			put(&key, span_of(line.ptr + i, 1));
		i = end > i ? end : i + (skip ? skip : 1);
	}
	hash128_add(&hash, span_of(key.bytes, key.len));
	return hash;
}
