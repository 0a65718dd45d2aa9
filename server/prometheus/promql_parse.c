/* Recursive descent by precedence, lowest first: or; and, unless; comparisons; + -; * / %; ^, to the right, and above the sign. */
#include "prometheus/logql.h"
#include "prometheus/matcher_parse.h"
#include "prometheus/promql.h"

#include <stdio.h>

struct parser {
	struct tokens tokens;
	struct arena *arena;
	bool is_logql; /* selectors are of lines */
	unsigned depth, nodes; /* 1+1+1… is a deep tree, too, without a bracket */
};

static const struct {
	const char *text;
	int level;
} operators[PROMQL_OPERATORS] = {[PROMQL_OR] = {"or", 0},
	[PROMQL_AND] = {"and", 1},
	[PROMQL_UNLESS] = {"unless", 1},
	[PROMQL_EQUAL] = {"==", 2},
	[PROMQL_NOT_EQUAL] = {"!=", 2},
	[PROMQL_LESS] = {"<", 2},
	[PROMQL_LESS_EQUAL] = {"<=", 2},
	[PROMQL_GREATER] = {">", 2},
	[PROMQL_GREATER_EQUAL] = {">=", 2},
	[PROMQL_ADD] = {"+", 3},
	[PROMQL_SUBTRACT] = {"-", 3},
	[PROMQL_MULTIPLY] = {"*", 4},
	[PROMQL_DIVIDE] = {"/", 4},
	[PROMQL_MODULO] = {"%", 4},
	[PROMQL_POWER] = {"^", 5}};
enum { LEVEL_POWER = 5 };

const char *promql_operator_text(enum promql_operator op)
{
	return operators[op].text;
}

static const char *const type_names[] = {"scalar", "instant vector", "range vector", "string"};

static enum status parse_level(struct parser *parser, int level, struct promql_node **out, struct error *err);

static enum status new_node(struct parser *parser, enum promql_kind kind, enum promql_type type,
	struct promql_node **out, struct error *err)
{
	struct promql_node *node = arena_alloc(parser->arena, sizeof *node);

	if (++parser->nodes > PROMQL_NODES_MAX)
		return tokens_fail(&parser->tokens, "expressions may have 2000 parts, this goes on", err);
	if (!node)
		return error_no_memory(err);
	*node = (struct promql_node){.kind = kind, .type = type, .at = parser->tokens.token.at, .text = SPAN("")};
	*out = node;
	return OK;
}

static enum status fail_node(const struct promql_node *node, const char *what, struct error *err)
{
	return error_set(err, ERR_INVALID, "parse error: %s at byte %zu", what, node->at + 1);
}

static enum status next(struct parser *parser, struct error *err)
{
	return tokens_next(&parser->tokens, err);
}

static bool is(const struct parser *parser, const char *text)
{
	return tokens_is(&parser->tokens, text);
}

static enum status want(struct parser *parser, const char *sign, struct error *err)
{
	return tokens_want(&parser->tokens, sign, err);
}

/* ---- selectors ---- */

/* One that "" does not satisfy: else the selector is of everything there is. */
static bool is_narrow(const struct matcher *matcher)
{
	return (matcher->op == MATCHER_IS && matcher->value.len) ||
	       (matcher->op == MATCHER_IS_NOT && !matcher->value.len) ||
	       (matcher->op == MATCHER_LIKE && matcher->value.len && !span_equal(matcher->value, SPAN(".*"))) ||
	       (matcher->op == MATCHER_NOT_LIKE && span_equal(matcher->value, SPAN("")));
}

static enum status check_selector(const struct promql_node *node, bool has_name, struct error *err)
{
	bool has_narrow = false;

	for (size_t i = 0; i < node->matcher_count; i++) {
		has_narrow = has_narrow || is_narrow(&node->matchers[i]);
		if (has_name && i > 0 && span_equal(node->matchers[i].name, SPAN("__name__")))
			return fail_node(node, "the metric's name is set twice", err);
	}
	return has_narrow ? OK : fail_node(node, "a vector selector must contain at least one non-empty matcher", err);
}

static enum status take_selector(struct parser *parser, struct span name, struct promql_node **out, struct error *err)
{
	TRY(new_node(parser, PROMQL_SELECTOR, PROMQL_VECTOR, out, err));
	struct promql_node *node = *out;
	if (!(node->matchers = arena_alloc(parser->arena, MATCHERS_MAX * sizeof *node->matchers)))
		return error_no_memory(err);
	node->text = name;
	if (name.len) {
		struct matcher matcher = {.op = MATCHER_IS, .name = SPAN("__name__"), .value = name};
		TRY(matchers_add(&parser->tokens, node->matchers, &node->matcher_count, &matcher, err));
	}
	if (is(parser, "{"))
		TRY(matchers_take(&parser->tokens, &node->matchers, &node->matcher_count, err));
	return check_selector(node, name.len != 0, err);
}

static enum status take_duration(struct parser *parser, int64_t *ms, struct error *err)
{
	struct tokens *tokens = &parser->tokens;

	if (tokens->token.kind != TOKEN_DURATION)
		return tokens_fail(tokens, "expected a duration", err);
	*ms = tokens->token.ms;
	return next(parser, err);
}

static enum status take_range(struct parser *parser, struct promql_node *node, struct error *err)
{
	if (node->kind != PROMQL_SELECTOR)
		return tokens_fail(
			&parser->tokens, "ranges are of selectors alone, subqueries are not answered here:", err);
	if (node->range_ms || node->offset_ms)
		return tokens_fail(&parser->tokens, "a range stands behind the selector, once", err);
	TRY(want(parser, "[", err));
	TRY(take_duration(parser, &node->range_ms, err));
	if (is(parser, ":"))
		return tokens_fail(&parser->tokens, "subqueries are not answered here:", err);
	if (!node->range_ms)
		return fail_node(node, "a range must be greater than 0", err);
	node->type = PROMQL_MATRIX;
	return want(parser, "]", err);
}

static enum status take_offset(struct parser *parser, struct promql_node *node, struct error *err)
{
	bool is_negative;

	if (node->kind != PROMQL_SELECTOR)
		return tokens_fail(&parser->tokens, "an offset is of a selector", err);
	if (node->offset_ms)
		return tokens_fail(&parser->tokens, "offset may not be set multiple times", err);
	TRY(next(parser, err));
	TRY(tokens_take(&parser->tokens, "-", &is_negative, err));
	TRY(take_duration(parser, &node->offset_ms, err));
	node->offset_ms = is_negative ? -node->offset_ms : node->offset_ms;
	return OK;
}

static enum status take_suffixes(struct parser *parser, struct promql_node *node, struct error *err)
{
	for (;;) {
		if (is(parser, "["))
			TRY(take_range(parser, node, err));
		else if (is(parser, "offset"))
			TRY(take_offset(parser, node, err));
		else if (is(parser, "@"))
			return tokens_fail(&parser->tokens, "the modifier @ is not answered here:", err);
		else
			return OK;
	}
}

/* LogQL: lines and, as there is nothing else to do with them here, a range. */
static enum status take_lines(struct parser *parser, struct promql_node **out, struct error *err)
{
	TRY(new_node(parser, PROMQL_SELECTOR, PROMQL_MATRIX, out, err));
	struct promql_node *node = *out;
	if (!(node->lines = arena_alloc(parser->arena, sizeof *node->lines)))
		return error_no_memory(err);
	TRY(logql_take(node->lines, &parser->tokens, err));
	return take_range(parser, node, err);
}

/* ---- calls ---- */

static enum status take_labels(struct parser *parser, struct promql_labels *out, struct error *err)
{
	struct tokens *tokens = &parser->tokens;
	bool goes_on = true;

	out->count = 0;
	if (!(out->names = arena_alloc(parser->arena, PROMQL_LABELS_MAX * sizeof *out->names)))
		return error_no_memory(err);
	TRY(want(parser, "(", err));
	while (goes_on && !is(parser, ")")) {
		if (tokens->token.kind != TOKEN_NAME || out->count == PROMQL_LABELS_MAX)
			return tokens_fail(tokens, "expected a label's name, at most 64 of them,", err);
		out->names[out->count++] = tokens->token.text;
		TRY(next(parser, err));
		TRY(tokens_take(tokens, ",", &goes_on, err));
	}
	return want(parser, ")", err);
}

static enum status take_arguments(struct parser *parser, struct promql_node *node, struct error *err)
{
	bool goes_on = true;

	TRY(want(parser, "(", err));
	while (goes_on && !is(parser, ")")) {
		if (node->argument_count == node->function->count)
			return tokens_fail(&parser->tokens, "too many arguments", err);
		TRY(parse_level(parser, 0, &node->arguments[node->argument_count++], err));
		TRY(tokens_take(&parser->tokens, ",", &goes_on, err));
	}
	return want(parser, ")", err);
}

static enum status check_lines(
	const struct promql_function *function, const struct promql_node *node, struct error *err)
{
	char text[160];

	if (!node->lines || promql_function_counts_lines(function))
		return OK;
	snprintf(text, sizeof text,
		"of lines count_over_time, rate, bytes_over_time and bytes_rate are answered here, not %s,",
		function->name);
	return fail_node(node, text, err);
}

static enum status check_arguments(const struct promql_node *node, struct error *err)
{
	const struct promql_function *function = node->function;
	char text[160];

	if (node->argument_count < function->least) {
		snprintf(text, sizeof text, "%s takes %zu arguments, not %zu,", function->name, function->least,
			node->argument_count);
		return fail_node(node, text, err);
	}
	for (size_t i = 0; i < node->argument_count; i++) {
		TRY(check_lines(function, node->arguments[i], err));
		if (node->arguments[i]->type != function->takes[i]) {
			snprintf(text, sizeof text, "argument %zu of %s is to be a %s, not a %s,", i + 1,
				function->name, type_names[function->takes[i]], type_names[node->arguments[i]->type]);
			return fail_node(node->arguments[i], text, err);
		}
	}
	return OK;
}

static enum status take_grouping(struct parser *parser, struct promql_node *node, bool *is_taken, struct error *err)
{
	*is_taken = is(parser, "by") || is(parser, "without");
	if (!*is_taken)
		return OK;
	node->keeps_labels = is(parser, "by");
	TRY(next(parser, err));
	return take_labels(parser, &node->labels, err);
}

/* The name of the function is the token before. */
static enum status take_call(
	struct parser *parser, const struct promql_function *function, struct promql_node **out, struct error *err)
{
	enum promql_kind kind = function->is_aggregation ? PROMQL_AGGREGATE : PROMQL_CALL;
	bool has_grouping = false;

	TRY(new_node(parser, kind, function->gives, out, err));
	struct promql_node *node = *out;
	node->function = function;
	node->keeps_labels = true; /* sum(x): by () */
	if (kind == PROMQL_AGGREGATE)
		TRY(take_grouping(parser, node, &has_grouping, err));
	TRY(take_arguments(parser, node, err));
	if (kind == PROMQL_AGGREGATE && !has_grouping)
		TRY(take_grouping(parser, node, &has_grouping, err));
	return check_arguments(node, err);
}

static bool is_word(struct span name, const char *word)
{
	return span_equal_fold(name, span_from(word));
}

static enum status take_name(struct parser *parser, struct promql_node **out, struct error *err)
{
	struct tokens *tokens = &parser->tokens;
	struct token name = tokens->token;
	const struct promql_function *function = promql_function_find(name.text);

	if (is_word(name.text, "nan") || is_word(name.text, "inf")) {
		TRY(new_node(parser, PROMQL_NUMBER, PROMQL_SCALAR, out, err));
		(void)span_parse_double(name.text, &(*out)->number);
		return next(parser, err);
	}
	TRY(next(parser, err));
	bool is_call = is(parser, "(") ||
		       (function && function->is_aggregation && (is(parser, "by") || is(parser, "without")));
	if (function && promql_function_is_of_lines(function) && !parser->is_logql)
		function = NULL;
	if (is_call && function)
		return take_call(parser, function, out, err);
	if (is_call) {
		bool is_known = promql_function_is_elsewhere(name.text);
		tokens->token = name;
		return tokens_fail(tokens, is_known ? "this function is not answered here:" : "unknown function", err);
	}
	if (parser->is_logql) {
		tokens->token = name;
		return tokens_fail(
			tokens, "LogQL has no names of metrics (ask /prometheus for points); unexpected", err);
	}
	return take_selector(parser, name.text, out, err);
}

static enum status take_primary(struct parser *parser, struct promql_node **out, struct error *err)
{
	struct tokens *tokens = &parser->tokens;
	struct token token = tokens->token;

	if (token.kind == TOKEN_NUMBER || token.kind == TOKEN_TEXT) {
		bool is_number = token.kind == TOKEN_NUMBER;
		TRY(new_node(parser, is_number ? PROMQL_NUMBER : PROMQL_TEXT, is_number ? PROMQL_SCALAR : PROMQL_STRING,
			out, err));
		(*out)->number = token.number;
		(*out)->text = token.text;
		return next(parser, err);
	}
	if (is(parser, "(")) {
		TRY(next(parser, err));
		TRY(parse_level(parser, 0, out, err));
		(*out)->brackets++;
		return want(parser, ")", err);
	}
	if (is(parser, "{"))
		return parser->is_logql ? take_lines(parser, out, err) : take_selector(parser, SPAN(""), out, err);
	if (token.kind == TOKEN_NAME)
		return take_name(parser, out, err);
	return tokens_fail(tokens, "expected an expression", err);
}

/* ---- operators ---- */

static enum status take_unary(struct parser *parser, struct promql_node **out, struct error *err)
{
	bool is_minus = is(parser, "-");

	if (!is_minus && !is(parser, "+")) {
		TRY(take_primary(parser, out, err));
		return take_suffixes(parser, *out, err);
	}
	struct promql_node *node, *inner;
	TRY(new_node(parser, PROMQL_NEGATION, PROMQL_SCALAR, &node, err));
	TRY(next(parser, err));
	TRY(parse_level(parser, LEVEL_POWER, &inner, err));
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): OK means that it is there */
	if (inner->type != PROMQL_SCALAR && inner->type != PROMQL_VECTOR)
		return fail_node(node, "a sign is of scalars and instant vectors", err);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as above */
	node->type = inner->type;
	node->arguments[0] = inner;
	node->argument_count = 1;
	node->is_plus = !is_minus;
	*out = node;
	return OK;
}

static bool find_operator(const struct parser *parser, int level, enum promql_operator *op)
{
	for (int i = 0; i < PROMQL_OPERATORS; i++)
		if (operators[i].level == level && is(parser, operators[i].text)) {
			*op = (enum promql_operator)i;
			return true;
		}
	return false;
}

/* bool, on (…), ignoring (…), group_left (…) */
static enum status take_modifiers(struct parser *parser, struct promql_node *node, struct error *err)
{
	TRY(tokens_take(&parser->tokens, "bool", &node->is_bool, err));
	if (node->is_bool && !promql_is_comparison(node->op))
		return fail_node(node, "bool is of comparisons alone,", err);
	node->has_matching = is(parser, "on") || is(parser, "ignoring");
	node->keeps_labels = is(parser, "on");
	if (!node->has_matching)
		return OK;
	TRY(next(parser, err));
	TRY(take_labels(parser, &node->labels, err));
	node->group = is(parser, "group_left")    ? PROMQL_GROUP_LEFT
		      : is(parser, "group_right") ? PROMQL_GROUP_RIGHT
						  : PROMQL_ONE_TO_ONE;
	if (node->group == PROMQL_ONE_TO_ONE)
		return OK;
	if (promql_is_set(node->op))
		return fail_node(node, "no grouping allowed for set operations", err);
	TRY(next(parser, err));
	return is(parser, "(") ? take_labels(parser, &node->included, err) : OK;
}

static enum status check_binary(struct promql_node *node, struct error *err)
{
	enum promql_type left = node->arguments[0]->type, right = node->arguments[1]->type;
	bool are_vectors = left == PROMQL_VECTOR && right == PROMQL_VECTOR;
	bool are_scalars = left == PROMQL_SCALAR && right == PROMQL_SCALAR;

	if (left > PROMQL_VECTOR || right > PROMQL_VECTOR)
		return fail_node(node, "a binary expression must contain only scalar and instant vector types,", err);
	if (promql_is_set(node->op) && !are_vectors)
		return fail_node(node, "set operators are not allowed in binary scalar expressions", err);
	if (are_scalars && promql_is_comparison(node->op) && !node->is_bool)
		return fail_node(node, "comparisons between scalars must use the bool modifier", err);
	if (node->has_matching && !are_vectors)
		return fail_node(node, "vector matching only allowed between instant vectors", err);
	for (size_t i = 0; node->keeps_labels && i < node->included.count; i++)
		for (size_t j = 0; j < node->labels.count; j++)
			if (span_equal(node->included.names[i], node->labels.names[j]))
				return fail_node(node, "a label must not occur in on and group clause at once", err);
	node->type = are_scalars ? PROMQL_SCALAR : PROMQL_VECTOR;
	return OK;
}

static enum status take_operands(struct parser *parser, int level, struct promql_node **out, struct error *err)
{
	enum promql_operator op;

	TRY(level == LEVEL_POWER ? take_unary(parser, out, err) : parse_level(parser, level + 1, out, err));
	while (find_operator(parser, level, &op)) {
		struct promql_node *node;
		TRY(new_node(parser, PROMQL_BINARY, PROMQL_VECTOR, &node, err));
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as above */
		node->op = op;
		TRY(next(parser, err));
		TRY(take_modifiers(parser, node, err));
		node->arguments[0] = *out;
		node->argument_count = 2;
		TRY(parse_level(parser, level == LEVEL_POWER ? level : level + 1, &node->arguments[1], err));
		TRY(check_binary(node, err));
		*out = node;
	}
	return OK;
}

/* The depth is that of the program's stack; whatever calls itself comes by the last level. */
static enum status parse_level(struct parser *parser, int level, struct promql_node **out, struct error *err)
{
	if (level == LEVEL_POWER && ++parser->depth > PROMQL_DEPTH_MAX)
		return tokens_fail(&parser->tokens, "expressions may be 64 deep, this goes on", err);
	enum status status = take_operands(parser, level, out, err);
	parser->depth -= level == LEVEL_POWER;
	return status;
}

static enum status open_parser(
	struct parser *parser, struct span query, bool is_logql, struct arena *arena, struct error *err)
{
	*parser = (struct parser){.arena = arena, .is_logql = is_logql};
	return tokens_open(
		&parser->tokens, query, is_logql ? "=~ !~ != == <= >= |= |~" : "=~ !~ != == <= >=", arena, err);
}

static enum status want_end(const struct parser *parser, struct error *err)
{
	return parser->tokens.token.kind == TOKEN_END ? OK : tokens_fail(&parser->tokens, "unexpected", err);
}

static enum status parse(
	struct promql_node **out, struct span query, bool is_logql, struct arena *arena, struct error *err)
{
	struct parser parser;

	TRY(open_parser(&parser, query, is_logql, arena, err));
	TRY(parse_level(&parser, 0, out, err));
	return want_end(&parser, err);
}

enum status promql_parse(struct promql_node **out, struct span query, struct arena *arena, struct error *err)
{
	return parse(out, query, false, arena, err);
}

enum status promql_parse_counts(struct promql_node **out, struct span query, struct arena *arena, struct error *err)
{
	return parse(out, query, true, arena, err);
}

enum status promql_parse_selector(struct promql_node **out, struct span query, struct arena *arena, struct error *err)
{
	struct parser parser;

	TRY(open_parser(&parser, query, false, arena, err));
	TRY(take_primary(&parser, out, err));
	if ((*out)->kind != PROMQL_SELECTOR)
		return fail_node(*out, "expected a selector", err);
	return want_end(&parser, err);
}
