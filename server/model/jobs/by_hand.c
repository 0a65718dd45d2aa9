#include "model/jobs/by_hand.h"

#include "model/jobs/checkpoint_by_hand.h"
#include "model/jobs/job_time.h"
#include "model/jobs/restart_verdict.h"

#include <math.h>
#include <stdio.h>

#define MEMBER "by_hand"

enum {
	TEXT_BYTES = 4 << 20, /* a whole document is no longer */
	RESOURCES_BYTES = 1 << 20,
	NODES_MAX = 1000000,
	TYPE_BYTES = 255,
	CURRENCY_BYTES = 16,
	HOST_BYTES = 255,
	SETTING_KEY_BYTES = 256, /* as SageMaker has them */
	SETTING_BYTES = 2500,
	FAULT_BYTES = 500,
	FAULTS_MAX = 1000 /* each is looked for whenever they are set */
};

static bool is_null(const struct json *node)
{
	return !node || json_kind(node) == JSON_NULL;
}

static bool is_number(const struct json *node, double least, double most, double *out)
{
	return node && json_number_of(node, out) && *out >= least && *out <= most;
}

static int64_t whole_of(const struct json *object, const char *key, double most)
{
	double number;

	return is_number(json_get(object, key), 1, most, &number) ? (int64_t)number : 0;
}

/* What ends before it begins cannot be. */
static bool is_reversed(const struct json *object)
{
	int64_t start_ms = whole_of(object, "start_ms", JOB_LATEST_MS),
		end_ms = whole_of(object, "end_ms", JOB_LATEST_MS);

	return start_ms && end_ms && end_ms < start_ms;
}

void by_hand_read(struct by_hand *out, const struct json *document)
{
	const struct json *object = json_get(document, MEMBER);
	double price;

	*out = (struct by_hand){.instance_type = SPAN(""), .price_per_hour = NAN, .price_currency = SPAN("")};
	if (!object || json_kind(object) != JSON_OBJECT)
		return;
	out->start_ms = whole_of(object, "start_ms", JOB_LATEST_MS);
	out->end_ms = whole_of(object, "end_ms", JOB_LATEST_MS);
	if (is_reversed(object))
		out->start_ms = out->end_ms = 0;
	out->nodes = whole_of(object, "nodes", NODES_MAX);
	out->instance_type = json_string_of(json_get(object, "instance_type"));
	if (is_number(json_get(object, "price_per_hour"), 0, 1e9, &price))
		out->price_per_hour = price;
	out->price_currency = json_string_of(json_get(object, "price_currency"));
}

/* Of groups their sum; 0: nobody says. */
static double stated_nodes(const struct json *resources)
{
	double sum = 0, count;

	for (const struct json *at = json_first(json_get(resources, "InstanceGroups")); at; at = json_next(at))
		sum += json_number_of(json_get(at, "InstanceCount"), &count) && count > 0 ? count : 0;
	return sum > 0 || json_number_of(json_get(resources, "InstanceCount"), &sum) ? sum : 0;
}

static enum status write_machines(
	const struct by_hand *by, const struct json *resources, struct json_writer *w, struct error *err)
{
	struct span type =
		by->instance_type.len ? by->instance_type : json_string_of(json_get(resources, "InstanceType"));
	double nodes = by->nodes ? (double)by->nodes : stated_nodes(resources);

	json_object(w);
	if (type.len)
		json_put_span(w, "InstanceType", type);
	if (nodes >= 1 && nodes <= NODES_MAX)
		json_put_i64(w, "InstanceCount", (int64_t)nodes);
	for (const struct json *at = json_first(resources); at; at = json_next(at)) {
		AUTO_DONE(buf) text = BUF_INIT(RESOURCES_BYTES);
		struct span key = json_key_of(at);
		if (span_equal(key, SPAN("InstanceType")) || span_equal(key, SPAN("InstanceCount")) ||
			span_equal(key, SPAN("InstanceGroups")))
			continue;
		json_print(at, &text);
		TRY(buf_status(&text, err));
		json_key_span(w, key);
		json_raw(w, buf_span(&text));
	}
	json_object_end(w);
	return buf_status(w->out, err);
}

static enum status settle_machines(struct json *document, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(RESOURCES_BYTES);
	AUTO(json) settled = NULL;
	struct json_writer w = json_writer_on(&text);
	struct by_hand by;

	by_hand_read(&by, document);
	if (!by.nodes && !by.instance_type.len)
		return OK;
	TRY(write_machines(&by, json_get(document, "ResourceConfig"), &w, err));
	TRY(json_parse(&settled, buf_span(&text), err));
	return json_set_copy(document, "ResourceConfig", settled) ? OK : error_no_memory(err);
}

static const struct json *find(const struct json *object, struct span key)
{
	for (const struct json *at = object ? json_first(object) : NULL; at; at = json_next(at))
		if (span_equal(json_key_of(at), key))
			return at;
	return NULL;
}

bool by_hand_has_key(const struct json *object, struct span key)
{
	return find(object, key) != NULL;
}

static const struct json *settings_of(const struct json *document)
{
	const struct json *settings = json_get(json_get(document, MEMBER), "settings");

	return settings && json_kind(settings) == JSON_OBJECT ? settings : NULL;
}

bool by_hand_has_setting(const struct json *document, struct span key)
{
	return by_hand_has_key(settings_of(document), key);
}

/* A number that was set is a text like all of them. */
static enum status write_setting(const struct json *value, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	json_print(value, &text);
	TRY(buf_status(&text, err));
	json_key_span(w, json_key_of(value));
	if (json_kind(value) == JSON_NUMBER)
		json_span(w, buf_span(&text));
	else
		json_raw(w, buf_span(&text));
	return OK;
}

enum status by_hand_settle_settings(struct json *document, struct error *err)
{
	const struct json *set = settings_of(document), *stated = json_get(document, "HyperParameters");
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	AUTO(json) settled = NULL;
	struct json_writer w = json_writer_on(&text);

	if (!set || (!is_null(stated) && json_kind(stated) != JSON_OBJECT))
		return OK;
	json_object(&w);
	for (const struct json *at = json_first(set); at; at = json_next(at))
		TRY(write_setting(at, &w, err));
	for (const struct json *at = is_null(stated) ? NULL : json_first(stated); at; at = json_next(at)) {
		AUTO_DONE(buf) value = BUF_INIT(TEXT_BYTES);
		if (by_hand_has_key(set, json_key_of(at)))
			continue;
		json_print(at, &value);
		TRY(buf_status(&value, err));
		json_key_span(&w, json_key_of(at));
		json_raw(&w, buf_span(&value));
	}
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&settled, buf_span(&text), err));
	return json_set_copy(document, "HyperParameters", settled) ? OK : error_no_memory(err);
}

enum status by_hand_settle(struct json *document, struct error *err)
{
	TRY(by_hand_settle_settings(document, err));
	return settle_machines(document, err);
}

static enum status refuse(const char *member, const char *what, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, MEMBER ".%s", member);
	return error_set_field(err, ERR_SEMANTIC, field, "%s is %s, or null to take it back", field, what);
}

static enum status check_time(const struct json *value, const char *member, int64_t latest_ms, struct error *err)
{
	double number;

	if (is_null(value) ||
		(is_number(value, JOB_EARLIEST_MS, (double)latest_ms, &number) && number == floor(number)))
		return OK;
	return refuse(member, "Unix time in milliseconds, from 1990 on and at most a day ahead", err);
}

/* noun: "a name" */
static enum status check_text(
	const struct json *value, const char *member, const char *noun, size_t most, struct error *err)
{
	struct span text = json_string_of(value);
	char what[128];

	if (is_null(value) || (json_kind(value) == JSON_STRING && span_trim(text).len && text.len <= most))
		return OK;
	snprintf(what, sizeof what, "%s of 1 to %zu bytes, not of spaces alone", noun, most);
	return refuse(member, what, err);
}

static enum status check_hosts(const struct json *value, struct error *err)
{
	char member[80];

	if (!is_null(value) && json_kind(value) != JSON_OBJECT)
		return refuse("hosts", "an object of streams, {\"algo-1\": \"gpu007\"}", err);
	for (const struct json *at = is_null(value) ? NULL : json_first(value); at; at = json_next(at)) {
		struct span stream = json_key_of(at);
		snprintf(member, sizeof member, "hosts.%.*s", (int)(stream.len < 40 ? stream.len : 40), stream.ptr);
		TRY(check_text(at, member, "a name", HOST_BYTES, err));
	}
	return OK;
}

/* As a trainer prints it: a name, and a text or a number. */
static enum status check_setting(const struct json *value, struct error *err)
{
	struct span key = json_key_of(value);
	char member[80];

	if (!key.len || key.len > SETTING_KEY_BYTES)
		return refuse("settings", "an object of settings whose names have 1 to 256 bytes", err);
	if (json_kind(value) == JSON_NUMBER)
		return OK;
	snprintf(member, sizeof member, "settings.%.*s", (int)(key.len < 40 ? key.len : 40), key.ptr);
	return check_text(value, member, "a number, or a text (also true and false: \"true\")", SETTING_BYTES, err);
}

static enum status check_settings(const struct json *value, struct error *err)
{
	if (!is_null(value) && json_kind(value) != JSON_OBJECT)
		return refuse("settings", "an object of settings, {\"train_tokens\": \"2e12\"}", err);
	for (const struct json *at = is_null(value) ? NULL : json_first(value); at; at = json_next(at))
		TRY(check_setting(at, err));
	return OK;
}

bool by_hand_read_place(struct span place, struct span *stream, uint64_t *line)
{
	size_t at = place.len;

	while (at && place.ptr[at - 1] != ':')
		at--;
	if (at < 2 || !span_parse_u64(span_skip(place, at), line))
		return false;
	*stream = span_of(place.ptr, at - 1);
	return true;
}

struct span by_hand_find_fault(struct arena *arena, struct span document, struct span stream, uint64_t line)
{
	AUTO(json) read = NULL;
	struct span at_stream;
	uint64_t at_line;

	if (span_find(document, SPAN("\"faults\"")) < 0 || json_parse(&read, document, NULL) != OK)
		return SPAN("");
	const struct json *faults = json_get_path(read, MEMBER ".faults");
	for (const struct json *at = faults ? json_first(faults) : NULL; at; at = json_next(at))
		if (by_hand_read_place(json_key_of(at), &at_stream, &at_line) && at_line == line &&
			span_equal(at_stream, stream))
			return arena_copy(arena, json_string_of(at));
	return SPAN("");
}

static enum status check_faults(const struct json *value, struct error *err)
{
	struct span stream;
	uint64_t line;
	char member[80];

	if (!is_null(value) && json_kind(value) != JSON_OBJECT)
		return refuse(
			"faults", "an object of STREAM:LINE and why, {\"algo-1:104\": \"the cable was pulled\"}", err);
	if (!is_null(value) && json_count(value) > FAULTS_MAX)
		return refuse("faults", "an object of at most 1000 faults", err);
	for (const struct json *at = is_null(value) ? NULL : json_first(value); at; at = json_next(at)) {
		struct span place = json_key_of(at);
		if (!by_hand_read_place(place, &stream, &line))
			return refuse(
				"faults", "an object whose names are STREAM:LINE, the first line of a fault", err);
		snprintf(member, sizeof member, "faults.%.*s", (int)(place.len < 40 ? place.len : 40), place.ptr);
		TRY(check_text(at, member, "a text", FAULT_BYTES, err));
	}
	return OK;
}

static enum status check_one(const struct json *value, int64_t latest_ms, struct error *err)
{
	struct span key = json_key_of(value);
	char field[80];
	double number;

	if (span_equal(key, SPAN("start_ms")))
		return check_time(value, "start_ms", latest_ms, err);
	if (span_equal(key, SPAN("end_ms")))
		return check_time(value, "end_ms", latest_ms, err);
	if (span_equal(key, SPAN("nodes")))
		return is_null(value) || (is_number(value, 1, NODES_MAX, &number) && number == floor(number))
			       ? OK
			       : refuse("nodes", "a whole number from 1 to 1000000", err);
	if (span_equal(key, SPAN("price_per_hour")))
		return is_null(value) || is_number(value, 0, 1e9, &number)
			       ? OK
			       : refuse("price_per_hour", "what one node costs an hour", err);
	if (span_equal(key, SPAN("instance_type")))
		return check_text(value, "instance_type", "a name", TYPE_BYTES, err);
	if (span_equal(key, SPAN("price_currency")))
		return check_text(value, "price_currency", "a name", CURRENCY_BYTES, err);
	if (span_equal(key, SPAN("hosts")))
		return check_hosts(value, err);
	if (span_equal(key, SPAN("settings")))
		return check_settings(value, err);
	if (span_equal(key, SPAN("faults")))
		return check_faults(value, err);
	if (span_equal(key, SPAN("restarts")))
		return restart_verdicts_check(value, err);
	if (span_equal(key, SPAN("checkpoints")))
		return checkpoints_by_hand_check(value, latest_ms, err);
	snprintf(field, sizeof field, MEMBER ".%.*s", (int)(key.len < 60 ? key.len : 60), key.ptr);
	return error_set_field(err, ERR_SEMANTIC, field,
		MEMBER
		" takes start_ms, end_ms, nodes, instance_type, hosts, settings, faults, restarts, checkpoints, price_per_hour and price_currency, not '%.*s'",
		(int)(key.len < 60 ? key.len : 60), key.ptr);
}

static void put(struct json_writer *w, const struct json *value)
{
	double number = 0;

	json_key_span(w, json_key_of(value));
	if (json_kind(value) == JSON_OBJECT) { /* a restart's verdict, a checkpoint: as flat as these */
		json_object(w);
		for (const struct json *at = json_first(value); at; at = json_next(at))
			put(w, at);
		json_object_end(w);
	} else if (json_kind(value) == JSON_STRING) {
		json_span(w, json_string_of(value));
	} else if (json_kind(value) == JSON_BOOL) {
		json_bool(w, json_is_true(value));
	} else if (json_number_of(value, &number) && number == floor(number)) {
		json_i64(w, (int64_t)number);
	} else {
		json_double(w, number);
	}
}

/* Of hosts stream by stream, of settings, faults, restarts and checkpoints one by one; null takes one back. Those that are left, if any. */
static void merge_each(struct span member, const struct json *old, const struct json *changes, struct json_writer *w)
{
	size_t count = 0;

	for (const struct json *at = old ? json_first(old) : NULL; at; at = json_next(at)) {
		if (by_hand_has_key(changes, json_key_of(at)))
			continue;
		if (!count++) {
			json_key_span(w, member);
			json_object(w);
		}
		put(w, at);
	}
	for (const struct json *at = json_first(changes); at; at = json_next(at)) {
		if (is_null(at))
			continue;
		if (!count++) {
			json_key_span(w, member);
			json_object(w);
		}
		put(w, at);
	}
	if (count)
		json_object_end(w);
}

/* set: as it will be, of which the changes say one or both. */
static enum status check_order(const struct json *set, const struct json *changes, struct error *err)
{
	if (!is_reversed(set) ||
		(!by_hand_has_key(changes, SPAN("start_ms")) && !by_hand_has_key(changes, SPAN("end_ms"))))
		return OK;
	if (is_null(json_get(changes, "end_ms")))
		return error_set_field(err, ERR_SEMANTIC, MEMBER ".start_ms",
			MEMBER ".start_ms is before its training's end, " MEMBER ".end_ms, which was set before");
	return error_set_field(
		err, ERR_SEMANTIC, MEMBER ".end_ms", MEMBER ".end_ms is after its start, " MEMBER ".start_ms");
}

/* A price that is taken back takes its currency with it; another one stays in it. */
static bool is_replaced(const struct json *changes, struct span key)
{
	return by_hand_has_key(changes, key) ||
	       (span_equal(key, SPAN("price_currency")) && by_hand_has_key(changes, SPAN("price_per_hour")) &&
		       is_null(json_get(changes, "price_per_hour")));
}

static void put_member(const struct json *old, const struct json *change, struct json_writer *w)
{
	struct span member = json_key_of(change);

	if (json_kind(change) == JSON_OBJECT)
		merge_each(member, find(old, member), change, w);
	else
		put(w, change);
}

/* Known members alone: whatever else a document brought is not set. */
static void merge(const struct json *old, const struct json *changes, struct json_writer *w)
{
	struct error unused;

	json_object(w);
	for (const struct json *at = old ? json_first(old) : NULL; at; at = json_next(at))
		if (!is_replaced(changes, json_key_of(at)) && !is_null(at) &&
			check_one(at, JOB_LATEST_MS, &unused) == OK)
			put_member(NULL, at, w);
	for (const struct json *at = json_first(changes); at; at = json_next(at))
		if (!is_null(at))
			put_member(old, at, w);
	json_object_end(w);
}

enum status by_hand_check(const struct json *changes, int64_t latest_ms, struct error *err)
{
	if (is_null(changes))
		return OK;
	if (json_kind(changes) != JSON_OBJECT)
		return error_set_field(
			err, ERR_SEMANTIC, MEMBER, MEMBER " is an object, or null to take all of it back");
	for (const struct json *at = json_first(changes); at; at = json_next(at))
		TRY(check_one(at, latest_ms, err));
	return check_order(changes, changes, err);
}

enum status by_hand_change(struct json *document, const struct json *changes, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	AUTO(json) merged = NULL;
	struct json_writer w = json_writer_on(&text);
	const struct json *old = json_get(document, MEMBER);

	if (is_null(changes)) {
		json_remove(document, MEMBER);
		return OK;
	}
	TRY(by_hand_check(changes, JOB_LATEST_MS, err));
	merge(old && json_kind(old) == JSON_OBJECT ? old : NULL, changes, &w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&merged, buf_span(&text), err));
	TRY(check_faults(json_get(merged, "faults"), err)); /* they may be too many together */
	TRY(restart_verdicts_check(json_get(merged, "restarts"), err));
	TRY(checkpoints_by_hand_check(json_get(merged, "checkpoints"), JOB_LATEST_MS, err));
	TRY(check_order(merged, changes, err));
	if (!json_count(merged)) {
		json_remove(document, MEMBER);
		return OK;
	}
	return json_set_copy(document, MEMBER, merged) ? OK : error_no_memory(err);
}

enum status by_hand_name_currency(struct json *document, struct span currency, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	AUTO(json) changes = NULL;
	struct json_writer w = json_writer_on(&text);
	struct by_hand by;

	by_hand_read(&by, document);
	if (isnan(by.price_per_hour) || by.price_currency.len)
		return OK;
	json_object(&w);
	json_put_span(&w, "price_currency", currency);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&changes, buf_span(&text), err));
	return by_hand_change(document, changes, err);
}
