#include "pipeline/seal/filter_sweep.h"

#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/blocks.h"
#include "store/pack/log_filter.h"

enum { SLICE_BLOCKS = 8, LOOK_AT = 1000 };

struct slice {
	struct block_row rows[SLICE_BLOCKS];
	size_t count;
};

static enum status write_slice(void *context, struct store_tx *tx, struct error *err)
{
	const struct slice *slice = context;

	for (size_t i = 0; i < slice->count; i++)
		TRY(store_add_log_filter(tx, &slice->rows[i], err));
	return OK;
}

/* Of a damaged block there is none: whoever reads it says so. */
static enum status make_filter(struct store_reader *reader, struct zstd *zstd, const struct block_place *place,
	struct arena *arena, struct slice *slice, struct error *err)
{
	AUTO(arena) own = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	struct error cause;
	struct block_row row;

	if (!own)
		return error_no_memory(err);
	TRY(store_read_block(reader, own, place->job_id, place->stream_id, place->first_line, &row, err));
	if (!row.line_count || row.first_line != place->first_line)
		return OK; /* deleted meanwhile */
	if (block_decompress(row.data, zstd, &plain, &cause) != OK)
		return OK;
	TRY(log_filter_pack(block_text(buf_span(&plain)), &packed, err));
	row.data = SPAN("");
	row.filter = arena_copy(arena, buf_span(&packed));
	if (!row.filter.ptr)
		return error_no_memory(err);
	slice->rows[slice->count++] = row;
	return OK;
}

enum status filter_sweep_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd,
	struct filter_sweep *sweep, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct slice slice = {.count = 0};

	if (!arena)
		return error_no_memory(err);
	for (bool is_found = true; is_found && !sweep->is_done && slice.count < SLICE_BLOCKS;) {
		TRY(store_find_unfiltered_block(reader, &sweep->after, LOOK_AT, &is_found, &sweep->is_done, err));
		if (is_found)
			TRY(make_filter(reader, zstd, &sweep->after, arena, &slice, err));
	}
	return slice.count ? writer_execute(pipeline, write_slice, &slice, err) : OK;
}
