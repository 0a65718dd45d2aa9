#include "base/clock.h"
#include "live/filters.h"
#include "live/lines_event.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>

#define HELLO ": hello\nretry: 2000\n\n"
#define LINE(n, text) "{\"n\":" #n ",\"ts_ms\":-5,\"text\":\"" text "\"}"
#define LINES(count, lines)                                                                                            \
	"{\"job\":\"j\\\"\",\"stream\":\"algo-1\",\"from\":7,\"count\":" #count ",\"lines\":[" lines "]}"
#define EVENT(count, lines) "id: 9\nevent: lines\ndata: " LINES(count, lines) "\n\n"

static struct filter_work make_work(int64_t event_ms)
{
	return (struct filter_work){regex_scratch_new(), event_ms, BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
}

static void check_filter(struct filter_spec spec, const char *event, const char *want)
{
	AUTO(filter) filter = NULL;
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	struct filter_work work = make_work(10000);

	CHECK_OK(filter_new(&filter, &spec, &err));
	regex_scratch_limit(work.scratch, 1000);
	filter_event(filter, &work, span_from(event), &out);
	CHECK_SPAN(buf_span(&out), span_from(want));
	regex_scratch_free(work.scratch);
	buf_done(&work.stream);
	buf_done(&work.text);
}

#define THREE LINE(7, "loss 1") "," LINE(8, "NCCL \\u001b[31mwarn") "," LINE(9, "\\\"end\\\"\\t")

TEST(a_text_is_found_in_the_line_not_in_its_json)
{
	check_filter((struct filter_spec){.text = SPAN("loss")}, EVENT(3, THREE), EVENT(3, LINE(7, "loss 1")));
	check_filter((struct filter_spec){.text = SPAN("text")}, EVENT(3, THREE), "");
	check_filter(
		(struct filter_spec){.text = SPAN("\"end\"\t")}, EVENT(3, THREE), EVENT(3, LINE(9, "\\\"end\\\"\\t")));
	check_filter((struct filter_spec){.text = SPAN("\x1b[31m")}, EVENT(3, THREE),
		EVENT(3, LINE(8, "NCCL \\u001b[31mwarn")));
	check_filter((struct filter_spec){.text = SPAN("nccl")}, EVENT(3, THREE), "");
}

TEST(case_and_regular_expressions)
{
	check_filter((struct filter_spec){.text = SPAN("nccl"), .ignores_case = true}, EVENT(3, THREE),
		EVENT(3, LINE(8, "NCCL \\u001b[31mwarn")));
	check_filter((struct filter_spec){.text = SPAN("."), .ignores_case = true}, EVENT(3, THREE), "");
	check_filter((struct filter_spec){.text = SPAN("^loss \\d$|end"), .is_regex = true}, EVENT(3, THREE),
		EVENT(3, LINE(7, "loss 1") "," LINE(9, "\\\"end\\\"\\t")));
	check_filter((struct filter_spec){.text = SPAN("^$"), .is_regex = true}, EVENT(1, LINE(1, "")),
		EVENT(1, LINE(1, "")));
}

TEST(one_stream_of_the_job)
{
	check_filter((struct filter_spec){.stream = SPAN("algo-1")}, EVENT(3, THREE), EVENT(3, THREE));
	check_filter((struct filter_spec){.stream = SPAN("algo-2")}, EVENT(3, THREE), "");
	check_filter((struct filter_spec){.stream = SPAN("algo-1"), .text = SPAN("loss")}, EVENT(3, THREE),
		EVENT(3, LINE(7, "loss 1")));
}

TEST(what_was_not_looked_at_is_told)
{
	check_filter((struct filter_spec){.text = SPAN("zebra")}, EVENT(50, LINE(7, "x")),
		"id: 9\nevent: lines\ndata: {\"job\":\"j\\\"\",\"stream\":\"algo-1\",\"from\":7,\"count\":50,"
		"\"lines\":[],\"unread\":49}\n\n");
	AUTO(filter) filter = NULL;
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	struct filter_work work = make_work(-1); /* the time is over before the first line */
	CHECK_OK(filter_new(&filter, &(struct filter_spec){.text = SPAN("loss")}, &err));
	filter_event(filter, &work, SPAN(EVENT(3, THREE)), &out);
	CHECK(span_find(buf_span(&out), SPAN("\"lines\":[],\"unread\":3}")) > 0);
	regex_scratch_free(work.scratch);
	buf_done(&work.stream);
	buf_done(&work.text);
}

TEST(a_match_that_was_given_up_is_counted)
{
	check_filter((struct filter_spec){.text = SPAN("(a+)+$"), .is_regex = true},
		EVENT(2, LINE(7, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") "," LINE(8, "aa")),
		"id: 9\nevent: lines\ndata: {\"job\":\"j\\\"\",\"stream\":\"algo-1\",\"from\":7,\"count\":2,\"lines\":[" LINE(
			8, "aa") "],\"limited\":1}\n\n");
}

TEST(a_bad_pattern_names_its_column)
{
	AUTO(filter) filter = NULL;
	struct error problem = {0};
	struct filter_spec spec = {.text = SPAN("loss("), .is_regex = true};

	CHECK_INT(filter_new(&filter, &spec, &problem), ERR_INVALID);
	CHECK_INT(problem.column, 6);
	CHECK_TEXT(problem.field, "filter");
	spec.text = SPAN("\xff");
	CHECK_FAILS(filter_new(&filter, &spec, &err), ERR_INVALID, "UTF-8");
}

TEST(other_json_is_no_event_of_lines)
{
	static const char *const bad[] = {"", "{}", "{\"job\":\"j\"",
		("{\"job\":\"j\",\"stream\":\"s\",\"from\":,\"count\":1,"
		 "\"lines\":[]}"),
		"{\"job\":\"\\ud800\",\"stream\":\"s\",\"from\":1,\"count\":1,\"lines\":[]}"};
	AUTO_DONE(buf) text = BUF_INIT(1000);
	struct lines_event event;
	struct span object;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!lines_event_open(&event, span_from(bad[i]), &text));
	buf_reset(&text);
	CHECK(lines_event_open(&event, SPAN(LINES(2, LINE(1, "a") ",{\"n\":1")), &text));
	CHECK(lines_event_next(&event, &object, &text) && !lines_event_next(&event, &object, &text) && event.is_broken);
	CHECK_SPAN(object, SPAN(LINE(1, "a")));
	CHECK_SPAN(buf_span(&text), SPAN("algo-1a"));
}

/* ---- the thread ---- */

struct reader {
	pthread_mutex_t mutex;
	pthread_cond_t woken;
	unsigned wakes;
	char text[1 << 16];
	size_t len;
};

static void count_wake(void *context)
{
	struct reader *reader = context;

	pthread_mutex_lock(&reader->mutex);
	reader->wakes++;
	pthread_cond_signal(&reader->woken);
	pthread_mutex_unlock(&reader->mutex);
}

/* Reads until the text is there, as a connection does: what is there, then the next wake. -1: the end. */
static int read_until(struct filtered *filtered, struct reader *reader, const char *wanted)
{
	unsigned seen = 0;

	for (;;) {
		ssize_t part = filters_read(filtered, reader->text + reader->len, sizeof reader->text - reader->len);
		if (part < 0)
			return -1;
		reader->len += (size_t)part;
		if (span_find(span_of(reader->text, reader->len), span_from(wanted)) >= 0)
			return 0;
		pthread_mutex_lock(&reader->mutex);
		while (!part && reader->wakes == seen)
			pthread_cond_wait(&reader->woken, &reader->mutex);
		seen = reader->wakes;
		pthread_mutex_unlock(&reader->mutex);
	}
}

struct rig {
	struct hub *hub;
	struct filters *filters;
	struct reader reader;
	struct filtered *filtered;
};

static struct rig *rig_new(
	struct hub_options hub, struct filters_options options, struct filter_spec spec, unsigned kinds)
{
	static struct rig rig;
	struct span job = SPAN("j\"");
	struct hub_wish wish = {&job, 1, kinds, UINT64_MAX, NULL};

	rig = (struct rig){.hub = hub_new(&hub),
		.reader = {.mutex = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER}};
	options.hub = rig.hub;
	CHECK_OK(filters_start(&rig.filters, &options, &err));
	CHECK_OK(filters_subscribe(rig.filters, &rig.filtered, &spec, &wish, count_wake, &rig.reader, &err));
	CHECK_INT(read_until(rig.filtered, &rig.reader, HELLO), 0);
	return &rig;
}

static void rig_free(struct rig *rig)
{
	filters_unsubscribe(rig->filtered);
	filters_free(rig->filters);
	hub_free(rig->hub);
}

static void publish(struct rig *rig, enum hub_kind kind, uint64_t seq, const char *json)
{
	CHECK_OK(hub_publish(rig->hub, (struct hub_topic){SPAN("j\""), SPAN("")}, kind, seq, span_from(json), &err));
	hub_flush(rig->hub, clock_mono_ms());
}

TEST(subscribers_get_their_lines_and_all_else)
{
	struct rig *rig = rig_new((struct hub_options){0}, (struct filters_options){0},
		(struct filter_spec){.text = SPAN("loss")}, HUB_ALL);

	publish(rig, HUB_LINES, 1, LINES(1, LINE(1, "nothing")));
	publish(rig, HUB_POINTS, 2, "{\"loss\":1}");
	publish(rig, HUB_LINES, 3, LINES(2, LINE(2, "nothing") "," LINE(3, "loss")));
	CHECK_INT(read_until(rig->filtered, &rig->reader, "}]}\n\n"), 0);
	CHECK_SPAN(span_of(rig->reader.text, rig->reader.len),
		SPAN(HELLO "id: 2\nevent: points\ndata: {\"loss\":1}\n\n"
			   "id: 3\nevent: lines\ndata: " LINES(2, LINE(3, "loss")) "\n\n"));
	hub_close(rig->hub);
	CHECK_INT(read_until(rig->filtered, &rig->reader, "never"), -1);
	rig_free(rig);
}

TEST(silence_has_a_heartbeat_that_tells_the_place)
{
	struct rig *rig = rig_new((struct hub_options){0}, (struct filters_options){.heartbeat_ms = 1},
		(struct filter_spec){.text = SPAN("loss")}, HUB_LINES);

	publish(rig, HUB_LINES, 77, LINES(1, LINE(1, "nothing")));
	CHECK_INT(read_until(rig->filtered, &rig->reader, "id: 77\n:\n\n"), 0);
	CHECK_INT(span_find(span_of(rig->reader.text, rig->reader.len), SPAN("nothing")), -1);
	rig_free(rig);
}

/* Nobody reads: the thread keeps one event at most, and the hub says what it says to everybody who lags. */
TEST(who_does_not_read_is_resynced)
{
	struct rig *rig = rig_new((struct hub_options){.max_lag_bytes = 1000}, (struct filters_options){0},
		(struct filter_spec){.text = SPAN("loss")}, HUB_LINES);

	for (uint64_t seq = 1; seq <= 100; seq++)
		publish(rig, HUB_LINES, seq, LINES(1, LINE(1, "loss")));
	CHECK_INT(read_until(rig->filtered, &rig->reader, "event: resync"), 0);
	CHECK(rig->reader.len < 3000);
	rig_free(rig);
}

TEST(leaving_while_others_stay)
{
	struct rig *rig = rig_new((struct hub_options){.max_subscribers = 2}, (struct filters_options){0},
		(struct filter_spec){.text = SPAN("loss")}, HUB_LINES);
	struct filter_spec all = {.stream = SPAN("algo-1")};
	struct span job = SPAN("j\"");
	struct hub_wish lines = {&job, 1, HUB_LINES, UINT64_MAX, NULL};
	struct filtered *other = NULL;

	CHECK_OK(filters_subscribe(rig->filters, &other, &all, &lines, count_wake, &rig->reader, &err));
	struct filtered *third = NULL;
	CHECK_FAILS(filters_subscribe(rig->filters, &third, &all, &lines, count_wake, &rig->reader, &err), ERR_BUSY,
		"--max-subscribers");
	filters_unsubscribe(other);
	publish(rig, HUB_LINES, 5, LINES(1, LINE(1, "loss")));
	CHECK_INT(read_until(rig->filtered, &rig->reader, "id: 5\n"), 0);
	rig_free(rig);
}
