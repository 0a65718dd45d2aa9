/* Job: clusters that a job nearly got, shared by the match and by the explanation after the fact. Internal to api/. Threads: workers. */
#pragma once

#include "base/json/json_write.h"
#include "fleet/pool_shape.h"
#include "store/store.h"

enum { POOL_NEAR_MAX = 10 };

struct pool_near {
	int64_t pool_id;
	struct span job; /* the last one that used it */
	int64_t until_ms; /* it waited so long */
	struct pool_shape shape;
	size_t differences;
};
/* Keeps the nearest, in order. */
void pool_near_keep(struct pool_near nearest[POOL_NEAR_MAX], size_t *count, const struct pool_near *candidate);
/* An object for each field that stops it, into an array that is open. */
void pool_near_write(struct json_writer *w, const struct pool_near *near, const struct pool_shape *wanted);
/* Until training began on a cluster that had to be started, the median of the last ones; -1: none is known. */
enum status pool_cold_startup_ms(
	struct store_reader *reader, uint64_t shape, int64_t *out_ms, struct error *err) MUST_CHECK;
