/* Every verb is called once; then each statement that the connections have prepared must use an index. */
#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/blocks.h"
#include "store/definitions.h"
#include "store/faults.h"
#include "store/fleet_rows.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/log_streams.h"
#include "store/nodes.h"
#include "store/points.h"
#include "store/pools.h"
#include "store/pushes.h"
#include "store/retention.h"
#include "store/run.h"
#include "store/search.h"
#include "store/sessions.h"
#include "store/stream_hosts.h"
#include "store/streams.h"
#include "store/tokens.h"
#include "store/told.h"
#include "store/tracked_runs.h"
#include "store/trash.h"
#include "store/transitions.h"

/* What reads a whole table on purpose: short tables, and counts. */
static const char *const allowed[] = {
	"SCAN i USING INDEX incidents_open", /* what is open now */
	"SCAN CONSTANT ROW", "SCAN webhooks", "SCAN tokens", "SCAN journal", /* store_journal_figures: the sum */
	"SCAN jobs USING COVERING INDEX", /* store_count_jobs */
	"SCAN settings", /* LIMIT 1 */
	"SCAN deliveries USING INDEX deliveries_settled", /* LIMIT 1, in its order */
	"SCAN pushes USING COVERING INDEX pushes_by_time", /* LIMIT 1, in its order */
	"SCAN notices USING INDEX notices_due", /* what waits, in its order */
	"SCAN incidents USING INDEX incidents_open", /* the open ones alone */
	"SCAN i USING INDEX incidents_stragglers", /* few */
	"SCAN f USING INDEX fleet_jobs_", /* those that live alone */
	"SCAN fleet_totals", /* some rows an instance type, as: */
	"SCAN quotas", "SCAN s", /* the subquery of store_read_node_figures, which has a limit */
	"SCAN h", /* of store_read_hosts: hosts, each found in the index */
};

static bool is_allowed(const char *detail)
{
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		if (span_starts_with(span_from(detail), span_from(allowed[i])))
			return true;
	return false;
}

static size_t check_plans(struct store_reader *on)
{
	size_t checked = 0;

	for (size_t i = 0; i < STATEMENT_SLOTS; i++) {
		const char *sql = sqlite_reader_of(on)->statements[i].sql;
		char explain[4096];
		sqlite3_stmt *plan = NULL;
		if (!sql)
			continue;
		snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
		CHECK(sqlite3_prepare_v2(sqlite_of(on), explain, -1, &plan, NULL) == SQLITE_OK);
		while (sqlite3_step(plan) == SQLITE_ROW) {
			const char *detail = (const char *)sqlite3_column_text(plan, 3);
			if (strncmp(detail, "SCAN", 4) == 0 && !is_allowed(detail))
				test_fail(__FILE__, __LINE__, "'%s' reads a whole table: %s", sql, detail);
			if (strstr(detail, "USE TEMP B-TREE"))
				test_fail(__FILE__, __LINE__, "'%s' sorts: %s", sql, detail);
		}
		sqlite3_finalize(plan);
		checked++;
	}
	return checked;
}

static void call_fleet_writers(struct harness *h)
{
	CHECK_OK(store_put_pool_job(
		h->tx, &(struct pool_job_row){.job_id = 1, .pool_id = 1, .is_last = true, .state = 2}, &err));
	CHECK_OK(store_put_fleet_job(
		h->tx, &(struct fleet_job){1, SPAN("InProgress"), SPAN("t"), 4, 1, 0, 0, 0, -1}, 3, &err));
	CHECK_OK(store_settle_fleet_totals(h->tx, 3, &err));
	CHECK_OK(store_put_quota(h->tx, &(struct quota_row){SPAN("instances"), SPAN(""), 1}, &err));
	CHECK_OK(store_put_quota(h->tx, &(struct quota_row){SPAN("instances"), SPAN(""), -1}, &err));
	bool has_pools;
	CHECK_OK(store_has_pools(store_tx_reader(h->tx), 1, &has_pools, &err));
}

static void write_life(struct harness *h)
{
	struct goodput_went_on *went_on;
	size_t count;

	CHECK_OK(store_read_went_on(store_tx_reader(h->tx), h->arena, 1, SPAN("j"), &went_on, &count, &err));
	CHECK_OK(store_touch_goodput_before(h->tx, 1, &err));
	CHECK_OK(store_put_told(h->tx, 1, &(struct told_row){.status = SPAN("Starting")}, &err));
	CHECK_OK(store_put_session(h->tx, 1, 1, 1, &err));
	CHECK_OK(store_put_event_times(h->tx, 1, &(struct event_times){.started_ms = 1}, &err));
}

static void call_trash_writers(struct harness *h)
{
	struct trashed_job trashed;

	CHECK_OK(store_trash_job(h->tx, &(struct trashed_job){.job = {.job_id = 1}, .deleted_by = SPAN("")}, &err));
	CHECK_OK(store_read_trashed(store_tx_reader(h->tx), h->arena, 1, &trashed, &err));
	CHECK_OK(store_restore_job(h->tx, &trashed.job, &err));
}

static void call_writers(struct harness *h)
{
	struct job_row job = {.name = SPAN("j"), .document = SPAN("{\"HyperParameters\":{\"lr\":\"1\"}}")};
	struct token_row token = {.name = SPAN("t")};
	struct webhook_row webhook = {.url = SPAN("u")};
	struct delivery_row delivery = {.webhook_id = 1};
	struct incident_row incident = {.series_id = 1};
	struct summary_row summary = {.metric = SPAN("loss"), .role = ROLE_LOSS};
	struct stream_row stream = {.name = SPAN("s")};
	struct series_row series = {.stream_id = 1, .metric = SPAN("loss")};
	struct incident_news news;
	size_t count;

	for (int again = 0; again < 2; again++) { /* inserts, then updates */
		CHECK_OK(store_put_job(h->tx, &job, &err));
		job.document = SPAN("{}");
		incident.job_id = stream.job_id = series.job_id = job.job_id;
		CHECK_OK(store_put_stream(h->tx, &stream, &err));
		CHECK_OK(store_put_series(h->tx, &series, &err));
		CHECK_OK(store_put_token(h->tx, &token, &err));
		CHECK_OK(store_put_webhook(h->tx, &webhook, &err));
		CHECK_OK(store_put_delivery(h->tx, &delivery, &err));
		CHECK_OK(store_put_incident(h->tx, &incident, &news, &err));
		CHECK_OK(store_put_summaries(h->tx, 1, &(struct job_counts){0}, &summary, 1 - (size_t)again, &err));
		write_life(h);
		CHECK_OK(store_put_definitions(h->tx, 1, 1, SPAN("[]"), &err));
		CHECK_OK(store_put_block(h->tx, &(struct block_row){.job_id = 1, .line_count = 1}, &err));
		CHECK_OK(store_add_log_filter(
			h->tx, &(struct block_row){.job_id = 1, .line_count = 1, .filter = SPAN("x")}, &err));
		CHECK_OK(store_put_chunk(h->tx, &(struct chunk_row){.job_id = 1, .point_count = 1}, &err));
		CHECK_OK(store_append_journal(h->tx, 1 + (uint64_t)again, SPAN("x"), &err));
		CHECK_OK(store_put_setting(h->tx, "k", SPAN("v"), &err));
		CHECK_OK(store_put_node_fault(
			h->tx, &(struct node_fault_row){.host = SPAN("h"), .signature = SPAN("xid_79")}, &err));
		CHECK_OK(store_put_signature_hit(
			h->tx, &(struct signature_hit_row){.job_id = 1, .signature = SPAN("xid_79")}, &err));
		CHECK_OK(store_put_checkpoint(h->tx, &(struct checkpoint_row){.job_id = 1}, &err));
		CHECK_OK(store_put_emergency(h->tx, &(struct emergency_row){.job_id = 1}, &err));
	}
	CHECK_OK(store_fold_incident(h->tx, 1, 2, 3, &err));
	CHECK_OK(store_put_transitions(h->tx, 1, &(struct transition_row){.status = SPAN("Training")}, 1, &err));
	CHECK_OK(store_put_newest_event(h->tx, 1, 7, &err));
	struct run_link *links;
	CHECK_OK(store_read_run(store_tx_reader(h->tx), h->arena, job.name, &links, &count, &(size_t){0}, &err));
	CHECK_INT(count, 1);
	call_fleet_writers(h);
	CHECK_OK(store_trim_journal(h->tx, 2, 10, &err));
	CHECK_OK(store_delete_settled(h->tx, 1, 10, &err));
	bool is_known;
	CHECK_OK(store_is_push_known(h->tx, &(struct push_row){.job_id = 1}, 0, &is_known, &err));
	CHECK_OK(store_put_push(h->tx, &(struct push_row){.job_id = 1}, &err));
	CHECK_OK(store_delete_pushes(h->tx, 1, 10, &err));
	struct doomed_block doomed = {.line_count = 1};
	CHECK_OK(store_delete_text(h->tx,
		&(struct text_deletion){.job_id = 1, .reason = SPAN("age"), .blocks = &doomed, .count = 1}, &count,
		&err));
	CHECK_INT(count, 1);
	CHECK_OK(store_acknowledge_incident(h->tx, 1, 1, 1, &err));
	CHECK_OK(store_delete_token(h->tx, SPAN("t"), &err));
	CHECK_OK(store_delete_webhook(h->tx, 1, &err));
	call_trash_writers(h);
	CHECK_OK(store_delete_job(h->tx, 1, &err));
}

static void call_trash_readers(struct store_reader *on, struct arena *arena)
{
	const struct trash_place first = {INT64_MAX, INT64_MAX};
	struct trashed_job *rows, trashed;
	uint64_t number, bytes;
	int64_t job_id;
	size_t count;

	CHECK(store_find_trashed(on, arena, SPAN("j"), 0, &trashed, NULL) == ERR_NOT_FOUND);
	CHECK(store_read_trashed(on, arena, 1, &trashed, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_count_trashed(on, SPAN("j"), &number, &err));
	CHECK_OK(store_read_trash(on, arena, &first, 5, &rows, &count, &err));
	CHECK_OK(store_oldest_trashed(on, 1, &job_id, &err));
	CHECK_OK(store_weigh_job(on, 1, &bytes, &err));
}

static void call_run_readers(struct store_reader *on, struct arena *arena)
{
	const struct tracked_run_place first = {INT64_MAX, INT64_MAX};
	struct tracked_project_row project, *projects;
	struct tracked_run_row run, *runs;
	struct tracked_file_row file;
	uint64_t files;
	size_t count;
	bool is;

	CHECK(store_read_tracked_project(on, arena, 1, &project, NULL) == ERR_NOT_FOUND);
	CHECK(store_find_tracked_project(on, arena, SPAN("t"), SPAN("p"), &project, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_read_tracked_projects(on, arena, SPAN("t"), INT64_MAX, 5, &projects, &count, &err));
	CHECK(store_read_tracked_run(on, arena, SPAN("r"), &run, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_read_tracked_runs(on, arena, 1, TRACKED_ALL, &first, 5, &runs, &count, &err));
	CHECK_OK(store_read_tracked_runs_upward(on, arena, 1, &first, 5, &runs, &count, &err));
	CHECK_OK(store_read_tracked_file(on, arena, 1, SPAN("f"), &file, &err));
	CHECK_OK(store_count_tracked_files(on, 1, SPAN("f"), &files, &err));
	CHECK_OK(store_is_tracked_run(on, 1, &is, &err));
}

static void call_readers(struct harness *h, struct store_reader *on)
{
	struct arena *arena = h->arena;
	struct span span = {0};
	void *rows = NULL;
	size_t count = 0;
	uint64_t a, b;
	int64_t ms;

	CHECK(store_read_job(on, arena, SPAN("j"), &(struct job_row){0}, NULL) == ERR_NOT_FOUND);
	CHECK(store_read_job_by_id(on, arena, 1, &(struct job_row){0}, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_read_transitions(on, arena, 1, (struct transition_row **)&rows, &count, &err));
	CHECK_OK(store_read_newest_event(on, 1, &ms, &err));
	struct run_proposal proposals[RUN_PROPOSALS_MAX];
	CHECK_OK(store_propose_run(
		on, arena, &(struct run_link){.job = SPAN("j-2"), .continues = SPAN("")}, proposals, &count, &err));
	CHECK_OK(store_read_definitions(on, arena, 1, 1, &span, &err));
	CHECK_OK(store_read_summaries(
		on, arena, 1, &(struct job_counts){0}, (struct summary_row **)&rows, &count, &err));
	CHECK_OK(store_count_jobs(on, &a, &b, &err));
	CHECK_OK(store_read_fleet_totals(on, arena, (struct fleet_total **)&rows, &count, &err));
	CHECK_OK(store_read_quotas(on, arena, (struct quota_row **)&rows, &count, &err));
	CHECK_OK(store_read_fleet_now(on, 1, &(struct fleet_now){0}, &err));
	CHECK_OK(store_read_uncounted_jobs(on, 1, &ms, 1, &count, &err));
	CHECK_OK(store_read_pool_group(on, arena, 1, 1, 1, (struct pool_job_row **)&rows, &count, &err));
	CHECK_OK(store_read_pool_donors(
		on, arena, &(struct pool_window){.shape = 1}, (struct pool_job_row **)&rows, &count, &err));
	CHECK_OK(store_read_hosts(on, arena, SPAN(""), SPAN(""), 0, 1, (struct span **)&rows, &count, &err));
	CHECK_OK(store_read_node_streams(on, arena, SPAN("h"), 1, (struct node_stream **)&rows, &count, &err));
	CHECK_OK(store_read_node_figures(on, arena, SPAN("h"), 1, (struct node_figure **)&rows, &count, &err));
	CHECK_OK(store_read_node_stragglers(on, arena, SPAN(""), 1, 1, (struct node_straggler **)&rows, &count, &err));
	CHECK_OK(store_read_node_stragglers(on, arena, SPAN("h"), 1, 1, (struct node_straggler **)&rows, &count, &err));
	CHECK_OK(store_read_breaks(on, arena, 1, (struct node_break **)&rows, &count, &err));
	CHECK_OK(store_read_pools_left(on, arena, 1, 2, 3, (struct pool_job_row **)&rows, &count, &err));
	CHECK_OK(store_read_pool_jobs(
		on, arena, &(struct pool_job_row){0}, 1, 2, 3, (struct pool_job_row **)&rows, &count, &err));
	CHECK_OK(store_read_pool_told(on, 1, SPAN("j"), &ms, &err));
	CHECK_OK(store_read_pool_changes(on, arena, 1, 1, (struct pool_job_row **)&rows, &count, &err));
	CHECK_OK(store_last_pool_change(on, &ms, &err));
	CHECK_OK(store_oldest_push(on, 1, &ms, &ms, &err));
}

static void read_no_end(void *context, int64_t job_id, uint32_t stream_id, int64_t *first_ms, int64_t *last_ms)
{
	(void)context;
	(void)job_id;
	(void)stream_id;
	*first_ms = *last_ms = 0;
}

static void call_fault_readers(struct harness *h, struct store_reader *on)
{
	const struct stream_ends ends = {.read = read_no_end};
	struct arena *arena = h->arena;
	void *rows = NULL;
	size_t count = 0;
	uint32_t incident;

	CHECK_OK(store_read_node_faults(on, arena, SPAN(""), 0, 9, (struct node_fault_row **)&rows, &count, &err));
	CHECK_OK(store_read_node_faults(on, arena, SPAN("h"), 0, 9, (struct node_fault_row **)&rows, &count, &err));
	CHECK_OK(store_find_signature_hit(on, arena, &(struct signature_hit_row){.job_id = 1}, &err));
	CHECK_OK(store_find_signature_incident(on, 1, SPAN("x"), 0, 1, &incident, &err));
	for (int n = 0; n < 2; n++)
		CHECK_OK(store_find_machine(on, arena, SPAN("h"), n ? SPAN("a") : SPAN(""), &(struct span){0}, &err));
	CHECK_OK(store_find_charged_form(on, arena, SPAN("h"), SPAN("a"), &(struct span){0}, &err));
	CHECK_OK(store_read_said(on, arena, 1, 1, &(struct incident_said){0}, &err));
	CHECK_OK(store_read_quiet(on, arena, INCIDENT_STALL, (struct quiet_before){1, 1}, 9,
		(struct quiet_incident **)&rows, &count, &err));
	CHECK_OK(store_read_checkpoints(on, arena, 1, 9, 9, (struct checkpoint_row **)&rows, &count, &err));
	CHECK_OK(store_read_near(on, arena, 1, 1, 0, 9, (struct near_incident **)&rows, &count, &err));
	CHECK_OK(store_read_jobs_on_host(on, arena, &ends, SPAN("h"), SPAN(""), 1, 9, (int64_t **)&rows, &count, &err));
	CHECK_OK(store_count_told(on, arena, &(struct told_on_host){SPAN("h"), 1, 0, 9}, 9, &count, &err));
	CHECK_OK(store_read_told_elsewhere(
		on, arena, &ends, 1, SPAN("h"), 0, 9, 9, (struct said_hit **)&rows, &count, &err));
	for (int n = 0; n < 2; n++)
		CHECK_OK(store_read_break_faults(on, arena, &ends,
			&(struct break_fault_wish){n ? SPAN("h") : SPAN(""), 0, 9, 9, 9}, (struct break_fault **)&rows,
			&count, &err));
	CHECK_OK(store_read_failed_by(on, arena, 1, 1, 1, 9, 9, (int64_t **)&rows, &count, &err));
	CHECK_OK(store_read_cleared_lines(on, arena, 1, (struct fault_line **)&rows, &count, &err));
	CHECK_OK(store_read_emergency(on, 1, &(struct emergency_row){0}, &err));
	CHECK_OK(store_read_emergencies(on, arena, 9, (struct emergency_row **)&rows, &count, &err));
}

static void call_log_readers(struct harness *h, struct store_reader *on)
{
	struct arena *arena = h->arena;
	struct span span = {0};
	void *rows = NULL;
	size_t count = 0;
	uint64_t a, b, c = 0;

	CHECK_OK(store_read_streams(on, arena, 1, SPAN(""), (struct stream_row **)&rows, &count, &err));
	CHECK_OK(store_read_streams(on, arena, 1, SPAN("x"), (struct stream_row **)&rows, &count, &err));
	for (uint32_t stream = 0; stream < 2; stream++) {
		CHECK_OK(store_read_series(on, arena, 1, stream, SPAN(""), (struct series_row **)&rows, &count, &err));
		CHECK_OK(store_read_series(on, arena, 1, stream, SPAN("m"), (struct series_row **)&rows, &count, &err));
	}
	CHECK(store_read_journal(on, arena, 77, &span, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_next_journal(on, arena, &c, &span, &err));
	CHECK_OK(store_journal_figures(on, &a, &b, &c, &err));
	CHECK_OK(store_read_block(on, arena, 1, 1, 1, &(struct block_row){0}, &err));
	CHECK_OK(store_read_chunk(on, arena, 1, 1, 1, &(struct chunk_row){0}, &err));
	CHECK_OK(store_read_block_heads(on, arena, 1, 0, (struct block_head **)&rows, &count, &err));
	CHECK_OK(store_read_log_filter(on, arena, 1, 1, 1, &span, &err));
	struct block_place after = {0};
	bool is_found, is_end;
	CHECK_OK(store_find_unfiltered_block(on, &after, 5, &is_found, &is_end, &err));
	CHECK_OK(store_read_doomed(on, arena, 1, 0, 5, (struct doomed_block **)&rows, &count, &err));
}

static void call_alert_readers(struct harness *h, struct store_reader *on)
{
	struct arena *arena = h->arena;
	struct span span = {0};
	void *rows = NULL;
	size_t count = 0;
	uint64_t a;
	int64_t ms;
	bool is_found;

	for (int64_t job = 0; job < 2; job++) {
		struct incident_filter filter = {.job_id = job, .state = -1, .kind = -1, .limit = 5};
		CHECK_OK(store_read_incidents(on, arena, &filter, (struct incident_row **)&rows, &count, &span, &err));
		CHECK_OK(store_count_open_incidents(on, job, &a, &err));
	}
	struct incident_filter known = {
		.state = -1, .kind = -1, .from_ms = 1, .to_ms = 2, .is_by_known = true, .limit = 5};
	CHECK_OK(store_read_incidents(on, arena, &known, (struct incident_row **)&rows, &count, &span, &err));
	CHECK(store_read_incident(on, arena, 1, 1, &(struct incident_row){0}, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_read_webhooks(on, arena, (struct webhook_row **)&rows, &count, &err));
	CHECK(store_read_webhook(on, arena, 1, &(struct webhook_row){0}, NULL) == ERR_NOT_FOUND);
	CHECK_OK(store_read_due_deliveries(on, arena, 1, 1, 5, (struct delivery_row **)&rows, &count, &err));
	CHECK_OK(store_next_delivery_ms(on, 1, &ms, &err));
	CHECK_OK(store_oldest_settled_ms(on, &ms, &err));
	struct incident_row group = {.job_id = 1, .incident_id = 1, .series_id = 1, .metric = SPAN("loss")};
	struct notice_row notice = {.webhook_id = 1, .job_id = 1, .group_id = 1};
	struct incident_group look;
	struct delivery_row delivery;
	CHECK_OK(store_next_notice_ms(on, &ms, &err));
	CHECK_OK(store_read_notice(on, &notice, &is_found, &err));
	CHECK_OK(store_last_notice_ms(on, 1, 1, 1, &ms, &err));
	CHECK_OK(store_count_deliveries(on, 1, 1, &a, &err));
	CHECK_OK(store_read_first_incidents(on, arena, 1, 5, (struct incident_row **)&rows, &count, &err));
	CHECK_OK(store_look_in_group(on, 1, &group, &look, &err));
	CHECK_OK(store_read_twins(on, arena, 1, &group, (struct incident_twin **)&rows, &count, &err));
	CHECK_OK(store_is_group_open(on, 1, 1, 0, &is_found, &err));
	CHECK_OK(store_read_group_notices(on, arena, 1, 1, 1, (struct notice_row **)&rows, &count, &err));
	CHECK_OK(store_read_muted_until(on, &group, 1, &ms, &err));
	CHECK_OK(store_read_fold_streams(on, arena, &group, 5, (struct span **)&rows, &count, &err));
	CHECK_OK(store_read_deliveries(on, arena, 1, 5, (struct delivery_row **)&rows, &count, &err));
	CHECK_FAILS(store_read_delivery(on, arena, 1, 77, &delivery, &err), ERR_NOT_FOUND, "no delivery");
	CHECK_OK(store_read_tokens(on, arena, (struct token_row **)&rows, &count, &err));
	CHECK_OK(store_read_setting(on, arena, "k", &span, &err));
}

/* By a prefix and in the order of numbers it sorts what the prefix leaves: prepared for its use, so not looked at here. */
static void call_log_stream_readers(struct harness *h, struct store_reader *on)
{
	struct log_job_query query = {.prefix = SPAN(""), .after = SPAN(""), .limit = 5};
	void *rows = NULL;
	size_t count = 0;
	int64_t ms;

	CHECK_OK(store_read_log_streams(on, h->arena, 1, SPAN(""), (struct log_stream_row **)&rows, &count, &err));
	CHECK_OK(store_read_log_group(on, 1, &ms, &err));
	call_run_readers(on, h->arena);
	call_trash_readers(on, h->arena);
	for (int order = LOG_JOBS_BY_ID; order <= LOG_JOBS_ENDED; order++) {
		query.order = (enum log_job_order)order;
		CHECK_OK(store_read_log_jobs(on, h->arena, &query, (struct log_job_row **)&rows, &count, &err));
	}
	query.order = LOG_JOBS_BY_ID;
	query.since_ms = 1;
	CHECK_OK(store_read_log_jobs(on, h->arena, &query, (struct log_job_row **)&rows, &count, &err));
}

static void call_all_readers(struct harness *h, struct store_reader *on)
{
	call_readers(h, on);
	call_fault_readers(h, on);
	call_log_readers(h, on);
	call_log_stream_readers(h, on);
	call_alert_readers(h, on);
}

TEST(no_statement_reads_a_whole_table)
{
	struct harness h = harness_new();

	harness_begin(&h);
	call_writers(&h);
	call_all_readers(&h, store_tx_reader(h.tx));
	harness_commit(&h);
	CHECK_OK(store_reader_begin(h.reader, &err));
	call_all_readers(&h, h.reader);
	store_reader_end(h.reader);
	CHECK(check_plans(h.store->writer) > 70);
	CHECK(check_plans(h.reader) > 20);
	harness_done(&h);
}

TEST(statements_are_prepared_once)
{
	struct harness h = harness_new();

	call_readers(&h, h.reader);
	size_t before = sqlite_reader_of(h.reader)->statement_count;
	call_readers(&h, h.reader);
	CHECK_INT(sqlite_reader_of(h.reader)->statement_count, before);
	harness_done(&h);
}

/* What the engine did since it was asked last. */
static int steps_of(struct harness *h)
{
	struct sqlite_reader *on = sqlite_reader_of(h->reader);
	int steps = 0;

	for (size_t i = 0; i < STATEMENT_SLOTS; i++)
		if (on->statements[i].sql)
			steps += sqlite3_stmt_status(on->statements[i].prepared, SQLITE_STMTSTATUS_VM_STEP, 1);
	return steps;
}

/* Of a page of machines. */
static int steps_of_hosts(struct harness *h)
{
	struct span *hosts;
	size_t count;

	CHECK_OK(store_read_hosts(h->reader, h->arena, SPAN(""), SPAN(""), 100000, 20, &hosts, &count, &err));
	CHECK_INT(count, 20);
	return steps_of(h);
}

TEST(old_faults_of_other_machines_cost_nothing_at_a_page_of_machines)
{
	struct harness h = harness_new();
	struct node_fault_row fault = {.host = SPAN("z"), .stream_id = 1, .signature = SPAN("xid_79"), .count = 1};

	harness_begin(&h);
	fault.job_id = harness_job(&h, "a");
	for (int i = 0; i < 20; i++) {
		char name[16];
		snprintf(name, sizeof name, "n%02d", i);
		struct stream_row stream = {.job_id = fault.job_id, .name = span_from(name), .host = span_from(name)};
		CHECK_OK(store_put_stream(h.tx, &stream, &err));
	}
	harness_commit(&h);
	int before = steps_of_hosts(&h);
	harness_begin(&h);
	for (fault.ts_ms = 0; fault.ts_ms < 3000; fault.ts_ms++)
		CHECK_OK(store_put_node_fault(h.tx, &fault, &err));
	harness_commit(&h);
	CHECK(before > 0 && steps_of_hosts(&h) < 2 * before);
	harness_done(&h);
}

static int steps_of_causes(struct harness *h)
{
	struct goodput_cause *causes;
	size_t count;

	CHECK_OK(store_read_goodput_causes(
		h->reader, h->arena, 2 * STORE_BREAK_SHARED_MS, 2 * STORE_BREAK_SHARED_MS + 10, &causes, &count, &err));
	CHECK_INT(count, 1);
	return steps_of(h);
}

TEST(breaks_of_long_ago_cost_a_report_nothing)
{
	struct harness h = harness_new();
	struct goodput_incident breaks[3001] = {{2 * STORE_BREAK_SHARED_MS, 0, SPAN("spot"), 1, 0, 0, 5}};

	harness_begin(&h);
	struct goodput_row row = {.job_id = harness_job(&h, "a"), .cost = STORE_NO_COST};
	CHECK_OK(store_touch_goodput(h.tx, row.job_id, 0, &err));
	CHECK_OK(store_put_goodput(h.tx, &row, NULL, 0, breaks, 1, &err));
	harness_commit(&h);
	int before = steps_of_causes(&h);
	for (int i = 1; i <= 3000; i++)
		breaks[i] = (struct goodput_incident){i, 0, SPAN("spot"), 1, 0, 0, 5};
	harness_begin(&h);
	CHECK_OK(store_put_goodput(h.tx, &row, NULL, 0, breaks, 3001, &err));
	harness_commit(&h);
	CHECK(before > 0 && steps_of_causes(&h) < 2 * before);
	harness_done(&h);
}
