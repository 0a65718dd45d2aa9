/* Streams and groups that clients make, and searches of some streams, by a condition, within bytes. */
#include "pipeline/jobs/log_streams.h"
#include "pipeline/rig.h"
#include "read/logs/log_search.h"

struct reading {
	struct rig rig;
	struct store_reader *reader;
	struct arena *arena;
};

static void reading_open(struct reading *on)
{
	*on = (struct reading){.arena = arena_new()};
	rig_make(&on->rig, false);
	CHECK_OK(store_reader_new(&on->reader, on->rig.store, &err));
}

static void reading_close(struct reading *on)
{
	store_reader_free(on->reader);
	arena_free(on->arena);
	rig_close(&on->rig, false);
	rig_remove(&on->rig);
}

static void put_line(struct reading *on, const char *stream, const char *text, int64_t ts_ms)
{
	CHECK_INT(send_batch(&on->rig, one_line("j", stream, text, ts_ms)).status, OK);
}

static enum status make(struct reading *on, const char *stream, const char *suffix, struct error *err)
{
	struct log_stream_making making = {SPAN("j"), span_from(stream), span_from(suffix), SPAN(""), true};

	return pipeline_create_log_stream(on->rig.pipeline, &making, err);
}

static struct log_stream_view *view(struct reading *on, const char *stream, size_t *count)
{
	struct log_stream_view *views;

	CHECK_OK(pipeline_view_log_streams(
		on->rig.pipeline, on->reader, on->arena, SPAN("j"), span_from(stream), &views, count, &err));
	return views;
}

TEST(a_stream_is_there_before_its_first_line_by_the_name_that_it_was_given)
{
	struct reading on;
	size_t count;

	reading_open(&on);
	CHECK_OK(make(&on, "algo-1", "-1700000000000", &err));
	CHECK_FAILS(make(&on, "algo-1", "-1700000000000", &err), ERR_CONFLICT, "already");
	struct log_stream_view *one = view(&on, "algo-1", &count);
	CHECK_INT(count, 1);
	CHECK_SPAN(one->suffix, SPAN("-1700000000000"));
	CHECK(one->created_ms && !one->stream_id && !one->lines);
	put_line(&on, "algo-1", "x", 1700000000005);
	CHECK_OK(make(&on, "algo-1", "-1700000000001", &err)); /* the newest name counts */
	one = view(&on, "algo-1", &count);
	CHECK(count == 1 && one->lines == 1 && one->stream_id);
	CHECK_SPAN(one->suffix, SPAN("-1700000000001"));
	put_line(&on, "algo-2", "x", 1700000000005);
	CHECK_FAILS(make(&on, "algo-2", "", &err), ERR_CONFLICT, "already");
	one = view(&on, "", &count);
	CHECK(count == 2 && !one[1].created_ms && !one[1].has_suffix_said);
	view(&on, "none", &count);
	CHECK_INT(count, 0);
	reading_close(&on);
}

TEST(a_deleted_stream_begins_behind_its_lines)
{
	struct reading on;
	size_t count;

	reading_open(&on);
	put_line(&on, "s", "old", 1700000000000);
	CHECK_OK(pipeline_delete_log_stream(on.rig.pipeline, SPAN("j"), SPAN("s"), SPAN(""), &err));
	view(&on, "s", &count);
	CHECK_INT(count, 0);
	CHECK_FAILS(pipeline_delete_log_stream(on.rig.pipeline, SPAN("j"), SPAN("s"), SPAN(""), &err), ERR_NOT_FOUND,
		"no stream 's'");
	put_line(&on, "s", "new", 1700000000001); /* by another door: it is there again */
	struct log_stream_view *one = view(&on, "s", &count);
	CHECK(count == 1 && one->first_line == 1 && one->lines == 2);
	reading_close(&on);
}

TEST(a_group_is_a_job_and_belongs_to_who_made_it)
{
	struct log_stream_making making = {SPAN("/g"), SPAN("s"), SPAN(""), SPAN("b"), false};
	struct log_group_row *rows;
	struct reading on;
	size_t count;

	reading_open(&on);
	CHECK_OK(pipeline_create_log_group(on.rig.pipeline, SPAN("/g"), SPAN("a"), &err));
	CHECK_FAILS(pipeline_create_log_group(on.rig.pipeline, SPAN("/g"), SPAN("a"), &err), ERR_CONFLICT, "already");
	CHECK_FAILS(pipeline_create_log_stream(on.rig.pipeline, &making, &err), ERR_FORBIDDEN, "another team");
	making.job = SPAN("/none");
	CHECK_FAILS(pipeline_create_log_stream(on.rig.pipeline, &making, &err), ERR_NOT_FOUND, "/none");
	CHECK_OK(store_read_log_groups(on.reader, on.arena, SPAN(""), 5, &rows, &count, &err));
	CHECK_INT(count, 1);
	CHECK_SPAN(rows[0].name, SPAN("/g"));
	CHECK_OK(store_read_log_groups(on.reader, on.arena, SPAN("/g"), 5, &rows, &count, &err));
	CHECK_INT(count, 0);
	reading_close(&on);
}

static bool holds_even(const void *context, struct regex_scratch *scratch, struct span line)
{
	(void)context;
	(void)scratch;
	return line.len && (line.ptr[line.len - 1] - '0') % 2 == 0;
}

static size_t search(struct reading *on, struct log_search *search, struct log_search_result *out)
{
	search->job = SPAN("j");
	search->stream = SPAN("");
	search->oldest_first = true;
	search->from_ms = INT64_MIN;
	search->to_ms = INT64_MAX;
	search->text_bytes = 1 << 20;
	search->time_ms = 60000;
	CHECK_OK(log_search_run(on->rig.pipeline, on->reader, on->arena, search, out, &err));
	return out->count;
}

TEST(a_search_takes_streams_lines_and_bytes_as_it_is_told)
{
	struct log_search_result found;
	struct reading on;
	char text[32];

	reading_open(&on);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof text, "line %d", i);
		put_line(&on, i < 5 ? "a" : "b", text, 1700000000000 + i);
	}
	CHECK_INT(search(&on, &(struct log_search){.text = SPAN(""), .limit = 100}, &found), 10);
	struct log_search_stream second = {2, 3}, none = {9, 0};
	CHECK_INT(
		search(&on,
			&(struct log_search){.text = SPAN("line"), .limit = 100, .streams = &second, .stream_count = 1},
			&found),
		2); /* of b, but its first three */
	CHECK_SPAN(found.hits[0].text, SPAN("line 8"));
	CHECK_INT(search(&on, &(struct log_search){.text = SPAN(""), .limit = 100, .streams = &none, .stream_count = 1},
			  &found),
		0);
	CHECK_INT(search(&on, &(struct log_search){.text = SPAN("line"), .limit = 3, .takes = holds_even}, &found), 3);
	CHECK_SPAN(found.hits[2].text, SPAN("line 4"));
	CHECK(found.has_next);
	struct log_search paged = {.text = SPAN(""), .limit = 100, .max_bytes = 20}; /* three lines of six bytes */
	CHECK_INT(search(&on, &paged, &found), 3);
	CHECK(found.has_next);
	struct log_place place = found.next;
	paged.after = &place;
	CHECK_INT(search(&on, &paged, &found), 3);
	CHECK_SPAN(found.hits[0].text, SPAN("line 3"));
	paged.max_bytes = 1; /* one there is always */
	CHECK_INT(search(&on, &paged, &found), 1);
	CHECK_SPAN(found.hits[0].text, SPAN("line 3"));
	reading_close(&on);
}
