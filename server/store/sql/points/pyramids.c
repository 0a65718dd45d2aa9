#include "store/driver/statement.h"
#include "store/points.h"

enum status store_put_pyramid(struct store_tx *tx, const struct pyramid_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO pyramids (job_id, series_id, points, data) VALUES (?,?,?,?)"
		" ON CONFLICT (job_id, series_id) DO UPDATE SET points = excluded.points, data = excluded.data",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->series_id);
	bind_u64(&s, row->points);
	bind_blob(&s, row->data);
	return statement_run(&s, err);
}

enum status store_read_pyramid(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	struct pyramid_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = (struct pyramid_row){.job_id = job_id, .series_id = series_id, .data = SPAN("")};
	TRY(statement_open(&s, reader, "SELECT points, data FROM pyramids WHERE job_id = ? AND series_id = ?", err));
	bind_i64(&s, job_id);
	bind_i64(&s, series_id);
	TRY(statement_step(&s, &has_row, err));
	if (has_row) {
		out->points = column_u64(&s);
		out->data = column_span(&s, arena);
	}
	return statement_check(&s, err);
}

static void bind_level(struct statement *s, const struct pyramid_level *level)
{
	bind_i64(s, level->job_id);
	bind_i64(s, level->series_id);
	bind_i64(s, level->axis);
	bind_i64(s, level->attempt);
	bind_i64(s, level->level);
}

enum status store_put_buckets(
	struct store_tx *tx, const struct pyramid_level *level, int64_t position, struct span data, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO pyramid_rows (job_id, series_id, axis, attempt, level, position, data)"
		" VALUES (?,?,?,?,?,?,?) ON CONFLICT (job_id, series_id, axis, attempt, level, position)"
		" DO UPDATE SET data = excluded.data",
		err));
	bind_level(&s, level);
	bind_i64(&s, position);
	bind_blob(&s, data);
	return statement_run(&s, err);
}

enum status store_read_buckets(struct store_reader *reader, struct arena *arena, const struct pyramid_level *level,
	int64_t first, int64_t last,
	enum status (*take)(void *context, int64_t position, struct span data, struct error *err), void *context,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT position, data FROM pyramid_rows WHERE job_id = ? AND series_id = ? AND axis = ?"
		" AND attempt = ? AND level = ? AND position BETWEEN ? AND ? ORDER BY position",
		err));
	bind_level(&s, level);
	bind_i64(&s, first);
	bind_i64(&s, last);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		int64_t position = column_i64(&s);
		struct span data = column_span(&s, arena);
		TRY(statement_check(&s, err));
		TRY(take(context, position, data, err));
	}
}

enum status store_delete_buckets(struct store_tx *tx, const struct pyramid_level *level, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM pyramid_rows WHERE job_id = ? AND series_id = ? AND axis = ? AND attempt = ? AND level = ?",
		err));
	bind_level(&s, level);
	return statement_run(&s, err);
}

enum status store_find_lagging_series(struct store_reader *reader, int64_t *job_id, uint32_t *series_id, uint64_t lag,
	size_t look_at, uint64_t *sealed_points, bool *is_found, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row = true;

	*is_found = false;
	TRY(statement_open(&s, reader,
		"SELECT s.job_id, s.series_id, s.sealed_points, s.sealed_points - coalesce(p.points, 0) FROM series s LEFT JOIN pyramids p"
		" ON p.job_id = s.job_id AND p.series_id = s.series_id"
		" WHERE (s.job_id, s.series_id) > (?, ?) ORDER BY s.job_id, s.series_id LIMIT ?",
		err));
	bind_i64(&s, *job_id);
	bind_i64(&s, *series_id);
	bind_u64(&s, look_at);
	size_t seen = 0;
	for (; !*is_found; seen++) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			break;
		*job_id = column_i64(&s);
		*series_id = column_u32(&s);
		*sealed_points = column_u64(&s);
		*is_found = column_i64(&s) >= (int64_t)lag;
	}
	if (!*is_found && seen < look_at) { /* the end: from the first one again */
		*job_id = INT64_MIN;
		*series_id = 0;
	}
	return OK;
}
