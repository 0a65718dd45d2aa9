#include "model/jobs/shape_schema.h"

static void write_node(const struct shape_rule *rules, struct span path, struct json_writer *w);

/* What follows `path` in the rule's: "" for itself, ".b", "[]…", "{}…"; false: it is elsewhere. */
static bool take_below(const struct shape_rule *rule, struct span path, struct span *rest)
{
	struct span whole = span_from(rule->path);

	if (!span_starts_with(whole, path))
		return false;
	*rest = span_skip(whole, path.len);
	return !path.len || !rest->len || strchr(".[{", rest->ptr[0]);
}

/* The path of the rule's part right below: "a.b" of "a.b[].c" below "a"; false: it has none that is a member. */
static bool take_member(const struct shape_rule *rule, struct span path, struct span *member)
{
	size_t begin = path.len > 0;
	struct span rest;

	if (!take_below(rule, path, &rest) || rest.len <= begin || (begin && rest.ptr[0] != '.'))
		return false;
	while (begin < rest.len && !strchr(".[{", rest.ptr[begin]))
		begin++;
	*member = span_of(rule->path, path.len + begin);
	return true;
}

static const struct shape_rule *find_own(const struct shape_rule *rules, struct span path, bool is_needed)
{
	for (; rules->path; rules++)
		if (span_equal(span_from(rules->path), path) && (rules->kind == SHAPE_NEEDED) == is_needed)
			return rules;
	return NULL;
}

/* Elements of a list ("[]") or a map ("{}"); empty: there are none. */
static struct span find_elements(const struct shape_rule *rules, struct span path, struct span mark)
{
	struct span rest;

	for (; path.len && rules->path; rules++)
		if (take_below(rules, path, &rest) && span_starts_with(rest, mark))
			return span_of(rules->path, path.len + mark.len);
	return SPAN("");
}

static void put_limits(const char *least, const char *most, const struct shape_rule *rule, struct json_writer *w)
{
	if (rule->min || (rule->max && rule->kind == SHAPE_INTEGER))
		json_put_i64(w, least, rule->min);
	if (rule->max)
		json_put_i64(w, most, rule->max);
}

static void write_string(const struct shape_rule *rule, struct json_writer *w)
{
	AUTO_DONE(buf) pattern = BUF_INIT(4096);

	put_limits("minLength", "maxLength", rule, w);
	if (!rule->words || !rule->words[0])
		return;
	buf_printf(&pattern, "^(?:%s)$", rule->words);
	if (!pattern.failure)
		json_put_span(w, "pattern", buf_span(&pattern));
}

static void write_words(const struct shape_rule *rule, struct json_writer *w)
{
	struct span rest = span_from(rule->words), word;

	json_key(w, "enum");
	json_array(w);
	while (span_next(&rest, '|', &word))
		json_span(w, word);
	json_array_end(w);
}

static void write_own(const struct shape_rule *rule, struct json_writer *w)
{
	static const char *const types[] = {[SHAPE_OBJECT] = "object",
		[SHAPE_ARRAY] = "array",
		[SHAPE_MAP] = "object",
		[SHAPE_STRING] = "string",
		[SHAPE_INTEGER] = "integer",
		[SHAPE_NUMBER] = "number",
		[SHAPE_BOOLEAN] = "boolean",
		[SHAPE_ENUM] = "string",
		[SHAPE_TIME] = NULL};

	if (types[rule->kind]) {
		json_put_text(w, "type", types[rule->kind]);
	} else {
		json_key(w, "type"); /* of seconds, or ISO 8601 */
		json_raw(w, SPAN("[\"number\",\"string\"]"));
	}
	if (rule->kind == SHAPE_STRING)
		write_string(rule, w);
	else if (rule->kind == SHAPE_ENUM)
		write_words(rule, w);
	else if (rule->kind == SHAPE_ARRAY)
		put_limits("minItems", "maxItems", rule, w);
	else if (rule->kind == SHAPE_INTEGER || rule->kind == SHAPE_NUMBER)
		put_limits("minimum", "maximum", rule, w);
}

static bool is_first(const struct shape_rule *rules, size_t at, struct span path, struct span member)
{
	struct span other;

	for (size_t i = 0; i < at; i++)
		if (take_member(&rules[i], path, &other) && span_equal(other, member))
			return false;
	return true;
}

static void write_members(const struct shape_rule *rules, struct span path, struct json_writer *w)
{
	size_t name_at = path.len + (path.len > 0);
	struct span member;

	json_key(w, "properties");
	json_object(w);
	for (size_t i = 0; rules[i].path; i++)
		if (take_member(&rules[i], path, &member) && is_first(rules, i, path, member)) {
			json_key_span(w, span_skip(member, name_at));
			json_object(w);
			write_node(rules, member, w);
			json_object_end(w);
		}
	json_object_end(w);
	json_key(w, "required");
	json_array(w);
	for (size_t i = 0; rules[i].path; i++)
		if (take_member(&rules[i], path, &member) && is_first(rules, i, path, member) &&
			find_own(rules, member, true))
			json_span(w, span_skip(member, name_at));
	json_array_end(w);
}

static bool has_members(const struct shape_rule *rules, struct span path)
{
	struct span member;

	for (; rules->path; rules++)
		if (take_member(rules, path, &member))
			return true;
	return false;
}

static void write_elements(const char *name, const struct shape_rule *rules, struct span path, struct json_writer *w)
{
	if (!path.len)
		return;
	json_key(w, name);
	json_object(w);
	write_node(rules, path, w);
	json_object_end(w);
}

static void write_node(const struct shape_rule *rules, struct span path, struct json_writer *w)
{
	const struct shape_rule *own = find_own(rules, path, false);
	struct span items = find_elements(rules, path, SPAN("[]")), values = find_elements(rules, path, SPAN("{}"));
	bool has_any = has_members(rules, path);

	if (own)
		write_own(own, w);
	else if (items.len || values.len || has_any)
		json_put_text(w, "type", items.len ? "array" : "object");
	if (has_any)
		write_members(rules, path, w);
	write_elements("items", rules, items, w);
	write_elements("additionalProperties", rules, values, w);
}

void shape_write_schema(const struct shape_rule *rules, struct json_writer *w)
{
	if (!rules || !rules->path)
		json_put_text(w, "type", "object");
	else
		write_node(rules, SPAN(""), w);
}
