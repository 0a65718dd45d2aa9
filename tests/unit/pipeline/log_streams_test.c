/* Streams and groups that clients make, and searches of some streams, by a condition, within bytes. */
#include "test.h"

#include "pipeline/commit/ingest_result.h"
#include "pipeline/jobs/log_streams.h"
#include "pipeline/pipeline.h"
#include "read/log_search.h"
#include "state/options.h"
#include "state/pipeline_state.h"

#include <stdio.h>
#include <stdlib.h>

struct rig {
	char folder[64], path[96];
	struct store *store;
	struct hub *hub;
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
};

static void rig_open(struct rig *rig)
{
	*rig = (struct rig){.arena = arena_new()};
	snprintf(rig->folder, sizeof rig->folder, "/tmp/smfleet-streams-XXXXXX");
	CHECK(mkdtemp(rig->folder));
	snprintf(rig->path, sizeof rig->path, "%s/t.db", rig->folder);
	struct store_options store = {
		.path = rig->path, .wal_bytes = 64 << 20, .writer_cache_bytes = 1 << 20, .reader_cache_bytes = 1 << 20};
	struct hub_options hub = {1 << 20, 60000, 10, 1 << 20, 15000};
	struct pipeline_options options = {.presets = SPAN("{\"presets\":[{\"name\":\"x\",\"detect\":\"^x\","
							   "\"definitions\":[{\"Name\":\"x\",\"Regex\":\"(x)\"}]}]}"),
		.devices = SPAN("{}"),
		.prices = SPAN("{\"currency\": \"USD\", \"prices\": []}"),
		.goodput_every_ms = 1000,
		.queue_items = 1000,
		.queue_bytes = 64 << 20,
		.group_bytes = 1 << 20,
		.group_ms = 10,
		.journal_bytes = 1 << 30,
		.seal_bytes = UINT64_MAX,
		.seal_age_ms = INT64_MAX / 4,
		.extract_threads = 1,
		.match_steps = 100000,
		.max_jobs = 4,
		.max_streams_a_job = 4,
		.max_series_a_stream = 100,
		.public_url = SPAN("http://x")};

	CHECK_OK(store_open(&rig->store, &store, &err));
	rig->hub = options.hub = hub_new(&hub);
	options.store = rig->store;
	CHECK_OK(pipeline_start(&rig->pipeline, &options, &err));
	CHECK_OK(store_reader_new(&rig->reader, rig->store, &err));
}

static void rig_close(struct rig *rig)
{
	char command[160];

	store_reader_free(rig->reader);
	pipeline_free(rig->pipeline);
	hub_free(rig->hub);
	store_free(rig->store);
	arena_free(rig->arena);
	snprintf(command, sizeof command, "rm -rf '%s'", rig->folder);
	CHECK(system(command) == 0);
}

struct stored {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_done;
};

static void line_stored(void *context, const struct ingest_result *result)
{
	struct stored *stored = context;

	CHECK_INT(result->status, OK);
	pthread_mutex_lock(&stored->mutex);
	stored->is_done = true;
	pthread_cond_signal(&stored->changed);
	pthread_mutex_unlock(&stored->mutex);
}

static void put_line(struct rig *rig, const char *stream, const char *text, int64_t ts_ms)
{
	struct stored stored = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	struct batch *batch = batch_new(ts_ms);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), span_from(stream)) : NULL;

	CHECK(part && batch_add(batch, part, span_from(text), ts_ms, 0, strlen(text) + 1));
	CHECK_OK(pipeline_submit(rig->pipeline, batch, line_stored, &stored, &err));
	pthread_mutex_lock(&stored.mutex);
	while (!stored.is_done)
		pthread_cond_wait(&stored.changed, &stored.mutex);
	pthread_mutex_unlock(&stored.mutex);
}

static enum status make(struct rig *rig, const char *stream, const char *suffix, struct error *err)
{
	struct log_stream_making making = {SPAN("j"), span_from(stream), span_from(suffix), SPAN(""), true};

	return pipeline_create_log_stream(rig->pipeline, &making, err);
}

static struct log_stream_view *view(struct rig *rig, const char *stream, size_t *count)
{
	struct log_stream_view *views;

	CHECK_OK(pipeline_view_log_streams(
		rig->pipeline, rig->reader, rig->arena, SPAN("j"), span_from(stream), &views, count, &err));
	return views;
}

TEST(a_stream_is_there_before_its_first_line_by_the_name_that_it_was_given)
{
	struct rig rig;
	size_t count;

	rig_open(&rig);
	CHECK_OK(make(&rig, "algo-1", "-1700000000000", &err));
	CHECK_FAILS(make(&rig, "algo-1", "-1700000000000", &err), ERR_CONFLICT, "already");
	struct log_stream_view *one = view(&rig, "algo-1", &count);
	CHECK_INT(count, 1);
	CHECK_SPAN(one->suffix, SPAN("-1700000000000"));
	CHECK(one->created_ms && !one->stream_id && !one->lines);
	put_line(&rig, "algo-1", "x", 1700000000005);
	CHECK_OK(make(&rig, "algo-1", "-1700000000001", &err)); /* the newest name counts */
	one = view(&rig, "algo-1", &count);
	CHECK(count == 1 && one->lines == 1 && one->stream_id);
	CHECK_SPAN(one->suffix, SPAN("-1700000000001"));
	put_line(&rig, "algo-2", "x", 1700000000005);
	CHECK_FAILS(make(&rig, "algo-2", "", &err), ERR_CONFLICT, "already");
	one = view(&rig, "", &count);
	CHECK(count == 2 && !one[1].created_ms && !one[1].has_suffix_said);
	view(&rig, "none", &count);
	CHECK_INT(count, 0);
	rig_close(&rig);
}

TEST(a_deleted_stream_begins_behind_its_lines)
{
	struct rig rig;
	size_t count;

	rig_open(&rig);
	put_line(&rig, "s", "old", 1700000000000);
	CHECK_OK(pipeline_delete_log_stream(rig.pipeline, SPAN("j"), SPAN("s"), SPAN(""), &err));
	view(&rig, "s", &count);
	CHECK_INT(count, 0);
	CHECK_FAILS(pipeline_delete_log_stream(rig.pipeline, SPAN("j"), SPAN("s"), SPAN(""), &err), ERR_NOT_FOUND,
		"no stream 's'");
	put_line(&rig, "s", "new", 1700000000001); /* by another door: it is there again */
	struct log_stream_view *one = view(&rig, "s", &count);
	CHECK(count == 1 && one->first_line == 1 && one->lines == 2);
	rig_close(&rig);
}

TEST(a_group_is_a_job_and_belongs_to_who_made_it)
{
	struct log_stream_making making = {SPAN("/g"), SPAN("s"), SPAN(""), SPAN("b"), false};
	struct log_group_row *rows;
	struct rig rig;
	size_t count;

	rig_open(&rig);
	CHECK_OK(pipeline_create_log_group(rig.pipeline, SPAN("/g"), SPAN("a"), &err));
	CHECK_FAILS(pipeline_create_log_group(rig.pipeline, SPAN("/g"), SPAN("a"), &err), ERR_CONFLICT, "already");
	CHECK_FAILS(pipeline_create_log_stream(rig.pipeline, &making, &err), ERR_FORBIDDEN, "team a");
	making.job = SPAN("/none");
	CHECK_FAILS(pipeline_create_log_stream(rig.pipeline, &making, &err), ERR_NOT_FOUND, "/none");
	CHECK_OK(store_read_log_groups(rig.reader, rig.arena, SPAN(""), 5, &rows, &count, &err));
	CHECK_INT(count, 1);
	CHECK_SPAN(rows[0].name, SPAN("/g"));
	CHECK_OK(store_read_log_groups(rig.reader, rig.arena, SPAN("/g"), 5, &rows, &count, &err));
	CHECK_INT(count, 0);
	rig_close(&rig);
}

static bool holds_even(const void *context, struct regex_scratch *scratch, struct span line)
{
	(void)context;
	(void)scratch;
	return line.len && (line.ptr[line.len - 1] - '0') % 2 == 0;
}

static size_t search(struct rig *rig, struct log_search *search, struct log_search_result *out)
{
	search->job = SPAN("j");
	search->stream = SPAN("");
	search->oldest_first = true;
	search->from_ms = INT64_MIN;
	search->to_ms = INT64_MAX;
	search->text_bytes = 1 << 20;
	search->time_ms = 60000;
	CHECK_OK(pipeline_search_logs(rig->pipeline, rig->reader, rig->arena, search, out, &err));
	return out->count;
}

TEST(a_search_takes_streams_lines_and_bytes_as_it_is_told)
{
	struct log_search_result found;
	struct rig rig;
	char text[32];

	rig_open(&rig);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof text, "line %d", i);
		put_line(&rig, i < 5 ? "a" : "b", text, 1700000000000 + i);
	}
	CHECK_INT(search(&rig, &(struct log_search){.text = SPAN(""), .limit = 100}, &found), 10);
	struct log_search_stream second = {2, 3}, none = {9, 0};
	CHECK_INT(
		search(&rig,
			&(struct log_search){.text = SPAN("line"), .limit = 100, .streams = &second, .stream_count = 1},
			&found),
		2); /* of b, but its first three */
	CHECK_SPAN(found.hits[0].text, SPAN("line 8"));
	CHECK_INT(
		search(&rig, &(struct log_search){.text = SPAN(""), .limit = 100, .streams = &none, .stream_count = 1},
			&found),
		0);
	CHECK_INT(search(&rig, &(struct log_search){.text = SPAN("line"), .limit = 3, .takes = holds_even}, &found), 3);
	CHECK_SPAN(found.hits[2].text, SPAN("line 4"));
	CHECK(found.has_next);
	struct log_search paged = {.text = SPAN(""), .limit = 100, .max_bytes = 20}; /* three lines of six bytes */
	CHECK_INT(search(&rig, &paged, &found), 3);
	CHECK(found.has_next);
	struct log_place place = found.next;
	paged.after = &place;
	CHECK_INT(search(&rig, &paged, &found), 3);
	CHECK_SPAN(found.hits[0].text, SPAN("line 3"));
	paged.max_bytes = 1; /* one there is always */
	CHECK_INT(search(&rig, &paged, &found), 1);
	CHECK_SPAN(found.hits[0].text, SPAN("line 3"));
	rig_close(&rig);
}
