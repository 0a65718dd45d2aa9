/* The statuses of a job, with their messages, as phases of its wall clock; and where the clock begins and ends. */
#include "model/jobs/failure.h"
#include "model/metrics/stream_name.h"
#include "pipeline/goodput/goodput.h"
#include "state/heard.h"
#include "state/jobs/history.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/sessions.h"
#include "store/tracked_runs.h"
#include "store/transitions.h"

struct phasing {
	const struct stretches *work;
	const struct told_row *told;
	size_t told_count;
	struct goodput_phase *phases;
	bool *is_billed;
	size_t count;
	bool has_trained, was_done; /* what goes on behind Completed starts up as a job does */
	bool has_begun; /* what is billed: Training, even if the image is not there yet */
};

/* For machines; what had ended and was resumed later had none meanwhile. */
static bool is_waiting(struct span status)
{
	return phase_is_final(status) || span_equal(status, SPAN("Interrupted")) ||
	       span_equal(status, SPAN("Starting")) || span_equal(status, SPAN("Pending")) ||
	       span_equal(status, SPAN("LaunchingMLInstances")) || span_equal(status, SPAN("PreparingTrainingStack"));
}

static void put_phase(struct phasing *p, struct goodput_phase phase, bool is_billed)
{
	p->is_billed[p->count] = is_billed;
	p->phases[p->count++] = phase;
}

/* Nobody said that it held its machines all the while: what is between two stretches of its work is none. */
static void put_around_pauses(struct phasing *p, struct goodput_phase phase, bool is_billed)
{
	int64_t from_ms, to_ms;

	for (unsigned at = 0; stretches_pause(p->work, &at, &from_ms, &to_ms);) {
		struct goodput_phase before = phase, pause = {.bucket = GOODPUT_IDLE, .is_away = true};
		if (to_ms <= phase.from_ms || from_ms >= phase.to_ms)
			continue;
		before.to_ms = from_ms > phase.from_ms ? from_ms : phase.from_ms;
		pause.from_ms = before.to_ms;
		pause.to_ms = phase.from_ms = to_ms < phase.to_ms ? to_ms : phase.to_ms;
		put_phase(p, before, is_billed);
		put_phase(p, pause, false);
	}
	put_phase(p, phase, is_billed);
}

/* An end that was gone on from is what broke the work off: how it failed, or that somebody stopped it, and what for. */
static struct span cause_of_end(const struct phasing *p, const struct transition_row *row, struct span message)
{
	const struct phase *phase = phase_find(row->status);
	const char *class = NULL;

	if (!phase || !phase->is_final || !row->end_ms)
		return SPAN("");
	if (span_equal(row->status, SPAN("Stopped"))) {
		struct span said = goodput_said_cause(message);
		return said.len ? said : SPAN(GOODPUT_BY_USER);
	}
	if (!span_equal(row->status, SPAN("Failed")))
		return SPAN("");
	for (size_t i = 0; i < p->told_count && !class; i++)
		if (p->told[i].start_ms >= row->start_ms && p->told[i].start_ms < row->end_ms &&
			span_equal(p->told[i].status, row->status))
			class = failure_class(p->told[i].reason);
	return class && strcmp(class, "Unknown") != 0 ? span_from(class) : SPAN("unknown");
}

static void add_phase(
	struct phasing *p, const struct transition_row *row, struct span message, int64_t from_ms, int64_t to_ms)
{
	struct goodput_phase phase = goodput_phase_of(row->status, message, p->has_trained);

	phase.from_ms = p->count ? p->phases[p->count - 1].to_ms : from_ms;
	phase.to_ms = to_ms > phase.from_ms ? to_ms : phase.from_ms;
	phase.cause = phase.cause.len ? phase.cause : cause_of_end(p, row, message);
	bool is_broken = phase.bucket == GOODPUT_RESTART || (phase.bucket == GOODPUT_IDLE && phase.cause.len);
	p->was_done |= phase.is_done;
	p->has_trained = !phase.is_done && (p->has_trained || phase.is_training || (p->was_done && is_broken));
	p->has_begun |= phase.is_training || span_equal(row->status, SPAN("Training"));
	bool is_billed = p->has_begun && !is_waiting(row->status);
	if (transition_is_assumed(row) && phase.is_training)
		put_around_pauses(p, phase, is_billed);
	else
		put_phase(p, phase, is_billed);
}

/* A transition in the pieces that its messages cut it into. */
static void add_transition(struct phasing *p, const struct transition_row *row, int64_t to_ms,
	const struct status_message *messages, size_t message_count)
{
	struct span message = SPAN("");
	int64_t from_ms = row->start_ms;
	bool has_any = false;

	for (size_t i = 0; i < message_count; i++) {
		const struct status_message *said = &messages[i];
		if (!span_equal(said->status, row->status) || said->at_ms < row->start_ms ||
			(said->at_ms >= to_ms && said->at_ms > row->start_ms))
			continue;
		if (has_any && said->at_ms > from_ms) { /* the first one holds from the beginning */
			add_phase(p, row, message, from_ms, said->at_ms);
			from_ms = said->at_ms;
		}
		message = said->message;
		has_any = true;
	}
	add_phase(p, row, has_any ? message : row->message, from_ms, to_ms);
}

static bool is_final(const struct transition_row *row)
{
	const struct phase *phase = phase_find(row->status);

	return phase && phase->is_final;
}

/* Did anybody say when it began, or was held up? */
static bool is_stated(const struct transition_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!transition_is_assumed(&rows[i]) && rows[i].source != SOURCE_DATED && !is_final(&rows[i]))
			return true;
	return false;
}

static bool is_by_hand(const struct transition_row *row)
{
	return row->source == SOURCE_BY_HAND || row->source == SOURCE_ASSUMED_BY_HAND;
}

/* Of a job whose times nobody stated the clock goes from its first line to its last: that there is a document is no start. */
static int64_t begin_ms(const struct job_row *row, const struct transition_row *rows, size_t count, int64_t first_ms)
{
	bool is_first_stated = count && rows[0].source != SOURCE_ASSUMED && !is_final(&rows[0]);
	int64_t begin_ms = row->created_ms;

	if (count && is_by_hand(&rows[0]))
		return rows[0].start_ms;
	if (count && rows[0].start_ms < begin_ms)
		begin_ms = rows[0].start_ms;
	return first_ms && first_ms < begin_ms && (row->is_implicit || !is_first_stated) ? first_ms : begin_ms;
}

/* The machine's own stream says nothing of the training. */
static enum status is_left_by_all(
	struct store_reader *reader, struct arena *arena, int64_t job_id, bool *is_left, struct error *err)
{
	struct held_row *held;
	size_t count;

	*is_left = true;
	TRY(store_read_held(reader, arena, job_id, &held, &count, err));
	for (size_t i = 0; i < count; i++)
		*is_left &= held[i].has_exit || stream_is_system(held[i].stream);
	return OK;
}

enum status goodput_find_client_word(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct transition_row *rows, size_t count, int64_t *last_ms, struct error *err)
{
	struct tracked_run_row run;
	size_t at = 0;

	*last_ms = 0;
	while (at < count && !span_equal(rows[at].status, SPAN("Training")))
		at++;
	if (at == count || rows[at].source != SOURCE_STATED)
		return OK;
	enum status status = store_read_run_of_job(reader, arena, row->job_id, &run, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	/* The run itself stays at the server where it was made; what its client said goes with the job. */
	bool is_clients = status == OK ? rows[at].start_ms == run.start_ms
				       : span_equal(rows[at].message, SPAN(GOODPUT_RUN_BEGAN));
	if (!is_clients && span_starts_with(rows[at].message, SPAN(HISTORY_SHIPPED_BEGAN)))
		TRY(is_left_by_all(reader, arena, row->job_id, &is_clients, err));
	if (!is_clients)
		return OK;
	for (; at < count; at++)
		if (!is_final(&rows[at]))
			*last_ms = rows[at].start_ms;
	return OK;
}

/* Its time was over when it was worked out last, and nothing has come since: a start of the server takes nothing of that back. */
static enum status find_known_over(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	int64_t *over_ms, struct error *err)
{
	struct goodput_row known;

	*over_ms = 0;
	if (row->ended_ms)
		return OK;
	TRY(store_read_goodput(reader, arena, row->job_id, &known, err));
	*over_ms = known.is_over ? known.as_of_ms : 0;
	return OK;
}

/* One that nobody ended runs as long as its lines: of the past, or until it falls silent; over_ms: it was silent then. */
static int64_t end_ms(const struct pipeline *pipeline, const struct job_view *view, const struct transition_row *rows,
	size_t count, int64_t client_ms, int64_t over_ms, int64_t now_ms, struct job_facts *out)
{
	const struct job_row *row = &view->row;
	int64_t work_ms = stretches_last_ms(&out->work), last_ms = client_ms > work_ms ? client_ms : work_ms,
		heard_ms = 0;
	bool is_of_lines = row->is_implicit || client_ms ||
			   (count && transition_is_assumed(&rows[0]) && span_equal(rows[0].status, SPAN("Training")));

	for (size_t i = 0; i < view->stream_count; i++) /* a machine measures on while its training is over */
		if (!stream_is_system(view->streams[i].name) && view->streams[i].last_arrival_ms > heard_ms)
			heard_ms = view->streams[i].last_arrival_ms;
	out->changed_ms = heard_ms > row->modified_ms ? heard_ms : row->modified_ms;
	if (client_ms && !heard_ms)
		heard_ms = row->modified_ms; /* it never logged */
	out->last_ms = last_ms;
	/* all of it was over when it came */
	bool is_past = last_ms && last_ms < heard_ms - HISTORIC_MS &&
		       (row->is_implicit || client_ms || !is_stated(rows, count));
	if (row->ended_ms)
		return row->ended_ms;
	bool is_silent = (heard_ms <= over_ms && client_ms <= over_ms) || heard_silent_since(pipeline, row, heard_ms);
	bool is_over = is_past || (last_ms && is_of_lines && is_silent);
	out->is_open = !is_over;
	return is_over ? last_ms : now_ms;
}

static void find_by_hand(const struct transition_row *rows, size_t count, struct job_facts *out)
{
	size_t at = 0;

	out->from_by_hand_ms = INT64_MIN;
	out->to_by_hand_ms = INT64_MAX;
	while (at < count && !span_equal(rows[at].status, SPAN("Training")))
		at++;
	if (at < count && is_by_hand(&rows[at]))
		out->from_by_hand_ms = rows[at].start_ms;
	if (count && is_final(&rows[count - 1]) && is_by_hand(&rows[count - 1]))
		out->to_by_hand_ms = rows[count - 1].start_ms;
}

static void sum_pauses(struct job_facts *out, const struct phasing *p)
{
	for (size_t i = 0; i < p->count; i++)
		out->paused_ms += p->phases[i].is_away ? p->phases[i].to_ms - p->phases[i].from_ms : 0;
}

enum status goodput_read_phases(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, int64_t now_ms, struct job_facts *out, struct error *err)
{
	const struct job_row *row = &view->row;
	struct transition_row *rows;
	struct status_message *messages;
	struct told_row *told;
	size_t count, message_count, told_count;

	TRY(store_read_transitions(reader, arena, row->job_id, &rows, &count, err));
	TRY(store_read_status_messages(reader, arena, row->job_id, &messages, &message_count, err));
	TRY(store_read_told_facts(reader, arena, row->job_id, &told, &told_count, err));
	size_t most = 3 * (count + message_count + 2) + 2 * STRETCHES_MAX;
	struct phasing p = {.work = &out->work,
		.told = told,
		.told_count = told_count,
		.phases = arena_alloc(arena, most * sizeof *p.phases),
		.is_billed = arena_alloc(arena, most * sizeof *p.is_billed)};
	if (!p.phases || !p.is_billed)
		return error_no_memory(err);
	int64_t client_ms, over_ms;
	TRY(goodput_find_client_word(reader, arena, row, rows, count, &client_ms, err));
	TRY(find_known_over(reader, arena, row, &over_ms, err));
	int64_t to_ms = goodput_within(end_ms(pipeline, view, rows, count, client_ms, over_ms, now_ms, out));
	int64_t from_ms = goodput_within(begin_ms(row, rows, count, stretches_first_ms(&out->work)));
	if (count && is_final(&rows[count - 1]) && rows[count - 1].start_ms > to_ms)
		rows[count - 1].start_ms = to_ms; /* told late */
	/* It was asked for before it trained, whether anybody said so or not. */
	bool begins_training = count && span_equal(rows[0].status, SPAN("Training"));
	struct transition_row none = {.status = row->secondary, .message = SPAN(""), .source = SOURCE_ASSUMED};
	if (!count)
		add_phase(&p, &none, SPAN(""), from_ms, to_ms);
	none.status = SPAN("Starting");
	if (begins_training && rows[0].source != SOURCE_ASSUMED && rows[0].start_ms > from_ms)
		add_phase(&p, &none, SPAN(""), from_ms, goodput_within(rows[0].start_ms));
	else if (count)
		rows[0].start_ms = from_ms;
	for (size_t i = 0; i < count; i++)
		add_transition(&p, &rows[i], i + 1 < count ? goodput_within(rows[i + 1].start_ms) : to_ms, messages,
			message_count);
	find_by_hand(rows, count, out);
	out->facts.phases = p.phases;
	out->facts.phase_count = p.count;
	out->is_billed = p.is_billed;
	out->is_start_stated = is_stated(rows, count);
	sum_pauses(out, &p);
	return OK;
}
