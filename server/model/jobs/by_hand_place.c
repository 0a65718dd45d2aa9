#include "model/jobs/by_hand_place.h"

#include "base/json/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4 << 20, PLACE_SHOWN = 40 };

bool by_hand_read_attempt(struct span place, uint32_t *attempt, int64_t *step)
{
	struct span number, rest = place;
	char text[PLACE_SHOWN];
	uint64_t wide;

	if (!span_next(&rest, ':', &number) || !span_parse_u64(number, &wide) || wide > UINT32_MAX ||
		!span_parse_i64(rest, step))
		return false;
	*attempt = (uint32_t)wide;
	snprintf(text, sizeof text, "%" PRIu32 ":%" PRId64, *attempt, *step);
	return span_equal(place, span_from(text)); /* one place has one name: not "02:81" beside "2:81" */
}

bool by_hand_is_text(const struct json *value, size_t most)
{
	struct span text = json_string_of(value);

	return span_trim(text).len && text.len <= most;
}

void by_hand_name_field(char out[BY_HAND_FIELD_BYTES], const char *member, struct span place)
{
	int len = place.len < PLACE_SHOWN ? (int)place.len : PLACE_SHOWN;

	snprintf(out, BY_HAND_FIELD_BYTES, "by_hand.%s%s%.*s", member, len ? "." : "", len, len ? place.ptr : "");
}

enum status by_hand_refuse(const char *member, struct span place, const char *what, struct error *err)
{
	char field[BY_HAND_FIELD_BYTES];

	by_hand_name_field(field, member, place);
	return error_set_field(err, ERR_SEMANTIC, field, "%s is %s, or null to take it back", field, what);
}

/* ---- whose it is ---- */

static enum status write_raw(const struct json *node, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	json_key_span(w, json_key_of(node));
	json_raw(w, buf_span(&text));
	return OK;
}

static bool is_signature(struct span key)
{
	return span_equal(key, SPAN("by")) || span_equal(key, SPAN("set_ms"));
}

/* set_ms 0: of a restart nobody asks when. */
static enum status write_signed(
	const struct json *places, struct span by, int64_t set_ms, struct json_writer *w, struct error *err)
{
	json_key_span(w, json_key_of(places));
	json_object(w);
	for (const struct json *at = json_first(places); at; at = json_next(at)) {
		if (json_kind(at) != JSON_OBJECT) {
			TRY(write_raw(at, w, err));
			continue;
		}
		json_key_span(w, json_key_of(at));
		json_object(w);
		for (const struct json *member = json_first(at); member; member = json_next(member))
			if (!is_signature(json_key_of(member)))
				TRY(write_raw(member, w, err));
		if (by.len)
			json_put_span(w, "by", by);
		if (set_ms)
			json_put_i64(w, "set_ms", set_ms);
		json_object_end(w);
	}
	json_object_end(w);
	return OK;
}

enum status by_hand_sign(
	const struct json *by_hand, struct span by, int64_t now_ms, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	for (const struct json *at = json_first(by_hand); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		bool is_checkpoints = span_equal(key, SPAN("checkpoints"));
		if (json_kind(at) == JSON_OBJECT && (is_checkpoints || span_equal(key, SPAN("restarts"))))
			TRY(write_signed(at, by, is_checkpoints ? now_ms : 0, &w, err));
		else
			TRY(write_raw(at, &w, err));
	}
	json_object_end(&w);
	TRY(buf_status(&text, err));
	return json_parse(out, buf_span(&text), err);
}
