#include "model/jobs/shape.h"

#include "base/text/iso8601.h"
#include "base/text/regex.h"

#include <math.h>
#include <stdio.h>

enum { PATTERN_STEPS = 100000 };

struct check {
	const struct shape_rule *rule;
	struct shape_fault *fault;
	struct error *err;
	struct regex *regex; /* of the rule's pattern, once it was needed */
	struct regex_scratch *scratch;
};

static void check_done(struct check *check)
{
	regex_free(check->regex);
	regex_scratch_free(check->scratch);
}
AUTO_DONE_TYPE(check)

const char *shape_fault_path(struct shape_fault *fault)
{
	if (fault->path.failure || !buf_reserve(&fault->path, 1))
		return fault->rule->path;
	fault->path.ptr[fault->path.len] = 0;
	return fault->path.ptr;
}

bool shape_fault_show(const struct shape_fault *fault, size_t most, struct buf *out)
{
	if (fault->value)
		json_print(fault->value, out);
	else
		buf_append_span(out, fault->key);
	if (out->len <= most)
		return false;
	out->len = span_cut(buf_span(out), most).len;
	return true;
}

static enum status wrong_count(
	struct check *check, enum shape_wrong what, const struct json *value, struct span key, int64_t count)
{
	struct shape_fault *fault = check->fault;

	fault->wrong = what;
	fault->rule = check->rule;
	fault->value = value;
	fault->key = key;
	fault->count = count;
	return OK;
}

static enum status wrong(struct check *check, enum shape_wrong what, const struct json *value)
{
	return wrong_count(check, what, value, SPAN(""), 0);
}

static int64_t characters(struct span text)
{
	int64_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	return count;
}

static enum status matches(struct check *check, struct span text, bool *is_match)
{
	struct span groups[REGEX_MAX_GROUPS];
	AUTO_DONE(buf) whole = BUF_INIT(4096);

	if (!check->regex) {
		if (!check->scratch && !(check->scratch = regex_scratch_new()))
			return error_no_memory(check->err);
		buf_printf(&whole, "\\A(?:%s)\\z", check->rule->words);
		TRY(buf_status(&whole, check->err));
		TRY(regex_new(&check->regex, buf_span(&whole), 0, check->err));
		regex_scratch_limit(check->scratch, PATTERN_STEPS);
	}
	*is_match = regex_search(check->regex, check->scratch, text, 0, groups) == REGEX_MATCH;
	return OK;
}

/* value NULL: of a key. */
static enum status check_text(struct check *check, const struct json *value, struct span text)
{
	const struct shape_rule *rule = check->rule;
	int64_t count = characters(text);
	bool is_match = true;

	if (count < rule->min)
		return wrong_count(check, SHAPE_TOO_SHORT, value, text, count);
	if (count > rule->max)
		return wrong_count(check, SHAPE_TOO_LONG, value, text, count);
	if (rule->words && rule->words[0])
		TRY(matches(check, text, &is_match));
	return is_match ? OK : wrong_count(check, SHAPE_NO_MATCH, value, text, count);
}

static enum status check_enum(struct check *check, const struct json *value)
{
	struct span rest = span_from(check->rule->words), word;

	if (json_kind(value) != JSON_STRING)
		return wrong(check, SHAPE_OTHER_TYPE, value);
	while (span_next(&rest, '|', &word))
		if (span_equal(word, json_string_of(value)))
			return OK;
	return wrong(check, SHAPE_NO_WORD, value);
}

static enum status check_number(struct check *check, const struct json *value)
{
	const struct shape_rule *rule = check->rule;
	double number;
	bool is_text = check->fault->takes_texts && json_kind(value) == JSON_STRING;

	if (!(is_text ? span_parse_double(json_string_of(value), &number) : json_number_of(value, &number)) ||
		(rule->kind == SHAPE_INTEGER && (!isfinite(number) || number != floor(number))))
		return wrong(check, SHAPE_OTHER_TYPE, value);
	if (!(number >= (double)rule->min))
		return wrong(check, SHAPE_TOO_SMALL, value);
	return number <= (double)rule->max ? OK : wrong(check, SHAPE_TOO_LARGE, value);
}

static enum status check_boolean(struct check *check, const struct json *value)
{
	struct span text = check->fault->takes_texts ? json_string_of(value) : SPAN("");
	bool fits = json_kind(value) == JSON_BOOL || span_equal(text, SPAN("true")) || span_equal(text, SPAN("false"));

	return fits ? OK : wrong(check, SHAPE_OTHER_TYPE, value);
}

static enum status check_time(struct check *check, const struct json *value)
{
	double seconds;
	int64_t ms;
	bool fits = json_kind(value) == JSON_STRING ? iso8601_parse(json_string_of(value), &ms)
						    : json_number_of(value, &seconds) && isfinite(seconds);

	return fits ? OK : wrong(check, SHAPE_OTHER_TYPE, value);
}

static enum status check_list(struct check *check, const struct json *value, enum json_kind kind)
{
	int64_t count = (int64_t)json_count(value);
	bool is_empty_in_form = check->fault->takes_texts && kind == JSON_ARRAY && json_kind(value) == JSON_STRING &&
				!json_string_of(value).len;

	if (json_kind(value) != kind && !is_empty_in_form)
		return wrong(check, SHAPE_OTHER_TYPE, value);
	if (count > check->rule->max)
		return wrong_count(check, SHAPE_TOO_MANY, value, SPAN(""), count);
	return count >= check->rule->min ? OK : wrong_count(check, SHAPE_TOO_FEW, value, SPAN(""), count);
}

static enum status check_value(struct check *check, const struct json *value)
{
	switch (check->rule->kind) {
	case SHAPE_OBJECT:
		return json_kind(value) == JSON_OBJECT ? OK : wrong(check, SHAPE_OTHER_TYPE, value);
	case SHAPE_ARRAY:
		return check_list(check, value, JSON_ARRAY);
	case SHAPE_MAP:
		return check_list(check, value, JSON_OBJECT);
	case SHAPE_STRING:
		return json_kind(value) == JSON_STRING ? check_text(check, value, json_string_of(value))
						       : wrong(check, SHAPE_OTHER_TYPE, value);
	case SHAPE_ENUM:
		return check_enum(check, value);
	case SHAPE_INTEGER:
	case SHAPE_NUMBER:
		return check_number(check, value);
	case SHAPE_BOOLEAN:
		return check_boolean(check, value);
	case SHAPE_TIME:
		return check_time(check, value);
	case SHAPE_NEEDED:
		break;
	}
	return OK;
}

static enum status walk(struct check *check, const struct json *node, const char *path);

static enum status walk_each(struct check *check, const struct json *node, const char *rest)
{
	bool is_map = rest[0] == '{', is_key = strncmp(rest, "{key}", 5) == 0;
	const char *behind = rest + (is_key ? 5 : 2);
	struct buf *path = &check->fault->path;
	size_t number = 0;

	if (json_kind(node) != (is_map ? JSON_OBJECT : JSON_ARRAY))
		return OK; /* said by the rule of the list itself */
	for (const struct json *at = json_first(node); at; at = json_next(at), number++) {
		size_t len = path->len;
		if (is_map)
			buf_append_char(path, '.');
		if (is_map)
			buf_append_span(path, json_key_of(at));
		else
			buf_printf(path, "[%zu]", number);
		if (path->failure)
			return wrong_count(check, SHAPE_KEY_TOO_LONG, NULL, json_key_of(at), 0);
		TRY(is_key ? check_text(check, NULL, json_key_of(at)) : walk(check, at, behind));
		if (check->fault->wrong)
			return OK;
		path->len = len;
	}
	return OK;
}

static bool is_there(const struct json *node)
{
	return node && json_kind(node) != JSON_NULL;
}

/* The values that the path names below node; "" : node itself. Null is what is not there. */
static enum status walk(struct check *check, const struct json *node, const char *path)
{
	struct buf *named = &check->fault->path;
	char key[64];

	if (!is_there(node))
		return OK;
	if (!path[0])
		return check_value(check, node);
	if (path[0] == '[' || path[0] == '{')
		return walk_each(check, node, path);
	path += path[0] == '.';
	size_t len = strcspn(path, ".[{"), before = named->len;
	snprintf(key, sizeof key, "%.*s", (int)len, path);
	const struct json *below = json_kind(node) == JSON_OBJECT ? json_get(node, key) : NULL;
	bool is_missing =
		check->rule->kind == SHAPE_NEEDED && !path[len] && json_kind(node) == JSON_OBJECT && !is_there(below);
	if (!below && !is_missing)
		return OK;
	if (named->len)
		buf_append_char(named, '.');
	buf_append_text(named, key);
	if (is_missing)
		return wrong(check, SHAPE_MISSING, NULL);
	TRY(walk(check, below, path + len));
	if (!check->fault->wrong)
		named->len = before;
	return OK;
}

enum status shape_check_rule(const struct shape_rule *rule, const char *path, const struct json *value,
	struct shape_fault *fault, struct error *err)
{
	AUTO_DONE(check) check = {.rule = rule, .fault = fault, .err = err};

	return walk(&check, value, path);
}

enum status shape_check(
	const struct shape_rule *rules, const struct json *document, struct shape_fault *fault, struct error *err)
{
	for (; rules->path && !fault->wrong; rules++)
		TRY(shape_check_rule(rules, rules->path, document, fault, err));
	return OK;
}
