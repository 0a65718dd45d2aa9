/* Chunks of points, and the rows of the pyramids that charts read. */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/points.h"
#include "store/sql/maintain/check_parts.h"

#include <inttypes.h>

/* ---- chunks ---- */

static void check_points(struct checking *c, const struct chunk_row *row, size_t count)
{
	struct place place = {row->job_id, row->series_id, row->first_ordinal};
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		first = c->points[i].step < first ? c->points[i].step : first;
		last = c->points[i].step > last ? c->points[i].step : last;
	}
	if (count != row->point_count)
		check_tell(c, "series", place, "holds %zu points, its row says %" PRIu64, count, row->point_count);
	else if (first != row->first_step || last != row->last_step)
		check_tell(c, "series", place,
			"holds steps %" PRId64 " to %" PRId64 ", its row says %" PRId64 " to %" PRId64, first, last,
			row->first_step, row->last_step);
}

static enum status check_chunk(struct checking *c, const struct chunk_row *row, struct error *err)
{
	struct error problem = {0};
	size_t count;

	enum status status = chunk_unpack(row->data, c->zstd, c->points, &count, &problem);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		check_tell(c, "series", (struct place){row->job_id, row->series_id, row->first_ordinal}, "%s",
			problem.text);
	else
		check_points(c, row, count);
	return OK;
}

static enum status read_chunks(struct checking *c, struct arena *arena, const struct place *after,
	struct chunk_row *rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader,
		"SELECT job_id, series_id, first_ordinal, point_count, first_step, last_step, data FROM chunks"
		" WHERE (job_id, series_id, first_ordinal) > (?,?,?) ORDER BY job_id, series_id, first_ordinal LIMIT 16",
		err));
	bind_i64(&s, after->job_id);
	bind_i64(&s, (int64_t)after->part_id);
	bind_i64(&s, (int64_t)after->at);
	*count = 0;
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; (*count)++) {
		struct chunk_row *row = &rows[*count];
		*row = (struct chunk_row){.job_id = column_i64(&s), .series_id = column_u32(&s)};
		row->first_ordinal = column_u64(&s);
		row->point_count = column_u64(&s);
		row->first_step = column_i64(&s);
		row->last_step = column_i64(&s);
		row->data = c->check->is_quick ? SPAN("") : column_span(&s, arena);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status check_chunks(struct checking *c, struct error *err)
{
	struct place after = {-1, 0, 0}, expected = {-1, 0, 0};
	struct chunk_row rows[CHECK_BATCH_ROWS];
	size_t count = CHECK_BATCH_ROWS;

	while (count == CHECK_BATCH_ROWS && !c->is_stopped) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(read_chunks(c, arena, &after, rows, &count, err));
		for (size_t i = 0; i < count; i++) {
			struct place here = {rows[i].job_id, rows[i].series_id, rows[i].first_ordinal};
			if (here.job_id != expected.job_id || here.part_id != expected.part_id)
				expected = (struct place){here.job_id, here.part_id, 0};
			if (here.at != expected.at)
				TRY(check_tell_gap(c, "series", "point", here, expected.at, err));
			expected.at = here.at + rows[i].point_count;
			if (!c->check->is_quick)
				TRY(check_chunk(c, &rows[i], err));
			after = here;
			check_count_row(c);
		}
	}
	return OK;
}

/* ---- pyramids ---- */

static const struct row_field level_fields[] = {FIELD(struct pyramid_level, job_id),
	FIELD(struct pyramid_level, series_id), FIELD(struct pyramid_level, axis), FIELD(struct pyramid_level, attempt),
	FIELD(struct pyramid_level, level)};

/* The next row behind a place; data: what it holds, in the arena. */
static enum status next_pyramid_row(struct checking *c, struct arena *arena, struct pyramid_level *level,
	int64_t *position, struct span *data, bool *has_row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, c->reader,
		"SELECT position, data, job_id, series_id, axis, attempt, level FROM pyramid_rows"
		" WHERE (job_id, series_id, axis, attempt, level, position) > (?,?,?,?,?,?)"
		" ORDER BY job_id, series_id, axis, attempt, level, position LIMIT 1",
		err));
	row_bind(&s, ROWS(level_fields, struct pyramid_level), level);
	bind_i64(&s, *position);
	TRY(statement_step(&s, has_row, err));
	if (!*has_row)
		return OK;
	*position = column_i64(&s);
	*data = column_span(&s, arena);
	level->job_id = column_i64(&s);
	level->series_id = column_u32(&s);
	level->axis = column_u32(&s);
	level->attempt = column_u32(&s);
	level->level = column_u32(&s);
	return statement_check(&s, err);
}

enum status check_pyramid_rows(struct checking *c, struct error *err)
{
	struct pyramid_level level = {.job_id = -1};
	int64_t position = 0;

	for (; !c->is_stopped; check_count_row(c)) {
		AUTO(arena) arena = arena_new();
		struct error problem = {0};
		struct span data;
		bool has_row;
		size_t count;
		if (!arena)
			return error_no_memory(err);
		TRY(next_pyramid_row(c, arena, &level, &position, &data, &has_row, err));
		if (!has_row)
			break;
		struct place place = {level.job_id, level.series_id, (uint64_t)position};
		if (!c->check->is_quick && pyramid_row_unpack(data, level.level, c->buckets, &count, &problem) != OK)
			check_tell(c, "series", place, "level %u: %s", (unsigned)level.level, problem.text);
	}
	return OK;
}
