/*
 * Job: a sieve's few literals sought at 32 places of a text at once. Internal to extract/.
 * Ownership: none. Threads: any.
 *
 * As Hyperscan's Teddy does: of each of a key's four bytes both halves are looked up in a table of 16, which says in a bit each which
 * buckets of literals have such a byte there, and what remains in all eight is compared in full. It takes a processor with AVX2; others
 * hash, as for many literals, whose buckets would be full of each half.
 */
#pragma once

#include "extract/line/sieve_table.h"

enum { SIEVE_WIDE_KEY = 4, SIEVE_WIDE_MOST = 64 /* literals */, SIEVE_WIDE_KEYS_MOST = 16 };

bool sieve_can_be_wide(void);
/* Once its entries are there, each literal once, by the offset of its key. False: their keys are too many. */
bool sieve_wide_fill(struct sieve_table *table);
/* Adds to found. */
void sieve_wide_find(const struct sieve_table *table, struct span text, uint64_t found[SIEVE_WORDS]);
