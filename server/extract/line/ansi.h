/*
 * Job: text without terminal escape sequences. Internal to extract/.
 * Ownership: the caller's buf holds the result. Threads: any.
 */
#pragma once

#include "base/buf.h"

/* Control sequences ("ESC [ … letter"), system commands ("ESC ] …" up to BEL or ESC \) and two-byte escapes go. */
void ansi_strip(struct span text, struct buf *out);
/* Bytes of the one in front; 0: none begins there. */
size_t ansi_length(struct span text);
/* Where in the text the byte stands that is that one of what ansi_strip leaves; text.len: there are not so many. */
size_t ansi_find_byte(struct span text, size_t stripped);
