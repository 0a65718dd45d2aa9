#include "fleet/advice_condition.h"

#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

struct parser {
	struct span text;
	size_t at;
	int depth;
	condition_resolve *resolve;
	void *context;
	struct error *err;
};

static enum status parse_or(struct parser *p, double *value);

static void skip_spaces(struct parser *p)
{
	while (p->at < p->text.len && p->text.ptr[p->at] == ' ')
		p->at++;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool accept_token(struct parser *p, const char *token)
{
	size_t len = strlen(token);

	skip_spaces(p);
	if (p->text.len - p->at < len || memcmp(p->text.ptr + p->at, token, len) != 0)
		return false;
	if (is_name_char(token[0]) && p->at + len < p->text.len && is_name_char(p->text.ptr[p->at + len]))
		return false; /* the beginning of another name */
	p->at += len;
	return true;
}

static enum status expected(struct parser *p, const char *what)
{
	return error_set(p->err, ERR_INVALID, "byte %zu of '%.*s': %s is expected", p->at, SPAN_ARGS(p->text), what);
}

static struct span take_word(struct parser *p, bool is_number)
{
	size_t from = p->at;

	while (p->at < p->text.len && (is_name_char(p->text.ptr[p->at]) || (is_number && p->text.ptr[p->at] == '.')))
		p->at++;
	return span_of(p->text.ptr + from, p->at - from);
}

static enum status parse_call(struct parser *p, struct span name, double *value)
{
	double inner;

	if (++p->depth > DEPTH_MAX)
		return expected(p, "less nesting");
	TRY(parse_or(p, &inner));
	p->depth--;
	if (!accept_token(p, ")"))
		return expected(p, "')'");
	if (span_equal(name, SPAN("known"))) {
		*value = !isnan(inner);
		return OK;
	}
	if (span_equal(name, SPAN("whole"))) {
		*value = isnan(inner) ? NAN : floor(inner) == inner;
		return OK;
	}
	if (!span_equal(name, SPAN("pow2")))
		return error_set(p->err, ERR_INVALID, "'%.*s' is none of known, pow2, whole", SPAN_ARGS(name));
	int exponent;
	*value = isnan(inner) ? NAN : inner > 0 && frexp(inner, &exponent) == 0.5;
	return OK;
}

static enum status parse_operand(struct parser *p, double *value)
{
	skip_spaces(p);
	if (p->at < p->text.len && p->text.ptr[p->at] >= '0' && p->text.ptr[p->at] <= '9') {
		struct span number = take_word(p, true);
		return span_parse_double(number, value) ? OK : expected(p, "a number");
	}
	if (accept_token(p, "(")) {
		if (++p->depth > DEPTH_MAX)
			return expected(p, "less nesting");
		TRY(parse_or(p, value));
		p->depth--;
		return accept_token(p, ")") ? OK : expected(p, "')'");
	}
	struct span name = take_word(p, false);
	if (!name.len)
		return expected(p, "a number, a name or '('");
	if (accept_token(p, "("))
		return parse_call(p, name, value);
	return p->resolve(p->context, name, value)
		       ? OK
		       : error_set(p->err, ERR_INVALID, "'%.*s' is no quantity", SPAN_ARGS(name));
}

static enum status parse_product(struct parser *p, double *value)
{
	double right;

	TRY(parse_operand(p, value));
	for (;;) {
		bool is_product = accept_token(p, "*");
		if (!is_product && !accept_token(p, "/"))
			return OK;
		TRY(parse_operand(p, &right));
		*value = is_product ? *value * right : right != 0 ? *value / right : NAN;
	}
}

static enum status parse_sum(struct parser *p, double *value)
{
	double right;

	TRY(parse_product(p, value));
	for (;;) {
		bool is_sum = accept_token(p, "+");
		if (!is_sum && !accept_token(p, "-"))
			return OK;
		TRY(parse_product(p, &right));
		*value = is_sum ? *value + right : *value - right;
	}
}

static enum status parse_comparison(struct parser *p, double *value)
{
	static const char *const operators[] = {"<=", ">=", "!=", "<", ">", "="};
	size_t i = 0;
	double left, right;

	TRY(parse_sum(p, value));
	while (i < sizeof operators / sizeof *operators && !accept_token(p, operators[i]))
		i++;
	if (i == sizeof operators / sizeof *operators)
		return OK;
	left = *value;
	TRY(parse_sum(p, &right));
	const bool results[] = {left <= right, left >= right, left != right, left<right, left> right, left == right};
	*value = isnan(left) || isnan(right) ? NAN : results[i];
	return OK;
}

static enum status parse_not(struct parser *p, double *value)
{
	if (!accept_token(p, "not"))
		return parse_comparison(p, value);
	if (++p->depth > DEPTH_MAX)
		return expected(p, "less nesting");
	TRY(parse_not(p, value));
	p->depth--;
	*value = isnan(*value) ? NAN : *value == 0;
	return OK;
}

/* False decides, whatever is not known beside it. */
static enum status parse_and(struct parser *p, double *value)
{
	double right;

	TRY(parse_not(p, value));
	while (accept_token(p, "and")) {
		TRY(parse_not(p, &right));
		if (*value == 0 || right == 0)
			*value = 0;
		else
			*value = isnan(*value) || isnan(right) ? NAN : 1;
	}
	return OK;
}

static enum status parse_or(struct parser *p, double *value)
{
	double right;

	TRY(parse_and(p, value));
	while (accept_token(p, "or")) {
		TRY(parse_and(p, &right));
		if ((!isnan(*value) && *value != 0) || (!isnan(right) && right != 0))
			*value = 1;
		else
			*value = isnan(*value) || isnan(right) ? NAN : 0;
	}
	return OK;
}

enum status condition_evaluate(
	struct span text, condition_resolve *resolve, void *context, double *value, struct error *err)
{
	struct parser p = {.text = text, .resolve = resolve, .context = context, .err = err};

	TRY(parse_or(&p, value));
	skip_spaces(&p);
	return p.at == text.len ? OK : expected(&p, "the end");
}
