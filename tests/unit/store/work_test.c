/* What a question costs the database must not grow with what else is stored: counted in steps of SQLite's machine, not in time. */
#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/nodes.h"
#include "store/sessions.h"
#include "store/stream_hosts.h"

enum { FEW = 20, MANY = 2000, STREAMS_FEW = 10, STREAMS_MANY = 400, SLACK_STEPS = 20 };
#define DAY_MS INT64_C(86400000)

/* Of all statements since they were counted last. */
static int take_steps(struct store_reader *on)
{
	int steps = 0;

	for (size_t i = 0; i < STATEMENT_SLOTS; i++)
		if (sqlite_reader_of(on)->statements[i].prepared)
			steps += sqlite3_stmt_status(
				sqlite_reader_of(on)->statements[i].prepared, SQLITE_STMTSTATUS_VM_STEP, 1);
	return steps;
}

static void put_metrics(struct harness *h, int64_t job_id, size_t count)
{
	struct summary_row *rows = arena_alloc(h->arena, count * sizeof *rows);

	for (size_t i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof name, i + 1 < count ? "layer_%zu/norm" : "train_loss", i);
		rows[i] = (struct summary_row){.metric = arena_copy(h->arena, span_from(name)),
			.unit = SPAN(""),
			.role = i + 1 < count ? ROLE_OTHER : ROLE_LOSS,
			.summary = {.count = 1, .last = (double)i, .last_step = (int64_t)i}};
	}
	CHECK_OK(store_put_summaries(h->tx, job_id, &(struct job_counts){.streams = 1}, rows, count, &err));
}

/* last_ms: of its lines; 0: it has none */
static void put_streams_until(struct harness *h, int64_t job_id, size_t count, int64_t last_ms)
{
	for (size_t i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof name, "algo-%zu", i);
		struct stream_row row = {.job_id = job_id,
			.name = span_from(name),
			.host = SPAN(""),
			.first_ms = last_ms,
			.last_ms = last_ms,
			.state = SPAN("state")};
		CHECK_OK(store_put_stream(h->tx, &row, &err));
	}
}

static void put_streams(struct harness *h, int64_t job_id, size_t count)
{
	put_streams_until(h, job_id, count, 0);
}

static int64_t put_job(struct harness *h, const char *name, size_t metrics, size_t streams)
{
	struct job_row job = {.name = span_from(name), .document = SPAN("{}")};

	CHECK_OK(store_put_job(h->tx, &job, &err));
	put_metrics(h, job.job_id, metrics);
	put_streams(h, job.job_id, streams);
	return job.job_id;
}

static int ask_main_summary(struct harness *h, int64_t job_id, size_t metrics)
{
	struct summary_row row;
	bool is_there;

	take_steps(h->reader);
	CHECK_OK(store_read_main_summary(h->reader, h->arena, job_id, ROLE_LOSS, &row, &is_there, &err));
	CHECK(is_there && span_equal(row.metric, SPAN("train_loss")));
	CHECK_INT(row.summary.last_step, metrics - 1);
	return take_steps(h->reader);
}

static int ask_main_metric(struct harness *h, int64_t job_id)
{
	struct span metric;

	take_steps(h->reader);
	CHECK_OK(store_find_main_metric(h->reader, h->arena, job_id, ROLE_LOSS, &metric, &err));
	CHECK(span_equal(metric, SPAN("train_loss")));
	return take_steps(h->reader);
}

/* Of a job whose other streams are in RAM the rows behind them are asked for. */
static int ask_last_stream(struct harness *h, int64_t job_id, size_t streams)
{
	struct stream_row *rows;
	size_t count;

	take_steps(h->reader);
	CHECK_OK(store_read_streams_from(h->reader, h->arena, job_id, (uint32_t)streams, &rows, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(rows[0].stream_id, streams);
	return take_steps(h->reader);
}

static int64_t put_unpriced_job(struct harness *h, const char *name, const char *type, int64_t at_day, int64_t ended_ms)
{
	struct job_row job = {.name = span_from(name), .document = SPAN("{}"), .ended_ms = ended_ms};
	struct goodput_row row = {.changes = 1,
		.as_of_ms = 1000,
		.nodes = 1,
		.instance = span_from(type),
		.currency = SPAN("USD"),
		.unpriced = span_from(type),
		.cost = STORE_NO_COST,
		.lost_cost = STORE_NO_COST,
		.spot_saving = STORE_NO_COST};
	struct goodput_day day = {.day = at_day, .billed_ms = 1000, .unpriced_ms = 1000};

	CHECK_OK(store_put_job(h->tx, &job, &err));
	row.job_id = job.job_id;
	CHECK_OK(store_touch_goodput(h->tx, job.job_id, 0, &err));
	CHECK_OK(store_put_goodput(h->tx, &row, &day, 1, NULL, 0, &err));
	return job.job_id;
}

static void put_old_jobs(struct harness *h, const char *name, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char job_name[32];
		snprintf(job_name, sizeof job_name, "%s-%zu", name, i);
		put_unpriced_job(h, job_name, "ml.old", 10000, 10000 * DAY_MS + 1);
	}
}

static int ask_unpriced(struct harness *h, int64_t first, const char *expected)
{
	struct span *types;
	size_t count;

	take_steps(h->reader);
	CHECK_OK(store_read_unpriced_types(
		h->reader, h->arena, SPAN("USD"), first, first + 29, 10, &types, &count, &err));
	CHECK_INT(count, 1);
	CHECK(count && span_equal(types[0], span_from(expected)));
	return take_steps(h->reader);
}

/* A job that runs for long, many of old days, and one that ended of late. */
static int ask_beside_old_jobs(size_t count)
{
	struct harness h = harness_new();

	harness_begin(&h);
	put_unpriced_job(&h, "runs", "ml.new", 20010, 0);
	put_old_jobs(&h, "old", count);
	put_unpriced_job(&h, "ended", "ml.new", 20005, 20005 * DAY_MS + 5);
	harness_commit(&h);
	int steps = ask_unpriced(&h, 20000, "ml.new");
	ask_unpriced(&h, 9990, "ml.old");
	harness_done(&h);
	return steps;
}

TEST(types_without_a_price_of_these_days_do_not_cost_what_jobs_of_old_are)
{
	CHECK(ask_beside_old_jobs(MANY) <= ask_beside_old_jobs(FEW) + SLACK_STEPS);
}

/* What /metrics asks of money. */
static int ask_money_beside(size_t count)
{
	struct harness h = harness_new();
	struct deleted_cost *costs;
	size_t cost_count;
	uint64_t unpriced;

	harness_begin(&h);
	put_old_jobs(&h, "old", count);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_count_unpriced(h.reader, &unpriced, &err));
	CHECK_INT(unpriced, count);
	CHECK_OK(store_read_deleted_costs(h.reader, h.arena, SPAN("USD"), 9990, 10010, &costs, &cost_count, &err));
	CHECK_INT(cost_count, 0);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(what_jobs_without_a_price_are_and_cost_is_read_without_them)
{
	CHECK(ask_money_beside(MANY) <= ask_money_beside(FEW) + SLACK_STEPS);
}

TEST(one_metric_or_stream_costs_the_same_beside_many_others)
{
	struct harness h = harness_new();

	CHECK_OK(store_tx_begin(&h.tx, h.store, &err));
	int64_t few = put_job(&h, "few", FEW, STREAMS_FEW), many = put_job(&h, "many", MANY, STREAMS_MANY);
	CHECK_OK(store_tx_commit(h.tx, &err));
	CHECK(ask_main_summary(&h, few, FEW) > 0);
	CHECK(ask_main_summary(&h, many, MANY) <= ask_main_summary(&h, few, FEW) + SLACK_STEPS);
	CHECK(ask_main_metric(&h, many) <= ask_main_metric(&h, few) + SLACK_STEPS);
	CHECK(ask_last_stream(&h, many, STREAMS_MANY) <= ask_last_stream(&h, few, STREAMS_FEW) + SLACK_STEPS);
	harness_done(&h);
}

/* ---- faults of a machine that sent many streams ---- */

static void says_nothing(void *context, int64_t job_id, uint32_t stream_id, int64_t *first_ms, int64_t *last_ms)
{
	(void)context, (void)job_id, (void)stream_id;
	*first_ms = *last_ms = 0;
}

/* Each begins later than the one before. */
static void put_stays(struct harness *h, int64_t job_id, size_t streams, int64_t since_ms)
{
	for (size_t i = 0; i < streams; i++) {
		const struct stream_host_row stay = {.job_id = job_id,
			.stream_id = (uint32_t)(i + 1),
			.since_ms = since_ms + (int64_t)i,
			.host = SPAN("gpu")};
		CHECK_OK(store_put_stream_host(h->tx, &stay, &err));
	}
}

static void put_faults(struct harness *h, int64_t job_id, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct node_fault_row fault = {.host = SPAN("gpu"),
			.ts_ms = (int64_t)i + 1,
			.job_id = job_id,
			.stream_id = 1,
			.line = i,
			.signature = SPAN("xid_79"),
			.last_ms = (int64_t)i + 1,
			.text = SPAN("")};
		CHECK_OK(store_put_node_fault(h->tx, &fault, &err));
	}
}

static int ask_faults_elsewhere(size_t streams, size_t faults)
{
	const struct stream_ends ends = {says_nothing, NULL, 1};
	struct harness h = harness_new();
	struct said_hit *hits;
	size_t count;

	harness_begin(&h);
	int64_t trains = harness_job(&h, "trains"), tells = harness_job(&h, "tells");
	put_streams(&h, trains, streams);
	put_stays(&h, trains, streams, -(int64_t)streams);
	put_faults(&h, tells, faults);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_told_elsewhere(
		h.reader, h.arena, &ends, trains, SPAN(""), INT64_MIN, INT64_MAX, MANY, &hits, &count, &err));
	CHECK_INT(count, faults);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(faults_of_a_machine_are_read_once_however_many_streams_it_sent)
{
	int least = ask_faults_elsewhere(STREAMS_FEW, FEW);
	int more_streams = ask_faults_elsewhere(STREAMS_MANY, FEW),
	    more_faults = ask_faults_elsewhere(STREAMS_FEW, MANY);

	CHECK(ask_faults_elsewhere(STREAMS_MANY, MANY) <= more_streams + more_faults - least + SLACK_STEPS);
}

/* Streams of a job that are silent at 100, and streams of another one that their machine began at 200 and later. */
static int ask_who_left(size_t streams, size_t begun)
{
	const struct stream_ends ends = {says_nothing, NULL, 1000};
	struct harness h = harness_new();
	struct said_hit *hits;
	size_t count;

	harness_begin(&h);
	int64_t trains = harness_job(&h, "trains"), next = harness_job(&h, "next"), tells = harness_job(&h, "tells");
	put_streams_until(&h, trains, streams, 100);
	put_stays(&h, trains, streams, -(int64_t)streams);
	put_streams_until(&h, next, begun, 300);
	put_stays(&h, next, begun, 200);
	put_faults(&h, tells, MANY);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_told_elsewhere(
		h.reader, h.arena, &ends, trains, SPAN(""), INT64_MIN, INT64_MAX, MANY, &hits, &count, &err));
	CHECK_INT(count, 199);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(where_a_machine_went_is_read_once_however_many_streams_it_left)
{
	int least = ask_who_left(STREAMS_FEW, STREAMS_FEW);
	int more_left = ask_who_left(STREAMS_MANY, STREAMS_FEW), more_begun = ask_who_left(STREAMS_FEW, STREAMS_MANY);

	CHECK(ask_who_left(STREAMS_MANY, STREAMS_MANY) <= more_left + more_begun - least + SLACK_STEPS);
	CHECK(ask_who_left(FEW, 2 * MANY) <= ask_who_left(FEW, MANY) + SLACK_STEPS);
}

/* Jobs that one machine sends streams of all the time, and that broke off behind all faults but for one. */
static int ask_broken(size_t jobs, size_t faults)
{
	const struct stream_ends ends = {says_nothing, NULL, 1000};
	const struct break_fault_wish wish = {SPAN(""), 0, 0, 0, MANY};
	struct harness h = harness_new();
	struct break_fault *found;
	size_t count;

	harness_begin(&h);
	int64_t tells = harness_job(&h, "tells");
	put_faults(&h, tells, faults);
	for (size_t i = 0; i < jobs; i++) {
		char name[32];
		snprintf(name, sizeof name, "job-%zu", i);
		const struct goodput_incident broken = {.from_ms = i ? DAY_MS : 0, .cause = SPAN("")};
		const struct goodput_row row = {.job_id = put_job(&h, name, 0, 1), .unpriced = SPAN("")};
		put_stays(&h, row.job_id, 1, -1);
		CHECK_OK(store_touch_goodput(h.tx, row.job_id, 0, &err));
		CHECK_OK(store_put_goodput(h.tx, &row, NULL, 0, &broken, 1, &err));
	}
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_break_faults(h.reader, h.arena, &ends, &wish, &found, &count, &err));
	CHECK_INT(count, faults);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(breaks_near_faults_of_a_machine_cost_its_jobs_and_its_faults_and_not_one_by_the_other)
{
	int least = ask_broken(FEW, FEW);
	int more_jobs = ask_broken(STREAMS_MANY, FEW), more_faults = ask_broken(FEW, MANY);

	CHECK(ask_broken(STREAMS_MANY, MANY) <= more_jobs + more_faults - least + SLACK_STEPS);
}

/* ---- processes that are at work ---- */

static int ask_ended(size_t streams)
{
	struct harness h = harness_new();
	struct held_row *held;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	put_streams(&h, job, streams);
	for (size_t i = 0; i < streams; i++)
		CHECK_OK(store_put_session(h.tx, job, (uint32_t)(i + 1), 1000, &err));
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_held_if_any_ended(h.reader, h.arena, job, &held, &count, &err));
	CHECK_INT(count, 0);
	int steps = take_steps(h.reader);
	harness_begin(&h);
	CHECK_OK(store_put_exit(
		h.tx, &(struct exit_row){.job_id = job, .stream_id = 1, .code = 1, .reason = SPAN("")}, &err));
	harness_commit(&h);
	CHECK_OK(store_read_held_if_any_ended(h.reader, h.arena, job, &held, &count, &err));
	CHECK_INT(count, streams);
	harness_done(&h);
	return steps;
}

TEST(how_processes_ended_costs_the_same_whatever_many_are_at_work)
{
	CHECK(ask_ended(STREAMS_MANY) <= ask_ended(STREAMS_FEW) + SLACK_STEPS);
}

/* ---- the slow steps of a machine ---- */

static void put_straggler(struct harness *h, size_t n)
{
	char name[32];
	snprintf(name, sizeof name, "n-%zu", n);
	int64_t job = harness_job(h, name);
	uint32_t stream = harness_stream(h, job, "algo-1");
	const struct stream_host_row stay = {.job_id = job, .stream_id = stream, .host = span_from(name)};
	struct incident_row incident = {.job_id = job,
		.stream_id = stream,
		.series_id = harness_series(h, job, stream, "step_time"),
		.metric = SPAN("step_time"),
		.incident = {.kind = INCIDENT_STRAGGLER, .first_step = 1, .last_step = 3, .opened_ms = 100}};
	struct incident_news news;

	CHECK_OK(store_put_stream_host(h->tx, &stay, &err));
	CHECK_OK(store_put_incident(h->tx, &incident, &news, &err));
}

static int ask_stragglers_of_one(size_t hosts)
{
	struct harness h = harness_new();
	struct node_straggler *rows;
	size_t count;

	harness_begin(&h);
	for (size_t i = 0; i < hosts; i++)
		put_straggler(&h, i);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_node_stragglers(h.reader, h.arena, SPAN("n-3"), 0, MANY, &rows, &count, &err));
	CHECK_INT(count, 1);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(the_slow_steps_of_a_machine_cost_the_same_beside_those_of_many)
{
	CHECK(ask_stragglers_of_one(STREAMS_MANY) <= ask_stragglers_of_one(STREAMS_FEW) + SLACK_STEPS);
}

/* ---- incidents of one cause ---- */

static uint32_t put_loss_incident(struct harness *h, int64_t job_id, size_t n, uint32_t cause_id)
{
	struct incident_row row = {.job_id = job_id,
		.stream_id = (uint32_t)(n % 3 + 1),
		.series_id = 1,
		.metric = SPAN("loss"),
		.cause_id = cause_id,
		.incident = {.kind = INCIDENT_LOSS_SPIKE,
			.state = INCIDENT_RECOVERED,
			.opened_ordinal = n,
			.opened_step = (int64_t)n,
			.opened_ms = (int64_t)n}};
	struct incident_news news;

	CHECK_OK(store_put_incident(h->tx, &row, &news, &err));
	row.cause_id = cause_id;
	CHECK_OK(store_set_cause(h->tx, &row, &err));
	return row.incident_id;
}

/* A group of three, of a job with many others behind restarts of long ago. */
static int ask_group(size_t others)
{
	struct harness h = harness_new();
	struct incident_group group;
	struct incident_twin *twins;
	struct span *streams;
	int64_t next_id;
	size_t count;
	int64_t muted_until_ms;
	bool is_open;

	harness_begin(&h);
	struct incident_row row = {.job_id = harness_job(&h, "restarts"),
		.stream_id = harness_stream(&h, 1, "algo-1"),
		.series_id = 1,
		.metric = SPAN("loss"),
		.incident = {.kind = INCIDENT_LOSS_SPIKE}};
	for (size_t i = 0; i < others; i++)
		put_loss_incident(&h, row.job_id, i, i % 2 ? 1 : 0);
	uint32_t first = put_loss_incident(&h, row.job_id, others, 0);
	put_loss_incident(&h, row.job_id, others + 1, first);
	row.incident_id = put_loss_incident(&h, row.job_id, others + 2, first);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_look_in_group(h.reader, first, &row, &group, &err));
	CHECK(group.first_opened_ms == (int64_t)others && group.last_opened_ms == (int64_t)others + 1);
	CHECK(group.has_same && group.has_same_series && !group.is_open);
	CHECK_OK(store_read_twins(h.reader, h.arena, first, &row, &twins, &count, &err));
	CHECK_OK(store_is_group_open(h.reader, row.job_id, first, 0, &is_open, &err));
	CHECK(!is_open);
	CHECK_OK(store_read_fold_streams(h.reader, h.arena, &row, MANY, &streams, &count, &err));
	CHECK_OK(store_read_muted_until(h.reader, &row, 1, &muted_until_ms, &err));
	CHECK_OK(store_next_incident_id(h.reader, row.job_id, &next_id, &err));
	CHECK(!muted_until_ms && next_id == row.incident_id + 1);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(a_group_of_incidents_costs_the_same_whatever_else_its_job_had)
{
	CHECK(ask_group(MANY) <= ask_group(FEW) + SLACK_STEPS);
}

/* What a job has open, behind many that are over. */
static int ask_open(size_t others)
{
	struct incident_filter filter = {.state = INCIDENT_OPEN, .kind = -1, .cursor = SPAN(""), .limit = 9};
	struct harness h = harness_new();
	struct incident_row *rows;
	struct incident_news news;
	struct span cursor;
	uint64_t open_count;
	size_t count;

	harness_begin(&h);
	filter.job_id = harness_job(&h, "restarts");
	struct incident_row open = {.job_id = filter.job_id,
		.metric = SPAN(""),
		.incident = {.kind = INCIDENT_STALL, .state = INCIDENT_OPEN, .opened_ordinal = 1}};
	CHECK_OK(store_put_incident(h.tx, &open, &news, &err));
	for (size_t i = 0; i < others; i++)
		put_loss_incident(&h, filter.job_id, i, 0);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &cursor, &err));
	CHECK_INT(count, 1);
	CHECK_OK(store_count_open_incidents(h.reader, filter.job_id, &open_count, &err));
	CHECK_INT(open_count, 1);
	int steps = take_steps(h.reader);
	filter.kind = INCIDENT_DEADLINE; /* there is none */
	CHECK_OK(store_read_incidents(h.reader, h.arena, &filter, &rows, &count, &cursor, &err));
	CHECK_INT(count, 0);
	steps += take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(what_a_job_has_open_costs_the_same_whatever_it_had_before)
{
	CHECK(ask_open(MANY) <= ask_open(FEW) + SLACK_STEPS);
}

/* ---- what a log said ---- */

static void put_hits(struct harness *h, int64_t job_id, uint32_t incident_id, struct span signature, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct signature_hit_row hit = {.job_id = job_id,
			.stream_id = 1,
			.signature = signature,
			.first_line = i,
			.incident_id = incident_id,
			.count = 1,
			.last_line = i,
			.first_ms = (int64_t)i + 1,
			.last_ms = (int64_t)i + 1,
			.text = SPAN(""),
			.host = SPAN("")};
		CHECK_OK(store_put_signature_hit(h->tx, &hit, &err));
	}
}

static int ask_said(size_t others)
{
	const struct span signatures[2] = {SPAN("mine"), SPAN("none")};
	struct harness h = harness_new();
	struct incident_said said;
	struct quiet_incident *quiet;
	struct said_hit *hits;
	struct incident_news news;
	size_t count;

	harness_begin(&h);
	struct incident_row open = {.job_id = harness_job(&h, "talks"),
		.metric = SPAN(""),
		.incident = {.kind = INCIDENT_STALL, .state = INCIDENT_OPEN, .opened_ordinal = 1}};
	harness_stream(&h, open.job_id, "algo-1");
	CHECK_OK(store_put_incident(h.tx, &open, &news, &err));
	put_hits(&h, open.job_id, open.incident_id, SPAN("mine"), 3);
	put_hits(&h, open.job_id, open.incident_id + 1, SPAN("other"), others);
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_said(h.reader, h.arena, open.job_id, open.incident_id, &said, &err));
	CHECK_INT(said.count, 3);
	CHECK_OK(store_read_quiet(
		h.reader, h.arena, INCIDENT_STALL, (struct quiet_before){9, 9}, 9, &quiet, &count, &err));
	CHECK(count == 1 && quiet[0].last_ms == 3);
	CHECK_OK(store_read_hits_of(h.reader, h.arena, open.job_id, signatures, 0, MANY, 9, &hits, &count, &err));
	CHECK_INT(count, 3);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(what_was_said_of_an_incident_costs_the_same_whatever_else_was)
{
	CHECK(ask_said(MANY) <= ask_said(FEW) + SLACK_STEPS);
}

/* ---- what a machine measured ---- */

static int ask_figures(size_t others)
{
	struct harness h = harness_new();
	struct node_figure *figures;
	size_t count;

	harness_begin(&h);
	int64_t job = harness_job(&h, "trains");
	struct stream_row stream = {.job_id = job, .name = SPAN("system/gpu"), .host = SPAN("gpu")};
	CHECK_OK(store_put_stream(h.tx, &stream, &err));
	uint32_t trainer = harness_stream(&h, job, "algo-1");
	for (size_t i = 0; i <= others; i++) {
		char name[32];
		snprintf(name, sizeof name, "metric-%zu", i);
		struct series_row series = {.job_id = job,
			.stream_id = i ? trainer : stream.stream_id,
			.metric = span_from(name),
			.labels = SPAN(""),
			.unit = SPAN(""),
			.sealed = {.count = 2, .sum = {6, 0}}};
		CHECK_OK(store_put_series(h.tx, &series, &err));
	}
	harness_commit(&h);
	take_steps(h.reader);
	CHECK_OK(store_read_node_figures(h.reader, h.arena, SPAN("gpu"), 9, &figures, &count, &err));
	CHECK(count == 1 && figures[0].mean == 3);
	int steps = take_steps(h.reader);
	harness_done(&h);
	return steps;
}

TEST(what_a_machine_measured_costs_the_same_beside_other_series_of_its_jobs)
{
	CHECK(ask_figures(MANY) <= ask_figures(FEW) + SLACK_STEPS);
}
