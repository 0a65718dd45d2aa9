/*
 * Job: the filter for searches of a slice that is a block already (store/pack/log_filter.h), from when its text was at hand
 *      until the sealer stores it: else the block is opened for it. There is a limit on all together; what is above it, and what
 *      was in the journal before a start, is made by the sealer.
 * Ownership: the tail_range's. Threads: any; the account is counted atomically.
 */
#pragma once

#include "base/span.h"

#include <stdatomic.h>

enum { KEPT_FILTERS_BYTES = 8 << 20 };

struct kept_filter;

/* A copy; NULL: it is empty, there are too many, or no memory. The account must outlive it. */
struct kept_filter *kept_filter_new(atomic_size_t *account, struct span filter);
void kept_filter_free(struct kept_filter *kept);
struct span kept_filter_span(const struct kept_filter *kept); /* NULL: empty */
