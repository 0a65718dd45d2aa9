/*
 * Job: which of many regular expressions may match a text, by one pass over it for what their matches must contain
 *      (base/text/regex_literals.h). Internal to extract/.
 * Ownership: the caller's, sieve_free. Threads: any. It is built by its first search: of the lists that a server knows most meet
 *      no line, and all together they were a tenth of its start.
 *
 * Many literals: q-grams with sampling (Fredriksson and Grabowski, "Average-optimal string matching", 2009, in its simplest form). Of the
 * literals, all of at least KEY + stride - 1 bytes, `stride` neighbouring groups of KEY bytes are in a hash table; one of them
 * stands wherever the literal does at a multiple of `stride`, and only there the text is looked at. Few literals: sieve_wide.h.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"
#include "extract/line/sieve_bits.h"

struct sieve;

/* Of at most SIEVE_MAX patterns, which it copies; one of no bytes is never found, one that requires no text always. */
enum status sieve_new(struct sieve **out, const struct span *patterns, size_t count, struct error *err) MUST_CHECK;
void sieve_free(struct sieve *sieve);
/* Sets the bit of each pattern that may match in the text or in a part of it, and clears the others'. */
void sieve_find(const struct sieve *sieve, struct span text, uint64_t found[SIEVE_WORDS]);

AUTO_TYPE(sieve)
