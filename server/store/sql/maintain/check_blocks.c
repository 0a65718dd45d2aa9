/* Blocks of text, and whether their search filters are of it. */
#include "store/blocks.h"
#include "store/driver/statement.h"
#include "store/pack/block.h"
#include "store/pack/log_filter.h"
#include "store/sql/maintain/check_parts.h"

#include <inttypes.h>

static void check_lines(struct checking *c, const struct block_row *row, const struct line *lines, size_t count)
{
	struct place place = {row->job_id, row->stream_id, row->first_line};
	uint64_t bytes = 0;
	int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		bytes += lines[i].text.len + 1;
		first_ms = lines[i].ts_ms < first_ms ? lines[i].ts_ms : first_ms;
		last_ms = lines[i].ts_ms > last_ms ? lines[i].ts_ms : last_ms;
	}
	if (count != row->line_count)
		check_tell(c, "stream", place, "holds %zu lines, its row says %" PRIu64, count, row->line_count);
	else if (bytes != row->raw_bytes)
		check_tell(c, "stream", place, "holds %" PRIu64 " bytes, its row says %" PRIu64, bytes, row->raw_bytes);
	else if (first_ms != row->first_ms || last_ms != row->last_ms)
		check_tell(c, "stream", place,
			"holds times %" PRId64 " to %" PRId64 ", its row says %" PRId64 " to %" PRId64, first_ms,
			last_ms, row->first_ms, row->last_ms);
}

/* It may not deny what is there. One of an unknown format denies nothing. */
static enum status check_filter(struct checking *c, const struct block_row *row, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);

	if (!row->filter.len)
		return OK;
	TRY(log_filter_pack(block_text(buf_span(&c->plain)), &packed, err));
	if (*row->filter.ptr == *packed.ptr && !span_equal(row->filter, buf_span(&packed)))
		check_tell(c, "stream", (struct place){row->job_id, row->stream_id, row->first_line},
			"has a search filter that is not of its text: searches may miss these lines");
	return OK;
}

static enum status check_block(struct checking *c, const struct block_row *row, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct error problem = {0};
	struct line *lines;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	enum status status = block_unpack(row->data, c->zstd, &c->plain, arena, &lines, &count, &problem);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		check_tell(
			c, "stream", (struct place){row->job_id, row->stream_id, row->first_line}, "%s", problem.text);
	else
		check_lines(c, row, lines, count);
	return status == OK ? check_filter(c, row, err) : OK;
}

static enum status follow_lines(
	struct checking *c, const struct block_row *row, struct place *expected, struct error *err)
{
	if (row->job_id != expected->job_id || row->stream_id != expected->part_id) {
		*expected = (struct place){row->job_id, row->stream_id, 0};
		TRY(check_first_line_of(c, row->job_id, row->stream_id, &expected->at, err));
	}
	if (row->first_line != expected->at)
		TRY(check_tell_gap(c, "stream", "line", (struct place){row->job_id, row->stream_id, row->first_line},
			expected->at, err));
	expected->at = row->first_line + row->line_count;
	return OK;
}

static enum status read_blocks(struct checking *c, struct arena *arena, const struct place *after,
	struct block_row *rows, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, c->reader,
		"SELECT job_id, stream_id, first_line, line_count, first_ms, last_ms, raw_bytes, data, coalesce((SELECT filter"
		" FROM log_filters AS f WHERE f.job_id = b.job_id AND f.stream_id = b.stream_id AND f.first_line = b.first_line),"
		" ?) FROM blocks AS b WHERE (job_id, stream_id, first_line) > (?,?,?)"
		" ORDER BY job_id, stream_id, first_line LIMIT 16",
		err));
	bind_blob(&s, SPAN(""));
	bind_i64(&s, after->job_id);
	bind_i64(&s, (int64_t)after->part_id);
	bind_i64(&s, (int64_t)after->at);
	*count = 0;
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; (*count)++) {
		struct block_row *row = &rows[*count];
		*row = (struct block_row){.job_id = column_i64(&s), .stream_id = column_u32(&s)};
		row->first_line = column_u64(&s);
		row->line_count = column_u64(&s);
		row->first_ms = column_i64(&s);
		row->last_ms = column_i64(&s);
		row->raw_bytes = column_u64(&s);
		row->data = row->filter = SPAN("");
		if (!c->check->is_quick) {
			row->data = column_span(&s, arena);
			row->filter = column_span(&s, arena);
		}
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status check_blocks(struct checking *c, struct error *err)
{
	struct place after = {-1, 0, 0}, expected = {-1, 0, 0};
	struct block_row rows[CHECK_BATCH_ROWS];
	size_t count = CHECK_BATCH_ROWS;

	while (count == CHECK_BATCH_ROWS && !c->is_stopped) {
		AUTO(arena) arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(read_blocks(c, arena, &after, rows, &count, err));
		for (size_t i = 0; i < count; i++) {
			TRY(follow_lines(c, &rows[i], &expected, err));
			if (!c->check->is_quick)
				TRY(check_block(c, &rows[i], err));
			after = (struct place){rows[i].job_id, rows[i].stream_id, rows[i].first_line};
			check_count_row(c);
		}
	}
	return OK;
}
