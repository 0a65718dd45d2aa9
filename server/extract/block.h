/*
 * Job: which lines of a block may match which definition, found by one search over the block instead of one a line. Internal
 *      to extract/.
 * Ownership: see extract.h. Threads: one at a time.
 *
 * The block is the lines behind their prefixes with '\n' between them. What a search finds in it is only a candidate (a match
 * may have run across the end of its line); the line itself is tried then, and the search goes on at the next line. Nothing
 * is missed as long as whatever matches in a line alone also matches from the same place in the block. That is so unless a
 * pattern can see the end of the line: pattern_spans_lines() says which cannot, by their text, and when in doubt says no.
 */
#pragma once

#include "extract/definition.h"

bool pattern_spans_lines(struct span pattern);
/* One bit a definition that may match the line; NULL: the block was not made for this list, all may. */
const uint64_t *block_candidates(const struct extract_block *block, const struct definition_list *list, size_t line);
bool block_ends_at(const struct extract_block *block, size_t line);
