#include "pipeline/life/life.h"

#include "base/clock.h"
#include "model/by_hand.h"
#include "model/stream_name.h"
#include "pipeline/life/pools.h"
#include "state/directory.h"
#include "state/known_fault.h"
#include "state/pipeline_state.h"
#include "store/goodput.h"

enum { REASON_BYTES = 1024 };

enum status life_begin(struct store_tx *tx, const struct job_row *row, struct span message, struct error *err)
{
	struct transition_row shown = {row->secondary, message, row->created_ms, 0, SOURCE_ASSUMED};
	struct told_row told = {.status = row->secondary,
		.message = message,
		.reason = SPAN(""),
		.start_ms = row->created_ms,
		.source = SOURCE_ASSUMED};

	TRY(store_put_told(tx, row->job_id, &told, err));
	TRY(store_put_status_message(
		tx, row->job_id, &(struct status_message){row->created_ms, row->secondary, message}, err));
	return store_put_transitions(tx, row->job_id, &shown, 1, err);
}

/* ---- how processes ended, in words ---- */

static enum status name_exit(struct held_row *row, bool has_others, struct arena *arena, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(REASON_BYTES);

	if (has_others)
		buf_printf(&text, row->host.len ? "%.*s on %.*s: " : "%.*s: %.*s", SPAN_ARGS(row->stream),
			SPAN_ARGS(row->host));
	if (row->reason.len)
		buf_append_span(&text, row->reason);
	else
		buf_printf(&text, row->signal ? "killed by signal %d" : "exit code %d",
			row->signal ? row->signal : row->code);
	TRY(buf_status(&text, err));
	row->reason = arena_copy(arena, buf_span(&text));
	return row->reason.ptr ? OK : error_no_memory(err);
}

static enum status name_exits(struct held_row *rows, size_t count, struct arena *arena, struct error *err)
{
	size_t ranks = 0;

	for (size_t i = 0; i < count; i++)
		ranks += !stream_is_system(rows[i].stream);
	for (size_t i = 0; i < count; i++)
		if (rows[i].code || rows[i].signal)
			TRY(name_exit(&rows[i], ranks > 1, arena, err));
	return OK;
}

/* ---- the history, made anew ---- */

static bool is_row_same(const struct job_row *a, const struct job_row *b)
{
	return span_equal(a->status, b->status) && span_equal(a->secondary, b->secondary) &&
	       span_equal(a->failure_reason, b->failure_reason) && a->created_ms == b->created_ms &&
	       a->announced_ms == b->announced_ms && a->started_ms == b->started_ms && a->ended_ms == b->ended_ms;
}

/* ---- what somebody set right ---- */

static void clip(struct history *history, size_t until, int64_t at_ms)
{
	for (size_t i = 0; i < until; i++) {
		if (history->rows[i].start_ms > at_ms)
			history->rows[i].start_ms = at_ms;
		if (history->rows[i].end_ms > at_ms || i + 1 == until)
			history->rows[i].end_ms = at_ms;
	}
}

/* Whoever says when it began says nothing of how it went on. */
static enum transition_source source_by_hand(const struct transition_row *row)
{
	return transition_is_assumed(row) ? SOURCE_ASSUMED_BY_HAND : SOURCE_BY_HAND;
}

static void set_start(struct history *history, int64_t start_ms, struct job_row *row)
{
	size_t at = 0;

	while (at < history->count && !span_equal(history->rows[at].status, SPAN("Training")))
		at++;
	if (at == history->count || (history->rows[at].end_ms && start_ms > history->rows[at].end_ms))
		return;
	history->rows[at].start_ms = row->started_ms = start_ms;
	history->rows[at].source = source_by_hand(&history->rows[at]);
	clip(history, at, start_ms);
}

static void set_end(struct history *history, int64_t end_ms, struct job_row *row)
{
	size_t last = history->count - 1;

	if (!row->ended_ms || !phase_is_final(history->rows[last].status) || end_ms < row->started_ms)
		return;
	history->rows[last].start_ms = row->ended_ms = end_ms;
	history->rows[last].source = SOURCE_BY_HAND;
	clip(history, last, end_ms);
}

static enum status set_by_hand(struct history *history, struct job_row *row, struct error *err)
{
	AUTO(json) document = NULL;
	struct by_hand by;

	if (!history->count || span_find(row->document, SPAN("\"by_hand\"")) < 0)
		return OK;
	TRY(json_parse(&document, row->document, err));
	by_hand_read(&by, document);
	if (by.end_ms)
		set_end(history, by.end_ms, row);
	if (by.start_ms)
		set_start(history, by.start_ms, row);
	return OK;
}

/* How its sessions ended, as far as it is to be looked at: of what an upgrade left, not before who goes on has said so. */
static enum status read_held(
	struct life *life, struct store_reader *reader, int64_t job_id, struct history_facts *facts, struct error *err)
{
	struct held_row *held;
	bool is_left = false;

	TRY(store_read_held(reader, life->arena, job_id, &held, &facts->held_count, err));
	if (facts->held_count && life_is_within_lease(life->pipeline))
		TRY(store_is_told_anew(reader, job_id, &is_left, err));
	if (is_left)
		facts->held_count = 0;
	TRY(name_exits(held, facts->held_count, life->arena, err));
	facts->held = held;
	return OK;
}

static enum status renew(
	struct life *life, struct store_tx *tx, struct job_row *row, struct known_fault *fault, struct error *err)
{
	struct store_reader *reader = store_tx_reader(tx);
	struct history old = {.failure_reason = SPAN("")};
	struct history_facts facts;
	struct event_times times;
	struct told_row *told;
	int64_t heard_ms;

	TRY(store_read_told_facts(reader, life->arena, row->job_id, &told, &facts.told_count, err));
	TRY(read_held(life, reader, row->job_id, &facts, err));
	TRY(store_read_event_times(reader, row->job_id, &times, err));
	TRY(store_read_transitions(reader, life->arena, row->job_id, &old.rows, &old.count, err));
	facts.told = told;
	TRY(store_read_log_end(reader, row->job_id, &facts.log_ms, &heard_ms, err));
	facts.past_ms = facts.log_ms < heard_ms - HISTORIC_MS ? facts.log_ms : 0;
	TRY(history_decide(life->arena, &facts, &life->history, err));
	history_to_row(&life->history, &times, row);
	TRY(set_by_hand(&life->history, row, err));
	row->created_ms = history_created_ms(&life->history, row);
	TRY(known_fault_of_end(life->pipeline, reader, life->arena, &life->history, row, fault, err));
	if (history_is_same(&old, &life->history))
		return OK;
	life->has_changed = true;
	return store_put_transitions(tx, row->job_id, life->history.rows, life->history.count, err);
}

enum status life_write(struct life *life, struct store_tx *tx, struct job_row *row, bool must_write, struct error *err)
{
	struct job_row before = *row;
	struct known_fault fault;
	struct job_state *job;

	life->has_changed = false; /* after a commit that failed this runs again */
	life->failed = (struct job_failed_incident){0};
	TRY(renew(life, tx, row, &fault, err));
	life->has_changed |= !is_row_same(&before, row);
	if ((job = directory_peek_id(life->pipeline->directory, row->job_id))) {
		life_note(job, &life->history);
		atomic_store(&job->is_row_dirty, true);
		atomic_store(&job->is_summary_dirty, true); /* its end settles how it ranks */
	}
	if (!life->has_changed && !must_write)
		return OK;
	row->modified_ms = life->now_ms;
	TRY(pools_put_job(tx, row, err));
	TRY(stall_put_status(life->pipeline, tx, row, &fault, &life->failed, err));
	if (!life->failed.is_told)
		return OK;
	life->failed.row.job = arena_copy(life->arena, row->name); /* outlives the row */
	return life->failed.row.job.ptr ? OK : error_no_memory(err);
}

void life_say(const struct life *life)
{
	stall_publish_failed(life->pipeline, &life->failed);
}

void life_note(struct job_state *job, const struct history *history)
{
	static const struct transition_row none;
	const struct transition_row *last = history->count ? &history->rows[history->count - 1] : &none;
	bool is_waiting = phase_is_waiting(last->status), is_final = phase_is_final(last->status);

	if (atomic_exchange(&job->is_over, is_final) && !is_final)
		atomic_fetch_add(&job->life, 1);
	for (size_t i = 0; i < history->count; i++)
		if (history->rows[i].source == SOURCE_ASSUMED &&
			span_equal(history->rows[i].status, SPAN("Training"))) {
			atomic_store(&job->signed_ms, history->rows[i].start_ms);
			break;
		}
	atomic_store(&job->awaited_ms, !is_waiting                      ? INT64_MAX
				       : last->source == SOURCE_ASSUMED ? INT64_MIN
									: last->start_ms);
	bool is_presumed = last->source == SOURCE_ASSUMED && span_equal(last->status, SPAN("Stopped"));
	atomic_store(&job->presumed_ms, is_presumed ? last->start_ms : INT64_MAX);
}

bool life_is_within_lease(const struct pipeline *pipeline)
{
	return clock_wall_ms() - pipeline->started_ms < pipeline->options.lease_ms;
}
