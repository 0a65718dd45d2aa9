#include "model/batch.h"

struct batch *batch_new(int64_t arrival_ms)
{
	AUTO(batch) batch = mem_zeroed(sizeof *batch);

	if (!batch || !(batch->arena = arena_new()))
		return NULL;
	batch->arrival_ms = arrival_ms;
	batch->offset = -1;
	batch->host = batch->team = SPAN("");
	struct batch *result = batch;
	batch = NULL;
	return result;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->part_count; i++)
		mem_free(batch->parts[i].lines);
	mem_free(batch->parts);
	arena_free(batch->arena);
	mem_free(batch);
}

struct batch_part *batch_part(struct batch *batch, struct span job, struct span stream)
{
	/* From the back: bodies of many streams mostly go on with the stream they were at. */
	for (size_t i = batch->part_count; i-- > 0;)
		if (span_equal(batch->parts[i].stream, stream) && span_equal(batch->parts[i].job, job))
			return &batch->parts[i];
	if (!mem_grow((void **)&batch->parts, batch->part_count, &batch->part_cap, sizeof *batch->parts))
		return NULL;
	struct batch_part part = {.job = arena_copy(batch->arena, job), .stream = arena_copy(batch->arena, stream)};
	if (!part.job.ptr || !part.stream.ptr)
		return NULL;
	batch->parts[batch->part_count] = part;
	return &batch->parts[batch->part_count++];
}

bool batch_add(struct batch *batch, struct batch_part *part, struct span text, int64_t ts_ms, uint32_t flags,
	uint64_t sent_bytes)
{
	struct span copy = arena_copy(batch->arena, text);

	if (!copy.ptr || !mem_grow((void **)&part->lines, part->count, &part->cap, sizeof *part->lines))
		return false;
	part->lines[part->count++] = (struct line){copy, ts_ms, flags, sent_bytes};
	part->sent_bytes += sent_bytes;
	batch->text_bytes += text.len + 1;
	batch->line_count++;
	batch->cut_lines += (flags & LINE_CUT) != 0;
	return true;
}
