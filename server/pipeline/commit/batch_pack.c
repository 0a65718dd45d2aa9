/*
 * Large batches are compressed where they come from, on the I/O thread, as the block that the sealer will store: text is
 * compressed once in its life, and not by the one writer. Small ones wait for the writer, which compresses a group of them
 * together: alone they would be four times the size. The block's filter for searches is made with it, while the text is here.
 */
#include "pipeline/commit/batch_pack.h"

#include "state/pipeline_state.h"
#include "store/pack/journal_points.h"
#include "store/pack/log_filter.h"

enum { LARGE_BYTES = 128 << 10, LARGEST_BYTES = 2 * BLOCK_MAX_BYTES }; /* larger ones the sealer cuts into blocks */

/* A compressor is 1 MB of memory: as many as are at work at once, and never more than this are kept. */
struct zstd *packer_borrow(struct pipeline *pipeline)
{
	struct zstd *zstd = NULL;

	pthread_mutex_lock(&pipeline->packers_mutex);
	if (pipeline->packer_count)
		zstd = pipeline->packers[--pipeline->packer_count];
	pthread_mutex_unlock(&pipeline->packers_mutex);
	return zstd ? zstd : zstd_new();
}

void packer_give_back(struct pipeline *pipeline, struct zstd *zstd)
{
	pthread_mutex_lock(&pipeline->packers_mutex);
	if (pipeline->packer_count < PACKERS_MAX) {
		pipeline->packers[pipeline->packer_count++] = TAKE(zstd);
	}
	pthread_mutex_unlock(&pipeline->packers_mutex);
	zstd_free(zstd);
}

/* What a block's content ends with: each text and a newline (store/pack/block.h). */
static struct span texts_of(const struct batch *batch)
{
	return span_skip(buf_span(&batch->content), batch->content.len - batch->text_bytes);
}

/* The texts lie in the content from now on: what they were copied from goes. Names lie elsewhere (struct batch). */
static void move_texts(struct batch *batch)
{
	struct batch_part *part = &batch->parts[0];
	const char *at = texts_of(batch).ptr;

	for (size_t i = 0; i < part->count; at += part->lines[i++].text.len + 1)
		part->lines[i].text.ptr = at;
	batch_drop_texts(batch);
}

static enum status lay_out(struct batch *batch, struct zstd *zstd, struct error *err)
{
	struct batch_part *part = &batch->parts[0];

	/* without growing on the way: a log time is two bytes as a rule */
	buf_reserve(&batch->content, batch->text_bytes + 2 * batch->line_count + 64);
	TRY(block_lay_out(part->lines, part->count, &batch->content, err));
	TRY(block_compress(buf_span(&batch->content), zstd, &batch->block, err));
	TRY(log_filter_pack(texts_of(batch), &batch->filter, err));
	move_texts(batch);
	return OK;
}

/* Of a batch that the writer had no room for there may be more lines by now, and the older ones' texts lie in its old content. */
static enum status pack(struct batch *batch, struct zstd *zstd, struct error *err)
{
	struct batch_part *part = &batch->parts[0];
	struct buf old_content = batch->content, old_block = batch->block, old_filter = batch->filter;

	for (size_t i = 0; i < part->count; i++)
		part->lines[i].ts_ms = line_effective_ms(&part->lines[i], batch->arrival_ms);
	batch->content = batch->block = batch->filter = BUF_INIT(JOURNAL_RECORD_MAX_BYTES);
	enum status status = lay_out(batch, zstd, err);
	if (status == OK) {
		batch->packed_lines = part->count;
		buf_done(&old_content);
		buf_done(&old_block);
		buf_done(&old_filter);
	} else { /* as it was: the texts move last */
		buf_done(&batch->content);
		buf_done(&batch->block);
		buf_done(&batch->filter);
		batch->content = old_content;
		batch->block = old_block;
		batch->filter = old_filter;
	}
	return status;
}

/* Points are laid out as the journal holds them here, on the I/O thread. Anew each time: of a batch that the writer had no
 * room for, there may be more by now. */
static enum status pack_points(struct batch *batch, struct error *err)
{
	for (size_t i = 0; i < batch->part_count; i++) {
		struct batch_part *part = &batch->parts[i];
		part->points.max_bytes = JOURNAL_RECORD_MAX_BYTES;
		buf_reset(&part->points);
		journal_points_pack(part, &part->points);
		TRY(buf_status(&part->points, err));
	}
	return OK;
}

static bool is_one_block(const struct batch *batch)
{
	return batch->part_count == 1 && !batch->point_count && batch->text_bytes >= LARGE_BYTES &&
	       batch->text_bytes <= LARGEST_BYTES;
}

/* A batch that was packed, and had to wait, may have another stream's lines by now, or too many: its block would stand for them, too.
 * The texts stay where they are. */
static void drop_block(struct batch *batch)
{
	buf_reset(&batch->block);
	buf_reset(&batch->filter);
	batch->packed_lines = 0;
}

enum status batch_pack(struct pipeline *pipeline, struct batch *batch, struct error *err)
{
	if (!is_one_block(batch)) {
		drop_block(batch);
		return batch->point_count ? pack_points(batch, err) : OK;
	}
	if (batch->block.len && batch->packed_lines == batch->line_count)
		return OK;
	struct zstd *zstd = packer_borrow(pipeline);
	if (!zstd)
		return error_no_memory(err);
	enum status status = pack(batch, zstd, err);
	packer_give_back(pipeline, zstd);
	return status;
}
