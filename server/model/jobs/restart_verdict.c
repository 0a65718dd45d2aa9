#include "model/jobs/restart_verdict.h"

#include "base/json/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RESTARTS_MAX = 1000, WHY_BYTES = 500, BY_BYTES = 255, TEXT_BYTES = 4 << 20, PLACE_SHOWN = 40 };

#define FIELD_NAME "by_hand.restarts"

static bool is_null(const struct json *node)
{
	return !node || json_kind(node) == JSON_NULL;
}

static bool read_place(struct span place, uint64_t *attempt, int64_t *first_step)
{
	struct span number, step = place;
	char text[PLACE_SHOWN];

	if (!span_next(&step, ':', &number) || !span_parse_u64(number, attempt) || !*attempt || *attempt > UINT32_MAX ||
		!span_parse_i64(step, first_step))
		return false;
	snprintf(text, sizeof text, "%" PRIu64 ":%" PRId64, *attempt, *first_step);
	return span_equal(place, span_from(text)); /* one restart has one name: not "02:81" beside "2:81" */
}

void restart_verdict_find(
	const struct json *document, uint32_t attempt, int64_t first_step, struct restart_verdict *out)
{
	const struct json *restarts = json_get_path(document, FIELD_NAME);
	uint64_t at_attempt;
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
	const struct json *restarts = json_get_path(document, FIELD_NAME);
	uint64_t at_attempt;
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

static bool is_text(const struct json *value, size_t most)
{
	struct span text = json_string_of(value);

	return span_trim(text).len && text.len <= most;
}

static enum status refuse(struct span place, const char *what, struct error *err)
{
	char field[sizeof FIELD_NAME + PLACE_SHOWN + 2];
	int len = place.len < PLACE_SHOWN ? (int)place.len : PLACE_SHOWN;

	snprintf(field, sizeof field, FIELD_NAME "%s%.*s", len ? "." : "", len, place.ptr);
	return error_set_field(err, ERR_SEMANTIC, field, "%s is %s, or null to take it back", field, what);
}

static enum status check_one(const struct json *value, struct error *err)
{
	static const char form[] =
		"an object of verdict (continued, differs or not provable) and why (1 to 500 bytes), {\"verdict\": \"continued\", \"why\": \"…\"}";
	struct span place = json_key_of(value);
	uint64_t attempt;
	int64_t first_step;

	if (!read_place(place, &attempt, &first_step))
		return refuse(SPAN(""),
			"an object whose names are ATTEMPT:FIRST_STEP, as GET /api/v1/jobs/JOB/continuity has both",
			err);
	if (is_null(value))
		return OK;
	if (json_kind(value) != JSON_OBJECT)
		return refuse(place, form, err);
	for (const struct json *at = json_first(value); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		bool is_why = span_equal(key, SPAN("why")) && is_text(at, WHY_BYTES);
		bool is_by = span_equal(key, SPAN("by")) && is_text(at, BY_BYTES); /* of a document that was carried */
		bool is_its = span_equal(key, SPAN("verdict")) && is_verdict(json_string_of(at));
		if (!is_why && !is_by && !is_its)
			return refuse(place, form, err);
	}
	return json_get(value, "verdict") && json_get(value, "why") ? OK : refuse(place, form, err);
}

enum status restart_verdicts_check(const struct json *restarts, struct error *err)
{
	if (is_null(restarts))
		return OK;
	if (json_kind(restarts) != JSON_OBJECT || json_count(restarts) > RESTARTS_MAX)
		return refuse(SPAN(""),
			"an object of at most 1000 restarts, {\"2:81\": {\"verdict\": \"continued\", \"why\": \"…\"}}",
			err);
	for (const struct json *at = json_first(restarts); at; at = json_next(at))
		TRY(check_one(at, err));
	return OK;
}

static enum status write_raw(const struct json *node, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	json_key_span(w, json_key_of(node));
	json_raw(w, buf_span(&text));
	return OK;
}

static enum status write_signed(const struct json *restarts, struct span by, struct json_writer *w, struct error *err)
{
	json_key(w, "restarts");
	json_object(w);
	for (const struct json *at = json_first(restarts); at; at = json_next(at)) {
		if (is_null(at)) {
			TRY(write_raw(at, w, err));
			continue;
		}
		json_key_span(w, json_key_of(at));
		json_object(w);
		json_put_span(w, "verdict", json_string_of(json_get(at, "verdict")));
		json_put_span(w, "why", json_string_of(json_get(at, "why")));
		if (by.len)
			json_put_span(w, "by", by);
		json_object_end(w);
	}
	json_object_end(w);
	return OK;
}

enum status restart_verdicts_sign(const struct json *by_hand, struct span by, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	for (const struct json *at = json_first(by_hand); at; at = json_next(at))
		if (span_equal(json_key_of(at), SPAN("restarts")) && !is_null(at))
			TRY(write_signed(at, by, &w, err));
		else
			TRY(write_raw(at, &w, err));
	json_object_end(&w);
	TRY(buf_status(&text, err));
	return json_parse(out, buf_span(&text), err);
}
