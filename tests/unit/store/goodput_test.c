#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/trash.h"

#include <math.h>

static struct goodput_row row_of(int64_t job)
{
	return (struct goodput_row){.job_id = job,
		.changes = 1,
		.as_of_ms = 1000,
		.nodes = 4,
		.is_measured = true,
		.instance = SPAN("ml.a"),
		.goodput = 75.5,
		.steps = 90,
		.lost_steps = 10,
		.step_ms = 12.5,
		.first_from_step = 0,
		.last_step = 90,
		.billable_ms = 5000,
		.currency = SPAN("EUR"),
		.cost = 1234567,
		.lost_cost = 7,
		.spot_saving = STORE_NO_COST};
}

static void put(struct harness *h, const struct goodput_row *row, const struct goodput_day *days, size_t count)
{
	struct goodput_incident broken = {.from_ms = 100,
		.to_ms = 160,
		.cause = SPAN("spot"),
		.nodes = 4,
		.lost_steps = 3,
		.redone_ms = 30,
		.restart_ms = 20};

	CHECK_OK(store_put_goodput(h->tx, row, days, count, &broken, 1, &err));
}

static struct goodput_day total_of(struct harness *h, int64_t day)
{
	struct goodput_day *days;
	size_t count;

	CHECK_OK(store_read_fleet_days(h->reader, h->arena, SPAN("EUR"), day, day, &days, &count, &err));
	return count ? days[0] : (struct goodput_day){.day = -1};
}

TEST(days_of_jobs_are_summed_up_and_follow_them)
{
	struct harness h = harness_new();
	struct goodput_day days[2] = {{.day = 20000, .node_ms = {[6] = 50}, .measured_ms = 60, .cost = 5},
		{.day = 20001, .node_ms = {[6] = 7, [13] = 1}, .measured_ms = 8, .cost = 2, .lost_cost = 1}};
	struct goodput_day *read;
	size_t count;

	harness_begin(&h);
	int64_t a = harness_job(&h, "a"), b = harness_job(&h, "b");
	struct goodput_row row_a = row_of(a), row_b = row_of(b);
	CHECK_OK(store_touch_goodput(h.tx, a, 0, &err));
	CHECK_OK(store_touch_goodput(h.tx, b, 0, &err));
	put(&h, &row_a, days, 2);
	put(&h, &row_b, days, 1);
	put(&h, &row_b, days, 1); /* the same again adds nothing */
	harness_commit(&h);
	CHECK_INT(total_of(&h, 20000).node_ms[6], 100);
	CHECK_INT(total_of(&h, 20001).node_ms[13], 1);
	CHECK_OK(store_read_goodput_days(h.reader, h.arena, a, 0, INT64_MAX, &read, &count, &err));
	CHECK(count == 2 && read[1].day == 20001 && read[1].lost_cost == 1 && read[1].measured_ms == 8);
	harness_begin(&h);
	put(&h, &row_a, &days[1], 1); /* it turned out to begin a day later */
	harness_commit(&h);
	CHECK_INT(total_of(&h, 20000).node_ms[6], 50);
	CHECK_INT(total_of(&h, 20000).cost, 5);
	harness_begin(&h);
	CHECK_OK(store_delete_job(h.tx, b, &err));
	put(&h, &row_b, days, 1); /* worked out before it was deleted, put behind it */
	harness_commit(&h);
	CHECK_INT(total_of(&h, 20000).node_ms[6], 50); /* these hours were spent */
	harness_done(&h);
}

static void check_unpriced(struct harness *h, uint64_t expected)
{
	uint64_t count;

	CHECK_OK(store_count_unpriced(h->reader, &count, &err));
	CHECK_INT(count, expected);
	CHECK_INT(
		harness_number(h->reader,
			"SELECT count(*) FROM goodput WHERE unpriced <> '' AND job_id NOT IN (SELECT job_id FROM trashed_jobs)"),
		expected);
}

static void put_unpriced(struct harness *h, int64_t job_id, struct span types)
{
	struct goodput_row row = row_of(job_id);

	row.unpriced = types;
	harness_begin(h);
	CHECK_OK(store_touch_goodput(h->tx, job_id, 0, &err));
	CHECK_OK(store_put_goodput(h->tx, &row, NULL, 0, NULL, 0, &err));
	harness_commit(h);
}

static void trash_and_restore(struct harness *h, int64_t job_id)
{
	struct trashed_job trashed;

	harness_begin(h);
	CHECK_OK(
		store_trash_job(h->tx, &(struct trashed_job){.job = {.job_id = job_id}, .deleted_by = SPAN("")}, &err));
	harness_commit(h);
	check_unpriced(h, 1);
	put_unpriced(h, job_id, SPAN("")); /* worked out before, put behind it */
	check_unpriced(h, 1);
	harness_begin(h);
	CHECK_OK(store_read_trashed(store_tx_reader(h->tx), h->arena, job_id, &trashed, &err));
	CHECK_OK(store_restore_job(h->tx, &trashed.job, &err));
	harness_commit(h);
	check_unpriced(h, 2);
}

TEST(jobs_without_a_price_are_counted_as_they_come_and_go)
{
	struct harness h = harness_new();

	harness_begin(&h);
	int64_t a = harness_job(&h, "a"), b = harness_job(&h, "b");
	harness_commit(&h);
	check_unpriced(&h, 0);
	put_unpriced(&h, a, SPAN("ml.new"));
	put_unpriced(&h, a, SPAN("ml.new ml.newer"));
	put_unpriced(&h, b, SPAN("ml.new"));
	check_unpriced(&h, 2);
	trash_and_restore(&h, a);
	put_unpriced(&h, a, SPAN(""));
	put_unpriced(&h, a, SPAN(""));
	check_unpriced(&h, 1);
	harness_begin(&h);
	CHECK_OK(store_delete_job(h.tx, b, &err));
	harness_commit(&h);
	check_unpriced(&h, 0);
	harness_done(&h);
}

TEST(what_is_put_of_a_job_in_the_trash_changes_no_sum)
{
	struct harness h = harness_new();
	struct goodput_day days[1] = {{.day = 20000, .node_ms = {[6] = 50}, .measured_ms = 60, .cost = 5}};
	struct trashed_job trashed;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	struct goodput_row row = row_of(job);
	CHECK_OK(store_touch_goodput(h.tx, job, 0, &err));
	put(&h, &row, days, 1);
	CHECK_OK(store_trash_job(h.tx, &(struct trashed_job){.job = {.job_id = job}, .deleted_by = SPAN("")}, &err));
	days[0].cost = 9;
	put(&h, &row, days, 1); /* worked out before, put behind it */
	CHECK_OK(store_postpone_goodput(h.tx, job, 1, &err));
	harness_commit(&h);
	CHECK_INT(harness_number(h.reader, "SELECT due_ms FROM goodput"), 0);
	CHECK_INT(harness_number(h.reader, "SELECT cost FROM goodput_deleted"), 5);
	CHECK_INT(harness_number(h.reader, "SELECT cost FROM goodput_days"), 5);
	harness_begin(&h);
	CHECK_OK(store_read_trashed(store_tx_reader(h.tx), h.arena, job, &trashed, &err));
	CHECK_OK(store_restore_job(h.tx, &trashed.job, &err));
	harness_commit(&h);
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM goodput_deleted"), 0);
	CHECK_INT(total_of(&h, 20000).cost, 5);
	harness_done(&h);
}

TEST(a_row_is_read_as_it_was_put_and_due_when_it_changed_meanwhile)
{
	struct harness h = harness_new();
	struct goodput_due *due;
	struct goodput_row read;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	CHECK_OK(store_touch_goodput(h.tx, job, 0, &err));
	struct goodput_row row = row_of(job);
	put(&h, &row, NULL, 0);
	harness_commit(&h);
	CHECK_OK(store_read_goodput(h.reader, h.arena, job, &read, &err));
	CHECK(read.goodput == 75.5 && read.step_ms == 12.5 && read.cost == 1234567 &&
		read.spot_saving == STORE_NO_COST);
	CHECK(read.steps == 90 && read.last_step == 90 && read.nodes == 4 && read.is_measured && read.due_ms == 0);
	CHECK_SPAN(read.currency, SPAN("EUR"));
	harness_begin(&h);
	CHECK_OK(store_touch_goodput(h.tx, job, 15000, &err)); /* lines came */
	harness_commit(&h);
	CHECK_OK(store_read_goodput_due(h.reader, h.arena, 15999, 10, &due, &count, &err));
	CHECK_INT(count, 0);
	CHECK_OK(store_read_goodput_due(h.reader, h.arena, 16000, 10, &due, &count, &err));
	CHECK(count == 1 && due[0].changes == 2);
	harness_begin(&h);
	CHECK_OK(store_touch_goodput(h.tx, job, 0, &err)); /* it ended */
	row.changes = 2;
	row.due_ms = 90000;
	put(&h, &row, NULL, 0); /* worked out before that */
	harness_commit(&h);
	CHECK_OK(store_read_goodput_due(h.reader, h.arena, 1, 10, &due, &count, &err));
	CHECK(count == 1 && due[0].changes == 3);
	CHECK_SPAN(due[0].name, SPAN("a"));
	CHECK_OK(store_read_goodput(h.reader, h.arena, job + 1, &read, &err));
	CHECK(read.as_of_ms == 0 && isnan(read.goodput) && read.cost == STORE_NO_COST);
	harness_done(&h);
}

TEST(all_jobs_are_made_due_a_slice_at_a_time)
{
	struct harness h = harness_new();
	struct goodput_due *due;
	int64_t after = 0;
	size_t count, slices = 0;

	harness_begin(&h);
	for (int i = 0; i < 5; i++)
		harness_job(&h, (const char *[]){"a", "b", "c", "d", "e"}[i]);
	for (; after != INT64_MAX; slices++)
		CHECK_OK(store_touch_all_goodput(h.tx, &after, 2, &err));
	harness_commit(&h);
	CHECK_INT(slices, 3);
	CHECK_OK(store_read_goodput_due(h.reader, h.arena, 1, 10, &due, &count, &err));
	CHECK_INT(count, 5);
	harness_done(&h);
}

TEST(breaks_are_summed_up_by_cause)
{
	struct harness h = harness_new();
	struct goodput_cause *causes;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	struct goodput_row row = row_of(job);
	struct goodput_incident broken[] = {{100, 160, SPAN("spot"), 4, 3, 30, 20}, {200, 0, SPAN("spot"), 4, 0, 0, 5},
		{300, 310, SPAN(""), 4, 1, 1, 1}, {900, 910, SPAN("late"), 4, 1, 1, 1}};
	CHECK_OK(store_touch_goodput(h.tx, job, 0, &err));
	CHECK_OK(store_put_goodput(h.tx, &row, NULL, 0, broken, 4, &err));
	harness_commit(&h);
	CHECK_OK(store_read_goodput_causes(h.reader, h.arena, 100, 900, &causes, &count, &err));
	CHECK_INT(count, 2);
	CHECK_SPAN(causes[0].cause, SPAN("spot"));
	CHECK(causes[0].count == 2 && causes[0].ended == 1 && causes[0].repair_ms == 60 && causes[0].lost_steps == 3);
	CHECK(causes[0].redone_node_ms == 120 && causes[0].restart_node_ms == 100);
	CHECK_OK(store_read_goodput_causes(h.reader, h.arena, 110, 200, &causes, &count, &err));
	CHECK(count == 1 && causes[0].count == 0 && causes[0].redone_node_ms == 0 && causes[0].restart_node_ms == 40);
	harness_done(&h);
}

TEST(a_break_of_more_than_thirty_days_before_has_no_part)
{
	struct harness h = harness_new();
	const int64_t from_ms = 100 * STORE_BREAK_SHARED_MS;
	struct goodput_cause *causes;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	struct goodput_row row = row_of(job);
	struct goodput_incident broken[] = {
		{from_ms - STORE_BREAK_SHARED_MS - 1, 0, SPAN("older"), 1, 0, 0, 2 * STORE_BREAK_SHARED_MS},
		{from_ms - STORE_BREAK_SHARED_MS, 0, SPAN("old"), 1, 0, 0, STORE_BREAK_SHARED_MS + 5}};
	CHECK_OK(store_touch_goodput(h.tx, job, 0, &err));
	CHECK_OK(store_put_goodput(h.tx, &row, NULL, 0, broken, 2, &err));
	harness_commit(&h);
	CHECK_OK(store_read_goodput_causes(h.reader, h.arena, from_ms, from_ms + 10, &causes, &count, &err));
	CHECK_INT(count, 1);
	CHECK_SPAN(causes[0].cause, SPAN("old"));
	CHECK_INT(causes[0].restart_node_ms, 5);
	harness_done(&h);
}

TEST(signatures_of_warnings_and_worse_are_read_by_time)
{
	struct harness h = harness_new();
	struct said_signature *said;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	const enum severity severities[] = {SEVERITY_CRITICAL, SEVERITY_INFO, SEVERITY_WARNING};
	for (size_t i = 0; i < 3; i++) {
		struct incident_row row = {.job_id = job,
			.incident = {.kind = INCIDENT_LOG_SIGNATURE,
				.severity = severities[i],
				.opened_ordinal = i,
				.line = i}};
		struct incident_news news;
		CHECK_OK(store_put_incident(h.tx, &row, &news, &err));
		struct signature_hit_row hit = {.job_id = job,
			.stream_id = 1,
			.signature = span_from((const char *[]){"nccl_timeout", "sigterm", "xid"}[i]),
			.first_line = i,
			.incident_id = row.incident_id,
			.count = 1,
			.first_ms = 100 - (int64_t)i,
			.last_ms = 100,
			.text = SPAN("")};
		CHECK_OK(store_put_signature_hit(h.tx, &hit, &err));
	}
	harness_commit(&h);
	CHECK_OK(store_read_said_signatures(h.reader, h.arena, job, 10, &said, &count, &err));
	CHECK(count == 2 && said[0].first_ms == 98 && said[1].severity == SEVERITY_CRITICAL);
	CHECK_SPAN(said[1].signature, SPAN("nccl_timeout"));
	CHECK_OK(store_read_said_signatures(h.reader, h.arena, job, 1, &said, &count, &err));
	CHECK_INT(count, 1);
	harness_done(&h);
}

TEST(messages_are_kept_when_they_are_new)
{
	struct harness h = harness_new();
	struct status_message *rows;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	const struct status_message said[] = {{10, SPAN("Starting"), SPAN("one")}, {20, SPAN("Starting"), SPAN("one")},
		{30, SPAN("Starting"), SPAN("two")}, {30, SPAN("Starting"), SPAN("two")},
		{40, SPAN("Starting"), SPAN("")}, {50, SPAN("Starting"), SPAN("one")}};
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		CHECK_OK(store_put_status_message(h.tx, job, &said[i], &err));
	harness_commit(&h);
	CHECK_OK(store_read_status_messages(h.reader, h.arena, job, &rows, &count, &err));
	CHECK(count == 3 && rows[0].at_ms == 10 && rows[1].at_ms == 30 && rows[2].at_ms == 50);
	CHECK_SPAN(rows[1].message, SPAN("two"));
	harness_done(&h);
}
