#include "state/streams/block_times.h"

#include "store/pack/block.h"

enum status block_times_walk(struct store_reader *reader, struct zstd *zstd, int64_t job_id,
	const struct block_head *head, void (*take)(void *context, uint64_t line, int64_t ts_ms), void *context,
	struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct block_row row;
	struct line line;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_block(reader, arena, job_id, head->stream_id, head->first_line, &row, err));
	if (row.first_line != head->first_line)
		return OK;
	TRY(block_decompress(row.data, zstd, &plain, err));
	struct block_cursor cursor = block_lines(buf_span(&plain));
	for (uint64_t number = head->first_line; block_next_line(&cursor, &line); number++)
		take(context, number, line.ts_ms);
	return OK;
}
