/*
 * Job: what two jobs must have in common for the second to get the cluster of the first, read out of their documents.
 * Source: https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html#train-warm-pools-matching-criteria
 * Ownership: init by read, texts live in the arena. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/hash128.h"
#include "base/json/json_read.h"

enum { POOL_SHAPE_FIELDS = 10 };

struct pool_shape {
	bool is_whole; /* says what it runs on, and neither a mixed cluster nor spot instances: those have no pools */
	struct span fields[POOL_SHAPE_FIELDS]; /* as text; "": not said. Lists are sorted */
	uint64_t hash; /* below 2^63; of all fields */
	int64_t keep_alive_ms; /* 0: none asked for */
};

/* Also KeepAlive out of the hyperparameter keep_alive_period_in_seconds. ERR_MEMORY. */
enum status pool_shape_read(
	struct pool_shape *shape, const struct json *document, struct arena *arena, struct error *err) MUST_CHECK;
/* The dotted name of the field in a document. */
const char *pool_shape_field(size_t index);
size_t pool_shape_count_differences(const struct pool_shape *a, const struct pool_shape *b);
/* One line a field, so that shapes can be kept and read again. */
void pool_shape_print(const struct pool_shape *shape, struct buf *out);
/* What pool_shape_print made; without keep_alive_ms. False: it is none. */
bool pool_shape_parse(struct pool_shape *shape, struct span text);
