/* The one writer: takes what waits, commits it as a group, then changes RAM, wakes the senders and feeds the consumers. */
#include "pipeline/commit/writer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_pace.h"
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/commit/plan.h"
#include "state/control.h"
#include "state/disk_room.h"
#include "state/figures.h"
#include "state/pipeline_state.h"
#include "store/journal.h"

#include <inttypes.h>
#include <stdlib.h>

enum { IDLE_MS = 200, GROUP_ITEMS_MAX = 4096, MEMORY_WAIT_MS = 30 * 1000, MEMORY_LOOK_MS = 50 };
enum {
	GATHER_STEP_NS = 2000000,
	GATHER_MAX_NS = 5000000,
	GATHER_LEAST_SHARE = 8,
	PAUSE_ROUNDS = 4,
	PAUSE_ROUNDS_MAX = 64
};

struct round { /* what one group took from the queue, in order */
	struct work *items[GROUP_ITEMS_MAX];
	size_t count;
	size_t bytes;
	size_t left; /* behind those: taken, but the group was full of work before their turn; they begin the next one */
	int64_t until_ms;
	size_t answered; /* batches of the round before, which was committed */
	size_t waiting; /* batches that waited before those were answered */
	unsigned alone_rounds; /* so many more begin with whoever is there */
	unsigned pause_rounds; /* so many were that, the last time */
};

static void finish_ingest(struct pipeline *pipeline, struct ingest *ingest)
{
	struct ingest_result *result = &ingest->result;

	if (result->status == OK) {
		atomic_fetch_add(&pipeline->figures.batches, 1);
		atomic_fetch_add(&pipeline->figures.duplicate_lines, result->duplicate);
		atomic_fetch_add(&pipeline->figures.duplicate_pushes, result->duplicate_pushes);
		atomic_fetch_add(&pipeline->figures.cut_lines, ingest->batch->cut_lines);
	}
	struct batch *batch = ingest->batch->is_senders ? NULL : ingest->batch;
	disk_room_give_back(pipeline, ingest->work_item.item.bytes);
	ingest->done(ingest->context, result);
	batch_free(batch);
	mem_free(ingest);
}

/* Our own control work that failed goes back into the queue. False: it is no such work, or nothing is taken any more. */
static bool try_later(struct pipeline *pipeline, struct control *control)
{
	struct error ignored;

	return control->is_kept && control_push(pipeline, control, &ignored) == OK;
}

/* The transaction is on disk. True: but this work is not, and will be tried again. */
static bool finish_item(struct pipeline *pipeline, struct work *work)
{
	struct control *control = (struct control *)work;

	if (!work->is_control) {
		finish_ingest(pipeline, (struct ingest *)work);
		return false;
	}
	/* a statement may find the disk full, or a lock in its way, where the transaction as a whole does not */
	if (control_may_pass(control->status) && try_later(pipeline, control))
		return true;
	control->done(control->context, control->status, &control->err);
	return false;
}

/* The transaction as a whole failed: everybody is told. True: this work will be tried again. */
static bool fail_item(struct pipeline *pipeline, struct work *work, enum status status, const struct error *err)
{
	struct control *control = (struct control *)work;

	if (!work->is_control) {
		((struct ingest *)work)->result = (struct ingest_result){.status = status, .err = *err};
		finish_ingest(pipeline, (struct ingest *)work);
		return false;
	}
	if (try_later(pipeline, control))
		return true;
	control->done(control->context, status, err);
	return false;
}

/* Also while the pipeline ends, which control_wait_tick does not wait for. */
static void pause_ms(struct pipeline *pipeline, int64_t ms)
{
	struct timespec until = clock_deadline(ms);

	pthread_mutex_lock(&pipeline->tick_mutex);
	for (int result = 0; result == 0;)
		result = pthread_cond_timedwait(&pipeline->tick, &pipeline->tick_mutex, &until);
	pthread_mutex_unlock(&pipeline->tick_mutex);
}

/* Kept work comes back at once, until the queue is closed: do not spin on a full or failing disk. */
static void end_round(struct pipeline *pipeline, struct round *round, enum status status, const struct error *err)
{
	bool must_pause = status == ERR_UNAVAILABLE || status == ERR_IO;
	size_t bytes;

	queue_size(pipeline->queue, &round->waiting, &bytes);
	round->answered = 0;
	for (size_t i = 0; i < round->count; i++) {
		bool is_control = round->items[i]->is_control; /* it is gone when it is finished */
		bool comes_back = status == OK ? finish_item(pipeline, round->items[i])
					       : fail_item(pipeline, round->items[i], status, err);
		must_pause = must_pause || comes_back;
		round->answered += status == OK && !is_control;
	}
	if (must_pause)
		pause_ms(pipeline, IDLE_MS);
}

static void add_item(struct round *round, struct work *work)
{
	round->items[round->count++] = work;
	if (!work->is_control)
		round->bytes += ((struct ingest *)work)->batch->text_bytes;
}

static bool is_full(const struct pipeline *pipeline, const struct round *round)
{
	return round->count == GROUP_ITEMS_MAX || round->bytes >= pipeline->options.group_bytes ||
	       clock_mono_ms() >= round->until_ms;
}

static void take_waiting(struct pipeline *pipeline, struct round *round)
{
	struct queue_item *next;

	while (!is_full(pipeline, round) && (next = queue_pop(pipeline->queue, 0)))
		add_item(round, (struct work *)next);
}

/* What the last round left comes first: a stream's batches stay in order. */
static void take_left(struct round *round)
{
	struct work **left = round->items + round->count;
	size_t count = round->left;

	round->count = round->bytes = round->left = 0;
	for (size_t i = 0; i < count; i++)
		add_item(round, left[i]);
}

/* Step by step, the last being one that brings hardly anybody. False: that is all who came, and no control work ended the wait. */
static bool wait_for(struct queue *queue, size_t before, size_t missing)
{
	const size_t least = missing / GATHER_LEAST_SHARE + 1;
	int64_t now_ns = clock_mono_ns(), until_ns = now_ns + GATHER_MAX_NS, step_until_ns;
	size_t count = before, more;

	do {
		step_until_ns = now_ns + GATHER_STEP_NS < until_ns ? now_ns + GATHER_STEP_NS : until_ns;
		more = queue_gather(queue, before + missing, step_until_ns - now_ns) - count;
		count += more;
		now_ns = clock_mono_ns();
		if (count >= before + missing || now_ns < step_until_ns)
			return true;
	} while (more >= least && now_ns < until_ns);
	return count - before >= least;
}

/*
 * Who was answered with the last group may be back at once, and goes along with those who wait: in two groups that take turns everybody
 * waits for two commits. Not for a while when hardly anybody came, and each time that is so again for twice as long.
 */
static void gather(struct pipeline *pipeline, struct round *round)
{
	size_t expected = round->waiting + round->answered - 1; /* beside the first */
	size_t before, bytes;

	if (round->alone_rounds) {
		round->alone_rounds--;
		return;
	}
	queue_size(pipeline->queue, &before, &bytes);
	if (!round->answered || before >= expected || bytes + round->bytes >= pipeline->options.group_bytes)
		return;
	if (wait_for(pipeline->queue, before, expected - before)) {
		round->pause_rounds = 0;
		return;
	}
	unsigned longer = round->pause_rounds ? 2 * round->pause_rounds : PAUSE_ROUNDS;
	round->alone_rounds = round->pause_rounds = longer < PAUSE_ROUNDS_MAX ? longer : PAUSE_ROUNDS_MAX;
}

/* False: nothing came within IDLE_MS. */
static bool take_round(struct pipeline *pipeline, struct round *round)
{
	take_left(round);
	struct queue_item *first = round->count ? NULL : queue_pop(pipeline->queue, IDLE_MS);
	if (first)
		add_item(round, (struct work *)first);
	if (!round->count) {
		round->answered = 0; /* whoever was is busy with something else */
		return false;
	}
	if (first && !round->items[0]->is_control)
		gather(pipeline, round);
	round->until_ms = clock_mono_ms() + pipeline->options.group_ms;
	take_waiting(pipeline, round);
	return true;
}

static void run_control(struct control *control, struct store_tx *tx)
{
	control->err = (struct error){0};
	control->status = store_tx_savepoint(tx, &control->err);
	if (control->status != OK)
		return;
	control->status = control->work(control->context, tx, &control->err);
	if (control->status == OK)
		control->status = store_tx_release(tx, &control->err);
	else
		store_tx_undo(tx);
}

static void apply_round(struct plan *plan, struct round *round)
{
	struct error err;

	for (size_t i = 0; i < round->count; i++) {
		if (i && clock_mono_ms() >= round->until_ms) {
			round->left += round->count - i;
			round->count = i;
			return;
		}
		if (round->items[i]->is_control)
			run_control((struct control *)round->items[i], plan->tx);
		else if (plan_batch(plan, (struct ingest *)round->items[i], &err) != OK)
			continue; /* told in its result */
	}
}

/* Appends the journal row; *record_bytes is what it weighs. */
static enum status write_journal(struct plan *plan, struct buf *plain, size_t *record_bytes, struct error *err)
{
	struct pipeline *pipeline = plan->pipeline;
	AUTO_DONE(buf) record = BUF_INIT(SIZE_MAX / 2);

	*record_bytes = 0;
	if (!plan->slice_count)
		return OK;
	TRY(journal_pack(&pipeline->journal, pipeline->zstd, plain, &record, err));
	TRY(store_append_journal(plan->tx, plan->seq, buf_span(&record), err));
	*record_bytes = record.len;
	return OK;
}

static void hand_to_consumers(struct pipeline *pipeline, struct group *group)
{
	struct error err;

	atomic_store(&pipeline->figures.committed_seq, group->seq);
	atomic_init(&group->refs, pipeline->extract_count);
	atomic_fetch_add(&pipeline->backlog_bytes, group->bytes);
	for (unsigned i = 0; i < pipeline->extract_count; i++) {
		struct extract_item *item = mem_zeroed(sizeof *item);
		if (!item)
			abort(); /* as in plan.c: the database is ahead, a restart repairs it */
		item->group = group;
		if (queue_push_control(pipeline->extract[i].queue, &item->item, &err) != OK)
			abort(); /* closed only after the writer has ended */
	}
}

static void count_group(struct pipeline *pipeline, const struct plan *plan, size_t record_bytes, int64_t took_ns)
{
	struct pipeline_figures *figures = &pipeline->figures;

	for (size_t i = 0; i < plan->slice_count; i++) {
		atomic_fetch_add(&figures->lines, plan->slices[i].range.line_count);
		atomic_fetch_add(&figures->bytes, plan->slices[i].range.text_bytes);
	}
	atomic_fetch_add(&figures->commits, 1);
	atomic_fetch_add(&figures->commit_us, (uint64_t)took_ns / 1000);
	atomic_fetch_add(&figures->journal_bytes, record_bytes);
}

struct memory_wait {
	struct pipeline *pipeline;
	int64_t since_ms; /* 0: there was enough */
};

static int wait_for_memory(void *context)
{
	struct memory_wait *wait = context;
	int64_t now_ms = clock_mono_ms();

	if (!wait->since_ms) {
		wait->since_ms = now_ms;
		log_line(LOG_WARNING, "commit_waits", "for=memory");
	}
	pause_ms(wait->pipeline, MEMORY_LOOK_MS); /* also while the pipeline ends: that frees memory */
	return now_ms - wait->since_ms < MEMORY_WAIT_MS;
}

/* The database has it, and there is no way back: memory that is not there may come, before plan.c gives up. */
static void make_known(struct plan *plan, struct buf *plain)
{
	struct pipeline *pipeline = plan->pipeline;
	struct memory_wait wait = {.pipeline = pipeline};

	mem_wait(wait_for_memory, &wait);
	struct group *group = plan_publish(plan, plain);
	if (group) {
		pipeline->next_seq = group->seq + 1;
		hand_to_consumers(pipeline, group);
	}
	mem_wait(NULL, NULL);
}

static enum status commit_plan(struct plan *plan, struct round *round, struct error *err)
{
	struct pipeline *pipeline = plan->pipeline;
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	int64_t start_ns = clock_mono_ns();
	size_t record_bytes;

	apply_round(plan, round);
	enum status status = write_journal(plan, &plain, &record_bytes, err);
	if (status != OK)
		store_tx_rollback(plan->tx);
	else
		status = store_tx_commit(plan->tx, err);
	if (status != OK) {
		plan_abandon(plan);
		return status;
	}
	count_group(pipeline, plan, record_bytes, clock_mono_ns() - start_ns);
	make_known(plan, &plain);
	return OK;
}

static void begins_to_write(struct pipeline *pipeline)
{
	atomic_store(&pipeline->writing_since_ms, clock_mono_ms());
}

static enum status commit_round(struct pipeline *pipeline, struct round *round, struct error *err)
{
	struct store_tx *tx;
	struct plan plan;

	begins_to_write(pipeline);
	atomic_store(&pipeline->stamping_since_ms, clock_wall_ms());
	journal_writer_reset(&pipeline->journal);
	TRY(store_tx_begin(&tx, pipeline->options.store, err));
	pipeline->round++;
	enum status status = plan_open(&plan, pipeline, tx, pipeline->next_seq, err);
	if (status != OK) {
		store_tx_rollback(tx);
		return status;
	}
	return commit_plan(&plan, round, err);
}

/* Once it is, it is said at the first commit or within IDLE_MS. */
static bool is_database_lost(struct pipeline *pipeline)
{
	struct error err;

	if (atomic_load(&pipeline->figures.is_database_lost))
		return true;
	if (store_look_at_file(pipeline->options.store, &err) == OK)
		return false;
	pipeline->database_loss = err;
	atomic_store(&pipeline->figures.is_database_lost, true);
	log_line(LOG_ERROR, "database_lost", "error=\"%s\"", err.text);
	return true;
}

/* A full or failing disk is everybody's; any other failure may be one poison item's, so each is tried alone. */
static void write_round(struct pipeline *pipeline, struct round *round)
{
	struct error err = {0};
	bool was_lost = atomic_load(&pipeline->figures.is_database_lost);
	enum status status = commit_round(pipeline, round, &err);

	atomic_store(&pipeline->stamping_since_ms, 0); /* before anybody is answered: a report has it then */
	bool is_without_database = status == ERR_UNAVAILABLE || status == ERR_IO;
	if (!is_without_database)
		atomic_store(&pipeline->failing_since_ms, 0);
	else if (!atomic_load(&pipeline->failing_since_ms))
		atomic_store(&pipeline->failing_since_ms, clock_mono_ms());
	if (status == OK) {
		end_round(pipeline, round, status, &err);
		return;
	}
	atomic_fetch_add(&pipeline->figures.failed_commits, 1);
	if (!was_lost && !is_database_lost(pipeline) &&
		log_pace_is_due(&pipeline->commit_failures, err.text, clock_mono_ms()))
		log_line(LOG_ERROR, "commit_failed", "items=%zu left_out=%" PRIu64 " error=\"%s\"", round->count,
			log_pace_take_left_out(&pipeline->commit_failures), err.text);
	if (is_without_database || round->count == 1) {
		end_round(pipeline, round, status, &err);
		return;
	}
	round->answered = 0;
	for (size_t i = 0; i < round->count; i++) {
		struct round alone = {.items = {round->items[i]}, .count = 1, .until_ms = INT64_MAX};
		write_round(pipeline, &alone);
	}
}

static void checkpoint(struct pipeline *pipeline, bool is_idle)
{
	struct error err;

	begins_to_write(pipeline);
	if (store_checkpoint(pipeline->options.store, is_idle, &err) != OK &&
		log_pace_is_due(&pipeline->checkpoint_failures, err.text, clock_mono_ms()))
		log_line(LOG_WARNING, "checkpoint_failed", "left_out=%" PRIu64 " error=\"%s\"",
			log_pace_take_left_out(&pipeline->checkpoint_failures), err.text);
	atomic_store(&pipeline->writing_since_ms, 0);
}

static void look_at_disk(struct pipeline *pipeline)
{
	struct error err;

	if (disk_room_look(pipeline, &err) != OK && !is_database_lost(pipeline) &&
		log_pace_is_due(&pipeline->disk_failures, err.text, clock_mono_ms()))
		log_line(LOG_WARNING, "disk_unknown", "error=\"%s\"", err.text);
}

void *writer_run(void *context)
{
	struct pipeline *pipeline = context;
	struct round *round = mem_zeroed(sizeof *round);
	bool has_written = false;

	pthread_setname_np(pthread_self(), "writer");
	if (!round)
		abort();
	for (;;) {
		if (!take_round(pipeline, round)) {
			if (queue_is_closed(pipeline->queue))
				break;
			if (has_written ||
				atomic_load(
					&pipeline->figures.is_disk_low)) /* what is owed then is not owed any more */
				checkpoint(pipeline, true);
			has_written = false;
			(void)is_database_lost(pipeline);
			look_at_disk(pipeline);
			continue;
		}
		write_round(pipeline, round);
		has_written = true;
		checkpoint(pipeline, false);
		look_at_disk(pipeline);
	}
	mem_free(round);
	return NULL;
}
