#include "model/jobs/checkpoint_by_hand.h"

#include "model/jobs/by_hand_place.h"
#include "model/jobs/job_time.h"

#include <math.h>
#include <stdio.h>

#define MEMBER "checkpoints"

enum { PATH_BYTES = 1024 /* as long as a key of S3 may be */ };

static bool is_null(const struct json *node)
{
	return !node || json_kind(node) == JSON_NULL;
}

static bool read_place(struct span place, uint32_t *attempt, int64_t *step)
{
	return by_hand_read_attempt(place, attempt, step) && *step >= 0;
}

static bool is_time(const struct json *value, int64_t latest_ms)
{
	double number;

	return json_number_of(value, &number) && number >= (double)JOB_EARLIEST_MS && number <= (double)latest_ms &&
	       number == floor(number);
}

/* ---- what is set ---- */

static int64_t time_of(const struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);
	double number;

	return value && is_time(value, JOB_LATEST_MS) && json_number_of(value, &number) ? (int64_t)number : 0;
}

static bool read_one(const struct json *value, struct arena *arena, struct checkpoint_by_hand *out)
{
	const struct json *usable = json_get(value, "usable");

	out->is_usable = !usable || json_is_true(usable);
	out->ts_ms = time_of(value, "ts_ms");
	out->set_ms = time_of(value, "set_ms");
	out->path = arena_copy(arena, json_string_of(json_get(value, "path")));
	out->why = arena_copy(arena, json_string_of(json_get(value, "why")));
	out->by = arena_copy(arena, json_string_of(json_get(value, "by")));
	return out->path.ptr && out->why.ptr && out->by.ptr;
}

enum status checkpoints_by_hand_read(
	struct span document, struct arena *arena, struct checkpoint_by_hand **out, size_t *count, struct error *err)
{
	AUTO(json) read = NULL;

	*out = NULL;
	*count = 0;
	if (span_find(document, SPAN("\"" MEMBER "\"")) < 0) /* most documents; the others are short, too */
		return OK;
	TRY(json_parse(&read, document, err));
	const struct json *set = json_get_path(read, "by_hand." MEMBER);
	if (!set || json_kind(set) != JSON_OBJECT)
		return OK;
	*out = arena_alloc(arena, (json_count(set) + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (const struct json *at = json_first(set); at; at = json_next(at)) {
		struct checkpoint_by_hand *row = &(*out)[*count];
		if (json_kind(at) != JSON_OBJECT || !read_place(json_key_of(at), &row->attempt, &row->step))
			continue;
		if (!read_one(at, arena, row))
			return error_no_memory(err);
		++*count;
	}
	return OK;
}

/* ---- what may be set ---- */

static enum status refuse_member(struct span place, const char *member, const char *what, struct error *err)
{
	char field[BY_HAND_FIELD_BYTES], inner[BY_HAND_FIELD_BYTES];

	by_hand_name_field(field, MEMBER, place);
	snprintf(inner, sizeof inner, "%.*s.%s", (int)sizeof inner / 2, field, member);
	return error_set_field(err, ERR_SEMANTIC, inner, "%s is %s", inner, what);
}

static enum status check_member(struct span place, const struct json *value, int64_t latest_ms, struct error *err)
{
	struct span key = json_key_of(value);

	if (span_equal(key, SPAN("usable")))
		return json_kind(value) == JSON_BOOL ? OK
						     : refuse_member(place, "usable",
							       "false where nothing can go on from it, else true", err);
	if (span_equal(key, SPAN("path")))
		return by_hand_is_text(value, PATH_BYTES)
			       ? OK
			       : refuse_member(place, "path", "where it is, a text of 1 to 1024 bytes", err);
	if (span_equal(key, SPAN("ts_ms")))
		return is_time(value, latest_ms)
			       ? OK
			       : refuse_member(place, "ts_ms",
					 "when it was saved, Unix time in milliseconds, from 1990 on and at most a day ahead",
					 err);
	if (span_equal(key, SPAN("why")))
		return by_hand_is_text(value, BY_HAND_WHY_BYTES)
			       ? OK
			       : refuse_member(place, "why", "a text of 1 to 500 bytes, not of spaces alone", err);
	/* of a document that was carried */
	if ((span_equal(key, SPAN("by")) && by_hand_is_text(value, BY_HAND_BY_BYTES)) ||
		(span_equal(key, SPAN("set_ms")) && is_time(value, JOB_LATEST_MS)))
		return OK;
	return by_hand_refuse(MEMBER, place, "an object of usable, path, ts_ms and why, and of nothing else", err);
}

static enum status check_one(const struct json *value, int64_t latest_ms, struct error *err)
{
	static const char form[] =
		"an object of why, and of usable (false), path or ts_ms, {\"usable\": false, \"why\": \"…\"}";
	struct span place = json_key_of(value);
	uint32_t attempt;
	int64_t step;

	if (!read_place(place, &attempt, &step))
		return by_hand_refuse(MEMBER, SPAN(""),
			"an object whose names are ATTEMPT:STEP, as GET /api/v1/jobs/JOB/checkpoints has both (attempt null: 0)",
			err);
	if (is_null(value))
		return OK;
	if (json_kind(value) != JSON_OBJECT)
		return by_hand_refuse(MEMBER, place, form, err);
	for (const struct json *at = json_first(value); at; at = json_next(at))
		TRY(check_member(place, at, latest_ms, err));
	if (!json_get(value, "usable") && !json_get(value, "path") && !json_get(value, "ts_ms"))
		return by_hand_refuse(MEMBER, place, form, err);
	return json_get(value, "why")
		       ? OK
		       : refuse_member(place, "why", "missing: a text of 1 to 500 bytes that says how you know", err);
}

enum status checkpoints_by_hand_check(const struct json *checkpoints, int64_t latest_ms, struct error *err)
{
	if (is_null(checkpoints))
		return OK;
	if (json_kind(checkpoints) != JSON_OBJECT || json_count(checkpoints) > BY_HAND_PLACES_MAX)
		return by_hand_refuse(MEMBER, SPAN(""),
			"an object of at most 1000 checkpoints, {\"1:500\": {\"usable\": false, \"why\": \"…\"}}", err);
	for (const struct json *at = json_first(checkpoints); at; at = json_next(at))
		TRY(check_one(at, latest_ms, err));
	return OK;
}
