#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/jobs.h"
#include "store/streams.h"

static struct node_fault_row *faults_of(
	struct harness *h, const char *host, int64_t from_ms, size_t limit, size_t *count)
{
	struct node_fault_row *rows;

	CHECK_OK(store_read_node_faults(h->reader, h->arena, span_from(host), from_ms, limit, &rows, count, &err));
	return rows;
}

TEST(faults_of_a_machine_grow_and_outlive_their_job)
{
	struct harness h = harness_new();
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	struct node_fault_row fault = {.host = SPAN("gpu001"),
		.ts_ms = 1000,
		.job_id = job,
		.stream_id = 3,
		.line = 7,
		.signature = SPAN("xid_79"),
		.is_drain = true,
		.count = 1,
		.last_ms = 1000,
		.text = SPAN("NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.")};
	CHECK_OK(store_put_node_fault(h.tx, &fault, &err));
	fault.count = 5, fault.last_ms = 1500;
	CHECK_OK(store_put_node_fault(h.tx, &fault, &err));
	fault.count = 2, fault.last_ms = 1200; /* a replay that has not come so far yet */
	CHECK_OK(store_put_node_fault(h.tx, &fault, &err));
	fault.ts_ms = 2000, fault.host = SPAN("gpu002"), fault.is_drain = false;
	CHECK_OK(store_put_node_fault(h.tx, &fault, &err));
	CHECK_OK(store_delete_job(h.tx, job, &err));
	harness_commit(&h);
	harness_reopen(&h);
	struct node_fault_row *rows = faults_of(&h, "gpu001", 0, 9, &count);
	CHECK_INT(count, 1);
	CHECK(rows[0].count == 5 && rows[0].last_ms == 1500 && rows[0].is_drain && rows[0].line == 7);
	CHECK_SPAN(rows[0].signature, SPAN("xid_79"));
	CHECK(span_starts_with(rows[0].text, SPAN("NVRM")));
	rows = faults_of(&h, "", 0, 9, &count);
	CHECK_INT(count, 2);
	CHECK_SPAN(rows[0].host, SPAN("gpu002"));
	faults_of(&h, "", 2000, 9, &count);
	CHECK_INT(count, 1);
	faults_of(&h, "", 2001, 9, &count);
	CHECK_INT(count, 0);
	faults_of(&h, "", 0, 1, &count);
	CHECK_INT(count, 1);
	harness_done(&h);
}

TEST(a_stretch_of_several_parts_is_one_row)
{
	struct harness h = harness_new();
	struct fault_parts parts;
	size_t count;
	bool was_there;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	struct node_fault_row fault = {.host = SPAN("gpu001"),
		.job_id = job,
		.stream_id = 3,
		.line = 7,
		.signature = SPAN("xid_79"),
		.text = SPAN("")};
	CHECK_OK(store_read_fault_parts(h.reader, &fault, &parts, &err));
	CHECK(!parts.count && !parts.last_count);
	for (int i = 1; i <= 3; i++) {
		fault.ts_ms = i * 100000, fault.last_ms = fault.ts_ms + 5, fault.count = (uint64_t)i;
		CHECK_OK(store_put_node_fault(h.tx, &fault, &err));
	}
	struct node_fault_row other = fault;
	other.host = SPAN("gpu002"), other.ts_ms = 250000;
	CHECK_OK(store_put_node_fault(h.tx, &other, &err));
	CHECK_OK(store_read_fault_parts(store_tx_reader(h.tx), &fault, &parts, &err));
	CHECK(parts.ts_ms == 300000 && parts.last_ms == 300005 && parts.count == 6 && parts.last_count == 3);
	harness_commit(&h);
	struct node_fault_row *rows = faults_of(&h, "", 0, 9, &count);
	CHECK_INT(count, 2);
	CHECK_SPAN(rows[0].host, SPAN("gpu002"));
	CHECK(rows[1].ts_ms == 100000 && rows[1].last_ms == 300005 && rows[1].count == 6 && rows[1].line == 7);
	harness_begin(&h);
	CHECK_OK(store_clear_node_fault(h.tx, job, 3, 7, SPAN("a drill"), &was_there, &err));
	harness_commit(&h);
	CHECK(was_there);
	faults_of(&h, "", 0, 9, &count);
	CHECK_INT(count, 0);
	CHECK_OK(store_read_cleared_faults(h.reader, h.arena, SPAN("gpu001"), 0, 9, &rows, &count, &err));
	CHECK(count == 1 && rows[0].count == 6);
	harness_done(&h);
}

static void put_stream(struct harness *h, int64_t job, const char *name)
{
	struct stream_row row = {.job_id = job, .name = span_from(name), .host = span_from(name), .state = SPAN("")};

	CHECK_OK(store_put_stream(h->tx, &row, &err));
}

TEST(stretches_of_an_incident_are_told_together)
{
	struct harness h = harness_new();
	struct incident_said said;
	uint32_t incident;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	put_stream(&h, job, "algo-1");
	put_stream(&h, job, "algo-2");
	struct signature_hit_row hit = {.job_id = job,
		.stream_id = 1,
		.signature = SPAN("nccl_timeout"),
		.first_line = 10,
		.incident_id = 4,
		.count = 1,
		.last_line = 10,
		.first_ms = 1000,
		.last_ms = 1000,
		.text = SPAN("first"),
		.host = SPAN("lg-[2-3]"),
		.is_of_nobody = true};
	CHECK_OK(store_put_signature_hit(h.tx, &hit, &err));
	hit.host = SPAN("other"), hit.is_of_nobody = false; /* whose it is was decided */
	hit.count = 3, hit.last_line = 12, hit.last_ms = 1100, hit.text = SPAN("third"), hit.incident_id = 9;
	CHECK_OK(store_put_signature_hit(h.tx, &hit, &err));
	hit.count = 2, hit.last_line = 11, hit.text = SPAN("second"); /* a replay */
	CHECK_OK(store_put_signature_hit(h.tx, &hit, &err));
	CHECK_OK(store_find_signature_hit(store_tx_reader(h.tx), h.arena, &hit, &err));
	CHECK_INT(hit.incident_id, 4);
	CHECK_SPAN(hit.host, SPAN("lg-[2-3]"));
	CHECK(hit.is_of_nobody);
	hit.stream_id = 2, hit.incident_id = 4, hit.count = 7, hit.signature = SPAN("peer_gone"), hit.last_ms = 1050;
	CHECK_OK(store_put_signature_hit(h.tx, &hit, &err));
	CHECK_OK(store_find_signature_incident(
		store_tx_reader(h.tx), job, SPAN("nccl_timeout"), 1100, 9999, &incident, &err));
	CHECK_INT(incident, 4);
	CHECK_OK(store_find_signature_incident(
		store_tx_reader(h.tx), job, SPAN("nccl_timeout"), 1101, 9999, &incident, &err));
	CHECK_INT(incident, 0);
	CHECK_OK(store_find_signature_incident(
		store_tx_reader(h.tx), job, SPAN("nccl_timeout"), 0, 999, &incident, &err));
	CHECK_INT(incident, 0);
	CHECK_OK(store_fold_incident(h.tx, job, 4, 5, &err));
	harness_commit(&h);
	CHECK_OK(store_read_said(h.reader, h.arena, job, 4, &said, &err));
	CHECK(said.count == 0 && said.stream_count == 0 && said.last_stream.len == 0);
	CHECK_OK(store_read_said(h.reader, h.arena, job, 5, &said, &err));
	CHECK(said.count == 10 && said.stream_count == 2 && said.named == 2 && said.signature_count == 2);
	CHECK_SPAN(said.last_stream, SPAN("algo-1"));
	CHECK_SPAN(said.last_text, SPAN("third"));
	CHECK_INT(said.last_line, 12);
	harness_done(&h);
}

TEST(an_incident_is_quiet_from_its_last_stretch_on)
{
	struct harness h = harness_new();
	struct quiet_incident *rows;
	struct incident_news news;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	put_stream(&h, job, "algo-1");
	struct incident_row incident = {.job_id = job,
		.incident = {.kind = INCIDENT_STALL, .opened_ms = 500},
		.facts = SPAN("\"host\":\"gpu001\"")};
	CHECK_OK(store_put_incident(h.tx, &incident, &news, &err));
	struct signature_hit_row hit = {.job_id = job,
		.stream_id = 1,
		.incident_id = incident.incident_id,
		.signature = SPAN("x"),
		.last_ms = 1000,
		.text = SPAN("")};
	CHECK_OK(store_put_signature_hit(h.tx, &hit, &err));
	harness_commit(&h);
	CHECK_OK(store_read_quiet(
		h.reader, h.arena, INCIDENT_STALL, (struct quiet_before){1000, 1000}, 9, &rows, &count, &err));
	CHECK_INT(count, 0);
	CHECK_OK(store_read_quiet(
		h.reader, h.arena, INCIDENT_STALL, (struct quiet_before){1000, 1001}, 9, &rows, &count, &err));
	CHECK(count == 1 && rows[0].incident_id == incident.incident_id && rows[0].last_ms == 1000);
	CHECK_OK(store_read_incident(h.reader, h.arena, job, incident.incident_id, &incident, &err));
	CHECK_SPAN(incident.facts, SPAN("\"host\":\"gpu001\""));
	harness_done(&h);
}

TEST(of_a_checkpoint_the_first_word_counts)
{
	struct harness h = harness_new();
	struct checkpoint_row *rows;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	put_stream(&h, job, "algo-1");
	struct checkpoint_row row = {.job_id = job, .attempt = 1, .step = 100, .ts_ms = 50, .stream_id = 2, .line = 5};
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.stream_id = 1;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.ts_ms = 51, row.stream_id = 0;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.step = 200, row.ts_ms = 90;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.attempt = 2, row.step = 150, row.ts_ms = 95;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_OK(store_read_checkpoints(h.reader, h.arena, job, INT64_MAX, 9, &rows, &count, &err));
	CHECK_INT(count, 3);
	CHECK(rows[0].attempt == 2 && rows[0].step == 150 && rows[0].stream.len == 0);
	CHECK(rows[2].step == 100 && rows[2].ts_ms == 50 && rows[2].stream_id == 1 && rows[2].line == 5);
	CHECK_SPAN(rows[2].stream, SPAN("algo-1"));
	CHECK_OK(store_read_checkpoints(h.reader, h.arena, job, 94, 1, &rows, &count, &err));
	CHECK(count == 1 && rows[0].step == 200);
	harness_done(&h);
}

TEST(a_checkpoint_of_no_known_attempt_counts_where_no_attempt_has_it)
{
	struct harness h = harness_new();
	struct checkpoint_row *rows;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	struct checkpoint_row row = {.job_id = job, .attempt = 0, .step = 100, .ts_ms = 50, .stream_id = 2, .line = 5};
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.step = 300, row.ts_ms = 70;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.attempt = 2, row.step = 100, row.ts_ms = 51;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	row.attempt = 3, row.ts_ms = 90;
	CHECK_OK(store_put_checkpoint(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_OK(store_read_checkpoints(h.reader, h.arena, job, INT64_MAX, 9, &rows, &count, &err));
	CHECK(count == 3 && rows[0].attempt == 3 && rows[1].step == 300 && rows[2].attempt == 2);
	CHECK_OK(store_read_checkpoints(h.reader, h.arena, job, 50, 9, &rows, &count, &err));
	CHECK(count == 1 && rows[0].attempt == 0 && rows[0].step == 100);
	harness_done(&h);
}

TEST(what_was_asked_of_a_job_is_remembered_once)
{
	struct harness h = harness_new();
	struct emergency_row row, *rows;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	CHECK_OK(store_read_emergency(store_tx_reader(h.tx), job, &row, &err));
	CHECK_INT(row.job_id, 0);
	row = (struct emergency_row){job, 3, 100, 500, -1};
	CHECK_OK(store_put_emergency(h.tx, &row, &err));
	CHECK_OK(store_read_emergencies(store_tx_reader(h.tx), h.arena, 9, &rows, &count, &err));
	CHECK(count == 1 && rows[0].stop_due_ms == 500 && rows[0].incident_id == 3 && rows[0].checkpoint_step == -1);
	row.stop_due_ms = 0;
	CHECK_OK(store_put_emergency(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_OK(store_read_emergencies(h.reader, h.arena, 9, &rows, &count, &err));
	CHECK_INT(count, 0);
	CHECK_OK(store_read_emergency(h.reader, job, &row, &err));
	CHECK_INT(row.asked_ms, 100);
	harness_done(&h);
}
