/* Streams that are born while a back-fill takes its place: whatever the writer's order, no line keeps the older definitions. */
#include "pipeline/backfill/definitions.h"
#include "pipeline/consume/consume.h"
#include "pipeline/rig.h"
#include "state/control.h"
#include "state/streams/directory.h"

#include <sched.h>

enum { ROUNDS = 4, YIELDS = 20000 };

/* What the writer does next waits until the test lets it. */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_reached, is_open;
	int done;
	struct control control;
};

static enum status stand_in_the_way(void *context, struct store_tx *tx, struct error *error)
{
	struct gate *gate = context;

	(void)tx;
	(void)error;
	pthread_mutex_lock(&gate->mutex);
	gate->is_reached = true;
	pthread_cond_broadcast(&gate->changed);
	while (!gate->is_open)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
	return OK;
}

static void count_done(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->done++;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->mutex);
}

static void gate_passed(void *context, enum status status, const struct error *error)
{
	(void)error;
	CHECK_INT(status, OK);
	count_done(context);
}

static void line_stored(void *context, const struct ingest_result *result)
{
	CHECK_INT(result->status, OK);
	count_done(context);
}

static void send(struct rig *rig, struct gate *gate, const char *stream)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), span_from(stream)) : NULL;

	CHECK(part && batch_add(batch, part, SPAN("old=1 new=2"), NO_TIME, 0, 12));
	CHECK_OK(pipeline_submit(rig->pipeline, batch, line_stored, gate, &err));
}

static void wait_done(struct gate *gate, int done)
{
	pthread_mutex_lock(&gate->mutex);
	while (gate->done < done)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
}

static bool is_running(struct rig *rig)
{
	struct job_state *job = directory_find(rig->pipeline->directory, SPAN("j"));
	bool is_so = atomic_load(&job->is_backfilled);

	job_unref(job);
	return is_so;
}

/* The back-fill asks the writer for one thing after the other: time enough for the next, which the test cannot see. */
static void let_it_ask(struct rig *rig)
{
	for (int i = 0; i < YIELDS && is_running(rig); i++)
		sched_yield();
}

/* One transaction with what the back-fill asks for next, and the first line of a stream. */
static void pass_round(struct rig *rig, int number, bool has_newcomer)
{
	struct gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.control = {.work = stand_in_the_way, .done = gate_passed, .context = &gate}};

	CHECK_OK(control_push(rig->pipeline, &gate.control, &err));
	pthread_mutex_lock(&gate.mutex);
	while (!gate.is_reached)
		pthread_cond_wait(&gate.changed, &gate.mutex);
	pthread_mutex_unlock(&gate.mutex);
	if (number == 0)
		pthread_mutex_unlock(&rig->pipeline->seal_mutex); /* which it waited for */
	if (has_newcomer)
		send(rig, &gate, "newcomer");
	let_it_ask(rig);
	pthread_mutex_lock(&gate.mutex);
	gate.is_open = true;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.mutex);
	wait_done(&gate, 1 + has_newcomer);
}

static void change_definitions(struct rig *rig, const char *text, bool backfill)
{
	AUTO(json) json = NULL;

	CHECK_OK(json_parse(&json, span_from(text), &err));
	CHECK_OK(pipeline_change_definitions(rig->pipeline, SPAN("j"), SPAN(""), json, &backfill, &err));
}

static void check_streams(struct rig *rig, size_t count)
{
	struct job_state *job = directory_find(rig->pipeline->directory, SPAN("j"));
	struct stream_state *stream;
	size_t i = 0;

	CHECK(job);
	while (pipeline_extracted_seq(rig->pipeline) < atomic_load(&rig->pipeline->figures.committed_seq))
		sched_yield();
	for (; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		CHECK_INT(stream->series_count, 1);
		CHECK_TEXT(stream->series[0]->metric, "new");
		CHECK_INT(stream->series[0]->tail_count, 1);
		pthread_mutex_unlock(&stream->mutex);
	}
	CHECK_INT(i, count);
	job_unref(job);
}

static void check_newcomer(int in_round)
{
	struct rig rig;
	struct gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

	rig_prepare(&rig);
	rig.options.group_ms = 5000; /* what waits goes into one transaction */
	rig_open(&rig);
	send(&rig, &gate, "here");
	wait_done(&gate, 1);
	change_definitions(&rig, "[{\"Name\":\"old\",\"Regex\":\"old=([0-9])\"}]", false);
	pthread_mutex_lock(&rig.pipeline->seal_mutex);
	change_definitions(&rig, "[{\"Name\":\"new\",\"Regex\":\"new=([0-9])\"}]", true);
	while (!is_running(&rig))
		sched_yield();
	for (int i = 0; i < ROUNDS; i++)
		pass_round(&rig, i, i == in_round);
	while (is_running(&rig))
		sched_yield();
	check_streams(&rig, 2);
	rig_close(&rig, false);
	rig_remove(&rig);
}

TEST(a_stream_born_in_the_transaction_in_which_a_backfill_takes_its_place)
{
	for (int i = 0; i < ROUNDS; i++)
		check_newcomer(i);
}
