/* Rules as JSON, and the set of all. */
#include "alert/rule.h"
#include "base/log.h"
#include "base/text/zone.h"
#include "model/incident.h"
#include "model/query.h"
#include "query/query.h"
#include "store/alerts.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
enum { DAYS = 7, ALL_DAYS = 127, MINUTES = 60 };
static const int64_t longest_s = 31 * 86400;

static enum status want_severity(const struct json *document, const char *key, enum severity *out, struct error *err)
{
	struct span text = SPAN("");

	TRY(json_want_string(document, key, &text, err));
	if (text.len && !severity_parse(text, out))
		return error_set_field(
			err, ERR_SEMANTIC, key, "severity '%.*s' is none of info, warning, critical", SPAN_ARGS(text));
	return OK;
}

static enum status want_seconds(const struct json *document, const char *key, int64_t *out_ms, struct error *err)
{
	int64_t seconds = 0;

	TRY(json_want_i64(document, key, &seconds, err));
	if (seconds < 0 || seconds > longest_s)
		return error_set_field(err, ERR_SEMANTIC, key, "%s is 0 to %lld seconds, not %lld", key,
			(long long)longest_s, (long long)seconds);
	*out_ms = seconds * 1000;
	return OK;
}

static enum status read_kinds(const struct json *kinds, uint64_t *out, struct error *err)
{
	enum incident_kind kind;

	*out = 0;
	if (!kinds || json_kind(kinds) == JSON_NULL)
		return OK;
	if (json_kind(kinds) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "kinds", "kinds is an array of kinds of incidents");
	for (const struct json *at = json_first(kinds); at; at = json_next(at)) {
		struct span name = json_string_of(at);
		if (!incident_kind_parse(name, &kind) || kind == INCIDENT_RULE)
			return error_set_field(err, ERR_SEMANTIC, "kinds",
				"'%.*s' is no kind of incident that is noticed", (int)(name.len < 80 ? name.len : 80),
				name.ptr);
		*out |= (uint64_t)1 << kind;
	}
	return OK;
}

static enum status read_ids(const struct json *ids, const char *field, int64_t *out, size_t *count, struct error *err)
{
	double number;

	if (json_kind(ids) != JSON_ARRAY || json_count(ids) > RULE_WEBHOOKS_MAX)
		return error_set_field(err, ERR_SEMANTIC, field, "%s is %san array of at most %d ids of webhooks",
			field, strcmp(field, "webhooks") == 0 ? "\"all\", or " : "", RULE_WEBHOOKS_MAX);
	*count = 0;
	for (const struct json *at = json_first(ids); at; at = json_next(at)) {
		if (!json_number_of(at, &number) || number < 1 || number > 1e15 || number != floor(number))
			return error_set_field(err, ERR_SEMANTIC, field, "%s holds ids of webhooks", field);
		out[(*count)++] = (int64_t)number;
	}
	return OK;
}

static bool is_stated(const struct json *node)
{
	return node && json_kind(node) != JSON_NULL;
}

/* `endpoints` is what older rules say: none named is every one. Who says both says the same. */
static enum status read_webhooks(const struct json *document, struct rule *rule, struct error *err)
{
	const struct json *webhooks = json_get(document, "webhooks"), *endpoints = json_get(document, "endpoints");
	int64_t older[RULE_WEBHOOKS_MAX];
	size_t older_count = 0;

	rule->has_all_webhooks = true;
	if (is_stated(endpoints))
		TRY(read_ids(endpoints, "endpoints", older, &older_count, err));
	if (!is_stated(webhooks)) {
		memcpy(rule->webhooks, older, older_count * sizeof *older);
		rule->webhook_count = older_count;
		rule->has_all_webhooks = older_count == 0;
		return OK;
	}
	if (!span_equal(json_string_of(webhooks), SPAN("all"))) {
		rule->has_all_webhooks = false;
		TRY(read_ids(webhooks, "webhooks", rule->webhooks, &rule->webhook_count, err));
	}
	bool is_same = rule->has_all_webhooks == (older_count == 0) && rule->webhook_count == older_count &&
		       memcmp(rule->webhooks, older, older_count * sizeof *older) == 0;
	return !is_stated(endpoints) || is_same
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "endpoints",
				 "endpoints and webhooks say different things: say webhooks alone");
}

/* ---- quiet hours ---- */

static enum status want_clock(const struct json *quiet, const char *key, unsigned *out, struct error *err)
{
	struct span text = SPAN("");

	TRY(json_want_string(quiet, key, &text, err));
	return time_of_day_parse(text, out)
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "quiet", "quiet.%s is a time of day as 22:00, not '%.*s'",
				 key, (int)(text.len < 40 ? text.len : 40), text.ptr);
}

static enum status read_days(const struct json *days, unsigned *out, struct error *err)
{
	*out = ALL_DAYS;
	if (!days || json_kind(days) == JSON_NULL)
		return OK;
	*out = 0;
	for (const struct json *at = json_first(days); at; at = json_next(at)) {
		unsigned day = 0;
		while (day < DAYS && !span_equal(json_string_of(at), span_from(day_names[day])))
			day++;
		if (day == DAYS)
			return error_set_field(
				err, ERR_SEMANTIC, "quiet", "quiet.days holds mon, tue, wed, thu, fri, sat, sun");
		*out |= 1u << day;
	}
	return *out ? OK : error_set_field(err, ERR_SEMANTIC, "quiet", "quiet.days is an array of at least one day");
}

static enum status read_zone(struct quiet_hours *quiet, struct error *err)
{
	enum status status = zone_new(&quiet->zone, quiet->tz, err);

	if (status == ERR_SEMANTIC && err)
		snprintf(err->field, sizeof err->field, "quiet");
	return status;
}

static enum status read_quiet(const struct json *document, struct quiet_hours *out, struct error *err)
{
	struct span unless = SPAN("");

	if (!document || json_kind(document) == JSON_NULL)
		return OK;
	if (json_kind(document) != JSON_OBJECT)
		return error_set_field(
			err, ERR_SEMANTIC, "quiet", "quiet is an object with from, to, days, tz, unless");
	TRY(want_clock(document, "from", &out->from_min, err));
	TRY(want_clock(document, "to", &out->to_min, err));
	TRY(read_days(json_get(document, "days"), &out->days, err));
	TRY(json_want_string(document, "tz", &out->tz, err));
	TRY(json_want_string(document, "unless", &unless, err));
	if (unless.len && !span_equal(unless, SPAN("critical")))
		return error_set_field(err, ERR_SEMANTIC, "quiet", "quiet.unless is critical, not '%.*s'",
			(int)(unless.len < 40 ? unless.len : 40), unless.ptr);
	out->is_broken_by_critical = unless.len != 0;
	out->is_set = true;
	return read_zone(out, err);
}

/* ---- a rule ---- */

static enum status read_command(struct span command, struct error *err)
{
	struct span rest = command, part;

	while (rest.len && span_next(&rest, ',', &part))
		if (!span_equal(part, SPAN("checkpoint")) && !span_equal(part, SPAN("stop")))
			return error_set_field(err, ERR_SEMANTIC, "command",
				"command is checkpoint, stop, or checkpoint,stop; not '%.*s'",
				(int)(command.len < 80 ? command.len : 80), command.ptr);
	return OK;
}

static enum status read_query(struct span query, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct query_node *tree;

	if (!arena)
		return error_no_memory(err);
	if (query.len > RULE_QUERY_MAX_BYTES)
		return error_set_field(
			err, ERR_SEMANTIC, "query", "a query has at most %d bytes", RULE_QUERY_MAX_BYTES);
	enum status status = query_parse(&tree, query, 0, arena, err);
	if (status != OK && err)
		snprintf(err->field, sizeof err->field, "query");
	return status;
}

static enum status read_name(struct span name, struct error *err)
{
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 127)
			return error_set_field(
				err, ERR_SEMANTIC, "name", "name holds a control character at byte %zu", i);
	return name.len && name.len <= RULE_NAME_MAX_BYTES
		       ? OK
		       : error_set_field(err, ERR_SEMANTIC, "name", "a rule's name has 1 to %d bytes, not %zu",
				 RULE_NAME_MAX_BYTES, name.len);
}

/* The routes' schemas name the same, but for what is shown alone, here or in the audit log: it is taken back unread. */
static const char *const known[] = {"id", "rule_id", "since_seq", "name", "team", "enabled", "tell", "recovery",
	"query", "kinds", "minimum_severity", "expression", "severity", "persistence_s", "cool_down_s", "collect_s",
	"quiet", "endpoints", "webhooks", "exclusive", "command", "modified_ms"};

static enum status refuse_field(struct span key, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(1024);

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", known[i]);
	TRY(buf_status(&names, err));
	return error_set_field(err, ERR_SEMANTIC, "", "a rule has no field '%.*s'; it has %.*s",
		(int)(key.len < 80 ? key.len : 80), key.ptr, SPAN_ARGS(buf_span(&names)));
}

static enum status check_fields(const struct json *document, struct error *err)
{
	for (const struct json *at = json_first(document); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		size_t i = 0, count = sizeof known / sizeof *known;
		while (i < count && !span_equal(key, span_from(known[i])))
			i++;
		if (i == count)
			return refuse_field(key, err);
	}
	return OK;
}

static enum status read_texts(struct rule *rule, const struct json *document, struct error *err)
{
	TRY(json_want_string(document, "name", &rule->name, err));
	TRY(json_want_string(document, "team", &rule->team, err));
	TRY(json_want_string(document, "query", &rule->query, err));
	TRY(json_want_string(document, "expression", &rule->expression_text, err));
	TRY(json_want_string(document, "command", &rule->command, err));
	TRY(read_name(rule->name, err));
	TRY(read_query(rule->query, err));
	return read_command(rule->command, err);
}

static enum status read_figures(struct rule *rule, const struct json *document, struct error *err)
{
	TRY(json_want_bool(document, "enabled", &rule->is_enabled, err));
	TRY(json_want_bool(document, "tell", &rule->tells, err));
	TRY(json_want_bool(document, "recovery", &rule->tells_recovery, err));
	TRY(json_want_bool(document, "exclusive", &rule->is_exclusive, err));
	TRY(want_severity(document, "minimum_severity", &rule->minimum_severity, err));
	TRY(want_severity(document, "severity", &rule->severity, err));
	TRY(want_seconds(document, "persistence_s", &rule->persistence_ms, err));
	TRY(want_seconds(document, "cool_down_s", &rule->cool_down_ms, err));
	return want_seconds(document, "collect_s", &rule->collect_ms, err);
}

static enum status keep(struct span *text, struct arena *arena, struct error *err)
{
	struct span copy = arena_copy(arena, *text);

	if (!copy.ptr)
		return error_no_memory(err);
	*text = copy;
	return OK;
}

static enum status read_parts(struct rule *rule, const struct json *document, struct arena *arena, struct error *err)
{
	TRY(read_texts(rule, document, err));
	TRY(read_figures(rule, document, err));
	TRY(read_kinds(json_get(document, "kinds"), &rule->kinds, err));
	TRY(read_webhooks(document, rule, err));
	TRY(read_quiet(json_get(document, "quiet"), &rule->quiet, err));
	if (rule->expression_text.len)
		TRY(condition_parse(&rule->expression, rule->expression_text, err));
	struct span *const texts[] = {
		&rule->name, &rule->team, &rule->query, &rule->expression_text, &rule->command, &rule->quiet.tz};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		TRY(keep(texts[i], arena, err));
	return OK;
}

enum status rule_parse(struct rule *out, const struct json *document, struct arena *arena, struct error *err)
{
	AUTO_DONE(rule) rule = {.name = SPAN(""), .team = SPAN(""), .query = SPAN(""), .expression_text = SPAN("")};

	rule.command = rule.quiet.tz = SPAN("");
	rule.is_enabled = rule.tells = rule.tells_recovery = true;
	rule.severity = SEVERITY_WARNING;
	TRY(check_fields(document, err));
	TRY(read_parts(&rule, document, arena, err));
	*out = rule;
	rule = (struct rule){0};
	return OK;
}

void rule_done(struct rule *rule)
{
	condition_free(rule->expression);
	zone_free(rule->quiet.zone);
	*rule = (struct rule){0};
}

static void write_clock(struct json_writer *w, const char *key, unsigned minutes)
{
	char text[16];

	snprintf(text, sizeof text, "%02u:%02u", minutes / MINUTES, minutes % MINUTES);
	json_put_text(w, key, text);
}

static void write_quiet(const struct quiet_hours *quiet, struct json_writer *w)
{
	json_key(w, "quiet");
	if (!quiet->is_set) {
		json_null(w);
		return;
	}
	json_object(w);
	write_clock(w, "from", quiet->from_min);
	write_clock(w, "to", quiet->to_min);
	json_key(w, "days");
	json_array(w);
	for (unsigned day = 0; day < DAYS; day++)
		if (quiet->days & 1u << day)
			json_text(w, day_names[day]);
	json_array_end(w);
	json_put_span(w, "tz", quiet->tz.len ? quiet->tz : SPAN("UTC"));
	if (quiet->is_broken_by_critical)
		json_put_text(w, "unless", "critical");
	json_object_end(w);
}

static void write_kinds(const struct rule *rule, struct json_writer *w)
{
	json_key(w, "kinds");
	json_array(w);
	for (unsigned kind = 0; kind < INCIDENT_KIND_COUNT; kind++)
		if (rule->kinds & (uint64_t)1 << kind)
			json_text(w, incident_kind_name((enum incident_kind)kind));
	json_array_end(w);
}

static void write_ids(const struct rule *rule, const char *key, struct json_writer *w)
{
	json_key(w, key);
	json_array(w);
	for (size_t i = 0; i < rule->webhook_count; i++)
		json_i64(w, rule->webhooks[i]);
	json_array_end(w);
}

/* `endpoints` cannot say that it is nobody. */
static void write_webhooks(const struct rule *rule, struct json_writer *w)
{
	if (rule->has_all_webhooks)
		json_put_text(w, "webhooks", "all");
	else
		write_ids(rule, "webhooks", w);
	if (rule->has_all_webhooks || rule->webhook_count)
		write_ids(rule, "endpoints", w);
	json_put_bool(w, "exclusive", rule->is_exclusive);
}

void rule_write_fields(const struct rule *rule, struct json_writer *w)
{
	json_put_span(w, "name", rule->name);
	json_put_span(w, "team", rule->team);
	json_put_bool(w, "enabled", rule->is_enabled);
	json_put_bool(w, "tell", rule->tells);
	json_put_bool(w, "recovery", rule->tells_recovery);
	json_put_span(w, "query", rule->query);
	write_kinds(rule, w);
	write_webhooks(rule, w);
	json_put_text(w, "minimum_severity", severity_name(rule->minimum_severity));
	json_put_span(w, "expression", rule->expression_text);
	json_put_text(w, "severity", severity_name(rule->severity));
	json_put_i64(w, "persistence_s", rule->persistence_ms / 1000);
	json_put_i64(w, "cool_down_s", rule->cool_down_ms / 1000);
	json_put_i64(w, "collect_s", rule->collect_ms / 1000);
	write_quiet(&rule->quiet, w);
	json_put_span(w, "command", rule->command);
}

/* ---- all of them ---- */

struct rule_set {
	atomic_uint refs;
	struct arena *arena;
	struct rule *rules;
	size_t count;
	uint64_t version;
	bool has_conditions;
};

uint64_t rule_set_version(const struct rule_set *set)
{
	return set->version;
}

bool rule_set_has_conditions(const struct rule_set *set)
{
	return set->has_conditions;
}

struct rule_set *rule_set_ref(struct rule_set *set)
{
	if (set)
		atomic_fetch_add(&set->refs, 1);
	return set;
}

void rule_set_unref(struct rule_set *set)
{
	if (!set || atomic_fetch_sub(&set->refs, 1) != 1)
		return;
	for (size_t i = 0; i < set->count; i++)
		rule_done(&set->rules[i]);
	mem_free(set->rules);
	arena_free(set->arena);
	mem_free(set);
}

static enum status add(struct rule_set *set, const struct rule_row *row, struct error *err)
{
	AUTO(json) document = NULL;
	struct rule *rule = &set->rules[set->count];

	TRY(json_parse(&document, row->document, err));
	TRY(rule_parse(rule, document, set->arena, err));
	rule->rule_id = row->rule_id;
	rule->since_seq = row->since_seq;
	rule->modified_ms = row->modified_ms;
	set->has_conditions = set->has_conditions || rule->expression;
	set->count++;
	return OK;
}

enum status rule_set_new(
	struct rule_set **out, const struct rule_row *rows, size_t count, uint64_t version, struct error *err)
{
	struct rule_set *set = mem_zeroed(sizeof *set);
	struct error why;

	if (!set)
		return error_no_memory(err);
	atomic_init(&set->refs, 1);
	set->version = version;
	set->arena = arena_new();
	set->rules = mem_zeroed((count + 1) * sizeof *set->rules);
	for (size_t i = 0; set->arena && set->rules && i < count; i++) {
		enum status status = add(set, &rows[i], &why);
		if (status != OK)
			log_line(LOG_ERROR, "rule_unreadable", "rule=%" PRId64 " error=\"%s\"", rows[i].rule_id,
				why.text);
	}
	if (!set->arena || !set->rules) {
		rule_set_unref(set);
		return error_no_memory(err);
	}
	*out = set;
	return OK;
}

size_t rule_set_count(const struct rule_set *set)
{
	return set->count;
}

const struct rule *rule_set_get(const struct rule_set *set, size_t i)
{
	return &set->rules[i];
}

static int by_id(const void *id, const void *rule)
{
	int64_t left = *(const int64_t *)id, right = ((const struct rule *)rule)->rule_id;

	return (left > right) - (left < right);
}

const struct rule *rule_set_find(const struct rule_set *set, int64_t rule_id)
{
	return set->count ? bsearch(&rule_id, set->rules, set->count, sizeof *set->rules, by_id) : NULL;
}
