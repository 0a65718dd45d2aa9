/* Recursive descent, straight to the program of a stack machine; numbers and truths are told apart while parsing. */
#include "detect/condition.h"
#include "detect/condition_program.h"

#include "model/query.h"

#include <math.h>
#include <stdio.h>

enum token_kind { TOKEN_END, TOKEN_NUMBER, TOKEN_NAME, TOKEN_QUOTED, TOKEN_SIGN };

struct token {
	enum token_kind kind;
	struct span text; /* of a quoted one: without its quotes */
	double number;
	size_t column;
};

struct parser {
	struct span text;
	size_t at; /* behind the token */
	struct token token;
	struct condition *out;
	unsigned depth;
	struct error *err;
};

enum type { TYPE_NUMBER, TYPE_TRUTH };

static enum status fail(const struct parser *p, size_t column, const char *what, struct span got)
{
	enum status status = error_set_field(p->err, ERR_SEMANTIC, "expression", "column %zu: %s%s%.*s%s", column, what,
		got.len ? ", not '" : "", SPAN_ARGS(got), got.len ? "'" : "");

	if (p->err)
		p->err->column = (int64_t)column;
	return status;
}

static enum status expected(const struct parser *p, const char *what)
{
	return fail(p, p->token.column, what,
		p->token.kind == TOKEN_END
			? SPAN("the end")
			: span_of(p->token.text.ptr, p->token.text.len < 80 ? p->token.text.len : 80));
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return is_name_start(c) || is_digit(c) || c == '.';
}

static enum status read_number(struct parser *p, size_t from)
{
	size_t end = from;
	bool has_exponent = false;

	while (end < p->text.len) {
		char c = p->text.ptr[end], next = end + 1 < p->text.len ? p->text.ptr[end + 1] : 0;
		bool is_exponent =
			(c == 'e' || c == 'E') && !has_exponent && (is_digit(next) || next == '-' || next == '+');
		bool is_sign = (c == '-' || c == '+') && end > from && (p->text.ptr[end - 1] | 32) == 'e';
		has_exponent = has_exponent || is_exponent;
		if (!is_digit(c) && c != '.' && !is_exponent && !is_sign)
			break;
		end++;
	}
	p->token.text = span_of(p->text.ptr + from, end - from);
	p->token.kind = TOKEN_NUMBER;
	p->at = end;
	return span_parse_double(p->token.text, &p->token.number) && isfinite(p->token.number)
		       ? OK
		       : fail(p, from + 1, "a number was expected", p->token.text);
}

static enum status read_quoted(struct parser *p, size_t from)
{
	size_t end = from + 1;

	while (end < p->text.len && p->text.ptr[end] != '"')
		end++;
	if (end == p->text.len)
		return fail(p, from + 1, "this quote is never closed", SPAN(""));
	p->token.kind = TOKEN_QUOTED;
	p->token.text = span_of(p->text.ptr + from + 1, end - from - 1);
	p->at = end + 1;
	return OK;
}

static enum status next(struct parser *p)
{
	size_t from = p->at, end;

	while (from < p->text.len && (p->text.ptr[from] == ' ' || p->text.ptr[from] == '\t'))
		from++;
	p->token = (struct token){.kind = TOKEN_END, .column = from + 1, .text = SPAN("")};
	p->at = from;
	if (from == p->text.len)
		return OK;
	char c = p->text.ptr[from], second = from + 1 < p->text.len ? p->text.ptr[from + 1] : 0;
	if (is_digit(c) || (c == '.' && is_digit(second)))
		return read_number(p, from);
	if (c == '"')
		return read_quoted(p, from);
	end = from + 1;
	if (is_name_start(c))
		while (end < p->text.len && is_name(p->text.ptr[end]))
			end++;
	else if (strchr("<>=!", c) && second == '=')
		end++;
	p->token.kind = is_name_start(c) ? TOKEN_NAME : TOKEN_SIGN;
	p->token.text = span_of(p->text.ptr + from, end - from);
	p->at = end;
	return OK;
}

static bool is_sign(const struct parser *p, const char *text)
{
	return p->token.kind == TOKEN_SIGN && span_equal(p->token.text, span_from(text));
}

static bool is_word(const struct parser *p, const char *text)
{
	return p->token.kind == TOKEN_NAME && span_equal(p->token.text, span_from(text));
}

static enum status emit(struct parser *p, enum condition_op op, double number, unsigned window)
{
	if (p->out->step_count == CONDITION_STEPS_MAX)
		return fail(p, p->token.column, "the expression is too long", SPAN(""));
	p->out->steps[p->out->step_count++] = (struct condition_step){op, number, window};
	return OK;
}

/* ---- what has a value ---- */

static enum status parse_any(struct parser *p, enum type *type);

static enum status find_window(struct parser *p, double points, bool is_sorted, unsigned *out)
{
	struct condition *e = p->out;

	if (!(points >= 2 && points <= CONDITION_WINDOW_MAX) || points != floor(points))
		return fail(p, p->token.column, "a window has 2 to 1000 points", p->token.text);
	size_t i = 0;
	while (i < e->window_count && e->windows[i] != (uint32_t)points)
		i++;
	if (i == CONDITION_WINDOWS)
		return fail(p, p->token.column, "there are at most 4 windows of different sizes", SPAN(""));
	if (i == e->window_count)
		e->windows[e->window_count++] = (uint32_t)points;
	e->is_sorted[i] = e->is_sorted[i] || is_sorted;
	*out = (unsigned)i;
	return OK;
}

static bool window_op(struct span name, enum condition_op *op)
{
	static const char *const names[] = {"median", "mean", "min", "max"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i]))) {
			*op = CONDITION_WINDOW_MEDIAN + i;
			return true;
		}
	return false;
}

/* The name was read; the token is its "(". */
static enum status parse_window(struct parser *p, enum condition_op op)
{
	unsigned window = 0;

	TRY(next(p));
	if (p->token.kind != TOKEN_NUMBER)
		return expected(p, "the number of points was expected");
	TRY(find_window(p, p->token.number, op != CONDITION_WINDOW_MEAN, &window));
	TRY(next(p));
	if (!is_sign(p, ")"))
		return expected(p, "')' was expected");
	TRY(next(p));
	return emit(p, op, 0, window);
}

static enum status take_metric(struct parser *p, struct span name, size_t column)
{
	struct condition *e = p->out;

	if (!name.len)
		return fail(p, column, "a metric was expected", SPAN(""));
	if (e->metric_len && !span_equal(span_of(e->metric, e->metric_len), name))
		return fail(p, column, "an expression is of one metric (one with a '/' or ':' in its name is quoted)",
			name);
	memcpy(e->metric, name.ptr, name.len);
	e->metric_len = name.len;
	return OK;
}

static enum status figure_op(struct parser *p, enum query_aggregate aggregate, size_t column, enum condition_op *op)
{
	switch (aggregate) {
	case AGGREGATE_LAST:
		*op = CONDITION_LAST;
		return OK;
	case AGGREGATE_MIN:
		*op = CONDITION_MIN;
		return OK;
	case AGGREGATE_MAX:
		*op = CONDITION_MAX;
		return OK;
	case AGGREGATE_MEAN:
		*op = CONDITION_MEAN;
		return OK;
	case AGGREGATE_COUNT:
		*op = CONDITION_COUNT;
		return OK;
	default:
		return fail(p, column, "last, min, max, mean or count was expected",
			span_from(query_aggregate_name(aggregate)));
	}
}

static enum status no_function(const struct parser *p, const struct token *name)
{
	char text[160];

	snprintf(text, sizeof text,
		"there is no function '%.*s', only median(N), mean(N), min(N) and max(N) of the N points before this one",
		(int)(name->text.len < 40 ? name->text.len : 40), name->text.ptr);
	return fail(p, name->column, text, SPAN(""));
}

/* `loss`, `loss.max`, `"train:loss"`, `"train:loss".max`: the last dotted part is the figure. */
static enum status parse_metric(struct parser *p)
{
	struct token token = p->token;
	struct span name = token.text;
	enum query_aggregate aggregate = AGGREGATE_LAST;
	enum condition_op op = CONDITION_LAST;

	if (token.kind == TOKEN_NAME)
		query_take_aggregate(&name, &aggregate);
	TRY(next(p));
	if (token.kind == TOKEN_NAME && is_sign(p, "("))
		return no_function(p, &token);
	if (token.kind == TOKEN_QUOTED && is_sign(p, ".")) {
		char dotted[32] = "x.";
		TRY(next(p));
		struct span full = span_of(dotted, 2 + p->token.text.len);
		if (p->token.kind != TOKEN_NAME || full.len > sizeof dotted)
			return expected(p, "last, min, max, mean or count was expected");
		memcpy(dotted + 2, p->token.text.ptr, p->token.text.len);
		if (!query_take_aggregate(&full, &aggregate))
			return expected(p, "last, min, max, mean or count was expected");
		TRY(next(p));
	}
	TRY(figure_op(p, aggregate, token.column, &op));
	TRY(take_metric(p, name, token.column));
	return emit(p, op, 0, 0);
}

static enum status parse_primary(struct parser *p, enum type *type)
{
	struct parser before = *p;
	enum condition_op op;

	*type = TYPE_NUMBER;
	if (p->token.kind == TOKEN_NUMBER) {
		TRY(emit(p, CONDITION_NUMBER, p->token.number, 0));
		return next(p);
	}
	if (p->token.kind == TOKEN_NAME && window_op(p->token.text, &op)) {
		TRY(next(p));
		if (is_sign(p, "("))
			return parse_window(p, op);
		*p = before; /* a metric of that name */
	}
	if (p->token.kind == TOKEN_NAME || p->token.kind == TOKEN_QUOTED)
		return parse_metric(p);
	if (!is_sign(p, "("))
		return expected(p, "a metric, a number or '(' was expected");
	TRY(next(p));
	TRY(parse_any(p, type));
	if (!is_sign(p, ")"))
		return expected(p, "')' was expected");
	return next(p);
}

static enum status want(const struct parser *p, enum type type, enum type wanted, size_t column)
{
	if (type == wanted)
		return OK;
	return fail(p, column,
		wanted == TYPE_NUMBER ? "a number was expected, and this is a comparison"
				      : "a comparison was expected, and this is a number",
		SPAN(""));
}

static enum status parse_unary(struct parser *p, enum type *type)
{
	unsigned minuses = 0;
	size_t column = p->token.column;

	for (; is_sign(p, "-"); minuses++)
		TRY(next(p));
	TRY(parse_primary(p, type));
	if (!minuses)
		return OK;
	TRY(want(p, *type, TYPE_NUMBER, column));
	return minuses % 2 ? emit(p, CONDITION_NEGATE, 0, 0) : OK;
}

/* ---- what joins two: from the tightest to the loosest ---- */

struct join {
	const char *text;
	unsigned level;
	enum condition_op op;
};

enum { LEVEL_OR, LEVEL_AND, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY };

static bool find_join(const struct parser *p, unsigned level, enum condition_op *op)
{
	static const struct join joins[] = {{"or", LEVEL_OR, CONDITION_OR}, {"and", LEVEL_AND, CONDITION_AND},
		{"<", LEVEL_COMPARE, CONDITION_LESS}, {"<=", LEVEL_COMPARE, CONDITION_AT_MOST},
		{">", LEVEL_COMPARE, CONDITION_MORE}, {">=", LEVEL_COMPARE, CONDITION_AT_LEAST},
		{"==", LEVEL_COMPARE, CONDITION_EQUAL}, {"=", LEVEL_COMPARE, CONDITION_EQUAL},
		{"!=", LEVEL_COMPARE, CONDITION_NOT_EQUAL}, {"+", LEVEL_SUM, CONDITION_ADD},
		{"-", LEVEL_SUM, CONDITION_SUBTRACT}, {"*", LEVEL_PRODUCT, CONDITION_MULTIPLY},
		{"/", LEVEL_PRODUCT, CONDITION_DIVIDE}};

	for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
		if (joins[i].level == level &&
			(level <= LEVEL_AND ? is_word(p, joins[i].text) : is_sign(p, joins[i].text))) {
			*op = joins[i].op;
			return true;
		}
	return false;
}

static enum status parse_level(struct parser *p, unsigned level, enum type *type);

static enum status parse_not(struct parser *p, enum type *type)
{
	size_t column = p->token.column;
	unsigned nots = 0;

	for (; is_word(p, "not"); nots++)
		TRY(next(p));
	TRY(parse_level(p, LEVEL_COMPARE, type));
	if (!nots)
		return OK;
	TRY(want(p, *type, TYPE_TRUTH, column));
	return nots % 2 ? emit(p, CONDITION_NOT, 0, 0) : OK;
}

static enum status parse_tighter(struct parser *p, unsigned level, enum type *type)
{
	if (level == LEVEL_AND)
		return parse_not(p, type);
	return level + 1 == LEVEL_UNARY ? parse_unary(p, type) : parse_level(p, level + 1, type);
}

static enum status parse_level(struct parser *p, unsigned level, enum type *type)
{
	enum type wanted = level <= LEVEL_AND ? TYPE_TRUTH : TYPE_NUMBER, right;
	size_t left_column = p->token.column;
	enum condition_op op;

	TRY(parse_tighter(p, level, type));
	while (find_join(p, level, &op)) {
		TRY(want(p, *type, wanted, left_column));
		TRY(next(p));
		size_t column = p->token.column;
		TRY(parse_tighter(p, level, &right));
		TRY(want(p, right, wanted, column));
		TRY(emit(p, op, 0, 0));
		*type = level <= LEVEL_COMPARE ? TYPE_TRUTH : TYPE_NUMBER;
		if (level == LEVEL_COMPARE)
			break;
	}
	return OK;
}

static enum status parse_any(struct parser *p, enum type *type)
{
	if (++p->depth > CONDITION_DEPTH_MAX)
		return fail(p, p->token.column, "parentheses are nested at most 16 deep", SPAN(""));
	TRY(parse_level(p, LEVEL_OR, type));
	p->depth--;
	return OK;
}

/* ---- for how long ---- */

static bool find_unit(struct span name, enum condition_unit *unit, double *factor)
{
	static const struct {
		const char *name;
		enum condition_unit unit;
		double factor;
	} units[] = {{"step", CONDITION_STEPS, 1}, {"steps", CONDITION_STEPS, 1}, {"point", CONDITION_POINTS, 1},
		{"points", CONDITION_POINTS, 1}, {"s", CONDITION_MS, 1e3}, {"m", CONDITION_MS, 6e4},
		{"min", CONDITION_MS, 6e4}, {"h", CONDITION_MS, 36e5}, {"d", CONDITION_MS, 864e5}};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (span_equal(name, span_from(units[i].name))) {
			*unit = units[i].unit;
			*factor = units[i].factor;
			return true;
		}
	return false;
}

static enum status parse_lasting(struct parser *p)
{
	double factor;

	if (!is_word(p, "for"))
		return OK;
	TRY(next(p));
	double amount = p->token.number;
	if (p->token.kind != TOKEN_NUMBER || !(amount > 0 && amount <= 1e9))
		return expected(p, "a number above 0 was expected");
	TRY(next(p));
	if (p->token.kind != TOKEN_NAME || !find_unit(p->token.text, &p->out->unit, &factor))
		return expected(p, "steps, points, s, min, h or d was expected");
	p->out->lasting = (int64_t)(amount * factor);
	return next(p);
}

static enum status parse_whole(struct parser *p)
{
	enum type type;

	TRY(next(p));
	TRY(parse_any(p, &type));
	TRY(want(p, type, TYPE_TRUTH, 1));
	TRY(parse_lasting(p));
	if (p->token.kind != TOKEN_END)
		return expected(p, "'and', 'or', 'for' or the end was expected");
	return p->out->metric_len ? OK : fail(p, 1, "a metric must be named", SPAN(""));
}

enum status condition_parse(struct condition **out, struct span text, struct error *err)
{
	AUTO(condition) expression = mem_zeroed(sizeof *expression);
	struct parser p = {.text = text, .out = expression, .err = err};

	if (!expression)
		return error_no_memory(err);
	if (text.len > CONDITION_MAX_BYTES || !text.len)
		return error_set_field(err, ERR_SEMANTIC, "expression", "an expression has 1 to %d bytes, not %zu",
			CONDITION_MAX_BYTES, text.len);
	TRY(parse_whole(&p));
	*out = TAKE(expression);
	return OK;
}

void condition_free(struct condition *expression)
{
	mem_free(expression);
}

struct span condition_metric(const struct condition *expression)
{
	return span_of(expression->metric, expression->metric_len);
}
