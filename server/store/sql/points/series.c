#include "store/driver/statement.h"
#include "store/streams.h"

static enum status next_series_id(struct store_tx *tx, int64_t job_id, int64_t *id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT coalesce(max(series_id), 0) + 1 FROM series WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*id = column_i64(&s);
	return OK;
}

static void bind_progress(struct statement *s, const struct series_row *row)
{
	bind_text(s, row->unit);
	bind_i64(s, row->role);
	bind_u64(s, row->sealed_points);
	bind_summary(s, &row->sealed);
}

static enum status insert_series(struct store_tx *tx, struct series_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t id;

	TRY(next_series_id(tx, row->job_id, &id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO series (unit, role, sealed_points, " SUMMARY_COLUMNS
		", job_id, series_id, stream_id, metric,"
		" labels) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		err));
	bind_progress(&s, row);
	bind_i64(&s, row->job_id);
	bind_i64(&s, id);
	bind_i64(&s, row->stream_id);
	bind_text(&s, row->metric);
	bind_text(&s, row->labels);
	TRY(statement_run(&s, err));
	row->series_id = (uint32_t)id;
	return OK;
}

/* The number is the caller's (it is the same after every replay), so the row may be there or not. */
enum status store_put_series(struct store_tx *tx, struct series_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	if (!row->series_id)
		return insert_series(tx, row, err);
	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO series (unit, role, sealed_points, " SUMMARY_COLUMNS
		", job_id, series_id, stream_id, metric,"
		" labels) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id, series_id) DO UPDATE SET unit = excluded.unit, role = excluded.role,"
		" sealed_points = excluded.sealed_points, count = excluded.count, nan_count = excluded.nan_count,"
		" inf_count = excluded.inf_count, last = excluded.last, last_kind = excluded.last_kind, min = excluded.min,"
		" min_kind = excluded.min_kind, max = excluded.max, max_kind = excluded.max_kind, sum = excluded.sum,"
		" sum_kind = excluded.sum_kind, first_step = excluded.first_step, last_step = excluded.last_step,"
		" last_ts_ms = excluded.last_ts_ms",
		err));
	bind_progress(&s, row);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->series_id);
	bind_i64(&s, row->stream_id);
	bind_text(&s, row->metric);
	bind_text(&s, row->labels);
	return statement_run(&s, err);
}

enum status store_have_series(struct store_tx *tx, const struct series_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO series (unit, role, sealed_points, " SUMMARY_COLUMNS
		", job_id, series_id, stream_id, metric,"
		" labels) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, series_id) DO NOTHING",
		err));
	bind_progress(&s, row);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->series_id);
	bind_i64(&s, row->stream_id);
	bind_text(&s, row->metric);
	bind_text(&s, row->labels);
	return statement_run(&s, err);
}

static enum status read_series(struct statement *s, struct arena *arena, struct series_row *row, struct error *err)
{
	row->job_id = column_i64(s);
	row->series_id = column_u32(s);
	row->stream_id = column_u32(s);
	row->metric = column_span(s, arena);
	row->labels = column_span(s, arena);
	row->unit = column_span(s, arena);
	row->role = (enum role)column_i64(s);
	row->sealed_points = column_u64(s);
	column_summary(s, &row->sealed);
	return statement_check(s, err);
}

#define SERIES                                                                                                         \
	"SELECT job_id, series_id, stream_id, metric, labels, unit, role, sealed_points, " SUMMARY_COLUMNS             \
	" FROM series WHERE job_id = ?"

/* The four ways to ask, so that each uses its index. */
static const char *choose(uint32_t stream_id, struct span metric)
{
	if (stream_id)
		return metric.len ? SERIES " AND stream_id = ? AND metric = ? ORDER BY series_id"
				  : SERIES " AND stream_id = ? ORDER BY series_id";
	return metric.len ? SERIES " AND metric = ? ORDER BY series_id" : SERIES " ORDER BY series_id";
}

enum status store_read_series(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span metric, struct series_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct series_row *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_open(&s, reader, choose(stream_id, metric), err));
	bind_i64(&s, job_id);
	if (stream_id)
		bind_i64(&s, stream_id);
	if (metric.len)
		bind_text(&s, metric);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; used++) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		TRY(read_series(&s, arena, &rows[used], err));
		TRY(statement_step(&s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}
