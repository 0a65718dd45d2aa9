/* Machines over all jobs, read from streams, series and incidents. */
#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/hosts_by_hand.h"
#include "store/job_facts.h"
#include "store/nodes.h"
#include "store/stream_hosts.h"
#include "store/streams.h"

static void put_stream(struct harness *h, int64_t job_id, const char *name, const char *host, int64_t last_ms)
{
	struct stream_row stream = {.job_id = job_id,
		.name = span_from(name),
		.host = span_from(host),
		.created_ms = last_ms,
		.last_ms = last_ms};
	struct series_row series = {.job_id = job_id,
		.metric = SPAN("gpu_utilization_percent"),
		.labels = SPAN(""),
		.unit = SPAN(""),
		.sealed = {.count = 4, .sum = {(double)last_ms * 4, 0}}};

	CHECK_OK(store_put_stream(h->tx, &stream, &err));
	series.stream_id = stream.stream_id;
	CHECK_OK(store_put_series(h->tx, &series, &err));
	struct incident_row incident = {.job_id = job_id,
		.series_id = series.series_id,
		.incident = {.kind = INCIDENT_STRAGGLER, .first_step = 10, .last_step = 30, .opened_ms = 100}};
	struct incident_news news;
	if (span_equal(stream.host, SPAN("n2")))
		CHECK_OK(store_put_incident(h->tx, &incident, &news, &err));
}

static void charge(struct harness *h, int64_t job_id, const char *host, int64_t ts_ms, const char *cleared)
{
	const struct node_fault_row row = {.host = span_from(host),
		.ts_ms = ts_ms,
		.job_id = job_id,
		.stream_id = 1,
		.signature = SPAN("slurm_node_failed"),
		.count = 1,
		.last_ms = ts_ms,
		.text = SPAN("srun: error: Node failure"),
		.cleared = span_from(cleared)};

	CHECK_OK(store_put_node_fault(h->tx, &row, &err));
}

static int64_t slow_steps(struct harness *h)
{
	struct node_straggler *rows;
	size_t count;

	CHECK_OK(store_read_node_stragglers(store_tx_reader(h->tx), h->arena, SPAN(""), 0, 10, &rows, &count, &err));
	CHECK_INT(count, 1);
	return rows[0].last_step - rows[0].first_step;
}

static void end_incidents(struct harness *h, int64_t job_id)
{
	struct incident_row *rows;
	struct incident_news news;
	size_t count;

	CHECK_OK(store_read_first_incidents(store_tx_reader(h->tx), h->arena, job_id, 10, &rows, &count, &err));
	for (size_t i = 0; i < count; i++) {
		rows[i].incident.state = INCIDENT_RECOVERED;
		CHECK_OK(store_put_incident(h->tx, &rows[i], &news, &err));
	}
}

TEST(machines_are_found_over_all_jobs)
{
	struct harness h = harness_new();
	struct span *hosts;
	struct node_stream *streams;
	struct node_figure *figures;
	struct node_straggler *stragglers;
	size_t count;

	harness_begin(&h);
	int64_t a = harness_job(&h, "a"), b = harness_job(&h, "b");
	put_stream(&h, a, "algo-1", "n1", 10);
	put_stream(&h, a, "algo-2", "n2", 20);
	put_stream(&h, a, "algo-3", "", 20);
	put_stream(&h, b, "system/N10", "N10", 30);
	put_stream(&h, b, "algo-1", "N10", 40);
	put_stream(&h, a, "system/N10", "N10", 90);
	harness_commit(&h);
	CHECK_OK(store_read_hosts(h.reader, h.arena, SPAN(""), SPAN(""), INT64_MAX, 10, &hosts, &count, &err));
	CHECK(count == 3 && span_equal(hosts[0], SPAN("N10")) && span_equal(hosts[2], SPAN("n2")));
	CHECK_OK(store_read_hosts(h.reader, h.arena, SPAN("N1"), SPAN(""), INT64_MAX, 10, &hosts, &count, &err));
	CHECK(count == 2 && span_equal(hosts[1], SPAN("n1")));
	CHECK_OK(store_read_hosts(h.reader, h.arena, SPAN(""), SPAN("N10"), INT64_MAX, 1, &hosts, &count, &err));
	CHECK(count == 1 && span_equal(hosts[0], SPAN("n1")));
	/* and those that a line alone has charged, of late */
	harness_begin(&h);
	charge(&h, a, "gpu008", 100, "");
	charge(&h, a, "n1", 100, "");
	charge(&h, a, "gpu007", 99, "");
	charge(&h, a, "gpu009", 100, "it was the riser");
	harness_commit(&h);
	CHECK_OK(store_read_hosts(h.reader, h.arena, SPAN(""), SPAN(""), 100, 10, &hosts, &count, &err));
	CHECK(count == 4 && span_equal(hosts[1], SPAN("gpu008")) && span_equal(hosts[2], SPAN("n1")));
	CHECK_OK(store_read_hosts(h.reader, h.arena, SPAN("GPU"), SPAN("N10"), 99, 1, &hosts, &count, &err));
	CHECK(count == 1 && span_equal(hosts[0], SPAN("gpu007")));
	/* in trouble are these, and who was slow */
	const struct span slow[] = {SPAN("n2"), SPAN("gpu008"), SPAN("N10")};
	CHECK_OK(store_read_troubled_hosts(
		h.reader, h.arena, SPAN(""), SPAN(""), 100, slow, 3, 10, &hosts, &count, &err));
	CHECK(count == 4 && span_equal(hosts[0], SPAN("N10")) && span_equal(hosts[1], SPAN("gpu008")));
	CHECK(span_equal(hosts[2], SPAN("n1")) && span_equal(hosts[3], SPAN("n2")));
	CHECK_OK(store_read_troubled_hosts(
		h.reader, h.arena, SPAN("n1"), SPAN("N10"), 100, slow, 3, 10, &hosts, &count, &err));
	CHECK(count == 1 && span_equal(hosts[0], SPAN("n1")));
	CHECK_OK(store_read_troubled_hosts(
		h.reader, h.arena, SPAN(""), SPAN("n2"), 100, slow, 3, 9, &hosts, &count, &err));
	CHECK_INT(count, 0);
	CHECK_OK(store_read_node_streams(h.reader, h.arena, SPAN("N10"), 2, &streams, &count, &err));
	CHECK(count == 2 && streams[0].last_ms == 90 && span_equal(streams[0].job, SPAN("a")));
	CHECK_OK(store_read_node_figures(h.reader, h.arena, SPAN("N10"), 10, &figures, &count, &err));
	CHECK(count == 1 && figures[0].mean == 60 && figures[0].points == 8); /* of system/N10 alone */
	CHECK_OK(store_read_node_stragglers(h.reader, h.arena, SPAN(""), 0, 10, &stragglers, &count, &err));
	CHECK(count == 1 && span_equal(stragglers[0].host, SPAN("n2")) &&
		stragglers[0].last_step - stragglers[0].first_step == 20);
	CHECK_OK(store_read_node_stragglers(h.reader, h.arena, SPAN("n2"), 0, 10, &stragglers, &count, &err));
	CHECK(count == 1 && stragglers[0].last_step - stragglers[0].first_step == 20);
	CHECK_OK(store_read_node_stragglers(h.reader, h.arena, SPAN(""), 101, 10, &stragglers, &count, &err));
	CHECK_INT(count, 0);
	struct node_break *breaks;
	CHECK_OK(store_read_breaks(h.reader, h.arena, a, &breaks, &count, &err));
	CHECK_INT(count, 0);
	harness_done(&h);
}

/* Of one line, as a machine's. */
static void put_fault(struct harness *h, int64_t job_id, const char *host, uint64_t line)
{
	struct node_fault_row fault = {.host = span_from(host),
		.ts_ms = 1000,
		.job_id = job_id,
		.stream_id = 1,
		.line = line,
		.signature = SPAN("xid"),
		.count = 1,
		.text = SPAN("Xid 79")};

	CHECK_OK(store_put_node_fault(h->tx, &fault, &err));
}

static size_t count_faults(struct harness *h, const char *host)
{
	struct node_fault_row *rows;
	size_t count;

	CHECK_OK(store_read_node_faults(h->store->writer, h->arena, span_from(host), 0, 10, &rows, &count, &err));
	return count;
}

TEST(faults_of_one_line_are_one_when_they_come_to_one_machine)
{
	struct harness h = harness_new();
	struct span present;
	uint32_t stream;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	put_stream(&h, job, "algo-1", "n1", 10);
	struct stream_host_row second = {
		.job_id = job, .stream_id = 1, .number = 1, .from_line = 5, .since_ms = 5, .host = SPAN("n3")};
	CHECK_OK(store_put_stream_host(h.tx, &second, &err));
	put_fault(&h, job, "n1", 1); /* the same line under all three: what is to be n9's is once there */
	put_fault(&h, job, "n3", 1);
	put_fault(&h, job, "n9", 1);
	put_fault(&h, job, "n1", 2);
	put_fault(&h, job, "other", 2); /* what a line said of another machine */
	CHECK_OK(store_set_host_by_hand(h.tx, job, SPAN("algo-1"), SPAN("n9"), &stream, &err));
	CHECK_INT(count_faults(&h, "n9"), 2);
	CHECK_INT(count_faults(&h, "other"), 1);
	CHECK_INT(count_faults(&h, ""), 3);
	put_fault(&h, job, "n1", 2); /* as a replay of the log does */
	CHECK_OK(store_take_host_back(h.tx, h.arena, job, 1, &present, &err));
	CHECK_INT(count_faults(&h, "n9"), 0);
	CHECK_INT(count_faults(&h, "n1"), 2);
	CHECK_INT(count_faults(&h, ""), 3);
	CHECK_SPAN(present, SPAN("n3"));
	harness_done(&h);
}

TEST(a_stream_that_has_not_caught_up_is_slow_to_the_newest_step_of_the_job)
{
	struct harness h = harness_new();
	const struct summary_row newest = {
		.metric = SPAN("gpu_utilization_percent"), .unit = SPAN(""), .summary = {.count = 1, .last_step = 90}};
	const struct job_counts counts = {0};

	harness_begin(&h);
	int64_t a = harness_job(&h, "a");
	put_stream(&h, a, "algo-2", "n2", 20);
	CHECK_INT(slow_steps(&h), 20);
	CHECK_OK(store_put_summaries(h.tx, a, &counts, &newest, 1, &err));
	CHECK_INT(slow_steps(&h), 80);
	end_incidents(&h, a);
	CHECK_INT(slow_steps(&h), 20);
	harness_commit(&h);
	harness_done(&h);
}
