#include "harness.h"
#include "store/fleet_rows.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "test.h"

#include <stdio.h>

enum { TYPES = 5000 };

static void check_total(const struct fleet_total *rows, size_t count, const char *name, const char *type, int64_t value)
{
	int64_t found = -1;

	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].name, span_from(name)) && span_equal(rows[i].instance_type, span_from(type)))
			found = rows[i].value;
	CHECK_INT(found, value);
}

static void put(struct harness *h, int64_t job_id, const char *status, int64_t nodes)
{
	char type[32];

	snprintf(type, sizeof type, "ml.x%lld", (long long)job_id);
	struct fleet_job job = {.job_id = job_id,
		.status = span_from(status),
		.instance_type = span_from(type),
		.nodes = nodes,
		.started_ms = 1700000000000,
		.billed_ms = -1};
	CHECK_OK(store_put_fleet_job(h->tx, &job, 1, &err));
}

TEST(types_that_clients_make_up_are_no_rows_without_end)
{
	struct harness h = harness_new();
	struct fleet_total *rows;
	size_t count;

	harness_begin(&h);
	for (int64_t id = 1; id <= TYPES; id++)
		put(&h, id, "InProgress", 2);
	for (int64_t id = 1; id <= TYPES; id += TYPES - 1) /* one that has rows, one that has none */
		put(&h, id, "Stopping", 3);
	harness_commit(&h);
	CHECK_OK(store_read_fleet_totals(h.reader, h.arena, &rows, &count, &err));
	CHECK(count < 4200);
	check_total(rows, count, "nodes", "", 2 * TYPES + 2);
	check_total(rows, count, "nodes", "ml.x1", 3);
	check_total(rows, count, "jobs", "InProgress", TYPES - 2);
	check_total(rows, count, "jobs", "Stopping", 2);
	harness_done(&h);
}

TEST(a_sum_that_no_number_holds_stops_at_an_end)
{
	struct harness h = harness_new();
	struct fleet_total *rows;
	size_t count;

	harness_begin(&h);
	for (int64_t id = 1; id <= 20; id++)
		put(&h, id, "InProgress", 1000000);
	harness_commit(&h);
	CHECK_OK(store_read_fleet_totals(h.reader, h.arena, &rows, &count, &err));
	check_total(rows, count, "nodes", "", 20000000);
	check_total(rows, count, "started_node_ms", "", 4000000000000000000);
	harness_done(&h);
}

TEST(the_longest_silent_jobs_come_first)
{
	struct harness h = harness_new();
	struct silent_job *rows;
	size_t count;

	harness_begin(&h);
	for (int64_t i = 1; i <= 6; i++) {
		char name[32];
		snprintf(name, sizeof name, "job-%lld", (long long)i);
		struct job_row job = {.name = span_from(name), .document = SPAN("{}"), .status = SPAN("InProgress")};
		CHECK_OK(store_put_job(h.tx, &job, &err));
		struct fleet_job counted = {.job_id = job.job_id,
			.status = SPAN("InProgress"),
			.instance_type = SPAN(""),
			.nodes = 1,
			.ended_ms = i == 2 ? 1 : 0};
		CHECK_OK(store_put_fleet_job(h.tx, &counted, 1, &err));
		struct job_counts counts = {.last_heard_ms = i == 3 ? 0 : 1000 - i * 100}; /* 3: never heard of */
		CHECK_OK(store_put_summaries(h.tx, job.job_id, &counts, NULL, 0, &err));
	}
	harness_commit(&h);
	CHECK_OK(store_read_silent_jobs(h.reader, h.arena, 900, 10, &rows, &count, &err));
	CHECK_INT(count, 3); /* 1 was heard of in time, 2 has ended */
	CHECK_SPAN(rows[0].name, SPAN("job-6"));
	CHECK_SPAN(rows[2].name, SPAN("job-4"));
	CHECK_INT(rows[0].last_heard_ms, 400);
	CHECK_OK(store_read_silent_jobs(h.reader, h.arena, 900, 1, &rows, &count, &err));
	CHECK_INT(count, 1);
	harness_done(&h);
}
