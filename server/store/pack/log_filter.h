/*
 * Job: what a block's text may hold, in few bytes: a search reads only blocks whose filter does not deny it. Three sets,
 *      all without regard to ASCII case: trigrams that hold no digit, as a bitmap of hashes; whole tokens
 *      ([0-9A-Za-z_]+), as a Bloom filter; and tokens behind a '.' (the many fractions of numbers), as a sparser one.
 *      Pure encoding; the format number is the first byte. Never denies what is there.
 *      Measured, in 1 MiB of text: 1.18 % of real training logs (trigrams .21, tokens .72, fractions .25; the text itself
 *      10.78 % at zstd-1) and .87 % of the bench's corpus; not denied though absent: a random word of 6 letters .06 %, a number
 *      between two signs 6 %, one between two \b 29 % (it may be a fraction); asked in 0.3 us (building: docs/decisions/0043).
 * Ownership: needles are new/free. Threads: values.
 */
#pragma once

#include "base/buf.h"

struct log_needles;

/* Of lines with a newline behind each. Appends. */
enum status log_filter_pack(struct span text, struct buf *out, struct error *err) MUST_CHECK;

/* What every line that matches must hold. *out NULL: nothing that a filter could deny. */
enum status log_needles_new(
	struct log_needles **out, struct span text, bool is_regex, bool ignore_case, struct error *err) MUST_CHECK;
void log_needles_free(struct log_needles *needles);

/* An empty or unknown filter may hold anything. */
bool log_filter_may_hold(struct span filter, const struct log_needles *needles);

AUTO_TYPE(log_needles)
