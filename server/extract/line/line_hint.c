#include "extract/line/line_hint.h"

#include "base/bytes16.h"

/*
 * While a stream has no definitions, every line comes through here, so nearly all must be turned away at once: 16 bytes at a
 * time are looked at for three letters that each phrase holds and that are rare in other text.
 */
/* Bytes that are not 0 where one of the letter groups starts. Reads 18 bytes. */
static bytes16 hits_at(const char *at)
{
	bytes16 a = bytes16_folded_at(at), b = bytes16_folded_at(at + 1), c = bytes16_folded_at(at + 2);

	return (bytes16)((a == 'k') & (b == 'p')) | /* checkpoint, ckpt */
	       (bytes16)((a == 's') & (b == 'u') & (c == 'm')) | /* resuming */
	       (bytes16)((a == 't') & (b == 'a') & (c == 'r')) | /* starting */
	       (bytes16)((a == 'c') & (b == 'e') & (c == 'b')); /* traceback */
}

static bool has_rare_letters(struct span text)
{
	enum { READ = 18 };
	char padded[2 * READ] = {0};
	bytes16 hits = {0};
	size_t at = 0;

	for (; at + READ <= text.len; at += sizeof hits)
		hits |= hits_at(text.ptr + at);
	memcpy(padded, text.ptr + at, text.len - at); /* at most 17 bytes */
	hits |= hits_at(padded) | hits_at(padded + sizeof hits);
	return bytes16_has_any(hits);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_word(struct span text, struct span word)
{
	for (size_t i = 0; i + word.len <= text.len; i++) {
		size_t same = 0;
		while (same < word.len && lower(text.ptr[i + same]) == word.ptr[same])
			same++;
		if (same == word.len)
			return true;
	}
	return false;
}

static const struct span phrases[] = {SPAN("resuming from"), SPAN("resuming training"), SPAN("resume from checkpoint"),
	SPAN("resumed from"), SPAN("resuming checkpoint"), SPAN("starting training"), SPAN("loading checkpoint"),
	SPAN("loaded checkpoint"), SPAN("loading model from checkpoint"), SPAN("checkpoint loaded"),
	SPAN("checkpoint successfully loaded"), SPAN("restored from checkpoint"), SPAN("restoring checkpoint"),
	SPAN("restored checkpoint"), SPAN("loading ckpt"), SPAN("traceback (most recent"), SPAN("loaded ckpt"),
	SPAN("load checkpoint from")};

void line_start_pattern(struct buf *out)
{
	for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
		if (i)
			buf_append_char(out, '|');
		for (size_t j = 0; j < phrases[i].len; j++)
			buf_append_char(out, phrases[i].ptr[j] == '(' ? '.' : phrases[i].ptr[j]);
	}
}

bool line_is_start(struct span text)
{
	enum { TESTED_BYTES = 512 };

	if (text.len > TESTED_BYTES)
		text.len = TESTED_BYTES; /* such phrases stand in front; dumped configurations are long */
	if (!has_rare_letters(text))
		return false;
	for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
		if (has_word(text, phrases[i]))
			return true;
	return false;
}
