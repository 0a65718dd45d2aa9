#include "pipeline/carry/carry_read_incident.h"

#include "model/incident.h"
#include "pipeline/carry/carry_want.h"
#include "store/alerts.h"

static enum status unknown_name(const char *key, struct span name, struct error *err)
{
	return error_set_field(err, ERR_SEMANTIC, key, "'%.*s' is no %s of an incident", SPAN_ARGS(name), key);
}

static enum status read_names(
	const struct json *object, struct arena *arena, struct incident *incident, struct error *err)
{
	struct span kind, severity, state;

	TRY(want_text(object, "kind", STATUS_MAX_BYTES, arena, &kind, err));
	TRY(want_text(object, "severity", STATUS_MAX_BYTES, arena, &severity, err));
	TRY(want_text(object, "state", STATUS_MAX_BYTES, arena, &state, err));
	if (!incident_kind_parse(kind, &incident->kind))
		return unknown_name("kind", kind, err);
	if (!severity_parse(severity, &incident->severity))
		return unknown_name("severity", severity, err);
	return incident_state_parse(state, &incident->state) ? OK : unknown_name("state", state, err);
}

static enum status read_figures(const struct json *object, struct incident *incident, struct error *err)
{
	TRY(want_double(object, "value", &incident->value, err));
	TRY(want_double(object, "expected", &incident->expected, err));
	TRY(want_double(object, "spread", &incident->spread, err));
	TRY(want_double(object, "score", &incident->score, err));
	TRY(want_double(object, "worst", &incident->worst, err));
	return want_time(object, "worst_step", &incident->worst_step, err);
}

/* What it is about beside figures: members of a JSON object. */
static enum status read_facts(
	const struct json *object, struct arena *arena, struct incident_row *row, struct error *err)
{
	AUTO_DONE(buf) whole = BUF_INIT(SIZE_MAX / 2);
	AUTO(json) facts = NULL;
	struct error cause;

	TRY(want_text(object, "facts", SIZE_MAX, arena, &row->facts, err));
	buf_append_char(&whole, '{');
	buf_append_span(&whole, row->facts);
	buf_append_char(&whole, '}');
	TRY(buf_status(&whole, err));
	if (json_parse(&facts, buf_span(&whole), &cause) == OK)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "facts", "'facts' are no members of a JSON object: %s", cause.text);
}

/* Where and when it was opened, and how it stands. */
static enum status read_course(const struct json *object, struct incident_row *row, struct error *err)
{
	struct incident *incident = &row->incident;
	int64_t line = 0, ordinal = 0;

	TRY(want_i64(object, "opened_ordinal", INT64_MIN, INT64_MAX, &ordinal, err));
	TRY(want_time(object, "first_step", &incident->first_step, err));
	TRY(want_time(object, "last_step", &incident->last_step, err));
	TRY(want_time(object, "opened_step", &incident->opened_step, err));
	TRY(want_time(object, "opened_ms", &incident->opened_ms, err));
	TRY(want_time(object, "closed_ms", &incident->closed_ms, err));
	TRY(want_time(object, "acknowledged_ms", &row->acknowledged_ms, err));
	TRY(want_i64(object, "line", -1, INT64_MAX, &line, err));
	TRY(want_bool(object, "is_historic", &incident->is_historic, err));
	incident_close_parse(json_string_of(json_get(object, "closed_why")), &incident->closed_why);
	incident->line = (uint64_t)line;
	incident->opened_ordinal = (uint64_t)ordinal;
	return OK;
}

/* Older exports leave it to the series. */
static enum status read_metric(
	const struct json *object, struct arena *arena, struct incident_row *row, struct error *err)
{
	if (!json_get(object, "metric"))
		return OK;
	TRY(want_u32(object, "stream", &row->stream_id, err));
	TRY(want_name(object, "metric", 0, arena, &row->metric, err));
	TRY(want_u32(object, "attempt", &row->attempt, err));
	return want_u32(object, "life", &row->life, err);
}

enum status carry_read_incident(
	const struct json *object, struct arena *arena, struct incident_row *row, struct error *err)
{
	int64_t id = 0;

	*row = (struct incident_row){0};
	TRY(want_i64(object, "id", 1, INT32_MAX, &id, err));
	row->incident_id = (uint32_t)id;
	TRY(want_u32(object, "series", &row->series_id, err));
	TRY(read_names(object, arena, &row->incident, err));
	TRY(read_course(object, row, err));
	TRY(want_i64(object, "rule", 0, INT64_MAX, &row->incident.rule_id, err));
	TRY(want_u32(object, "cause", &row->cause_id, err));
	TRY(want_u32(object, "fold", &row->fold_id, err));
	TRY(want_time(object, "muted_until_ms", &row->muted_until_ms, err));
	TRY(read_facts(object, arena, row, err));
	TRY(read_metric(object, arena, row, err));
	return read_figures(object, &row->incident, err);
}
