#include "store/columns/case_fold.h"

struct range {
	uint32_t first;
	uint32_t last;
	int32_t shift; /* added to a letter of the range; 0: */
	uint32_t is_pair; /* upper and lower alternate; the upper one has this parity */
};

static const struct range ranges[] = {
	{0xc0, 0xd6, 32, 0},
	{0xd8, 0xde, 32, 0},
	{0x100, 0x12f, 0, 0},
	{0x132, 0x137, 0, 0},
	{0x139, 0x148, 0, 1},
	{0x14a, 0x177, 0, 0},
	{0x178, 0x178, -121, 0},
	{0x179, 0x17e, 0, 1},
	{0x386, 0x386, 38, 0},
	{0x388, 0x38a, 37, 0},
	{0x38c, 0x38c, 64, 0},
	{0x38e, 0x38f, 63, 0},
	{0x391, 0x3a1, 32, 0},
	{0x3a3, 0x3ab, 32, 0},
	{0x400, 0x40f, 80, 0},
	{0x410, 0x42f, 32, 0},
	{0x460, 0x481, 0, 0},
	{0x48a, 0x4bf, 0, 0},
	{0x4c1, 0x4ce, 0, 1},
	{0x4d0, 0x52f, 0, 0},
	{0x531, 0x556, 48, 0},
	{0x1e00, 0x1e95, 0, 0},
	{0x1ea0, 0x1eff, 0, 0},
	{0x1c90, 0x1cba, -3008, 0},
	{0xff21, 0xff3a, 32, 0},
};

static uint32_t fold_letter(uint32_t letter)
{
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		const struct range *r = &ranges[i];
		if (letter < r->first || letter > r->last)
			continue;
		if (r->shift)
			return (uint32_t)((int32_t)letter + r->shift);
		return letter + ((letter & 1) == r->is_pair);
	}
	return letter;
}

static uint32_t decode(const unsigned char *s, size_t len)
{
	if (len == 2)
		return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	return (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

/* Foldings keep the letter within two or three bytes. */
static void append_letter(struct buf *out, uint32_t letter)
{
	if (letter < 0x800) {
		buf_append_char(out, (char)(0xc0 | letter >> 6));
	} else {
		buf_append_char(out, (char)(0xe0 | letter >> 12));
		buf_append_char(out, (char)(0x80 | (letter >> 6 & 0x3f)));
	}
	buf_append_char(out, (char)(0x80 | (letter & 0x3f)));
}

void fold_append(struct buf *out, struct span text)
{
	while (text.len) {
		unsigned char c = (unsigned char)*text.ptr;
		size_t len = c < 0x80 ? 1 : span_utf8_length(text);
		if (len == 2 || len == 3) {
			append_letter(out, fold_letter(decode((const unsigned char *)text.ptr, len)));
		} else if (len == 4) {
			buf_append(out, text.ptr, len);
		} else {
			len = 1;
			buf_append_char(out, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
		}
		text = span_skip(text, len);
	}
}

void fold_append_ascii(struct buf *out, struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		buf_append_char(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
}
