#include "base/alloc.h"
#include "base/clock.h"
#include "pipeline/alert/notices.h"
#include "rig.h"
#include "state/execute.h"
#include "store/alerts.h"

enum { WEBHOOKS = 3 };

/* Due now. While the store does not have them, the maintenance thread of the rig tells none of them. */
static void make_due(struct webhook_row *rows, int64_t due_ms)
{
	for (size_t i = 0; i < WEBHOOKS; i++)
		rows[i] = (struct webhook_row){.webhook_id = (int64_t)i + 1,
			.url = SPAN("http://x"),
			.format = SPAN("json"),
			.sealed_secret = SPAN(""),
			.is_enabled = true,
			.team = SPAN(""),
			.events = SPAN(""),
			.report_at = SPAN("07:30"),
			.report_tz = SPAN(""),
			.report_due_ms = due_ms};
}

/* A tick in which there is no memory for the first report that is looked at. */
static void tick_without_memory(struct pipeline *pipeline, const struct webhook_row *rows)
{
	mem_fail_at(1);
	notices_run_reports(pipeline, rows, WEBHOOKS);
	mem_fail_at(0);
}

/* ---- what is told ---- */

/* Where the maintenance thread stands still: in what it calls when it has told a report. */
struct stand {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t test;
	bool is_there, may_go;
};

static void stand_still(void *context)
{
	struct stand *stand = context;

	if (pthread_equal(pthread_self(), stand->test))
		return;
	pthread_mutex_lock(&stand->mutex);
	stand->is_there = true;
	pthread_cond_broadcast(&stand->changed);
	while (!stand->may_go)
		pthread_cond_wait(&stand->changed, &stand->mutex);
	pthread_mutex_unlock(&stand->mutex);
}

static void wait_for_stand(struct stand *stand)
{
	pthread_mutex_lock(&stand->mutex);
	while (!stand->is_there)
		pthread_cond_wait(&stand->changed, &stand->mutex);
	pthread_mutex_unlock(&stand->mutex);
}

static void let_go(struct stand *stand)
{
	pthread_mutex_lock(&stand->mutex);
	stand->may_go = true;
	pthread_cond_broadcast(&stand->changed);
	pthread_mutex_unlock(&stand->mutex);
}

static enum status put_all(void *context, struct store_tx *tx, struct error *err)
{
	struct webhook_row *rows = context;

	for (size_t i = 0; i < WEBHOOKS; i++) {
		rows[i].webhook_id = 0; /* a new one */
		TRY(store_put_webhook(tx, &rows[i], err));
	}
	return OK;
}

static uint64_t count_told(struct store_reader *reader, const struct webhook_row *rows)
{
	uint64_t sum = 0, count;

	for (size_t i = 0; i < WEBHOOKS; i++) {
		CHECK_OK(store_count_deliveries(reader, rows[i].webhook_id, 0, &count, &err));
		CHECK(count <= 1);
		sum += count;
	}
	return sum;
}

/* As the maintenance thread does it in a tick. */
static void tick(struct pipeline *pipeline, struct store_reader *reader)
{
	AUTO(arena) arena = arena_new();
	struct webhook_row *webhooks;
	size_t count;

	CHECK(arena);
	CHECK_OK(store_read_webhooks(reader, arena, &webhooks, &count, &err));
	notices_run_reports(pipeline, webhooks, count);
}

TEST(of_several_reports_that_are_due_a_tick_tells_one)
{
	struct stand stand = {
		.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .test = pthread_self()};
	struct webhook_row rows[WEBHOOKS];
	struct store_reader *reader;
	struct rig rig;

	rig_prepare(&rig);
	rig.options.deliveries_due = stand_still;
	rig.options.context = &stand;
	rig_open(&rig);
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	make_due(rows, clock_wall_ms() - 1000);
	CHECK_OK(writer_execute(rig.pipeline, put_all, rows, &err));
	wait_for_stand(&stand);
	CHECK_INT(count_told(reader, rows), 1);
	for (uint64_t told = 2; told <= WEBHOOKS; told++) {
		tick(rig.pipeline, reader);
		CHECK_INT(count_told(reader, rows), told);
	}
	tick(rig.pipeline, reader); /* the next ones are of tomorrow */
	CHECK_INT(count_told(reader, rows), WEBHOOKS);
	let_go(&stand);
	store_reader_free(reader);
	rig_close(&rig, true);
	rig_remove(&rig);
}

/* ---- what cannot be told ---- */

TEST(one_that_fails_leaves_the_next_tick_to_the_others)
{
	struct webhook_row rows[WEBHOOKS];
	struct rig rig;

	rig_make(&rig, false);
	make_due(rows, clock_wall_ms() - 1000);
	for (size_t i = 0; i < WEBHOOKS; i++) {
		tick_without_memory(rig.pipeline, rows);
		CHECK_INT(rig.pipeline->report_waits_used, i + 1);
		CHECK_INT(rig.pipeline->report_waits[i].webhook_id, rows[i].webhook_id);
		CHECK_INT(rig.pipeline->report_waits[i].due_ms, rows[i].report_due_ms);
		CHECK(rig.pipeline->report_waits[i].until_ms > clock_mono_ms());
	}
	int64_t until_ms = rig.pipeline->report_waits[0].until_ms;
	tick_without_memory(rig.pipeline, rows); /* all of them wait */
	CHECK_INT(rig.pipeline->report_waits_used, WEBHOOKS);
	CHECK_INT(rig.pipeline->report_waits[0].until_ms, until_ms);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(what_waited_its_minute_is_looked_at_again_and_another_day_does_not_wait)
{
	struct webhook_row rows[WEBHOOKS];
	struct rig rig;

	rig_make(&rig, false);
	make_due(rows, clock_wall_ms() - 1000);
	for (size_t i = 0; i < WEBHOOKS; i++)
		tick_without_memory(rig.pipeline, rows);
	rig.pipeline->report_waits[1].until_ms = 1; /* its minute is over */
	tick_without_memory(rig.pipeline, rows);
	CHECK_INT(rig.pipeline->report_waits_used, WEBHOOKS);
	CHECK(rig.pipeline->report_waits[1].until_ms > 1);
	rows[2].report_due_ms--;
	tick_without_memory(rig.pipeline, rows);
	CHECK_INT(rig.pipeline->report_waits_used, WEBHOOKS + 1);
	CHECK_INT(rig.pipeline->report_waits[WEBHOOKS].webhook_id, rows[2].webhook_id);
	rig_close(&rig, true);
	rig_remove(&rig);
}
