/*
 * Job: a line of a log in UTF-16, as PowerShell's ">" writes one, as the text that it means. What ended the line before left a NUL
 *      in front of it, whichever byte of a character comes first. Internal to extract/.
 * Ownership: spans into the input. Threads: any. Pure.
 *
 * Lines of ASCII and Latin-1 alone: of others the order of bytes, which stands in the first line, would have to be known.
 */
#pragma once

#include "base/buf.h"

/* Whether the line is worth a look: it begins with a NUL, or as a byte order mark does. */
static inline bool wide_may_be(struct span text)
{
	return text.len > 3 && (unsigned char)(text.ptr[0] + 2) <= 2;
}

/* False: it is none. Else its characters are appended, without the mark. */
bool wide_narrow(struct span text, struct buf *out);
