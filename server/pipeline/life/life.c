#include "pipeline/life/life.h"

#include "base/clock.h"
#include "model/jobs/by_hand.h"
#include "model/metrics/stream_name.h"
#include "pipeline/life/fault_window.h"
#include "pipeline/life/log_end.h"
#include "pipeline/life/pools.h"
#include "pipeline/life/run_gap.h"
#include "state/streams/directory.h"
#include "state/known_fault.h"
#include "state/pipeline_state.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/transitions.h"

enum { REASON_BYTES = 1024, BREAKS_MAX = 1024 };

enum status life_begin(struct store_tx *tx, const struct job_row *row, struct span message, struct error *err)
{
	struct transition_row shown = {row->secondary, message, row->created_ms, 0, SOURCE_ASSUMED, 0};
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

struct life_decided {
	struct history known; /* but for what was set by hand: what is looked at to find out what another fact means */
	int64_t known_end_ms;
	struct history_by_hand by_hand;
};

/* How its sessions ended, as far as it is to be looked at: of what an upgrade left, not before who goes on has said so. */
static enum status read_held(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, struct history_facts *facts, struct error *err)
{
	struct held_row *held;
	bool is_left = false;

	TRY(store_read_held_if_any_ended(reader, arena, job_id, &held, &facts->held_count, err));
	if (facts->held_count && life_is_within_lease(pipeline))
		TRY(store_is_told_anew(reader, job_id, &is_left, err));
	if (is_left)
		facts->held_count = 0;
	TRY(name_exits(held, facts->held_count, arena, err));
	facts->held = held;
	return OK;
}

static enum status read_by_hand(const struct job_row *row, struct by_hand *out, struct error *err)
{
	AUTO(json) document = NULL;

	*out = (struct by_hand){.start_ms = 0};
	if (span_find(row->document, SPAN("\"by_hand\"")) < 0)
		return OK;
	TRY(json_parse(&document, row->document, err));
	by_hand_read(out, document);
	out->instance_type = out->price_currency = SPAN(""); /* the document's */
	return OK;
}

/* Where its log ends matters only to ends that nobody dated. */
static enum status read_log_end(struct pipeline *pipeline, struct store_reader *reader, const struct job_row *row,
	struct history_facts *facts, struct error *err)
{
	struct log_end end;
	bool has_any = false;

	for (size_t i = 0; i < facts->told_count && !has_any; i++)
		has_any = facts->told[i].is_undated || told_is_imported_end(&facts->told[i]);
	if (!has_any)
		return OK;
	TRY(log_end_of_job(pipeline, reader, row->name, &end, err));
	facts->log_ms = end.last_ms;
	facts->past_ms = log_end_is_past(&end) ? end.last_ms : 0;
	return OK;
}

static enum status read_facts(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct history_facts *out, struct error *err)
{
	struct told_row *told;

	*out = (struct history_facts){0};
	TRY(store_read_told_facts(reader, arena, row->job_id, &told, &out->told_count, err));
	out->told = told;
	TRY(read_held(pipeline, reader, arena, row->job_id, out, err));
	return read_log_end(pipeline, reader, row, out, err);
}

/* row: with its document; gets the status and the times that are shown. */
static enum status decide(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct job_row *row, struct life_decided *out, struct error *err)
{
	struct history_facts facts;
	struct event_times times;
	struct by_hand by;

	TRY(read_facts(pipeline, reader, arena, row, &facts, err));
	TRY(store_read_event_times(reader, row->job_id, &times, err));
	TRY(history_decide(arena, &facts, &out->known, err));
	history_to_row(&out->known, &times, row);
	out->known_end_ms = row->ended_ms;
	TRY(read_by_hand(row, &by, err));
	TRY(history_set_by_hand(arena, &facts, &out->known, &by, row, &out->by_hand, err));
	row->created_ms = history_created_ms(&out->by_hand.shown, row);
	return OK;
}

/* *is_set: by hand; else nothing is decided. */
static enum status decide_if_set(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct life_decided *out, bool *is_set, struct error *err)
{
	struct job_row unused = *row;
	struct by_hand by;

	TRY(read_by_hand(row, &by, err));
	*is_set = by.start_ms || by.end_ms;
	return *is_set ? decide(pipeline, reader, arena, &unused, out, err) : OK;
}

/* Of rows that are shown once the last time at which each was stated: of what is waited with alone, else nobody asks. */
static enum status find_again(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct history *history, struct error *err)
{
	struct told_row *told;
	size_t count = 0;
	bool is_any = false;

	for (size_t i = 0; i < history->count; i++) {
		history->rows[i].again_ms = 0;
		is_any |= phase_is_waiting(history->rows[i].status) && history->rows[i].source == SOURCE_STATED;
	}
	if (is_any)
		TRY(store_read_told_facts(reader, arena, job_id, &told, &count, err));
	for (size_t i = 0; i < history->count; i++) {
		struct transition_row *row = &history->rows[i];
		for (size_t j = 0; j < count; j++)
			if (told[j].source == SOURCE_STATED && span_equal(told[j].status, row->status) &&
				told[j].start_ms > row->start_ms && told[j].start_ms > row->again_ms &&
				(!row->end_ms || told[j].start_ms < row->end_ms))
				row->again_ms = told[j].start_ms;
	}
	return OK;
}

enum status life_read_known(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct history *out, struct error *err)
{
	struct life_decided decided;
	bool is_set;

	*out = (struct history){.failure_reason = SPAN("")};
	TRY(decide_if_set(pipeline, reader, arena, row, &decided, &is_set, err));
	if (is_set) {
		*out = decided.known;
		return OK;
	}
	TRY(store_read_transitions(reader, arena, row->job_id, &out->rows, &out->count, err));
	return find_again(reader, arena, row->job_id, out, err);
}

/* Why it failed is known by when it did, not by when somebody says that it was: but what a later end has taken in was before it. */
static int64_t failed_at_ms(const struct life_decided *decided, const struct job_row *row)
{
	return row->ended_ms < decided->known_end_ms ? decided->known_end_ms : row->ended_ms;
}

enum status life_read_fault_window(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct fault_window *out, int64_t *failed_ms, struct error *err)
{
	struct history stored = {.failure_reason = SPAN("")};
	const struct history *history = &stored;
	struct life_decided decided;
	bool is_set;

	*failed_ms = row->ended_ms;
	TRY(decide_if_set(pipeline, reader, arena, row, &decided, &is_set, err));
	if (is_set) {
		history = &decided.by_hand.base;
		*failed_ms = failed_at_ms(&decided, row);
	} else {
		TRY(store_read_transitions(reader, arena, row->job_id, &stored.rows, &stored.count, err));
	}
	return fault_window_read(pipeline, reader, arena, row, history, *failed_ms, out, err);
}

static enum status name_fault(struct life *life, struct store_reader *reader, const struct life_decided *decided,
	struct job_row *row, struct known_fault *fault, struct error *err)
{
	const struct history *history = &decided->by_hand.base;
	struct job_row failed = *row;
	struct fault_window window = {0};

	failed.ended_ms = failed_at_ms(decided, row);
	if (span_equal(failed.status, SPAN("Failed")))
		TRY(fault_window_read(
			life->pipeline, reader, life->arena, &failed, history, failed.ended_ms, &window, err));
	TRY(known_fault_of_end(life->pipeline, reader, life->arena, history, &window, &failed, fault, err));
	row->failure_reason = failed.failure_reason;
	return OK;
}

/* That it is silent, or that nobody said the time of, is of now, whatever its log says; what came as the past was told so. */
static bool is_end_ours(const struct history *shown, const struct job_row *row)
{
	const struct transition_row *last = shown->count ? &shown->rows[shown->count - 1] : NULL;

	if (!last || last->start_ms != row->ended_ms)
		return false;
	return last->source == SOURCE_DATED ||
	       (last->source == SOURCE_ASSUMED && span_equal(last->status, SPAN("Stopped")));
}

static enum status renew(
	struct life *life, struct store_tx *tx, struct job_row *row, struct known_fault *fault, struct error *err)
{
	struct store_reader *reader = store_tx_reader(tx);
	struct history old = {.failure_reason = SPAN("")};
	struct life_decided decided;

	TRY(store_read_transitions(reader, life->arena, row->job_id, &old.rows, &old.count, err));
	TRY(decide(life->pipeline, reader, life->arena, row, &decided, err));
	life->history = decided.by_hand.shown;
	life->known = decided.known;
	life->has_given_way = decided.by_hand.has_given_way;
	row->is_end_ours = is_end_ours(&life->history, row);
	TRY(name_fault(life, reader, &decided, row, fault, err));
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
	if (!life->has_changed && span_equal(row->status, SPAN("Failed")))
		TRY(stall_is_named_otherwise(store_tx_reader(tx), life->arena, row, &fault, &life->has_changed, err));
	if ((job = directory_peek_id(life->pipeline->directory, row->job_id)))
		life_note(job, &life->known);
	if (!life->has_changed && !must_write)
		return OK; /* an end that nobody dated is looked at with each summary: that alone makes no other */
	if (job) {
		atomic_store(&job->is_row_dirty, true);
		atomic_store(&job->is_summary_dirty, true); /* its end settles how it ranks */
	}
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
	const struct history *shown = &life->history;

	stall_publish_failed(life->pipeline, &life->failed);
	if (shown->count && phase_is_final(shown->rows[shown->count - 1].status))
		atomic_store(&life->pipeline->summaries_due, true);
}

static void note_gaps(struct job_state *job, const struct history *history)
{
	int64_t from_ms = INT64_MAX, to_ms = INT64_MIN;

	for (size_t i = 0; i < history->count; i++)
		if (run_gap_is(&history->rows[i])) {
			from_ms = from_ms == INT64_MAX ? history->rows[i].start_ms : from_ms;
			to_ms = history->rows[i].end_ms;
		}
	atomic_store(&job->gap_from_ms, from_ms);
	atomic_store(&job->gap_to_ms, to_ms);
}

/* Nearly no job has any. Without memory the ones before stay: an attempt is found by its steps alone then. */
static void note_breaks(struct job_state *job, const struct history *history)
{
	int64_t found[BREAKS_MAX];
	size_t count = history_find_breaks(history, found, BREAKS_MAX);

	pthread_mutex_lock(&job->mutex);
	bool is_same = count == job->break_count && (!count || !memcmp(found, job->breaks, count * sizeof *found));
	int64_t *breaks = is_same || !count ? NULL : mem_alloc(count * sizeof *breaks);
	if (breaks)
		memcpy(breaks, found, count * sizeof *breaks);
	if (!is_same && (breaks || !count)) {
		mem_free(job->breaks);
		job->breaks = breaks;
		job->break_count = count;
		atomic_fetch_add(&job->break_changes, 1);
	}
	pthread_mutex_unlock(&job->mutex);
}

/* What was stated, and a line has ended: one that comes later may be of an earlier time. */
static const struct transition_row *find_halt(const struct history *history)
{
	const struct transition_row *last = history->count > 1 ? &history->rows[history->count - 1] : NULL;
	bool is_assumed = last && last->source == SOURCE_ASSUMED && span_equal(last->status, SPAN("Training"));

	return is_assumed && last[-1].source != SOURCE_ASSUMED && phase_is_waiting(last[-1].status) ? last - 1 : NULL;
}

/* Stated again and again it is shown once, and nothing that was printed up to the last time ended it. */
static int64_t halted_ms(const struct transition_row *halt)
{
	return halt->again_ms > halt->start_ms ? halt->again_ms : halt->start_ms;
}

/* Up to then a line that comes changes whether the job trained between what was stated (halts.h); INT64_MIN: none does. */
static int64_t halted_until_ms(const struct history *history)
{
	const struct transition_row *end = history->rows + history->count;
	int64_t until_ms = INT64_MIN;

	for (size_t i = 0; i < history->count; i++) {
		const struct transition_row *row = &history->rows[i], *next = row + 1;
		if (row->source != SOURCE_STATED || !phase_is_waiting(row->status))
			continue;
		until_ms = row->again_ms > until_ms ? row->again_ms : until_ms;
		while (next < end && (transition_is_assumed(next) || next->source == SOURCE_SESSION) &&
			!phase_is_final(next->status))
			next++;
		if (next < end && next->start_ms > until_ms && phase_is_before(SPAN("Training"), next->status))
			until_ms = next->start_ms;
	}
	return until_ms;
}

/*
 * It has gone on from a time that is past: its sender had to wait, and its tracker has told of the time since. Without memory the log tells
 * that, too.
 */
static void note_told(struct job_state *job)
{
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		(void)!stream_note_told(stream);
		pthread_mutex_unlock(&stream->mutex);
	}
}

void life_note(struct job_state *job, const struct history *history)
{
	static const struct transition_row none;
	const struct transition_row *last = history->count ? &history->rows[history->count - 1] : &none;
	bool is_waiting = phase_is_waiting(last->status), is_final = phase_is_final(last->status);

	note_gaps(job, history);
	note_breaks(job, history);
	atomic_store(&job->halts_to_ms, halted_until_ms(history));
	bool goes_on = atomic_exchange(&job->is_over, is_final) && !is_final;
	if (goes_on)
		atomic_fetch_add(&job->life, 1);
	atomic_store(&job->over_ms, is_final ? last->start_ms : INT64_MAX);
	atomic_store(&job->began_ms, history_began_again_ms(history));
	if (goes_on)
		note_told(job);
	for (size_t i = 0; i < history->count; i++)
		if (history->rows[i].source == SOURCE_ASSUMED &&
			span_equal(history->rows[i].status, SPAN("Training"))) {
			atomic_store(&job->signed_ms, history->rows[i].start_ms);
			break;
		}
	const struct transition_row *halt = is_waiting ? last : find_halt(history);
	atomic_store(&job->awaited_to_ms, halt == last || !halt ? INT64_MAX : last->start_ms);
	atomic_store(&job->awaited_ms, !halt                            ? INT64_MAX
				       : halt->source == SOURCE_ASSUMED ? INT64_MIN
									: halted_ms(halt));
	bool is_presumed = last->source == SOURCE_ASSUMED && span_equal(last->status, SPAN("Stopped"));
	atomic_store(&job->presumed_ms, is_presumed ? last->start_ms : INT64_MAX);
}

bool life_is_within_lease(const struct pipeline *pipeline)
{
	return clock_wall_ms() - pipeline->started_ms < pipeline->options.lease_ms;
}

enum status life_end_lifted(struct store_tx *tx, int64_t job_id, const struct told_row *rows, size_t session,
	const struct told_row *told, struct error *err)
{
	for (size_t i = session; i-- > 0;) {
		bool is_same = rows[i].source == SOURCE_STATED && span_equal(rows[i].status, told->status);
		if (!is_same || rows[i].is_whole || rows[i].start_ms >= told->start_ms)
			return OK;
		TRY(store_delete_told(tx, job_id, &rows[i], err));
	}
	return OK;
}
