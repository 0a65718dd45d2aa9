#include "pipeline/jobs/job_event.h"

#include "base/clock.h"
#include "base/text/iso8601.h"
#include "base/json/json_write.h"
#include "model/jobs/job_time.h"
#include "store/transitions.h"

#include <stdio.h>

/* ---- times ---- */

/* Zero is what SageMaker writes for "not yet". */
static bool is_believable(int64_t ms)
{
	return ms == 0 || (ms >= JOB_EARLIEST_MS && ms <= clock_wall_ms() + JOB_AHEAD_MS);
}

static bool time_of(const struct json *node, int64_t *ms)
{
	struct span text = json_string_of(node);
	double value;

	if (text.len && iso8601_parse(text, ms))
		return is_believable(*ms);
	if (!(text.len ? span_parse_double(text, &value) : json_number_of(node, &value)))
		return false;
	if (!(value >= 0 && value < (double)JOB_LATEST_MS))
		return false;
	*ms = value < 1e11 ? (int64_t)(value * 1000 + 0.5) : (int64_t)value; /* seconds end at 1e11, the year 5138 */
	return is_believable(*ms);
}

/* Null is "not yet", too. */
static enum status want_time(
	const struct json *object, const char *key, const char *field, int64_t *ms, struct error *err)
{
	const struct json *node = json_get(object, key);
	AUTO_DONE(buf) text = BUF_INIT(256);

	if (!node || json_kind(node) == JSON_NULL || time_of(node, ms))
		return OK;
	json_print(node, &text);
	return error_set_field(err, ERR_SEMANTIC, field,
		"%s is %.*s, no time from 1990 to a day from now: Unix milliseconds, seconds, or ISO 8601", field,
		SPAN_ARGS(buf_span(&text)));
}

/* ---- transitions ---- */

static enum status check_status(struct span status, const char *field, struct error *err)
{
	if (phase_find(status))
		return OK;
	return error_set_field(err, ERR_SEMANTIC, field,
		"%s '%.*s' is none of SageMaker's secondary statuses (Starting, Training, Completed …)", field,
		SPAN_ARGS(status));
}

static enum status read_transition(const struct json *entry, size_t index, struct told_row *row, struct error *err)
{
	char field[64];

	*row = (struct told_row){.status = SPAN(""), .message = SPAN(""), .reason = SPAN(""), .source = SOURCE_STATED};
	snprintf(field, sizeof field, "SecondaryStatusTransitions[%zu]", index);
	if (json_kind(entry) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, field, "%s is no object", field);
	TRY(json_want_string(entry, "Status", &row->status, err));
	TRY(json_want_string(entry, "StatusMessage", &row->message, err));
	snprintf(field, sizeof field, "SecondaryStatusTransitions[%zu].Status", index);
	TRY(check_status(row->status, field, err));
	snprintf(field, sizeof field, "SecondaryStatusTransitions[%zu].StartTime", index);
	TRY(want_time(entry, "StartTime", field, &row->start_ms, err));
	if (!row->start_ms)
		return error_set_field(err, ERR_SEMANTIC, field, "%s is missing", field);
	return OK;
}

static enum status read_transitions(
	struct arena *arena, const struct json *list, struct job_event *out, struct told_row **rows, struct error *err)
{
	static const char field[] = "SecondaryStatusTransitions";
	bool is_there = list && json_kind(list) != JSON_NULL;
	size_t count = is_there ? json_count(list) : 0;

	if (is_there && json_kind(list) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, field, "%s is no array", field);
	if (count > EVENT_TRANSITIONS_MAX)
		return error_set_field(err, ERR_SEMANTIC, field, "%s has %zu entries; at most %d are taken", field,
			count, EVENT_TRANSITIONS_MAX);
	*rows = arena_alloc(arena, (count + 1) * sizeof **rows);
	if (!*rows)
		return error_no_memory(err);
	out->told = *rows;
	const struct json *entry = is_there ? json_first(list) : NULL;
	for (; entry; entry = json_next(entry), out->told_count++)
		TRY(read_transition(entry, out->told_count, &(*rows)[out->told_count], err));
	for (size_t i = 0; i < out->told_count; i++)
		(*rows)[i].is_whole = true;
	return OK;
}

static bool is_told(const struct job_event *event, struct span status)
{
	for (size_t i = 0; i < event->told_count; i++)
		if (span_equal(event->told[i].status, status))
			return true;
	return false;
}

/* The present status, which the list need not hold: the list of the event may be empty. */
static enum status add_present(struct job_event *event, struct span secondary, struct told_row *rows, struct error *err)
{
	struct told_row row = {.status = secondary,
		.message = SPAN(""),
		.reason = SPAN(""),
		.start_ms = event->newest_ms,
		.source = SOURCE_STATED};

	if (!secondary.len)
		return event->told_count
			       ? OK
			       : error_set_field(err, ERR_SEMANTIC, "SecondaryStatus",
					 "the event says no SecondaryStatus and has no SecondaryStatusTransitions");
	TRY(check_status(secondary, "SecondaryStatus", err));
	if (phase_find(secondary)->is_final && event->ended_ms)
		row.start_ms = event->ended_ms;
	if (!is_told(event, secondary))
		rows[event->told_count++] = row;
	return OK;
}

static enum status check_known_status(struct span status, struct error *err)
{
	static const char *const known[] = {"InProgress", "Completed", "Failed", "Stopping", "Stopped"};
	bool is_known = !status.len;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		is_known |= span_equal(status, span_from(known[i]));
	if (is_known)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "TrainingJobStatus",
		"TrainingJobStatus '%.*s' is none of InProgress, Completed, Failed, Stopping, Stopped",
		SPAN_ARGS(status));
}

enum status job_event_check_stated(const struct json *document, struct error *err)
{
	static const char *const times[] = {"CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime"};
	struct span status = SPAN(""), secondary = SPAN("");
	int64_t unused;

	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		TRY(want_time(document, times[i], times[i], &unused, err));
	TRY(json_want_string(document, "TrainingJobStatus", &status, err));
	TRY(json_want_string(document, "SecondaryStatus", &secondary, err));
	TRY(check_known_status(status, err));
	return secondary.len ? check_status(secondary, "SecondaryStatus", err) : OK;
}

static enum status check_job_status(struct job_event *event, struct span secondary, struct error *err)
{
	const struct phase *phase = phase_find(secondary);
	bool is_final = event->status.len && phase_find(event->status) && phase_find(event->status)->is_final;

	TRY(check_known_status(event->status, err));
	if (event->status.len && phase && phase->is_final != is_final)
		return error_set_field(err, ERR_SEMANTIC, "SecondaryStatus",
			"TrainingJobStatus '%.*s' and SecondaryStatus '%.*s' cannot be at once",
			SPAN_ARGS(event->status), SPAN_ARGS(secondary));
	return OK;
}

enum status job_event_read(
	struct arena *arena, const struct json *detail, int64_t sent_ms, struct job_event *out, struct error *err)
{
	struct span secondary = SPAN("");
	struct told_row *rows;

	*out = (struct job_event){.job = SPAN(""), .status = SPAN(""), .failure_reason = SPAN(""), .detail = detail};
	TRY(json_want_string(detail, "TrainingJobName", &out->job, err));
	TRY(json_want_string(detail, "TrainingJobStatus", &out->status, err));
	TRY(json_want_string(detail, "SecondaryStatus", &secondary, err));
	TRY(json_want_string(detail, "FailureReason", &out->failure_reason, err));
	TRY(want_time(detail, "CreationTime", "CreationTime", &out->created_ms, err));
	TRY(want_time(detail, "TrainingStartTime", "TrainingStartTime", &out->started_ms, err));
	TRY(want_time(detail, "TrainingEndTime", "TrainingEndTime", &out->ended_ms, err));
	TRY(want_time(detail, "LastModifiedTime", "LastModifiedTime", &out->newest_ms, err));
	if (!out->newest_ms)
		out->newest_ms = sent_ms;
	if (!out->job.len)
		return error_set_field(err, ERR_SEMANTIC, "TrainingJobName", "the event names no TrainingJobName");
	if (!secondary.len && phase_find(out->status))
		secondary = out->status;
	TRY(check_job_status(out, secondary, err));
	TRY(read_transitions(arena, json_get(detail, "SecondaryStatusTransitions"), out, &rows, err));
	TRY(add_present(out, secondary, rows, err));
	for (size_t i = 0; i < out->told_count; i++)
		if (phase_is_final(rows[i].status))
			rows[i].reason = out->failure_reason;
	return OK;
}

/* ---- the document ---- */

/* What becomes history and times of the job, not its document; and tags, which are a list there. */
static bool is_told_apart(struct span key)
{
	static const char *const names[] = {"TrainingJobName", "TrainingJobStatus", "SecondaryStatus", "FailureReason",
		"CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime",
		"SecondaryStatusTransitions", "Tags"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, span_from(names[i])))
			return true;
	return false;
}

/* {} and null stand for "nothing is known". */
static bool is_empty(const struct json *node)
{
	enum json_kind kind = json_kind(node);

	return kind == JSON_NULL || ((kind == JSON_OBJECT || kind == JSON_ARRAY) && !json_count(node));
}

static void put_tag(struct json_writer *w, struct span key, const struct json *value)
{
	json_object(w);
	json_put_span(w, "Key", key);
	json_put_span(w, "Value", json_string_of(value));
	json_object_end(w);
}

static bool has_key(const struct json *tags, struct span key)
{
	for (const struct json *tag = json_first(tags); tag; tag = json_next(tag))
		if (span_equal(json_key_of(tag), key))
			return true;
	return false;
}

/* The event's tags, then those that the document had beside them. */
static enum status merge_tags(const struct json *told, const struct json *old, struct json *document, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(json) list = NULL;
	struct json_writer w = json_writer_on(&text);

	json_array(&w);
	for (const struct json *tag = json_first(told); tag; tag = json_next(tag))
		put_tag(&w, json_key_of(tag), tag);
	for (const struct json *tag = old ? json_first(old) : NULL; tag; tag = json_next(tag))
		if (!has_key(told, json_string_of(json_get(tag, "Key"))))
			put_tag(&w, json_string_of(json_get(tag, "Key")), json_get(tag, "Value"));
	json_array_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&list, buf_span(&text), err));
	return json_set_copy(document, "Tags", list) ? OK : error_no_memory(err);
}

/* It would be printed as another, and the same event again would add it again. */
static enum status check_key(struct span key, struct error *err)
{
	return span_is_utf8(key)
		       ? OK
		       : error_set(err, ERR_SEMANTIC, "a field or tag of the event has a name that is not UTF-8");
}

static enum status set_field(struct json *document, const struct json *field, struct error *err)
{
	char key[256];
	struct span name = json_key_of(field);

	if (name.len >= sizeof key || memchr(name.ptr, 0, name.len))
		return error_set(err, ERR_SEMANTIC,
			"a field of the event has a name of %zu bytes; at most %zu are taken", name.len,
			sizeof key - 1);
	TRY(check_key(name, err));
	memcpy(key, name.ptr, name.len);
	key[name.len] = 0;
	return json_set_copy(document, key, field) ? OK : error_no_memory(err);
}

enum status job_event_document(
	const struct job_event *event, const struct json *old, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);
	AUTO(json) document = NULL;
	const struct json *tags = json_get(event->detail, "Tags");

	if (old)
		json_print(old, &text);
	else
		buf_append_text(&text, "{}");
	TRY(buf_status(&text, err));
	TRY(json_parse(&document, buf_span(&text), err));
	if (!json_set_string(document, "TrainingJobName", event->job))
		return error_no_memory(err);
	for (const struct json *field = json_first(event->detail); field; field = json_next(field))
		if (!is_told_apart(json_key_of(field)) && !is_empty(field))
			TRY(set_field(document, field, err));
	for (const struct json *tag = tags ? json_first(tags) : NULL; tag && json_kind(tags) == JSON_OBJECT;
		tag = json_next(tag))
		TRY(check_key(json_key_of(tag), err));
	if (tags && json_kind(tags) == JSON_OBJECT && json_count(tags))
		TRY(merge_tags(tags, old ? json_get(old, "Tags") : NULL, document, err));
	else if (tags && json_kind(tags) == JSON_ARRAY && json_count(tags))
		TRY(set_field(document, tags, err));
	*out = TAKE(document);
	return OK;
}
