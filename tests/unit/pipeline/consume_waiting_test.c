/* Points that detectors see once it is decided which attempt they are of, in a stream that is silent for minutes between them. */
#include "model/metrics/batch_points.h"
#include "pipeline/rig.h"
#include "pipeline/seal/seal.h"
#include "state/control.h"
#include "pipeline/consume/consume.h"
#include "state/streams/directory.h"
#include "store/alerts.h"

enum {
	FIRST_STEPS = 300,
	RESTART_STEP = 250,
	UNDECIDED_END = 268,
	SPIKE_STEP = 280,
	MINUTES_MS = 60 * 1000,
	EVERY_MS = 3 * MINUTES_MS
};

static void send_point(struct rig *rig, int64_t n, int64_t step, double loss)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), SPAN("algo-1")) : NULL;
	struct batch_series *series = part ? batch_series(batch, part, SPAN("loss")) : NULL;
	int64_t ts_ms = 1700000000000 + n * EVERY_MS;

	CHECK(series && batch_add_points(batch, part, series, &step, &ts_ms, &loss, 1));
	CHECK_INT(send_batch(rig, batch).status, OK);
	while (pipeline_extracted_seq(rig->pipeline) < atomic_load(&rig->pipeline->figures.committed_seq))
		control_wait_tick(rig->pipeline, 1);
}

static double loss_of(int64_t step)
{
	return 2 + 0.01 * (double)(step * 37 % 17);
}

/* Seals what is due, as if nothing had come for so long; gives how many points are sealed. */
static uint64_t seal_after(struct rig *rig, int64_t silent_ms)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO(store_reader) reader = NULL;
	struct job_state *job = directory_find(rig->pipeline->directory, SPAN("j"));
	struct stream_state *stream = job_stream_at(job, 0);
	bool has_more;

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	pthread_mutex_lock(&stream->mutex);
	stream->heard_mono_ms -= silent_ms;
	pthread_mutex_unlock(&stream->mutex);
	pthread_mutex_lock(&rig->pipeline->seal_mutex);
	CHECK_OK(seal_run(rig->pipeline, reader, zstd, UINT64_MAX, &has_more, &err));
	pthread_mutex_unlock(&rig->pipeline->seal_mutex);
	uint64_t sealed = stream->sealed_sent_points;
	job_unref(job);
	return sealed;
}

/* Falls back, and goes on for fewer points than decide it: gives how many were sent. */
static int64_t begin_again(struct rig *rig, int64_t silent_ms, uint64_t *sealed)
{
	int64_t n = 0;

	for (; n < FIRST_STEPS; n++)
		send_point(rig, n, n, loss_of(n));
	CHECK_INT(seal_after(rig, silent_ms), FIRST_STEPS);
	for (int64_t step = RESTART_STEP; step < UNDECIDED_END; step++) {
		send_point(rig, n++, step, loss_of(step));
		*sealed = seal_after(rig, silent_ms);
	}
	return n;
}

/* Those of the spike; *step: where the first of them opened. */
static size_t count_spikes(struct rig *rig, int64_t *step)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct incident_filter filter = {.has_all = true, .state = -1, .kind = -1, .cursor = SPAN(""), .limit = 100};
	struct incident_row *rows;
	struct span cursor;
	size_t count, spikes = 0;

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, &err));
	for (size_t i = 0; i < count; i++)
		if (rows[i].incident.kind == INCIDENT_LOSS_SPIKE) {
			spikes++;
			*step = rows[i].incident.first_step;
		}
	return spikes;
}

/* It is decided, and spikes for two points: what detectors know of the attempt by then are mostly those that have waited. */
static void go_on_and_spike(struct rig *rig, int64_t n)
{
	for (int64_t step = UNDECIDED_END; step < FIRST_STEPS + 10; step++)
		send_point(rig, n++, step, step == SPIKE_STEP || step == SPIKE_STEP + 1 ? 60 : loss_of(step));
	pipeline_drain(rig->pipeline, 60000);
}

TEST(a_spike_behind_a_restart_of_a_run_that_is_silent_for_minutes_is_seen)
{
	struct rig rig;
	uint64_t sealed;
	int64_t step = 0;

	rig_make(&rig, false);
	int64_t n = begin_again(&rig, 10 * MINUTES_MS, &sealed);
	CHECK_INT(sealed, FIRST_STEPS);
	go_on_and_spike(&rig, n);
	CHECK_INT(count_spikes(&rig, &step), 1);
	CHECK_INT(step, SPIKE_STEP);
	rig_close(&rig, false);
	rig_remove(&rig);
}

TEST(what_waits_is_read_again_from_the_journal_and_looked_at_once)
{
	struct rig rig;
	uint64_t sealed;
	int64_t step = 0;

	rig_make(&rig, false);
	int64_t n = begin_again(&rig, 10 * MINUTES_MS, &sealed);
	rig_close(&rig, false);
	rig_open(&rig);
	go_on_and_spike(&rig, n);
	CHECK_INT(count_spikes(&rig, &step), 1);
	CHECK_INT(step, SPIKE_STEP);
	rig_close(&rig, false);
	rig_remove(&rig);
}

TEST(behind_an_hour_without_a_word_nothing_waits_any_more)
{
	struct rig rig;
	uint64_t sealed;
	int64_t step;

	rig_make(&rig, false);
	int64_t n = begin_again(&rig, 61 * MINUTES_MS, &sealed);
	CHECK_INT(sealed, (uint64_t)n);
	go_on_and_spike(&rig, n);
	CHECK_INT(count_spikes(&rig, &step), 0);
	rig_close(&rig, false);
	rig_remove(&rig);
}
