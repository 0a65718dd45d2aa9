#include "query/expression.h"

#include "base/text/iso8601.h"
#include "query/expression_names.h"

#include <stdio.h>

enum { DEPTH_MAX = 24, PATH_BYTES = 160 };

struct reading {
	struct arena *arena;
	struct error *err;
	size_t total; /* of filters, nested filters and expressions so far */
	size_t contains;
	unsigned depth;
};

enum status expression_violation(struct error *err, const char *field, struct span value, const char *constraint)
{
	value = span_cut(value, 200);
	return error_set_field(err, ERR_INVALID, field,
		"1 validation error detected: Value '%.*s' at '%s' failed to satisfy constraint: %s", SPAN_ARGS(value),
		field, constraint);
}

/* ---- trees ---- */

static enum status new_node(
	const struct reading *reading, enum query_kind kind, struct query_node *left, struct query_node **out)
{
	struct query_node *node = arena_alloc(reading->arena, sizeof *node);

	if (!node)
		return error_no_memory(reading->err);
	*node = (struct query_node){.kind = kind, .left = left, .term.column = 1};
	*out = node;
	return OK;
}

static enum status join(
	const struct reading *reading, enum query_kind kind, struct query_node **left, struct query_node *right)
{
	struct query_node *node;

	if (!*left) {
		*left = right;
		return OK;
	}
	TRY(new_node(reading, kind, *left, &node));
	node->right = right;
	*left = node;
	return OK;
}

/* ---- one filter ---- */

enum operation {
	EQUALS,
	NOT_EQUALS,
	GREATER_THAN,
	AT_LEAST,
	LESS_THAN,
	AT_MOST,
	CONTAINS,
	EXISTS,
	NOT_EXISTS,
	IN,
	OPERATOR_COUNT
};

static const struct {
	const char *name;
	enum query_compare compare;
} operators[OPERATOR_COUNT] = {
	[EQUALS] = {"Equals", QUERY_EQUAL},
	[NOT_EQUALS] = {"NotEquals", QUERY_NOT_EQUAL},
	[GREATER_THAN] = {"GreaterThan", QUERY_MORE},
	[AT_LEAST] = {"GreaterThanOrEqualTo", QUERY_AT_LEAST},
	[LESS_THAN] = {"LessThan", QUERY_LESS},
	[AT_MOST] = {"LessThanOrEqualTo", QUERY_AT_MOST},
	[CONTAINS] = {"Contains", QUERY_CONTAINS},
	[EXISTS] = {"Exists", QUERY_EXISTS},
	[NOT_EXISTS] = {"NotExists", QUERY_EXISTS},
	[IN] = {"In", QUERY_IN},
};

struct filter {
	const char *path; /* of the filter, in SageMaker's words */
	struct span name;
	struct span value;
	bool has_value;
	enum operation operation;
	enum property_kind kind;
};

static enum status violation(const struct reading *reading, const struct filter *filter, const char *field,
	struct span value, const char *constraint)
{
	char path[PATH_BYTES + 16];

	snprintf(path, sizeof path, "%s.%s", filter->path, field);
	return expression_violation(reading->err, path, value, constraint);
}

static enum status read_operator(const struct reading *reading, struct filter *filter, struct span text)
{
	for (int i = 0; i < OPERATOR_COUNT; i++)
		if (span_equal(text, span_from(operators[i].name))) {
			filter->operation = (enum operation)i;
			return OK;
		}
	return violation(reading, filter, "operator", text,
		"Member must satisfy enum value set: [Equals, NotEquals, GreaterThan, GreaterThanOrEqualTo, LessThan, "
		"LessThanOrEqualTo, Contains, Exists, NotExists, In]");
}

static enum status read_filter(const struct reading *reading, const struct json *json, struct filter *filter)
{
	struct span operation = SPAN("");
	struct error *err = reading->err;

	if (json_kind(json) != JSON_OBJECT)
		return error_set_field(err, ERR_INVALID, filter->path, "%s is not an object", filter->path);
	TRY(json_want_string(json, "Name", &filter->name, err));
	TRY(json_want_string(json, "Operator", &operation, err));
	TRY(json_want_string(json, "Value", &filter->value, err));
	filter->has_value = json_get(json, "Value") && json_kind(json_get(json, "Value")) == JSON_STRING;
	if (!filter->name.len)
		return violation(reading, filter, "name", SPAN("null"), "Member must not be null");
	if (filter->name.len > EXPRESSION_NAME_MAX)
		return violation(
			reading, filter, "name", filter->name, "Member must have length less than or equal to 255");
	if (filter->has_value && !filter->value.len)
		return violation(
			reading, filter, "value", filter->value, "Member must have length greater than or equal to 1");
	if (filter->value.len > EXPRESSION_VALUE_MAX)
		return violation(
			reading, filter, "value", filter->value, "Member must have length less than or equal to 1024");
	if (operation.len)
		return read_operator(reading, filter, operation);
	filter->operation = filter->has_value ? EQUALS : EXISTS;
	return OK;
}

static bool is_order(enum operation operation)
{
	return operation >= GREATER_THAN && operation <= AT_MOST;
}

static enum status read_value(
	const struct reading *reading, const struct filter *filter, struct span text, struct query_value *out)
{
	const char *path = filter->path;
	int64_t ms;

	*out = (struct query_value){.text = text, .is_literal = true};
	switch (filter->kind) {
	case PROPERTY_TIME:
		if (!iso8601_parse(text, &ms))
			return error_set_field(reading->err, ERR_INVALID, path,
				"Invalid value for property %.*s: '%.*s' is not a timestamp as 2006-01-02T15:04:05",
				SPAN_ARGS(filter->name), SPAN_ARGS(text));
		out->is_number = true;
		out->number = (double)ms;
		return OK;
	case PROPERTY_NUMBER:
		out->is_number = span_parse_double(text, &out->number);
		if (!out->is_number)
			return error_set_field(reading->err, ERR_INVALID, path,
				"Invalid value for property %.*s: '%.*s' is not a number", SPAN_ARGS(filter->name),
				SPAN_ARGS(text));
		return OK;
	case PROPERTY_BOOL:
		if (!span_equal_fold(text, SPAN("true")) && !span_equal_fold(text, SPAN("false")))
			return error_set_field(reading->err, ERR_INVALID, path,
				"Invalid value for property %.*s: '%.*s' is neither true nor false",
				SPAN_ARGS(filter->name), SPAN_ARGS(text));
		out->text = span_equal_fold(text, SPAN("true")) ? SPAN("true") : SPAN("false");
		return OK;
	case PROPERTY_TEXT:
		break;
	}
	return OK;
}

/* SageMaker's hyperparameters are texts that compare as numbers with a number. */
static enum status settle_kind(const struct reading *reading, struct filter *filter, const struct query_term *term)
{
	double number;

	if (term->family == QUERY_HP && filter->has_value && filter->operation != IN && filter->operation != CONTAINS &&
		span_parse_double(filter->value, &number) && number - number == 0) /* finite */
		filter->kind = PROPERTY_NUMBER;
	bool is_text = filter->kind == PROPERTY_TEXT || filter->kind == PROPERTY_BOOL;
	if (is_order(filter->operation) && is_text)
		return error_set_field(reading->err, ERR_INVALID, filter->path,
			"Operator %s is not supported for text properties: %.*s", operators[filter->operation].name,
			SPAN_ARGS(filter->name));
	if ((filter->operation == IN || filter->operation == CONTAINS) && filter->kind != PROPERTY_TEXT)
		return error_set_field(reading->err, ERR_INVALID, filter->path,
			"Operator %s is supported for text properties only: %.*s", operators[filter->operation].name,
			SPAN_ARGS(filter->name));
	return OK;
}

/* "a,b" of In; else the whole value. */
static enum status read_values(const struct reading *reading, const struct filter *filter, struct query_term *term)
{
	struct span rest = filter->value, part;
	size_t count = 1;

	if (!filter->has_value)
		return violation(reading, filter, "value", SPAN("null"), "Member must not be null");
	for (size_t i = 0; filter->operation == IN && i < rest.len; i++)
		count += rest.ptr[i] == ',';
	term->values = arena_alloc(reading->arena, count * sizeof *term->values);
	if (!term->values)
		return error_no_memory(reading->err);
	if (filter->operation != IN)
		return read_value(reading, filter, filter->value, &term->values[term->value_count++]);
	while (span_next(&rest, ',', &part))
		TRY(read_value(reading, filter, span_trim(part), &term->values[term->value_count++]));
	return OK;
}

static enum status unknown_name(const struct reading *reading, const char *path, struct span name)
{
	return error_set_field(reading->err, ERR_INVALID, path, "Unknown property name: %.*s", SPAN_ARGS(name));
}

/* A property that is not there is neither equal nor unequal: NotEquals asks for both. */
static enum status ask_for_presence(struct reading *reading, struct query_node **node)
{
	struct query_node *exists;

	TRY(new_node(reading, QUERY_TERM, NULL, &exists));
	exists->term = (*node)->term;
	exists->term.compare = QUERY_EXISTS;
	exists->term.values = NULL;
	exists->term.value_count = 0;
	TRY(join(reading, QUERY_AND, &exists, *node));
	*node = exists;
	return OK;
}

static enum status count_one(struct reading *reading)
{
	if (++reading->total <= EXPRESSION_TOTAL_MAX)
		return OK;
	return error_set_field(reading->err, ERR_INVALID, "searchExpression",
		"a SearchExpression holds at most %d Filters, NestedFilters and SubExpressions in all",
		EXPRESSION_TOTAL_MAX);
}

static enum status parse_filter(
	struct reading *reading, const struct json *json, const char *path, struct span within, struct query_node **out)
{
	struct filter filter = {.path = path, .name = SPAN(""), .value = SPAN("")};
	struct query_node *node;

	TRY(count_one(reading));
	TRY(read_filter(reading, json, &filter));
	TRY(new_node(reading, QUERY_TERM, NULL, &node));
	if (!expression_name(filter.name, &node->term, &filter.kind))
		return unknown_name(reading, path, filter.name);
	bool is_within = !within.len || (span_starts_with(filter.name, within) && filter.name.len > within.len &&
						filter.name.ptr[within.len] == '.');
	if (!is_within)
		return error_set_field(reading->err, ERR_INVALID, path, "Property %.*s is not nested in %.*s",
			SPAN_ARGS(filter.name), SPAN_ARGS(within));
	TRY(settle_kind(reading, &filter, &node->term));
	if (filter.operation == CONTAINS && ++reading->contains > 1)
		return error_set_field(
			reading->err, ERR_INVALID, path, "'CONTAINS' operator usage limit of 1 exceeded.");
	node->term.compare = operators[filter.operation].compare;
	if (filter.operation != EXISTS && filter.operation != NOT_EXISTS)
		TRY(read_values(reading, &filter, &node->term));
	if (filter.operation == NOT_EQUALS)
		TRY(ask_for_presence(reading, &node));
	if (filter.operation == NOT_EXISTS)
		TRY(new_node(reading, QUERY_NOT, node, &node));
	*out = node;
	return OK;
}

/* ---- lists of them ---- */

typedef enum status parse_one(struct reading *reading, const struct json *json, const char *path, struct span within,
	struct query_node **out);

/* Joins what is in the list `name` of `object` to *tree. */
static enum status parse_list(struct reading *reading, const struct json *object, const char *name, const char *path,
	enum query_kind kind, struct span within, parse_one *parse, struct query_node **tree)
{
	const struct json *list = json_get(object, name);
	char field[PATH_BYTES];
	size_t i = 0;

	if (!list || json_kind(list) == JSON_NULL)
		return OK;
	snprintf(field, sizeof field, "%s.%c%s", path, name[0] | 0x20, name + 1);
	if (json_kind(list) != JSON_ARRAY)
		return error_set_field(reading->err, ERR_INVALID, field, "%s is not a list", field);
	if (json_count(list) == 0)
		return expression_violation(
			reading->err, field, SPAN("[]"), "Member must have length greater than or equal to 1");
	if (json_count(list) > EXPRESSION_LIST_MAX)
		return expression_violation(
			reading->err, field, SPAN("[...]"), "Member must have length less than or equal to 20");
	for (const struct json *at = json_first(list); at; at = json_next(at)) {
		char element[PATH_BYTES];
		struct query_node *node = NULL;
		snprintf(element, sizeof element, "%.120s.%zu.member", field, ++i);
		TRY(parse(reading, at, element, within, &node));
		TRY(join(reading, kind, tree, node));
	}
	return OK;
}

static enum status parse_nested(
	struct reading *reading, const struct json *json, const char *path, struct span within, struct query_node **out)
{
	struct span name = SPAN("");
	struct query_node *node, *filters = NULL;

	(void)within;
	TRY(count_one(reading));
	if (json_kind(json) != JSON_OBJECT)
		return error_set_field(reading->err, ERR_INVALID, path, "%s is not an object", path);
	TRY(json_want_string(json, "NestedPropertyName", &name, reading->err));
	if (!expression_is_list(name))
		return unknown_name(reading, path, name);
	TRY(parse_list(reading, json, "Filters", path, QUERY_AND, name, parse_filter, &filters));
	if (!filters)
		return expression_violation(reading->err, path, SPAN("null"), "Member must not be null");
	TRY(new_node(reading, QUERY_ONE, filters, &node));
	node->term.key = name;
	*out = node;
	return OK;
}

static enum status read_joint(
	const struct reading *reading, const struct json *json, const char *path, enum query_kind *kind)
{
	struct span text = SPAN("And");
	char field[PATH_BYTES + 16];

	TRY(json_want_string(json, "Operator", &text, reading->err));
	*kind = span_equal(text, SPAN("Or")) ? QUERY_OR : QUERY_AND;
	if (*kind == QUERY_OR || span_equal(text, SPAN("And")))
		return OK;
	snprintf(field, sizeof field, "%s.operator", path);
	return expression_violation(reading->err, field, text, "Member must satisfy enum value set: [And, Or]");
}

static enum status parse_expression(
	struct reading *reading, const struct json *json, const char *path, struct span within, struct query_node **out)
{
	struct query_node *tree = NULL;
	enum query_kind kind;

	(void)within;
	if (json_kind(json) != JSON_OBJECT)
		return error_set_field(reading->err, ERR_INVALID, path, "%s is not an object", path);
	if (reading->depth++ > 0)
		TRY(count_one(reading));
	if (reading->depth > DEPTH_MAX)
		return error_set_field(
			reading->err, ERR_INVALID, path, "SubExpressions nest at most %d deep", DEPTH_MAX);
	TRY(read_joint(reading, json, path, &kind));
	TRY(parse_list(reading, json, "Filters", path, kind, SPAN(""), parse_filter, &tree));
	TRY(parse_list(reading, json, "NestedFilters", path, kind, SPAN(""), parse_nested, &tree));
	TRY(parse_list(reading, json, "SubExpressions", path, kind, SPAN(""), parse_expression, &tree));
	if (!tree)
		return error_set_field(reading->err, ERR_INVALID, path,
			"a SearchExpression needs at least one of Filters, NestedFilters and SubExpressions");
	reading->depth--;
	*out = tree;
	return OK;
}

/* ---- visibility: a job that HAS the tag must match ---- */

static enum status parse_condition(struct reading *reading, const struct json *json, struct query_node **out)
{
	static const char field[] = "visibilityConditions";
	struct span key = SPAN(""), value = SPAN("");
	struct query_node *differs = NULL, *exists;

	TRY(json_want_string(json, "Key", &key, reading->err));
	TRY(json_want_string(json, "Value", &value, reading->err));
	if (key.len < 6 || key.len > 128 || !span_starts_with(key, SPAN("Tags.")))
		return error_set_field(
			reading->err, ERR_INVALID, field, "'%.*s' is not a key as Tags.team", SPAN_ARGS(key));
	if (value.len > 256)
		return expression_violation(
			reading->err, field, value, "Member must have length less than or equal to 256");
	TRY(new_node(reading, QUERY_TERM, NULL, &differs));
	differs->term.family = QUERY_TAG;
	differs->term.key = span_skip(key, 5);
	differs->term.compare = QUERY_NOT_EQUAL;
	differs->term.value_count = 1;
	differs->term.values = arena_alloc(reading->arena, sizeof *differs->term.values);
	if (!differs->term.values)
		return error_no_memory(reading->err);
	*differs->term.values = (struct query_value){.text = value};
	exists = differs;
	TRY(ask_for_presence(reading, &exists));
	return new_node(reading, QUERY_NOT, exists, out);
}

static enum status parse_visibility(struct reading *reading, const struct json *list, struct query_node **tree)
{
	if (json_kind(list) != JSON_ARRAY || json_count(list) == 0 || json_count(list) > EXPRESSION_VISIBILITY_MAX)
		return expression_violation(
			reading->err, "visibilityConditions", SPAN("[...]"), "Member must have length between 1 and 5");
	for (const struct json *at = json_first(list); at; at = json_next(at)) {
		struct query_node *node;
		TRY(parse_condition(reading, at, &node));
		TRY(join(reading, QUERY_AND, tree, node));
	}
	return OK;
}

enum status search_expression_parse(struct query_node **out, const struct json *expression,
	const struct json *visibility, struct arena *arena, struct error *err)
{
	struct reading reading = {.arena = arena, .err = err};
	struct query_node *tree = NULL;

	if (expression && json_kind(expression) != JSON_NULL)
		TRY(parse_expression(&reading, expression, "searchExpression", SPAN(""), &tree));
	if (visibility && json_kind(visibility) != JSON_NULL)
		TRY(parse_visibility(&reading, visibility, &tree));
	*out = tree;
	return OK;
}

/* ---- SortBy ---- */

static const char *short_name(struct span property)
{
	static const char *const names[][2] = {{"TrainingJobName", "name"}, {"TrainingJobStatus", "status"},
		{"CreationTime", "created"}, {"TrainingStartTime", "started"}, {"TrainingEndTime", "ended"},
		{"LastModifiedTime", "modified"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(property, span_from(names[i][0])))
			return names[i][1];
	return NULL;
}

enum status expression_sort(
	struct span *out, struct span sort_by, bool is_descending, struct arena *arena, struct error *err)
{
	static const char *const prefixes[] = {[QUERY_METRIC] = "metric.",
		[QUERY_HP] = "hp.",
		[QUERY_TAG] = "tag.",
		[QUERY_ENV] = "env.",
		[QUERY_LABEL] = "label."};
	AUTO_DONE(buf) text = BUF_INIT(1024);
	struct query_term term = {.family = QUERY_PROPERTY};
	enum property_kind kind;

	if (sort_by.len == 0 || sort_by.len > EXPRESSION_NAME_MAX)
		return expression_violation(err, "sortBy", sort_by, "Member must have length between 1 and 255");
	if (!expression_name(sort_by, &term, &kind))
		return error_set_field(err, ERR_INVALID, "sortBy", "Unknown property name: %.*s", SPAN_ARGS(sort_by));
	buf_append_text(&text, is_descending ? "-" : "");
	if (term.family == QUERY_PROPERTY && short_name(sort_by)) {
		buf_append_text(&text, short_name(sort_by));
	} else {
		buf_append_text(&text, term.family == QUERY_PROPERTY ? "" : prefixes[term.family]);
		buf_append_span(&text, term.key);
		buf_append_text(&text, term.family == QUERY_METRIC ? ".last" : "");
	}
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}
