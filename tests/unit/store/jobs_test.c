#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/backfills.h"
#include "store/blocks.h"
#include "store/columns/case_fold.h"
#include "store/definitions.h"
#include "store/faults.h"
#include "store/fleet_rows.h"
#include "store/goodput.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/log_streams.h"
#include "store/points.h"
#include "store/pushes.h"
#include "store/attachments.h"
#include "store/evaluations.h"
#include "store/gpu_traces.h"
#include "store/notes.h"
#include "store/retention.h"
#include "store/search.h"
#include "store/sessions.h"
#include "store/hosts_by_hand.h"
#include "store/told.h"
#include "store/tracked_runs.h"
#include "store/transitions.h"
#include "store/trash.h"

static struct job_row job_row(const char *name)
{
	return (struct job_row){.name = span_from(name),
		.team = SPAN("nlp"),
		.document = SPAN("{\"TrainingJobName\":\"x\"}"),
		.status = SPAN("InProgress"),
		.secondary = SPAN("Training"),
		.failure_reason = SPAN("none"),
		.created_ms = 1,
		.started_ms = 2,
		.ended_ms = 3,
		.modified_ms = 4,
		.generation = 5,
		.is_implicit = true};
}

TEST(a_job_comes_back_as_it_was_put)
{
	struct harness h = harness_new();
	struct job_row row = job_row("Grüße/ÄÖ"), got = {0};

	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	CHECK_INT(row.job_id, 1);
	harness_commit(&h);
	harness_reopen(&h);
	CHECK_OK(store_read_job(h.reader, h.arena, SPAN("Grüße/ÄÖ"), &got, &err));
	CHECK_INT(got.job_id, 1);
	CHECK_SPAN(got.name, row.name);
	CHECK_SPAN(got.team, row.team);
	CHECK_SPAN(got.document, row.document);
	CHECK_SPAN(got.status, row.status);
	CHECK_SPAN(got.secondary, row.secondary);
	CHECK_SPAN(got.failure_reason, row.failure_reason);
	CHECK_INT(got.created_ms, 1);
	CHECK_INT(got.started_ms, 2);
	CHECK_INT(got.ended_ms, 3);
	CHECK_INT(got.modified_ms, 4);
	CHECK_INT(got.generation, 5);
	CHECK(got.is_implicit);
	CHECK_INT(harness_number(h.reader, "SELECT folded = 'grüße/äö' FROM jobs"), 1);
	CHECK_OK(store_read_job_by_id(h.reader, h.arena, 1, &got, &err));
	CHECK_SPAN(got.name, row.name);
	CHECK_FAILS(store_read_job(h.reader, h.arena, SPAN("other"), &got, &err), ERR_NOT_FOUND, "'other'");
	CHECK_FAILS(store_read_job_by_id(h.reader, h.arena, 9, &got, &err), ERR_NOT_FOUND, "9");
	harness_done(&h);
}

TEST(a_job_is_updated_and_its_name_is_its_own)
{
	struct harness h = harness_new();
	struct job_row row = job_row("a"), other = job_row("a"), got = {0};

	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	CHECK_OK(store_tx_savepoint(h.tx, &err));
	CHECK_FAILS(store_put_job(h.tx, &other, &err), ERR_CONFLICT, "a job 'a' already");
	CHECK_INT(other.job_id, 0);
	store_tx_undo(h.tx);
	row.status = SPAN("Failed");
	row.is_implicit = false;
	CHECK_OK(store_put_job(h.tx, &row, &err));
	struct job_row gone = job_row("gone");
	gone.job_id = 77;
	CHECK_FAILS(store_put_job(h.tx, &gone, &err), ERR_NOT_FOUND, "'gone'");
	harness_commit(&h);
	CHECK_OK(store_read_job(h.reader, h.arena, SPAN("a"), &got, &err));
	CHECK_SPAN(got.status, SPAN("Failed"));
	CHECK(!got.is_implicit);
	harness_done(&h);
}

TEST(a_number_is_never_given_twice)
{
	struct harness h = harness_new();

	harness_begin(&h);
	int64_t first = harness_job(&h, "a");
	CHECK_OK(store_delete_job(h.tx, first, &err));
	CHECK(harness_job(&h, "a") > first);
	harness_commit(&h);
	harness_done(&h);
}

TEST(live_jobs_are_counted)
{
	struct harness h = harness_new();
	static const char *const statuses[] = {"InProgress", "Stopping", "Stopped", "Completed", "Failed"};
	uint64_t live = 0, all = 0;
	char name[8] = "j0";

	harness_begin(&h);
	for (size_t i = 0; i < 5; i++) {
		struct job_row row = job_row(name);
		row.status = span_from(statuses[i]);
		name[1]++;
		CHECK_OK(store_put_job(h.tx, &row, &err));
	}
	harness_commit(&h);
	CHECK_OK(store_count_jobs(h.reader, &live, &all, &err));
	CHECK_INT(live, 2);
	CHECK_INT(all, 5);
	harness_done(&h);
}

static int64_t attribute_count(struct harness *h, const char *condition)
{
	char sql[256];

	snprintf(sql, sizeof sql, "SELECT count(*) FROM attributes WHERE %s", condition);
	return harness_number(h->reader, sql);
}

TEST(the_leaves_of_a_document_become_attributes)
{
	struct harness h = harness_new();
	struct job_row row = job_row("a");

	row.document = SPAN(
		"{\"HyperParameters\":{\"lr\":\"1e-4\",\"opt\":\"AdamW\"},\"Environment\":{\"X\":\"1\"},"
		"\"Tags\":[{\"Key\":\"Team\",\"Value\":\"NLP\"},{\"Key\":\"n\",\"Value\":\"2\"}],"
		"\"ResourceConfig\":{\"InstanceType\":\"ml.p4d.24xlarge\",\"InstanceCount\":2},\"Spot\":true,\"No\":null,"
		"\"InputDataConfig\":[{\"Channel\":\"train\"},{\"Channel\":\"eval\"}]}");
	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_INT(attribute_count(&h, "key = 'hp.lr' AND text = '1e-4' AND number = 0.0001"), 1);
	CHECK_INT(attribute_count(&h, "key = 'hp.opt' AND folded = 'adamw' AND number IS NULL"), 1);
	CHECK_INT(attribute_count(&h, "key = 'env.X' AND number = 1"), 1);
	CHECK_INT(attribute_count(&h, "key = 'tag.Team' AND text = 'NLP' AND folded = 'nlp'"), 1);
	CHECK_INT(attribute_count(&h, "key = 'ResourceConfig.InstanceCount' AND number = 2"), 1);
	CHECK_INT(attribute_count(&h, "key = 'ResourceConfig.InstanceType'"), 1);
	CHECK_INT(attribute_count(&h, "key = 'InputDataConfig.Channel'"), 2);
	CHECK_INT(attribute_count(&h, "key = 'Spot' AND text = 'true'"), 1);
	CHECK_INT(attribute_count(&h, "key = 'FailureClass' AND text = 'Unknown'"), 1); /* of the row's reason */
	CHECK_INT(attribute_count(&h, "key <> 'FailureClass'"), 10);
	row.document = SPAN("{\"HyperParameters\":{\"lr\":\"2e-4\"}}");
	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_INT(attribute_count(&h, "key = 'hp.lr' AND number = 0.0002"), 1);
	CHECK_INT(attribute_count(&h, "key <> 'FailureClass'"), 1);
	harness_done(&h);
}

TEST(settings_out_of_the_log_fill_what_the_document_does_not_state)
{
	struct harness h = harness_new();
	struct job_row row = job_row("a");
	struct setting_row found[] = {{SPAN("lr"), SPAN("7"), 1, 12, SPAN("")},
		{SPAN("opt"), SPAN("\"sgd\""), 1, 13, SPAN("")}, {SPAN("seed"), SPAN("3"), 1, 14, SPAN("")}};
	struct setting_row again = {SPAN("seed"), SPAN("4"), 2, 1, SPAN("")}, *rows;
	size_t count;

	row.document =
		SPAN("{\"HyperParameters\":{\"lr\":\"1e-4\",\"name\":\"\\\"AdamW\\\"\",\"odd\":\"\\\"a\\\"b\\\"\"}}");
	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_stream(&h, row.job_id, "algo-1");
	CHECK_OK(store_add_settings(h.tx, row.job_id, found, 3, &err));
	CHECK_OK(store_add_settings(h.tx, row.job_id, &again, 1, &err)); /* the first one stays */
	harness_commit(&h);
	CHECK_INT(attribute_count(&h, "key = 'hp.lr' AND number = 0.0001"), 1);
	CHECK_INT(attribute_count(&h, "key = 'hp.opt' AND text = 'sgd'"), 1); /* JSON-encoded strings are bare */
	CHECK_INT(attribute_count(&h, "key = 'hp.name' AND folded = 'adamw'"), 1);
	CHECK_INT(attribute_count(&h, "key = 'hp.odd' AND text = '\"a\"b\"'"), 1);
	CHECK_INT(attribute_count(&h, "key = 'hp.seed' AND number = 3"), 1);
	CHECK_INT(attribute_count(&h, "key <> 'FailureClass'"), 5);
	CHECK_OK(store_read_settings(h.reader, h.arena, row.job_id, &rows, &count, &err));
	CHECK_INT(count, 3);
	CHECK_SPAN(rows[2].key, SPAN("seed"));
	CHECK_SPAN(rows[2].value, SPAN("3"));
	CHECK_SPAN(rows[2].stream, SPAN("algo-1"));
	CHECK_INT(rows[2].line, 14);
	row.document = SPAN("{\"HyperParameters\":{\"seed\":\"5\"}}");
	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_INT(attribute_count(&h, "key = 'hp.seed' AND number = 5"), 1);
	CHECK_INT(attribute_count(&h, "key = 'hp.lr' AND number = 7"), 1); /* not stated any more */
	CHECK_INT(attribute_count(&h, "key <> 'FailureClass'"), 3);
	harness_done(&h);
}

TEST(long_keys_are_left_out_and_long_texts_cut_at_a_letter)
{
	struct harness h = harness_new();
	struct job_row row = job_row("a");
	AUTO_DONE(buf) document = BUF_INIT(100000);

	buf_append_text(&document, "{\"");
	for (int i = 0; i < 600; i++)
		buf_append_char(&document, 'k');
	buf_append_text(&document, "\":{\"a\":1},\"b\":\"");
	for (int i = 0; i < 2000; i++)
		buf_append_text(&document, "\xe2\x82\xac");
	buf_append_text(&document, "\"}");
	row.document = buf_span(&document);
	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_INT(attribute_count(&h, "key <> 'FailureClass'"), 1);
	CHECK_INT(attribute_count(&h, "key = 'b' AND length(text) = 853"), 1);
	harness_done(&h);
}

TEST(the_same_told_twice_is_one_fact_with_the_newest_words)
{
	struct harness h = harness_new();
	struct told_row row = {SPAN("Failed"), SPAN("one"), SPAN("OOM"), 10, 0, SOURCE_STATED, false, false}, *rows;
	size_t count = 0;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	CHECK_OK(store_put_told(h.tx, job, &row, &err));
	row.message = SPAN("two");
	row.reason = SPAN("");
	row.is_whole = true;
	CHECK_OK(store_put_told(h.tx, job, &row, &err));
	row.source = SOURCE_LOG;
	CHECK_OK(store_put_told(h.tx, job, &row, &err));
	harness_commit(&h);
	CHECK_OK(store_read_told_facts(h.reader, h.arena, job, &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK_SPAN(rows[0].message, SPAN("two"));
	CHECK_SPAN(rows[0].reason, SPAN("OOM"));
	CHECK(rows[0].is_whole);
	CHECK_INT(rows[1].source, SOURCE_LOG);
	harness_done(&h);
}

TEST(definitions_are_kept_by_generation)
{
	struct harness h = harness_new();
	struct span json = {0};

	harness_begin(&h);
	CHECK_OK(store_put_definitions(h.tx, 1, 1, SPAN("[1]"), &err));
	CHECK_OK(store_put_definitions(h.tx, 1, 2, SPAN("[2]"), &err));
	CHECK_OK(store_put_definitions(h.tx, 1, 2, SPAN("[3]"), &err));
	harness_commit(&h);
	CHECK_OK(store_read_definitions(h.reader, h.arena, 1, 1, &json, &err));
	CHECK_SPAN(json, SPAN("[1]"));
	CHECK_OK(store_read_definitions(h.reader, h.arena, 1, 2, &json, &err));
	CHECK_SPAN(json, SPAN("[3]"));
	CHECK_OK(store_read_definitions(h.reader, h.arena, 2, 1, &json, &err));
	CHECK_SPAN(json, SPAN(""));
	harness_done(&h);
}

static void expire_a_line(struct harness *h, int64_t job, uint32_t stream)
{
	struct doomed_block doomed = {.stream_id = stream, .line_count = 1, .raw_bytes = 1};
	struct text_deletion deletion = {.job_id = job, .reason = SPAN("age"), .blocks = &doomed, .count = 1};
	struct block_row block = {.job_id = job, .stream_id = stream, .line_count = 1, .raw_bytes = 1};
	size_t deleted;

	CHECK_OK(store_put_block(h->tx, &block, &err));
	CHECK_OK(store_delete_text(h->tx, &deletion, &deleted, &err));
	CHECK_INT(deleted, 1);
	block.first_line = 1;
	block.filter = SPAN("f");
	CHECK_OK(store_put_block(h->tx, &block, &err));
}

static void put_faults(struct harness *h, int64_t job, uint32_t stream)
{
	struct signature_hit_row hit = {
		.job_id = job, .stream_id = stream, .signature = SPAN("cuda_oom"), .count = 1, .text = SPAN("t")};
	struct checkpoint_row checkpoint = {.job_id = job, .attempt = 1, .step = 5, .stream_id = stream};

	CHECK_OK(store_put_signature_hit(h->tx, &hit, &err));
	CHECK_OK(store_put_checkpoint(h->tx, &checkpoint, &err));
	CHECK_OK(store_put_emergency(h->tx, &(struct emergency_row){.job_id = job}, &err));
}

static void fill_goodput(struct harness *h, int64_t job)
{
	struct goodput_row row = {.job_id = job, .instance = SPAN(""), .currency = SPAN("USD"), .cost = 5};
	struct goodput_day day = {.day = 20000, .cost = 5};
	struct goodput_incident incident = {.from_ms = 1, .cause = SPAN("")};

	CHECK_OK(store_touch_goodput(h->tx, job, 0, &err));
	CHECK_OK(store_put_goodput(h->tx, &row, &day, 1, &incident, 1, &err));
	CHECK_OK(store_put_status_message(
		h->tx, job, &(struct status_message){1, SPAN("Starting"), SPAN("Launching")}, &err));
}

/* As an upgrade leaves it. */
static void fill_due_definitions(struct harness *h, int64_t job)
{
	AUTO_DONE(statement) s = {0};

	CHECK_OK(statement_open(&s, store_tx_reader(h->tx), "INSERT INTO due_definitions (job_id) VALUES (?)", &err));
	bind_i64(&s, job);
	CHECK_OK(statement_run(&s, &err));
}

static void put_run(struct harness *h, int64_t job)
{
	char run_id[24];

	snprintf(run_id, sizeof run_id, "%lld", (long long)job);
	CHECK_OK(store_put_tracked_run(
		h->tx, &(struct tracked_run_row){.job_id = job, .run_id = span_from(run_id)}, &err));
	CHECK_OK(store_put_tracked_file(
		h->tx, &(struct tracked_file_row){.job_id = job, .name = SPAN("f"), .content = SPAN("")}, &err));
}

static void put_log_stream_and_note(struct harness *h, int64_t job)
{
	CHECK_OK(store_put_log_stream(
		h->tx, &(struct log_stream_row){.job_id = job, .stream = SPAN("algo-1"), .suffix = SPAN("")}, &err));
	CHECK_OK(store_put_note(
		h->tx, &(struct note_row){.job_id = job, .step = 7, .has_step = true, .text = SPAN("a")}, 1, 1, &err));
	CHECK_OK(store_put_evaluation(h->tx, job,
		&(struct evaluation_score){.path = SPAN(""),
			.task = SPAN("a"),
			.metric = SPAN("acc"),
			.suite = SPAN(""),
			.author = SPAN("")},
		&err));
	CHECK_OK(store_mark_evaluations(h->tx, job, &err));
	CHECK_OK(store_put_gpu_trace(
		h->tx, job, &(struct gpu_trace_row){SPAN("algo-1"), SPAN("t"), SPAN("{}"), 1, SPAN("")}, &err));
}

static void put_attachment(struct harness *h, int64_t job)
{
	struct attachment_row row = {.job_id = job,
		.path = SPAN("a"),
		.content_type = SPAN(""),
		.bytes = 1,
		.sha256 = SPAN(""),
		.author = SPAN("")};

	CHECK_OK(store_begin_attachment(h->tx, &row, &(struct attachment_limits){1, 1, 1}, &err));
	CHECK_OK(store_put_attachment_part(h->tx, &row, 0, SPAN("x"), &err));
	CHECK_OK(store_end_attachment(h->tx, &row, &err));
	CHECK_FAILS(store_put_attachment_part(h->tx, &row, 1, SPAN("x"), &err), ERR_CONFLICT, "deleted while");
}

static void fill_job(struct harness *h, int64_t job)
{
	char sql[128];
	uint32_t stream = harness_stream(h, job, "algo-1");
	uint32_t series = harness_series(h, job, stream, "loss");
	struct incident_row incident = {.job_id = job, .series_id = series};
	struct delivery_row delivery = {.webhook_id = 1, .job_id = job, .incident_id = 1};
	struct summary_row summary = {.metric = SPAN("loss")};
	struct transition_row transition = {.status = SPAN("Starting"), .start_ms = 1};
	struct incident_news news;

	CHECK_OK(store_put_chunk(
		h->tx, &(struct chunk_row){.job_id = job, .series_id = series, .point_count = 1}, &err));
	CHECK_OK(store_put_pyramid(h->tx,
		&(struct pyramid_row){.job_id = job, .series_id = series, .points = 1, .data = SPAN("x")}, &err));
	CHECK_OK(store_put_buckets(
		h->tx, &(struct pyramid_level){.job_id = job, .series_id = series}, 0, SPAN("x"), &err));
	CHECK_OK(store_put_incident(h->tx, &incident, &news, &err));
	CHECK_OK(store_put_delivery(h->tx, &delivery, &err));
	CHECK_OK(store_put_summaries(h->tx, job, &(struct job_counts){.lines = 1}, &summary, 1, &err));
	CHECK_OK(store_put_ranking(h->tx, job, &(struct ranking_row){.metric = SPAN("loss")}, &err));
	CHECK_OK(store_put_transitions(h->tx, job, &transition, 1, &err));
	CHECK_OK(store_put_told(h->tx, job, &(struct told_row){.status = SPAN("Training")}, &err));
	CHECK_OK(store_put_session(h->tx, job, 1, 1, &err));
	snprintf(sql, sizeof sql, "INSERT INTO told_anew (job_id) VALUES (%lld)",
		(long long)job); /* as an upgrade does */
	CHECK_OK(connection_run(h->store->writer, sql, &err));
	CHECK_OK(store_put_newest_event(h->tx, job, 7, &err));
	CHECK_OK(store_put_definitions(h->tx, job, 1, SPAN("[]"), &err));
	CHECK_OK(store_put_job_retention(h->tx, job, &(struct retention){.is_pinned = true}, &err));
	CHECK_OK(store_put_backfill(h->tx, &(struct backfill_row){.job_id = job}, &err));
	CHECK_OK(store_put_backfill_stream(
		h->tx, &(struct backfill_stream_row){.job_id = job, .stream_id = stream}, &err));
	CHECK_OK(store_bury_series(h->tx, &(struct dead_series){job, 1000, 2000, INT64_MAX}, &err));
	CHECK_OK(store_add_settings(h->tx, job, &(struct setting_row){SPAN("lr"), SPAN("1"), 1, 0, SPAN("")}, 1, &err));
	CHECK_OK(store_put_push(h->tx, &(struct push_row){.job_id = job}, &err));
	CHECK_OK(store_put_fleet_job(
		h->tx, &(struct fleet_job){job, SPAN("Completed"), SPAN("t"), 4, 1, 2, 0, 0, 1}, 3, &err));
	CHECK_OK(store_put_progress(h->tx, job, &(struct job_progress){7, SPAN("max_steps"), 9}, &err));
	CHECK_OK(store_put_source(
		h->tx, &(struct source_row){.job_id = job, .stream_id = stream, .source = SPAN("a")}, &err));
	CHECK_OK(store_put_stream_host(
		h->tx, &(struct stream_host_row){.job_id = job, .stream_id = stream, .host = SPAN("n1")}, &err));
	CHECK_OK(store_set_host_by_hand(h->tx, job, SPAN("algo-1"), SPAN("n2"), &stream, &err));
	CHECK_INT(stream, 1);
	CHECK_OK(store_put_exit(
		h->tx, &(struct exit_row){.job_id = job, .stream_id = stream, .reason = SPAN("")}, &err));
	CHECK_OK(store_add_command(
		h->tx, &(struct command_row){.job_id = job, .command = SPAN("stop"), .stream = SPAN("")}, &err));
	CHECK_OK(store_put_command_ack(h->tx,
		&(struct command_ack_row){
			.job_id = job, .command_id = 1, .stream = SPAN("algo-1"), .result = SPAN("done")},
		&err));
	put_faults(h, job, stream);
	CHECK_OK(store_put_notice(h->tx, &(struct notice_row){.webhook_id = 1, .job_id = job, .group_id = 1}, &err));
	expire_a_line(h, job, stream);
	CHECK_OK(store_put_log_group(h->tx, &(struct log_group_row){.job_id = job, .created_ms = 1}, &err));
	put_run(h, job);
	put_log_stream_and_note(h, job);
	put_attachment(h, job);
	fill_goodput(h, job);
	fill_due_definitions(h, job);
}

TEST(a_deleted_job_leaves_nothing_behind_and_others_alone)
{
	/* All tables that have a job_id, asked of the schema: a new one cannot be forgotten. What a cluster did stays: it is the
	 * warm pool's, whose chain and cost would not add up any more, and has no name of the job. So do its breaks, as its hours do: a day's
	 * MTBF is made of both. */
	static const char *const tables =
		"SELECT group_concat('SELECT count(*) AS n FROM ' || m.name || ' WHERE job_id = ',"
		" '#') FROM sqlite_schema AS m WHERE m.type = 'table' AND m.name NOT IN ('dead_jobs', 'trashed_jobs', 'imports', 'pool_jobs', 'node_faults', 'goodput_breaks') AND EXISTS"
		" (SELECT 1 FROM pragma_table_info(m.name) WHERE name = 'job_id')";
	struct harness h = harness_new();
	AUTO_DONE(statement) s = {0};
	char sql[256];
	bool has_row;
	size_t checked = 0;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a"), other = harness_job(&h, "b");
	struct job_row row = job_row("a");
	row.job_id = job;
	CHECK_OK(store_put_job(h.tx, &row, &err)); /* with attributes */
	row = job_row("b");
	row.job_id = other;
	CHECK_OK(store_put_job(h.tx, &row, &err));
	fill_job(&h, job);
	fill_job(&h, other);
	CHECK_OK(store_delete_job(h.tx, job, &err));
	CHECK_FAILS(store_delete_job(h.tx, job, &err), ERR_NOT_FOUND, "no job");
	harness_commit(&h);
	CHECK(store_read_job_by_id(h.reader, h.arena, job, &row, NULL) == ERR_NOT_FOUND);
	size_t slices = 0;
	for (bool has_more = true; has_more; slices++) {
		harness_begin(&h);
		CHECK_OK(store_sweep_dead(h.tx, 0, 1, &has_more, &err));
		harness_commit(&h);
	}
	CHECK(slices > 2); /* not all in one transaction */
	CHECK_OK(statement_open_once(&s, h.reader, span_from(tables), &err));
	CHECK_OK(statement_step(&s, &has_row, &err));
	struct span list = column_span(&s, h.arena), part;
	while (list.len && span_next(&list, '#', &part)) {
		snprintf(sql, sizeof sql, "%.*s%lld", SPAN_ARGS(part), (long long)job);
		CHECK_INT(harness_number(h.reader, sql), 0);
		snprintf(sql, sizeof sql, "%.*s%lld", SPAN_ARGS(part), (long long)other);
		CHECK(harness_number(h.reader, sql) > 0);
		checked++;
	}
	CHECK_INT(checked, 54);
	statement_done(&s);
	harness_done(&h);
}

TEST(a_job_that_was_restored_before_its_end_in_the_trash_loses_nothing)
{
	struct harness h = harness_new();

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	fill_job(&h, job);
	harness_commit(&h);
	int64_t definitions = harness_number(h.reader, "SELECT count(*) FROM definitions");
	CHECK(definitions > 0);
	harness_begin(&h);
	CHECK_FAILS(store_purge_job(h.tx, job, &err), ERR_NOT_FOUND, "no job");
	harness_commit(&h); /* who empties the trash goes on with the next one */
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM definitions"), definitions);
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM incidents") > 0, true);
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM dead_jobs"), 0);
	harness_done(&h);
}

TEST(folding_lowers_what_it_knows_and_keeps_the_rest)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);

	fold_append(&out, SPAN("AbZ09 ÀÖØÞß×ŒŸŽ ΑΣΩΆ АЯЁЂ Ա ＡＺ \xff\xf0\x9f\x98\x80 İı"));
	CHECK_SPAN(buf_span(&out), SPAN("abz09 àöøþß×œÿž ασωά аяёђ ա ａｚ \xff\xf0\x9f\x98\x80 İı"));
}
