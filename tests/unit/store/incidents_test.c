#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"

#include <float.h>

struct outcome {
	struct incident_news news;
};

static struct incident_row spike(int64_t job, uint64_t ordinal, int64_t opened_ms)
{
	struct incident_row row = {.job_id = job, .series_id = 1};

	row.incident = (struct incident){.kind = INCIDENT_LOSS_SPIKE,
		.severity = SEVERITY_WARNING,
		.opened_ordinal = ordinal,
		.first_step = 1,
		.last_step = 2,
		.opened_step = 3,
		.opened_ms = opened_ms,
		.line = NO_LINE,
		.value = 5,
		.worst = 6,
		.worst_step = 7};
	return row;
}

static struct outcome put(struct harness *h, struct incident_row *row)
{
	struct outcome outcome;

	CHECK_OK(store_put_incident(h->tx, row, &outcome.news, &err));
	return outcome;
}

static struct incident_row read_back(struct harness *h, int64_t job, uint32_t id)
{
	struct incident_row row = {0};

	CHECK_OK(store_read_incident(store_tx_reader(h->tx), h->arena, job, id, &row, &err));
	return row;
}

static int64_t begin_with_job(struct harness *h)
{
	harness_begin(h);
	int64_t job = harness_job(h, "j");
	harness_series(h, job, harness_stream(h, job, "algo-1"), "loss");
	return job;
}

TEST(a_replay_repeats_nothing)
{
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h);
	struct incident_row row = spike(job, 40, 100), escalated = spike(job, 40, 100), closed = spike(job, 40, 100);

	escalated.incident.severity = SEVERITY_CRITICAL;
	escalated.incident.last_step = 8;
	escalated.incident.worst = INFINITY;
	closed.incident = escalated.incident;
	closed.incident.state = INCIDENT_RECOVERED;
	closed.incident.closed_ms = 900;
	for (int replay = 0; replay < 3; replay++) {
		bool is_first = replay == 0;
		struct outcome outcome = put(&h, &row);
		CHECK_INT(outcome.news.is_new, is_first);
		CHECK(!outcome.news.has_ended);
		CHECK_INT(row.incident_id, 1);
		outcome = put(&h, &escalated);
		CHECK(!outcome.news.is_new && !outcome.news.has_ended);
		outcome = put(&h, &row); /* what was said before is no news */
		CHECK(!outcome.news.is_new && !outcome.news.has_ended);
		struct incident_row got = read_back(&h, job, 1);
		CHECK_INT(got.incident.severity, SEVERITY_CRITICAL);
		CHECK_INT(got.incident.last_step, 8);
		CHECK_DOUBLE(got.incident.worst, INFINITY);
		outcome = put(&h, &closed);
		CHECK(!outcome.news.is_new);
		CHECK_INT(outcome.news.has_ended, is_first);
		CHECK_INT(read_back(&h, job, 1).incident.state, INCIDENT_RECOVERED);
		CHECK_INT(read_back(&h, job, 1).incident.closed_ms, 900);
	}
	harness_commit(&h);
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM incidents"), 1);
	harness_done(&h);
}

TEST(the_key_tells_incidents_apart)
{
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h);
	struct incident_row first = spike(job, 40, 1), later = spike(job, 41, 1), other = spike(job, 40, 1);

	other.incident.kind = INCIDENT_NON_FINITE;
	CHECK(put(&h, &first).news.is_new);
	CHECK(put(&h, &later).news.is_new);
	CHECK(put(&h, &other).news.is_new);
	CHECK_INT(other.incident_id, 3);
	harness_commit(&h);
	harness_done(&h);
}

TEST(evidence_keeps_doubles_of_every_kind)
{
	static const double hard[] = {NAN, INFINITY, -INFINITY, -0.0, DBL_MAX, 0.1};
	enum { COUNT = sizeof hard / sizeof *hard };
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h);

	for (size_t i = 0; i < COUNT; i++) {
		struct incident_row row = spike(job, i, 1);
		row.incident.value = hard[i];
		row.incident.expected = hard[(i + 1) % COUNT];
		row.incident.spread = hard[(i + 2) % COUNT];
		row.incident.score = hard[(i + 3) % COUNT];
		row.incident.worst = hard[(i + 4) % COUNT];
		row.incident.is_historic = true;
		put(&h, &row);
		struct incident got = read_back(&h, job, row.incident_id).incident;
		CHECK_DOUBLE(got.value, hard[i]);
		CHECK_DOUBLE(got.expected, hard[(i + 1) % COUNT]);
		CHECK_DOUBLE(got.spread, hard[(i + 2) % COUNT]);
		CHECK_DOUBLE(got.score, hard[(i + 3) % COUNT]);
		CHECK_DOUBLE(got.worst, hard[(i + 4) % COUNT]);
		CHECK(got.line == NO_LINE);
		CHECK(got.is_historic);
		CHECK_INT(got.worst_step, 7);
		CHECK_INT(got.opened_step, 3);
	}
	harness_commit(&h);
	harness_done(&h);
}

static void put_ten(struct harness *h, int64_t job)
{
	for (uint64_t i = 0; i < 10; i++) {
		struct incident_row row = spike(job, i, (int64_t)i / 3); /* with ties */
		row.incident.state = i % 2 ? INCIDENT_RECOVERED : INCIDENT_OPEN;
		put(h, &row);
	}
	harness_commit(h);
}

TEST(lists_page_from_the_newest_without_gaps)
{
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h);
	struct incident_filter filter = {.state = -1, .kind = -1, .limit = 4, .cursor = SPAN("")};
	struct incident_row *rows = NULL;
	size_t count = 0, seen = 0;
	int64_t last_ms = INT64_MAX;

	put_ten(&h, job);
	do {
		CHECK_OK(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &filter.cursor, &err));
		for (size_t i = 0; i < count; i++) {
			CHECK(rows[i].incident.opened_ms <= last_ms);
			CHECK_INT(rows[i].incident_id, 10 - seen);
			last_ms = rows[i].incident.opened_ms;
			seen++;
		}
	} while (filter.cursor.len);
	CHECK_INT(seen, 10);
	CHECK_SPAN(rows[0].job, SPAN("j"));
	CHECK_SPAN(rows[0].metric, SPAN("loss"));
	CHECK_SPAN(rows[0].stream, SPAN("algo-1"));
	harness_done(&h);
}

TEST(lists_are_narrowed_by_job_state_and_kind)
{
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h);
	struct incident_filter filter;
	struct incident_row *rows = NULL;
	size_t count = 0;
	uint64_t open = 0;

	put_ten(&h, job);
	filter = (struct incident_filter){.job_id = job, .state = INCIDENT_OPEN, .kind = -1, .limit = 100};
	CHECK_OK(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &filter.cursor, &err));
	CHECK_INT(count, 5);
	filter = (struct incident_filter){.state = -1, .kind = INCIDENT_DIVERGENCE, .limit = 100};
	CHECK_OK(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &filter.cursor, &err));
	CHECK_INT(count, 0);
	filter = (struct incident_filter){.job_id = job + 1, .state = -1, .kind = -1, .limit = 100};
	CHECK_OK(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &filter.cursor, &err));
	CHECK_INT(count, 0);
	CHECK_OK(store_count_open_incidents(h.reader, job, &open, &err));
	CHECK_INT(open, 5);
	CHECK_OK(store_count_open_incidents(h.reader, 0, &open, &err));
	CHECK_INT(open, 5);
	harness_done(&h);
}

TEST(a_cursor_that_is_none_is_refused)
{
	struct harness h = harness_new();
	static const char *const cursors[] = {"x", "1.2", "1.2.3.4", "1.2.x", "..", "99999999999999999999.1.1"};
	struct incident_row *rows = NULL;
	struct span next = {0};
	size_t count = 0;

	for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
		struct incident_filter filter = {.state = -1, .kind = -1, .limit = 4, .cursor = span_from(cursors[i])};
		CHECK_FAILS(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &next, &err), ERR_SEMANTIC,
			cursors[i]);
	}
	harness_done(&h);
}

TEST(an_incident_is_acknowledged)
{
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h);
	struct incident_row row = spike(job, 1, 1);

	put(&h, &row);
	CHECK_OK(store_acknowledge_incident(h.tx, job, 1, 1234, &err));
	CHECK_FAILS(store_acknowledge_incident(h.tx, job, 2, 1, &err), ERR_NOT_FOUND, "incident 2");
	CHECK_INT(read_back(&h, job, 1).acknowledged_ms, 1234);
	harness_commit(&h);
	CHECK_FAILS(store_read_incident(h.reader, h.arena, job, 2, &row, &err), ERR_NOT_FOUND, "incident 2");
	harness_done(&h);
}

/* ---- what is open ---- */

static struct incident_row *list(struct harness *h, int64_t job, int state, size_t *count)
{
	const struct incident_filter filter = {
		.job_id = job, .state = state, .kind = -1, .has_all = true, .cursor = SPAN(""), .limit = 1000};
	struct incident_row *rows;
	struct span cursor;

	CHECK_OK(store_read_incidents(h->reader, h->arena, &filter, &rows, count, &cursor, &err));
	return rows;
}

/* Some are open, some are shown in others, which may be over. */
static void put_some(struct harness *h, int64_t job, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct incident_row row = spike(job, i, (int64_t)(i / 3));
		row.incident.state = i * 7919 % 5 < 2 ? INCIDENT_OPEN : INCIDENT_RECOVERED;
		put(h, &row);
		row.cause_id = i % 4 ? row.incident_id - (uint32_t)(i % 4) : 0;
		row.fold_id = i % 3 ? row.cause_id : 0;
		CHECK_OK(store_set_cause(h->tx, &row, &err));
	}
}

TEST(the_open_ones_of_a_job_are_those_of_all_that_are_open_or_show_one)
{
	struct harness h = harness_new();
	int64_t job = begin_with_job(&h), other = harness_job(&h, "other");
	size_t all_count, open_count, used = 0, shown = 0;

	put_some(&h, job, 100);
	put_some(&h, other, 10);
	harness_commit(&h);
	struct incident_row *all = list(&h, job, -1, &all_count), *open = list(&h, job, INCIDENT_OPEN, &open_count);
	CHECK_INT(all_count, 100);
	for (size_t i = 0; i < all_count; i++) {
		bool is_open = all[i].incident.state == INCIDENT_OPEN;
		if (!is_open && !all[i].has_open_fold)
			continue;
		shown += !is_open;
		CHECK(used < open_count && open[used].incident_id == all[i].incident_id);
		used++;
	}
	CHECK_INT(open_count, used);
	CHECK(shown > 3 && used > 30);
	harness_done(&h);
}
