/* A large batch becomes its block before the writer has it. */
#include "pipeline/commit/batch_pack.h"
#include "state/pipeline_state.h"
#include "store/pack/log_filter.h"
#include "test.h"

#include <stdio.h>

enum { TEXT_BYTES = 128 };

/* One in three holds a newline of its own. */
static struct span text_of(size_t i, char text[TEXT_BYTES])
{
	int len = snprintf(text, TEXT_BYTES, "line %zu of a batch that%cthe writer had no room for at first", i,
		i % 3 ? ' ' : '\n');

	return span_of(text, (size_t)len);
}

static void add_lines(struct batch *batch, struct batch_part *part, size_t from, size_t to)
{
	char text[TEXT_BYTES];

	for (size_t i = from; i < to; i++) {
		struct span line = text_of(i, text);
		CHECK(batch_add(batch, part, line, 1700000000000 + (int64_t)i, 0, line.len + 1));
	}
}

/* The block must hold what the batch says, whatever it held when it was packed first. */
static void check_block(struct batch *batch, size_t count)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(64 << 20);
	AUTO_DONE(buf) filter = BUF_INIT(64 << 20);
	struct line *lines;
	size_t found;
	char text[TEXT_BYTES];

	CHECK_OK(block_unpack(buf_span(&batch->block), zstd, &plain, arena, &lines, &found, &err));
	CHECK_INT(found, count);
	CHECK_OK(log_filter_pack(block_text(buf_span(&plain)), &filter, &err));
	CHECK_SPAN(buf_span(&batch->filter), buf_span(&filter));
	for (size_t i = 0; i < count; i++) {
		CHECK_SPAN(lines[i].text, text_of(i, text));
		CHECK_SPAN(batch->parts[0].lines[i].text, text_of(i, text));
	}
}

static void free_packers(struct pipeline *pipeline)
{
	while (pipeline->packer_count)
		zstd_free(pipeline->packers[--pipeline->packer_count]);
	pthread_mutex_destroy(&pipeline->packers_mutex);
}

TEST(a_packed_batch_that_grew_while_it_waited_is_packed_anew)
{
	AUTO_MEM struct pipeline *pipeline = mem_zeroed(sizeof *pipeline);
	AUTO(batch) batch = batch_new(1700000000000);
	enum { FIRST = 4000, ALL = 4100 };

	CHECK(pipeline && batch);
	pthread_mutex_init(&pipeline->packers_mutex, NULL);
	struct batch_part *part = batch_part(batch, SPAN("job"), SPAN("algo-1"));
	CHECK(part);
	struct span *names[] = {&part->host, &part->team, &batch->host, &batch->team, &batch->source};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		*names[i] = arena_copy(batch->arena, SPAN("a name of the batch"));
	add_lines(batch, part, 0, FIRST);
	CHECK_OK(batch_pack(pipeline, batch, &err));
	check_block(batch, FIRST);
	const char *block = batch->block.ptr;
	CHECK_OK(batch_pack(pipeline, batch, &err));
	CHECK(batch->block.ptr == block); /* nothing new: not packed again */
	add_lines(batch, batch_find_part(batch, SPAN("job"), SPAN("algo-1")), FIRST, ALL);
	CHECK_OK(batch_pack(pipeline, batch, &err));
	check_block(batch, ALL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		CHECK_SPAN(*names[i], SPAN("a name of the batch"));
	CHECK_SPAN(part->job, SPAN("job"));
	CHECK_SPAN(part->stream, SPAN("algo-1"));
	free_packers(pipeline);
}

/* Else the writer would store the block in place of all lines: the other stream would have those of this one. */
TEST(a_packed_batch_that_is_no_block_any_more_has_none)
{
	enum { FIRST = 4000, TOO_MANY = 40000 };

	for (int has_grown = 0; has_grown <= 1; has_grown++) {
		AUTO_MEM struct pipeline *pipeline = mem_zeroed(sizeof *pipeline);
		AUTO(batch) batch = batch_new(1700000000000);
		char text[TEXT_BYTES];
		CHECK(pipeline && batch);
		pthread_mutex_init(&pipeline->packers_mutex, NULL);
		struct batch_part *part = batch_part(batch, SPAN("job"), SPAN("algo-1"));
		CHECK(part);
		add_lines(batch, part, 0, FIRST);
		CHECK_OK(batch_pack(pipeline, batch, &err));
		CHECK(batch->block.len);
		if (has_grown)
			add_lines(batch, &batch->parts[0], FIRST, TOO_MANY);
		else
			CHECK((part = batch_part(batch, SPAN("job"), SPAN("algo-2"))));
		if (!has_grown)
			add_lines(batch, part, 0, 10);
		CHECK_OK(batch_pack(pipeline, batch, &err));
		CHECK_INT(batch->block.len, 0);
		CHECK_INT(batch->filter.len, 0);
		for (size_t i = 0; i < batch->parts[0].count; i++)
			CHECK_SPAN(batch->parts[0].lines[i].text, text_of(i, text));
		free_packers(pipeline);
	}
}
