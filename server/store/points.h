/* Job: sealed points, and the pyramids that charts read instead of them. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct chunk_row {
	int64_t job_id;
	uint32_t series_id;
	uint64_t first_ordinal;
	uint64_t point_count;
	int64_t first_step; /* smallest and largest, and so the times: a reader skips what is outside its window */
	int64_t last_step;
	int64_t first_ms;
	int64_t last_ms;
	struct span data; /* store/pack/chunk.h */
};
enum status store_put_chunk(
	struct store_tx *tx, const struct chunk_row *row, struct error *err) MUST_CHECK; /* replaces */
/* The chunk that holds the point with this ordinal, else the first one behind it; point_count 0: none. */
enum status store_read_chunk(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	uint64_t ordinal, struct chunk_row *out, struct error *err) MUST_CHECK;
/* The first chunk from this ordinal on that may hold a point between these steps and times, all included; point_count 0: none. */
enum status store_read_chunk_between(struct store_reader *reader, struct arena *arena, const struct chunk_row *asked,
	struct chunk_row *out, struct error *err) MUST_CHECK; /* asked: all but point_count and data */
enum status store_read_last_chunk(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	struct chunk_row *out, struct error *err) MUST_CHECK;

struct pyramid_row {
	int64_t job_id;
	uint32_t series_id;
	uint64_t points; /* it covers the points before this ordinal; 0: there is none */
	struct span data; /* store/pack/pyramid.h: its heads */
};
/* One level of one attempt and axis. */
struct pyramid_level {
	int64_t job_id;
	uint32_t series_id;
	uint32_t attempt;
	unsigned axis; /* enum pyramid_axis */
	unsigned level;
};
enum status store_put_pyramid(struct store_tx *tx, const struct pyramid_row *row, struct error *err) MUST_CHECK;
enum status store_read_pyramid(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	struct pyramid_row *out, struct error *err) MUST_CHECK;
enum status store_put_buckets(struct store_tx *tx, const struct pyramid_level *level, int64_t position,
	struct span data, struct error *err) MUST_CHECK; /* replaces */
/* The rows with positions first..last that there are, in order, to `take`. */
enum status store_read_buckets(struct store_reader *reader, struct arena *arena, const struct pyramid_level *level,
	int64_t first, int64_t last,
	enum status (*take)(void *context, int64_t position, struct span data, struct error *err), void *context,
	struct error *err) MUST_CHECK;
enum status store_delete_buckets(struct store_tx *tx, const struct pyramid_level *level, struct error *err) MUST_CHECK;
/* Behind *job_id and *series_id, of the next look_at series, the first with at least `lag` sealed points that its pyramid
 * does not cover; both are moved on, and to the front again at the end. */
enum status store_find_lagging_series(struct store_reader *reader, int64_t *job_id, uint32_t *series_id, uint64_t lag,
	size_t look_at, uint64_t *sealed_points, bool *is_found, struct error *err) MUST_CHECK;
