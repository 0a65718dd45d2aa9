/* What the pipeline refuses, and that nothing else is touched by it. */
#include "pipeline/jobs/deletion.h"
#include "pipeline/jobs/job.h"
#include "pipeline/rig.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/logs/lines.h"
#include "read/view.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "store/jobs.h"
#include "store/pack/block.h"
#include "store/pack/journal_record.h"

TEST(streams_of_a_job_are_limited)
{
	struct rig rig;

	rig_prepare(&rig);
	rig.options.max_streams_a_job = 3;
	rig_open(&rig);
	CHECK_INT(send_batch(&rig, one_line("j", "a", "x", NO_TIME)).status, OK);
	CHECK_INT(send_batch(&rig, one_line("j", "b", "x", NO_TIME)).status, OK);
	CHECK_INT(send_batch(&rig, one_line("j", "c", "x", NO_TIME)).status, OK);
	struct ingest_result over = send_batch(&rig, one_line("j", "d", "x", NO_TIME));
	CHECK_INT(over.status, ERR_TOO_LARGE);
	CHECK(span_find(span_from(over.err.text), SPAN("--max-streams")) > 0);
	CHECK_INT(send_batch(&rig, one_line("j", "d", "x", NO_TIME)).status, ERR_TOO_LARGE); /* nor the second time */
	CHECK_INT(send_batch(&rig, one_line("j", "a", "y", NO_TIME)).status, OK);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(jobs_in_memory_are_limited)
{
	char name[2] = "a";
	struct rig rig;

	rig_make(&rig, false);
	for (; *name < 'e'; (*name)++)
		CHECK_INT(send_batch(&rig, one_line(name, "s", "x", NO_TIME)).status, OK);
	struct ingest_result over = send_batch(&rig, one_line("e", "s", "x", NO_TIME));
	CHECK_INT(over.status, ERR_BUSY);
	CHECK(over.err.retry_after_s > 0 && span_find(span_from(over.err.text), SPAN("--max-jobs")) > 0);
	CHECK_INT(send_batch(&rig, one_line("a", "s", "y", NO_TIME)).status, OK);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(a_series_too_many_leaves_the_others_alone)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;
	struct rig rig;

	rig_make(&rig, false);
	rig_close(&rig, true);
	rig.options.max_series_a_stream = 1; /* loss; not lr */
	rig_open(&rig);
	CHECK_INT(send_batch(&rig, make_batch(0, 20, 1)).status, OK);
	rig_close(&rig, false);
	rig_open(&rig); /* and the replay starts the server */
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	CHECK_OK(view_read_job(rig.pipeline, reader, arena, SPAN("run"), SPAN(""), SPAN(""), VIEW_SERIES, &view, &err));
	CHECK_INT(view.streams[0].series_count, 2);
	CHECK_INT(view.streams[0].series[0].summary.count, 20);
	CHECK_SPAN(view.streams[0].series[1].metric, SPAN("derived:steps_per_second")); /* the limit is the log's */
	CHECK(atomic_load(&pipeline_figures(rig.pipeline)->refused_points) >= 20);
	store_reader_free(reader);
	reader = NULL;
	rig_close(&rig, true);
	rig_remove(&rig);
}

/* ---- what comes together into one transaction ---- */

struct gate { /* holds the writer up, so that what is sent meanwhile goes into the next transaction */
	struct rig *rig;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_held, is_open;
};

static enum status wait_in_writer(void *context, struct store_tx *tx, struct error *err)
{
	struct gate *gate = context;

	(void)tx;
	(void)err;
	pthread_mutex_lock(&gate->mutex);
	gate->is_held = true;
	pthread_cond_broadcast(&gate->changed);
	while (!gate->is_open)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
	return OK;
}

static void *run_gate(void *context)
{
	struct gate *gate = context;

	CHECK_OK(writer_execute(gate->rig->pipeline, wait_in_writer, gate, &err));
	return NULL;
}

static void gate_close(struct gate *gate, struct rig *rig)
{
	*gate = (struct gate){.rig = rig, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	CHECK(pthread_create(&gate->thread, NULL, run_gate, gate) == 0);
	pthread_mutex_lock(&gate->mutex);
	while (!gate->is_held)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
}

static void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->is_open = true;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->mutex);
	CHECK(pthread_join(gate->thread, NULL) == 0);
}

TEST(another_teams_job_is_refused_while_it_is_being_made)
{
	struct receipt receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	struct receipt other = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	struct batch *first = one_line("gpt", "a", "x", NO_TIME), *second = one_line("gpt", "b", "x", NO_TIME);
	struct gate gate;
	struct rig rig;

	rig_make(&rig, false);
	first->team = SPAN("nlp");
	second->team = SPAN("vision");
	gate_close(&gate, &rig);
	CHECK_OK(pipeline_submit(rig.pipeline, first, take_receipt, &receipt, &err));
	CHECK_OK(pipeline_submit(rig.pipeline, second, take_receipt, &other, &err));
	gate_open(&gate);
	rig_close(&rig, true);
	CHECK_INT(receipt.result.status, OK);
	CHECK_INT(other.result.status, ERR_FORBIDDEN);
	rig_remove(&rig);
}

static void *run_deletion(void *context)
{
	struct rig *rig = context;

	const struct job_deletion deletion = {
		.job = SPAN("j"), .team = SPAN(""), .now_ms = 1700000000000 + 3600000, .is_for_good = true};

	CHECK_OK(pipeline_delete_job(rig->pipeline, NULL, &deletion, &err));
	return NULL;
}

/* Whichever comes first: a line that was acknowledged behind the deletion is there, one that went down with it was refused. */
TEST(a_line_that_meets_a_deletion_is_kept_or_refused)
{
	struct receipt receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;
	pthread_t deletion;
	struct gate gate;
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("j", "a", "x", NO_TIME)).status, OK);
	gate_close(&gate, &rig);
	CHECK(pthread_create(&deletion, NULL, run_deletion, &rig) == 0);
	CHECK_OK(pipeline_submit(rig.pipeline, one_line("j", "b", "y", NO_TIME), take_receipt, &receipt, &err));
	gate_open(&gate);
	CHECK(pthread_join(deletion, NULL) == 0);
	CHECK_INT(send_batch(&rig, one_line("j", "c", "z", NO_TIME)).status, OK); /* behind both */
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	CHECK_OK(view_read_job(rig.pipeline, reader, arena, SPAN("j"), SPAN(""), SPAN(""), 0, &view, &err));
	for (size_t i = 0; i < view.stream_count; i++)
		CHECK(!span_equal(view.streams[i].name, SPAN("a")));
	/* acknowledged: before the deletion, then it went with the job, or behind it, then its stream is there */
	CHECK(receipt.result.status == OK ? view.stream_count <= 2 : view.stream_count == 1);
	CHECK(receipt.result.status == OK || receipt.result.status == ERR_BUSY);
	store_reader_free(reader);
	reader = NULL;
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(another_teams_job_is_refused_by_name)
{
	struct rig rig;

	rig_make(&rig, false);
	struct batch *batch = one_line("gpt", "a", "x", NO_TIME);
	batch->team = SPAN("nlp");
	CHECK_INT(send_batch(&rig, batch).status, OK);
	batch = one_line("gpt", "a", "x", NO_TIME);
	batch->team = SPAN("vision");
	struct ingest_result result = send_batch(&rig, batch);
	CHECK_INT(result.status, ERR_FORBIDDEN);
	CHECK(span_find(span_from(result.err.text), SPAN("another team")) > 0);
	CHECK_INT(send_batch(&rig, one_line("gpt", "a", "x", NO_TIME)).status, OK); /* a token without a team may */
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(after_a_drain_nothing_is_taken)
{
	struct rig rig;
	struct batch *batch = one_line("j", "a", "x", NO_TIME);

	rig_make(&rig, false);
	pipeline_drain(rig.pipeline, 1000);
	CHECK_FAILS(pipeline_submit(rig.pipeline, batch, take_receipt, NULL, &err), ERR_UNAVAILABLE, "stopping");
	batch_free(batch);
	rig_close(&rig, false);
	rig_remove(&rig);
}

/* ---- documents ---- */

static enum status create(struct rig *rig, const char *text, struct error *err)
{
	AUTO(json) json = NULL;

	TRY(json_parse(&json, span_from(text), err));
	return pipeline_create_job(rig->pipeline, json, SPAN(""), 1700000000000, false, err);
}

TEST(a_document_may_follow_the_first_line_but_not_another_document)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_row row;
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("j", "a", "x", NO_TIME)).status, OK);
	CHECK_OK(create(&rig,
		"{\"TrainingJobName\":\"j\",\"HyperParameters\":{\"lr\":\"1\",\"HF_TOKEN\":\"hf_abcdefghijklmnop\"}}",
		&err));
	CHECK_FAILS(create(&rig, "{\"TrainingJobName\":\"j\"}", &err), ERR_CONFLICT, "exists already");
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	CHECK_OK(store_read_job(reader, arena, SPAN("j"), &row, &err));
	CHECK(span_find(row.document, SPAN("hf_abc")) < 0);
	CHECK(span_find(row.document, SPAN("\"HF_TOKEN\":\"***")) > 0);
	CHECK(!row.is_implicit);
	store_reader_free(reader);
	reader = NULL;
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(a_wrong_document_names_the_field_and_the_column)
{
	struct rig rig;
	struct error wrong = {0};

	rig_make(&rig, false);
	CHECK_INT(
		create(&rig,
			"{\"TrainingJobName\":\"j\",\"AlgorithmSpecification\":{\"MetricDefinitions\":[{\"Name\":\"a\",\"Regex\":\"(x\"}]}}",
			&wrong),
		ERR_SEMANTIC);
	CHECK_TEXT(wrong.field, "AlgorithmSpecification.MetricDefinitions[0].Regex");
	CHECK(wrong.column > 0);
	CHECK_FAILS(create(&rig, "{}", &err), ERR_SEMANTIC, "TrainingJobName");
	CHECK_FAILS(create(&rig, "{\"TrainingJobName\":\"a\\nb\"}", &err), ERR_SEMANTIC, "control character");
	rig_close(&rig, true);
	rig_remove(&rig);
}
