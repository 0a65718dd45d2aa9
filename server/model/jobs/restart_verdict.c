#include "model/jobs/restart_verdict.h"

#include "model/jobs/by_hand_place.h"

#define MEMBER "restarts"

static bool is_null(const struct json *node)
{
	return !node || json_kind(node) == JSON_NULL;
}

static bool read_place(struct span place, uint32_t *attempt, int64_t *first_step)
{
	return by_hand_read_attempt(place, attempt, first_step) && *attempt;
}

void restart_verdict_find(
	const struct json *document, uint32_t attempt, int64_t first_step, struct restart_verdict *out)
{
	const struct json *restarts = json_get_path(document, "by_hand." MEMBER);
	uint32_t at_attempt;
	int64_t at_step;

	*out = (struct restart_verdict){SPAN(""), SPAN(""), SPAN("")};
	for (const struct json *at = restarts ? json_first(restarts) : NULL; at; at = json_next(at))
		if (read_place(json_key_of(at), &at_attempt, &at_step) && at_attempt == attempt &&
			at_step == first_step)
			*out = (struct restart_verdict){json_string_of(json_get(at, "verdict")),
				json_string_of(json_get(at, "why")), json_string_of(json_get(at, "by"))};
}

bool restart_verdicts_end(const struct json *document, uint64_t attempt)
{
	const struct json *restarts = json_get_path(document, "by_hand." MEMBER);
	uint32_t at_attempt;
	int64_t at_step;

	for (const struct json *at = restarts ? json_first(restarts) : NULL; at; at = json_next(at))
		if (read_place(json_key_of(at), &at_attempt, &at_step) && at_attempt == attempt &&
			!span_equal(json_string_of(json_get(at, "verdict")), SPAN("differs")))
			return true;
	return false;
}

static bool is_verdict(struct span name)
{
	return span_equal(name, SPAN("continued")) || span_equal(name, SPAN("differs")) ||
	       span_equal(name, SPAN("not provable"));
}

static enum status check_one(const struct json *value, struct error *err)
{
	static const char form[] =
		"an object of verdict (continued, differs or not provable) and why (1 to 500 bytes), {\"verdict\": \"continued\", \"why\": \"…\"}";
	struct span place = json_key_of(value);
	uint32_t attempt;
	int64_t first_step;

	if (!read_place(place, &attempt, &first_step))
		return by_hand_refuse(MEMBER, SPAN(""),
			"an object whose names are ATTEMPT:FIRST_STEP, as GET /api/v1/jobs/JOB/continuity has both",
			err);
	if (is_null(value))
		return OK;
	if (json_kind(value) != JSON_OBJECT)
		return by_hand_refuse(MEMBER, place, form, err);
	for (const struct json *at = json_first(value); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		bool is_why = span_equal(key, SPAN("why")) && by_hand_is_text(at, BY_HAND_WHY_BYTES);
		/* of a document that was carried */
		bool is_by = span_equal(key, SPAN("by")) && by_hand_is_text(at, BY_HAND_BY_BYTES);
		bool is_its = span_equal(key, SPAN("verdict")) && is_verdict(json_string_of(at));
		if (!is_why && !is_by && !is_its)
			return by_hand_refuse(MEMBER, place, form, err);
	}
	return json_get(value, "verdict") && json_get(value, "why") ? OK : by_hand_refuse(MEMBER, place, form, err);
}

enum status restart_verdicts_check(const struct json *restarts, struct error *err)
{
	if (is_null(restarts))
		return OK;
	if (json_kind(restarts) != JSON_OBJECT || json_count(restarts) > BY_HAND_PLACES_MAX)
		return by_hand_refuse(MEMBER, SPAN(""),
			"an object of at most 1000 restarts, {\"2:81\": {\"verdict\": \"continued\", \"why\": \"…\"}}",
			err);
	for (const struct json *at = json_first(restarts); at; at = json_next(at))
		TRY(check_one(at, err));
	return OK;
}
