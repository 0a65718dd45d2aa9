#include "extract/line_hint.h"

/*
 * Every line without a metric comes through here, so nearly all must be turned away at once: 16 bytes at a time are
 * looked at for three letters that each phrase holds and that are rare in other text.
 */
typedef unsigned char bytes16 __attribute__((vector_size(16)));

static bytes16 folded_at(const char *at)
{
	bytes16 bytes;

	memcpy(&bytes, at, sizeof bytes);
	return bytes | (unsigned char)0x20;
}

static bool has_rare_letters(struct span text)
{
	char padded[18] = {0};
	size_t at = 0;

	while (at < text.len) {
		const char *from = text.ptr + at;
		if (text.len - at < sizeof padded) {
			memset(padded, 0, sizeof padded);
			memcpy(padded, from, text.len - at);
			from = padded;
		}
		bytes16 a = folded_at(from), b = folded_at(from + 1), c = folded_at(from + 2);
		bytes16 hit = (bytes16)((a == 'k') & (b == 'p')) | /* checkpoint, ckpt */
			      (bytes16)((a == 's') & (b == 'u') & (c == 'm')) | /* resuming */
			      (bytes16)((a == 't') & (b == 'a') & (c == 'r')); /* starting */
		uint64_t halves[2];
		memcpy(halves, &hit, sizeof halves);
		if (halves[0] | halves[1])
			return true;
		at += 16;
	}
	return false;
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

bool line_is_start(struct span text)
{
	static const struct span phrases[] = {SPAN("resuming from"), SPAN("resuming training"),
		SPAN("resume from checkpoint"), SPAN("resumed from"), SPAN("resuming checkpoint"),
		SPAN("starting training"), SPAN("loading checkpoint"), SPAN("loaded checkpoint"),
		SPAN("loading model from checkpoint"), SPAN("checkpoint loaded"),
		SPAN("checkpoint successfully loaded"), SPAN("restored from checkpoint"), SPAN("restoring checkpoint"),
		SPAN("restored checkpoint"), SPAN("loading ckpt"), SPAN("loaded ckpt"), SPAN("load checkpoint from")};
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
