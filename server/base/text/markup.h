/*
 * Job: text of others inside XML and HTML, between tags and in double quotes.
 * Ownership: the caller's buffer. Threads: values.
 * Source: W3C XML 1.0, 2.2 (characters); Unicode UAX 9 (U+202A to 202E, 2066 to 2069 turn the text around them)
 */
#pragma once

#include "base/buf.h"

/* One character of UTF-8, escaped. What no XML may hold, and what would turn the text around it, becomes U+FFFD. */
void markup_put_character(struct buf *out, struct span character);
/* The same of all of them; a byte that is no UTF-8 becomes U+FFFD. */
void markup_put_text(struct buf *out, struct span text);
