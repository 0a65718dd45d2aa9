#include "extract/line/wide.h"

/* Each second byte is a NUL, from `first` on, and no other. */
static bool has_nuls_from(struct span text, size_t first)
{
	for (size_t i = 0; i < text.len; i++)
		if ((text.ptr[i] == '\0') != (i % 2 == first))
			return false;
	return true;
}

bool wide_narrow(struct span text, struct buf *out)
{
	size_t first;

	if (!span_take(&text, SPAN("\xff\xfe")))
		(void)span_take(&text, SPAN("\xfe\xff"));
	if (text.len < 2)
		return false;
	first = text.ptr[0] == '\0' ? 0 : 1;
	if (!has_nuls_from(text, first))
		return false;
	for (size_t i = 1 - first; i < text.len; i += 2)
		buf_append_char(out, text.ptr[i]);
	return true;
}
