#include "pipeline/pipeline.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/emergency.h"
#include "pipeline/alert/rules.h"
#include "pipeline/backfill/backfill.h"
#include "pipeline/commit/backdate.h"
#include "pipeline/commit/batch_pack.h"
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/commit/writer.h"
#include "pipeline/consume/consume.h"
#include "pipeline/consume/recover.h"
#include "pipeline/maintain.h"
#include "pipeline/publish.h"
#include "pipeline/retention/retention.h"
#include "read/logs/search_pool.h"
#include "state/control.h"
#include "state/disk_room.h"
#include "state/streams/directory.h"
#include "state/figures.h"
#include "state/options.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/carry.h"
#include "store/pools.h"

#include <stdlib.h>

enum { FIRST_RETRY_S = 1, DEBT_RETRY_S = 5, DISK_RETRY_S = 10 };
enum { EARLY_SHARE = 4 }; /* of queue_bytes: extraction has enough to be busy with */

static void end_ticks(struct pipeline *pipeline)
{
	pthread_mutex_lock(&pipeline->tick_mutex);
	pipeline->must_end = true;
	pthread_cond_broadcast(&pipeline->tick);
	pthread_mutex_unlock(&pipeline->tick_mutex);
}

static enum status make(struct pipeline *pipeline, struct error *err)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pipeline->tick, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_key_create(&pipeline->actor_key, NULL);
	pipeline_set_limits(pipeline, pipeline->options.audit_bytes, pipeline->options.min_free_bytes);
	pthread_mutex_init(&pipeline->tick_mutex, NULL);
	pthread_mutex_init(&pipeline->packers_mutex, NULL);
	pthread_mutex_init(&pipeline->rules_mutex, NULL);
	pthread_mutex_init(&pipeline->seal_mutex, NULL);
	kept_groups_init(&pipeline->kept_groups);
	turn_init(&pipeline->goodput_turn);
	atomic_init(&pipeline->goodput_sweeps, true);
	atomic_init(&pipeline->backfill_due, true); /* one may have been left by a stop */
	pipeline->directory = directory_new();
	pipeline->queue = queue_new(pipeline->options.queue_items, pipeline->options.queue_bytes);
	pipeline->zstd = zstd_new();
	if (!pipeline->directory || !pipeline->queue || !pipeline->zstd)
		return error_no_memory(err);
	struct emergency_acts acts;
	if (!emergency_parse(pipeline->options.on_non_finite, &acts))
		return error_set_field(err, ERR_INVALID, "on-non-finite",
			"--on-non-finite '%.*s' is not checkpoint, stop, or both with a comma between",
			SPAN_ARGS(pipeline->options.on_non_finite));
	TRY(devices_new(&pipeline->devices, pipeline->options.devices, err));
	if (pipeline->options.signatures.len)
		TRY(signature_set_new(&pipeline->signatures, pipeline->options.signatures, err));
	return definition_presets_new(&pipeline->presets, pipeline->options.presets, err);
}

static enum status start_worker(struct pipeline *pipeline, unsigned number, struct error *err)
{
	struct extract_worker *worker = &pipeline->extract[number];

	worker->pipeline = pipeline;
	worker->number = number;
	worker->queue = queue_new(SIZE_MAX, SIZE_MAX);
	worker->scratch = regex_scratch_new();
	atomic_init(&worker->done_seq, atomic_load(&pipeline->figures.committed_seq));
	if (!worker->queue || !worker->scratch)
		return error_no_memory(err);
	regex_scratch_limit(worker->scratch, pipeline->options.match_steps);
	if (pthread_create(&worker->thread, NULL, extract_run, worker) != 0)
		return error_set(err, ERR_MEMORY, "cannot start extraction thread %u", number);
	pipeline->extract_count++;
	return OK;
}

static enum status start_thread(
	pthread_t *thread, bool *has_it, void *(*run)(void *), struct pipeline *pipeline, struct error *err)
{
	if (pthread_create(thread, NULL, run, pipeline) != 0)
		return error_set(err, ERR_MEMORY, "cannot start a thread");
	*has_it = true;
	return OK;
}

/* Before anybody can be answered, who may change the limit: what a start decides must not undo that. */
static enum status decide_space(struct pipeline *pipeline, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	TRY(store_reader_new(&reader, pipeline->options.store, err));
	if (retention_start(pipeline, reader, err) != OK) /* a full disk: the server starts, and reads */
		log_line(LOG_WARNING, "retention_failed", "error=\"%s\"", err->text);
	return OK;
}

static enum status start_threads(struct pipeline *pipeline, struct error *err)
{
	unsigned count = pipeline->options.extract_threads;

	/* all of them before the writer: a group goes to extract_count of them */
	for (unsigned i = 0; i < count && i < EXTRACT_THREADS_MAX; i++)
		TRY(start_worker(pipeline, i, err));
	TRY(start_thread(&pipeline->writer, &pipeline->has_writer, writer_run, pipeline, err));
	TRY(decide_space(pipeline, err));
	TRY(start_thread(&pipeline->publisher, &pipeline->has_publisher, publisher_run, pipeline, err));
	TRY(search_pool_new(
		&pipeline->search_pool, pipeline->options.search_threads, pipeline->options.match_steps, err));
	TRY(start_thread(&pipeline->backfill, &pipeline->has_backfill, backfill_run, pipeline, err));
	return start_thread(&pipeline->maintenance, &pipeline->has_maintenance, maintenance_run, pipeline, err);
}

/* What an import of whole jobs left behind when it was cut off, and a program that knows of no reports. */
static enum status mend_left(struct pipeline *pipeline, struct error *err)
{
	struct store_tx *tx;

	TRY(store_tx_begin(&tx, pipeline->options.store, err));
	enum status status = store_drop_imports(tx, err);
	if (status == OK)
		status = store_mend_known(tx, err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}

/* What was before the start is no news; what comes before the publisher first looks is. */
static enum status find_pool_change(struct pipeline *pipeline, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	TRY(store_reader_new(&reader, pipeline->options.store, err));
	return store_last_pool_change(reader, &pipeline->pool_change, err);
}

enum status pipeline_start(struct pipeline **out, const struct pipeline_options *options, struct error *err)
{
	AUTO(pipeline) pipeline = mem_zeroed(sizeof *pipeline);

	if (!pipeline)
		return error_no_memory(err);
	pipeline->options = *options;
	pipeline->started_ms = clock_wall_ms();
	store_listens_since(options->store, pipeline->started_ms);
	TRY(make(pipeline, err));
	TRY(mend_left(pipeline, err));
	TRY(rules_load(pipeline, err));
	TRY(recover_journal(pipeline, err));
	TRY(find_pool_change(pipeline, err));
	TRY(disk_room_look(pipeline, err)); /* before anybody asks how much is left */
	TRY(start_threads(pipeline, err));
	*out = TAKE(pipeline);
	return OK;
}

/* What waits for the writer or for extraction. */
static bool is_behind(struct pipeline *pipeline)
{
	size_t items, bytes;

	queue_size(pipeline->queue, &items, &bytes);
	return items || atomic_load(&pipeline->backlog_bytes);
}

/* The back-fill first: it keeps what it did, and what is sealed last waits for it no more. */
static void join_sealers(struct pipeline *pipeline)
{
	if (pipeline->has_backfill)
		pthread_join(pipeline->backfill, NULL);
	pipeline->has_backfill = false;
	if (pipeline->has_maintenance)
		pthread_join(pipeline->maintenance, NULL);
	pipeline->has_maintenance = false;
}

void pipeline_drain(struct pipeline *pipeline, int64_t deadline_ms)
{
	int64_t until_ms = clock_mono_ms() + deadline_ms;

	atomic_store(&pipeline->is_stopping, true);
	while (is_behind(pipeline) && clock_mono_ms() < until_ms)
		control_wait_tick(pipeline, 2); /* nobody ends the ticks yet: a short wait */
	pipeline->drain_ms = until_ms > clock_mono_ms() ? until_ms - clock_mono_ms() : 0;
	end_ticks(pipeline);
	join_sealers(pipeline);
}

static void end_worker(struct extract_worker *worker)
{
	queue_close(worker->queue);
	pthread_join(worker->thread, NULL);
}

void pipeline_end(struct pipeline *pipeline)
{
	atomic_store(&pipeline->is_stopping, true);
	end_ticks(pipeline);
	join_sealers(pipeline);
	if (pipeline->has_publisher)
		pthread_join(pipeline->publisher, NULL);
	pipeline->has_publisher = false;
	if (pipeline->queue)
		queue_close(pipeline->queue);
	if (pipeline->has_writer)
		pthread_join(pipeline->writer, NULL);
	pipeline->has_writer = false;
	for (unsigned i = 0; i < pipeline->extract_count; i++)
		end_worker(&pipeline->extract[i]);
	pipeline->extract_count = 0;
}

static int64_t ms_since(const atomic_int_fast64_t *begin_ms)
{
	int64_t since_ms = atomic_load(begin_ms);

	return since_ms ? clock_mono_ms() - since_ms : 0;
}

int64_t pipeline_writing_ms(const struct pipeline *pipeline)
{
	return ms_since(&pipeline->writing_since_ms);
}

int64_t pipeline_failing_ms(const struct pipeline *pipeline)
{
	return ms_since(&pipeline->failing_since_ms);
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	pipeline_end(pipeline);
	for (unsigned i = 0; i < EXTRACT_THREADS_MAX; i++) {
		queue_free(pipeline->extract[i].queue);
		regex_scratch_free(pipeline->extract[i].scratch);
		extracted_list_done(&pipeline->extract[i].found);
	}
	search_pool_free(pipeline->search_pool);
	queue_free(pipeline->queue);
	directory_free(pipeline->directory);
	definition_set_free(pipeline->presets);
	devices_free(pipeline->devices);
	signature_set_free(pipeline->signatures);
	rule_set_unref(pipeline->rules);
	pthread_mutex_destroy(&pipeline->rules_mutex);
	zstd_free(pipeline->zstd);
	while (pipeline->packer_count)
		zstd_free(pipeline->packers[--pipeline->packer_count]);
	pthread_mutex_destroy(&pipeline->packers_mutex);
	pthread_mutex_destroy(&pipeline->seal_mutex);
	kept_groups_done(&pipeline->kept_groups);
	turn_done(&pipeline->goodput_turn);
	journal_writer_done(&pipeline->journal);
	pthread_cond_destroy(&pipeline->tick);
	pthread_mutex_destroy(&pipeline->tick_mutex);
	pthread_key_delete(pipeline->actor_key);
	mem_free(pipeline);
}

static enum status refuse(struct pipeline *pipeline, int retry_after_s, struct error *err)
{
	atomic_fetch_add(&pipeline->figures.refused_busy, 1);
	if (err)
		err->retry_after_s = retry_after_s;
	return ERR_BUSY;
}

bool pipeline_note_open(struct pipeline *pipeline, size_t before_bytes, size_t now_bytes)
{
	/* unsigned: wraps around to what it should be */
	uint64_t change = (uint64_t)now_bytes - before_bytes;

	return atomic_fetch_add(&pipeline->figures.open_bytes, change) + change > pipeline->options.queue_bytes;
}

/* What it makes of the file is packed by now, so it is the bytes that are promised room. */
static enum status take_room(struct pipeline *pipeline, size_t bytes, struct error *err)
{
	struct pipeline_figures *figures = &pipeline->figures;

	if (disk_room_take(pipeline, bytes))
		return OK;
	error_set(err, ERR_UNAVAILABLE,
		"the disk has %llu bytes left, and %llu of them are for what was taken already: with these lines less than --min-free-bytes %llu would stay free. Free some space; nothing is deleted by itself",
		(unsigned long long)atomic_load(&figures->disk_free_bytes),
		(unsigned long long)(atomic_load(&figures->disk_owed_bytes) + atomic_load(&pipeline->room_taken_bytes)),
		(unsigned long long)atomic_load(&pipeline->min_free_bytes));
	if (err)
		err->retry_after_s = DISK_RETRY_S;
	return ERR_UNAVAILABLE;
}

static enum status push(struct pipeline *pipeline, struct ingest *ingest, struct error *err)
{
	size_t bytes = ingest->work_item.item.bytes = batch_bytes(ingest->batch);

	TRY(take_room(pipeline, bytes, err));
	enum status status = queue_push(pipeline->queue, &ingest->work_item.item, err);
	if (status != OK)
		disk_room_give_back(pipeline, bytes);
	return status == ERR_BUSY ? refuse(pipeline, FIRST_RETRY_S, err) : status;
}

enum status pipeline_submit(struct pipeline *pipeline, struct batch *batch,
	void (*done)(void *context, const struct ingest_result *result), void *context, struct error *err)
{
	size_t backlog = atomic_load(&pipeline->backlog_bytes);
	uint64_t debt = atomic_load(&pipeline->figures.journal_bytes);

	if (atomic_load(&pipeline->is_stopping))
		return error_set(err, ERR_UNAVAILABLE, "the server is stopping");
	TRY(pipeline_database_loss(pipeline, err));
	if (batch->may_wait && backlog > pipeline->options.queue_bytes / EARLY_SHARE)
		return error_set(err, ERR_BUSY, "extraction is %zu bytes behind", backlog); /* nobody is refused */
	if (backlog > pipeline->options.queue_bytes) {
		error_set(err, ERR_BUSY, "extraction is %zu bytes behind (--queue-bytes)", backlog);
		return refuse(pipeline, FIRST_RETRY_S, err);
	}
	if (debt > pipeline->options.journal_bytes) {
		error_set(err, ERR_BUSY, "the journal holds %llu bytes that are not sealed yet (--journal-bytes)",
			(unsigned long long)debt);
		return refuse(pipeline, DEBT_RETRY_S, err);
	}
	backdate_fill_times(pipeline, batch);
	TRY(batch_pack(pipeline, batch, err));
	struct ingest *ingest = mem_zeroed(sizeof *ingest);
	if (!ingest)
		return error_no_memory(err);
	*ingest = (struct ingest){.batch = batch, .done = done, .context = context};
	enum status status = push(pipeline, ingest, err);
	if (status != OK)
		mem_free(ingest);
	return status;
}

void pipeline_set_limits(struct pipeline *pipeline, uint64_t audit_bytes, uint64_t min_free_bytes)
{
	atomic_store(&pipeline->audit_bytes, audit_bytes);
	atomic_store(&pipeline->min_free_bytes, min_free_bytes);
}

enum status pipeline_database_loss(const struct pipeline *pipeline, struct error *err)
{
	if (!atomic_load(&pipeline->figures.is_database_lost))
		return OK;
	if (err)
		*err = pipeline->database_loss;
	return pipeline->database_loss.status;
}

const struct pipeline_figures *pipeline_figures(const struct pipeline *pipeline)
{
	return &pipeline->figures;
}

/* ---- a batch whose sender waits ---- */

struct submission {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool is_done;
	struct ingest_result result;
};

static void done(void *context, const struct ingest_result *result)
{
	struct submission *submission = context;

	pthread_mutex_lock(&submission->mutex);
	submission->result = *result;
	submission->is_done = true;
	pthread_cond_signal(&submission->cond);
	pthread_mutex_unlock(&submission->mutex);
}

enum status pipeline_store(
	struct pipeline *pipeline, struct batch **batch, struct ingest_result *result, struct error *err)
{
	struct submission submission = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

	TRY(pipeline_submit(pipeline, *batch, done, &submission, err));
	*batch = NULL;
	pthread_mutex_lock(&submission.mutex);
	while (!submission.is_done)
		pthread_cond_wait(&submission.cond, &submission.mutex);
	pthread_mutex_unlock(&submission.mutex);
	*result = submission.result;
	if (result->status != OK)
		*err = result->err;
	return result->status;
}
