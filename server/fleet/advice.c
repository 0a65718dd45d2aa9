#include "fleet/advice.h"

#include "fleet/advice_condition.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_MAX_BYTES = 256, TEXT_MAX_BYTES = 2000, FACTOR_MAX = 3, DEPTH_MAX = 4 };

struct advice {
	struct json *document;
};

/* ---- quantities ---- */

static char plain(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

/* --tensor-model-parallel-size and tensor_model_parallel_size are one name. */
static bool is_same_key(struct span a, struct span b)
{
	bool is_setting = span_take(&a, SPAN("hp."));

	if (is_setting != span_take(&b, SPAN("hp.")))
		return false;
	while (is_setting && span_take(&a, SPAN("-")))
		;
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (plain(a.ptr[i]) != plain(b.ptr[i]))
			return false;
	return true;
}

static const struct json *find_quantity(const struct advice *advice, struct span name)
{
	const struct json *list = json_get(advice->document, "quantities");

	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (span_equal(json_key_of(at), name))
			return at;
	return NULL;
}

static double text_value(const struct json *quantity, struct span text)
{
	static const struct {
		const char *text;
		double value;
	} words[] = {{"true", 1}, {"yes", 1}, {"on", 1}, {"false", 0}, {"no", 0}, {"off", 0}, {"none", 0}};
	double value;

	for (const struct json *at = json_first(json_get(quantity, "values")); at; at = json_next(at))
		if (span_equal_fold(json_key_of(at), text) && json_number_of(at, &value))
			return value;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(text, span_from(words[i].text)))
			return words[i].value;
	return span_parse_double(text, &value) ? value : NAN;
}

static double setting_value(const struct json *quantity, const struct advice_setting *setting)
{
	return setting->text.len ? text_value(quantity, span_trim(setting->text)) : setting->number;
}

/* *setting: which said it; NULL: the default did, or nothing. */
static double read_quantity(const struct json *quantity, const struct advice_setting *settings, size_t count,
	const struct advice_setting **setting)
{
	double value;

	*setting = NULL;
	for (const struct json *key = json_first(json_get(quantity, "keys")); key; key = json_next(key))
		for (size_t i = 0; i < count; i++)
			if (is_same_key(settings[i].key, json_string_of(key)) &&
				!isnan(value = setting_value(quantity, &settings[i]))) {
				*setting = &settings[i];
				return value;
			}
	return json_number_of(json_get(quantity, "default"), &value) ? value : NAN;
}

struct scope {
	const struct advice *advice;
	const struct advice_setting *settings;
	size_t count;
	bool is_check; /* names must be there, their values are not */
	unsigned depth; /* of quantities that are worked out of others */
};

static bool resolve(void *context, struct span name, double *value);

/* "else": what it is where nobody says it. */
static double work_out(const struct scope *scope, const struct json *quantity)
{
	struct span expression = json_string_of(json_get(quantity, "else"));
	struct scope inner = *scope;
	struct error ignored;
	double value = NAN;

	inner.depth++;
	if (!expression.len || inner.depth > DEPTH_MAX)
		return NAN;
	return condition_evaluate(expression, resolve, &inner, &value, &ignored) == OK ? value : NAN;
}

/* A name that is no quantity of the file is a measurement of the caller. */
static double look_up(const struct scope *scope, struct span name)
{
	const struct json *quantity = find_quantity(scope->advice, name);
	const struct advice_setting *setting;

	if (quantity) {
		double value = read_quantity(quantity, scope->settings, scope->count, &setting);
		return isnan(value) ? work_out(scope, quantity) : value;
	}
	for (size_t i = 0; i < scope->count; i++)
		if (span_equal(scope->settings[i].key, name))
			return setting_value(NULL, &scope->settings[i]);
	return NAN;
}

static bool resolve(void *context, struct span name, double *value)
{
	const struct scope *scope = context;

	*value = scope->is_check ? NAN : look_up(scope, name);
	if (!scope->is_check || find_quantity(scope->advice, name))
		return true;
	for (const struct json *at = json_first(json_get(scope->advice->document, "measurements")); at;
		at = json_next(at))
		if (span_equal(json_key_of(at), name))
			return true;
	return false;
}

double advice_quantity(
	const struct advice *advice, struct span name, const struct advice_setting *settings, size_t count)
{
	struct scope scope = {.advice = advice, .settings = settings, .count = count};

	return look_up(&scope, name);
}

/* ---- findings ---- */

static void print_number(double value, struct buf *out)
{
	char text[40];

	snprintf(text, sizeof text, "%.10g", value);
	buf_append_text(out, text);
}

/* "{tp} is no power of two": names in braces become their values. */
static void print_text(const struct scope *scope, struct span text, struct buf *out)
{
	while (text.len) {
		size_t open = 0, close;
		while (open < text.len && text.ptr[open] != '{')
			open++;
		buf_append_span(out, span_of(text.ptr, open));
		for (close = open; close < text.len && text.ptr[close] != '}';)
			close++;
		if (close == text.len)
			return;
		double value = NAN;
		struct error err;
		struct span inner = span_of(text.ptr + open + 1, close - open - 1);
		if (condition_evaluate(inner, resolve, (void *)scope, &value, &err) == OK && !isnan(value))
			print_number(value, out);
		else
			buf_append_char(out, '?');
		text = span_of(text.ptr + close + 1, text.len - close - 1);
	}
}

/* Where the rule's main quantity was said, else where it would be. */
static struct span field_of(const struct scope *scope, struct span name)
{
	const struct json *quantity = find_quantity(scope->advice, name);
	const struct advice_setting *setting;

	if (!quantity)
		return name;
	read_quantity(quantity, scope->settings, scope->count, &setting);
	return setting ? setting->key : json_string_of(json_first(json_get(quantity, "keys")));
}

static enum status copy(struct arena *arena, struct span text, struct span *out, struct error *err)
{
	*out = arena_copy(arena, text);
	return !text.len || out->ptr ? OK : error_no_memory(err);
}

static enum status fill(const struct scope *scope, struct arena *arena, const struct json *rule,
	struct advice_finding *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES);

	print_text(scope, json_string_of(json_get(rule, "text")), &text);
	TRY(buf_status(&text, err));
	TRY(copy(arena, buf_span(&text), &out->text, err));
	TRY(copy(arena, field_of(scope, json_string_of(json_get(rule, "field"))), &out->field, err));
	out->rule = json_string_of(json_get(rule, "name"));
	out->severity = json_string_of(json_get(rule, "severity"));
	out->reason = json_string_of(json_get(rule, "reason"));
	out->source = json_string_of(json_get(rule, "source"));
	return OK;
}

enum status advice_run(const struct advice *advice, struct arena *arena, const struct advice_setting *settings,
	size_t count, struct advice_finding **out, size_t *found, struct error *err)
{
	const struct json *rules = json_get(advice->document, "rules");
	struct scope scope = {.advice = advice, .settings = settings, .count = count};

	*found = 0;
	*out = arena_alloc(arena, (json_count(rules) + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (const struct json *rule = json_first(rules); rule; rule = json_next(rule)) {
		double value;
		TRY(condition_evaluate(json_string_of(json_get(rule, "when")), resolve, &scope, &value, err));
		if (!isnan(value) && value != 0)
			TRY(fill(&scope, arena, rule, &(*out)[(*found)++], err));
	}
	return OK;
}

/* ---- the data file ---- */

bool advice_has_rule(const struct advice *advice, struct span name)
{
	const struct json *rules = json_get(advice->document, "rules");

	for (const struct json *rule = json_first(rules); rule; rule = json_next(rule))
		if (span_equal(json_string_of(json_get(rule, "name")), name))
			return true;
	return false;
}

const struct json *advice_reference(const struct advice *advice, double parameters)
{
	const struct json *best = NULL;
	double best_factor = FACTOR_MAX, own;

	for (const struct json *at = json_first(json_get(advice->document, "references")); at; at = json_next(at)) {
		if (!json_number_of(json_get(at, "parameters"), &own) || !(parameters > 0))
			continue;
		double factor = own > parameters ? own / parameters : parameters / own;
		if (factor <= best_factor) {
			best_factor = factor;
			best = at;
		}
	}
	return best;
}

/* A name in braces that is nothing would be shown as unknown for ever. */
static enum status check_text(const struct scope *scope, struct span name, struct span text, struct error *err)
{
	for (struct span rest = text; rest.len;) {
		const char *open = memchr(rest.ptr, '{', rest.len);
		if (!open)
			return OK;
		rest = span_skip(rest, (size_t)(open - rest.ptr) + 1);
		const char *close = memchr(rest.ptr, '}', rest.len);
		if (!close)
			return error_set(
				err, ERR_INVALID, "rule '%.*s': its text has a { without a }", SPAN_ARGS(name));
		struct error why;
		double value;
		struct span inner = span_of(rest.ptr, (size_t)(close - rest.ptr));
		if (condition_evaluate(inner, resolve, (void *)scope, &value, &why) != OK)
			return error_set(err, ERR_INVALID, "rule '%.*s': {%.*s} in its text: %s", SPAN_ARGS(name),
				SPAN_ARGS(span_cut(inner, 60)), why.text);
		rest = span_skip(rest, inner.len + 1);
	}
	return OK;
}

static enum status check_rule(const struct advice *advice, const struct json *rule, struct error *err)
{
	static const char *const texts[] = {"name", "severity", "field", "when", "text", "reason", "source"};
	struct scope scope = {.advice = advice, .is_check = true};
	struct span name = json_string_of(json_get(rule, "name"));
	struct error why;
	double value;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!json_string_of(json_get(rule, texts[i])).len)
			return error_set(err, ERR_INVALID, "rule '%.*s' has no %s", SPAN_ARGS(name), texts[i]);
	if (condition_evaluate(json_string_of(json_get(rule, "when")), resolve, &scope, &value, &why) != OK)
		return error_set(err, ERR_INVALID, "rule '%.*s': %s", SPAN_ARGS(name), why.text);
	return check_text(&scope, name, json_string_of(json_get(rule, "text")), err);
}

static enum status check_quantity(const struct advice *advice, const struct json *quantity, struct error *err)
{
	struct scope scope = {.advice = advice, .is_check = true};
	struct span expression = json_string_of(json_get(quantity, "else")), name = json_key_of(quantity);
	struct error why;
	double value;

	if (expression.len && condition_evaluate(expression, resolve, &scope, &value, &why) != OK)
		return error_set(err, ERR_INVALID, "quantity '%.*s': %s", SPAN_ARGS(name), why.text);
	return OK;
}

enum status advice_new(struct advice **out, struct span json, struct error *err)
{
	AUTO(advice) advice = mem_zeroed(sizeof *advice);

	if (!advice)
		return error_no_memory(err);
	TRY(json_parse(&advice->document, json, err));
	const struct json *rules = json_get(advice->document, "rules"),
			  *list = json_get(advice->document, "quantities");
	for (const struct json *at = json_first(list); at; at = json_next(at))
		TRY(check_quantity(advice, at, err));
	for (const struct json *rule = json_first(rules); rule; rule = json_next(rule))
		TRY(check_rule(advice, rule, err));
	*out = TAKE(advice);
	return OK;
}

void advice_free(struct advice *advice)
{
	if (!advice)
		return;
	json_free(advice->document);
	mem_free(advice);
}
