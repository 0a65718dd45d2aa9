/* Searches of sealed blocks, of which some are read while others are looked through. */
#include "pipeline/rig.h"
#include "read/logs/log_search.h"

enum { BATCHES = 16, BATCH_LINES = 1500 };

static struct batch *make_lines(int from)
{
	struct batch *batch = batch_new(1700000000000);
	char text[128];

	snprintf(text, sizeof text, "stream-%d", from / BATCH_LINES);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), span_from(text)) : NULL;
	CHECK(part);
	for (int i = from; i < from + BATCH_LINES; i++) {
		int len = snprintf(text, sizeof text, "%s %d and all that a long line says, %d %d %d %d",
			i % BATCH_LINES ? "line" : "first", i, i * 7919, i * 10007, i * 31, i * 127);
		CHECK(batch_add(batch, part, span_of(text, (size_t)len), 1700000000000 + i, 0, (size_t)len + 1));
	}
	return batch;
}

/* Who asks is quick, and waits for the others. */
static bool take_slowly(const void *asker, struct regex_scratch *scratch, struct span line)
{
	(void)scratch;
	(void)line;
	if (!pthread_equal(*(const pthread_t *)asker, pthread_self()))
		usleep(2000);
	return true;
}

static enum status search(struct rig *rig, struct store_reader *reader, long fail_at)
{
	struct error err;
	pthread_t self = pthread_self();
	struct log_search search = {.job = SPAN("j"),
		.stream = SPAN(""),
		.text = SPAN("first"),
		.wants_histogram = true,
		.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.limit = 100,
		.text_bytes = 1 << 20,
		.time_ms = 60000,
		.takes = take_slowly,
		.context = &self};
	struct log_search_result found;
	AUTO(arena) arena = arena_new();

	mem_fail_at(fail_at);
	enum status status = log_search_run(rig->pipeline, reader, arena, &search, &found, &err);
	mem_fail_at(0);
	if (status == OK)
		CHECK_INT(found.count, BATCHES);
	return status;
}

/* A batch that was read in part is not looked through: what was read of it is gone when those before it are done. */
TEST(a_search_that_fails_while_blocks_are_read_touches_none_that_are_gone)
{
	struct rig rig;
	AUTO(store_reader) reader = NULL;
	enum status status = OK;

	rig_prepare(&rig);
	rig_seals(&rig, true);
	rig.options.search_threads = 2;
	rig.options.max_streams_a_job = BATCHES;
	rig_open(&rig);
	for (int i = 0; i < BATCHES; i++)
		CHECK_INT(send_batch(&rig, make_lines(i * BATCH_LINES)).accepted, BATCH_LINES);
	pipeline_drain(rig.pipeline, 60000);
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	for (long nth = 1; nth <= 150; nth++) {
		status = search(&rig, reader, nth);
		CHECK(status == OK || status == ERR_MEMORY);
	}
	CHECK_INT(status, OK); /* it needs no more */
	store_reader_free(TAKE(reader));
	rig_close(&rig, false);
	rig_remove(&rig);
}
