#include "pipeline/carry/carry_read_history.h"

#include "pipeline/carry/carry_want.h"
#include "store/transitions.h"

/* ---- what is shown ---- */

static enum status read_source(const struct json *node, const char *field, size_t count, struct arena *arena,
	enum transition_source *out, struct error *err)
{
	struct span source;

	TRY(want_text(node, "source", STATUS_MAX_BYTES, arena, &source, err));
	for (size_t i = 0; i < count; i++)
		if (span_equal(source, span_from(carry_sources[i]))) {
			*out = (enum transition_source)i;
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, field,
		"a transition's source is no '%.*s', but stated, assumed, log, exit …", SPAN_ARGS(source));
}

static enum status read_transition(
	const struct json *node, struct arena *arena, struct transition_row *row, struct error *err)
{
	TRY(want_text(node, "status", STATUS_MAX_BYTES, arena, &row->status, err));
	TRY(want_text(node, "message", SIZE_MAX, arena, &row->message, err));
	TRY(want_job_time(node, "start_ms", &row->start_ms, err));
	TRY(want_job_time(node, "end_ms", &row->end_ms, err));
	return read_source(
		node, "transitions.source", sizeof carry_sources / sizeof *carry_sources, arena, &row->source, err);
}

static enum status read_transitions(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *array;
	void *rows;
	size_t at = 0;

	TRY(want_array(object, "transitions", &array, err));
	TRY(want_rows(array, sizeof *job->transitions, arena, &job->transition_count, &rows, err));
	job->transitions = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "transitions", at, err));
		TRY(read_transition(node, arena, &job->transitions[at], err));
	}
	return OK;
}

/* ---- what it is made of ---- */

static enum status read_told_row(const struct json *node, struct arena *arena, struct told_row *row, struct error *err)
{
	TRY(want_text(node, "status", STATUS_MAX_BYTES, arena, &row->status, err));
	TRY(want_text(node, "message", SIZE_MAX, arena, &row->message, err));
	TRY(want_text(node, "reason", SIZE_MAX, arena, &row->reason, err));
	TRY(want_job_time(node, "start_ms", &row->start_ms, err));
	TRY(want_job_time(node, "lifts_ms", &row->lifts_ms, err));
	TRY(want_bool(node, "is_whole", &row->is_whole, err));
	TRY(want_bool(node, "is_undated", &row->is_undated, err));
	return read_source(node, "told.source", SOURCE_SESSION + 1, arena, &row->source, err);
}

static enum status read_event_times(const struct json *object, struct event_times *times, struct error *err)
{
	const struct json *node;

	TRY(want_node(object, "event_times", &node, "an object or null", err));
	times->is_told = json_kind(node) != JSON_NULL;
	if (!times->is_told)
		return OK;
	TRY(want_job_time(node, "started_ms", &times->started_ms, err));
	return want_job_time(node, "ended_ms", &times->ended_ms, err);
}

static enum status read_told(const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	const struct json *array = json_get(object, "told");
	void *rows;
	size_t at = 0;

	job->has_told = array && json_kind(array) != JSON_NULL;
	if (!job->has_told) /* an older server's */
		return OK;
	TRY(want_array(object, "told", &array, err));
	TRY(want_rows(array, sizeof *job->told, arena, &job->told_count, &rows, err));
	job->told = rows;
	for (const struct json *node = json_first(array); node; node = json_next(node), at++) {
		TRY(want_object(node, "told", at, err));
		TRY(read_told_row(node, arena, &job->told[at], err));
	}
	return read_event_times(object, &job->event_times, err);
}

enum status carry_read_history(const struct json *object, struct arena *arena, struct carry_job *job, struct error *err)
{
	TRY(read_transitions(object, arena, job, err));
	return read_told(object, arena, job, err);
}
