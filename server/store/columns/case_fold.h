/*
 * Job: lower-casing for the `folded` columns and for what is compared with them. Made in C once, so that every backend
 *      finds the same names.
 * Ownership: the caller's buf. Threads: values.
 * Source: the simple case foldings of Unicode 15 for ASCII, Latin-1, Latin Extended-A, Greek, Cyrillic, Armenian, Georgian
 *      and full-width letters; what else there is stays as it is. No normalisation.
 */
#pragma once

#include "base/buf.h"

/* Appends the text with its letters lower-cased; bytes that are not UTF-8 are kept. */
void fold_append(struct buf *out, struct span text);
/* The same of ASCII alone: what lower() of SQL makes of a column. What it makes of a parameter differs from database to database. */
void fold_append_ascii(struct buf *out, struct span text);
