/*
 * By recursive descent:
 *	or    = and { "or" and }
 *	and   = unary { [ "and" ] unary }
 *	unary = ( "not" | "-" ) unary | "(" or ")" | term
 *	term  = name operator value | name "in" "(" value { "," value } ")" | name "exists" | word | quoted
 * "-" is a negation only before something, so "- x" is a mistake and "a-b" a word.
 */
#include "query/names.h"
#include "query/query.h"

struct parser {
	struct lexer lexer;
	int64_t now_ms;
	const struct zone *zone;
	size_t term_count;
	unsigned depth;
};

static enum status parse_or(struct parser *parser, struct query_node **out);

static enum status new_node(struct parser *parser, enum query_kind kind, struct query_node **out)
{
	struct query_node *node = arena_alloc(parser->lexer.arena, sizeof *node);

	if (!node)
		return error_no_memory(parser->lexer.err);
	*node = (struct query_node){.kind = kind};
	*out = node;
	return OK;
}

static enum status join(struct parser *parser, enum query_kind kind, struct query_node **left, struct query_node *right)
{
	struct query_node *node = NULL;

	TRY(new_node(parser, kind, &node));
	node->left = *left;
	node->right = right;
	*left = node;
	return OK;
}

/* Grown by doubling inside the arena; a query has at most 8 KiB. */
static enum status add_value(struct parser *parser, struct query_term *term, const struct lexed_text *lexed)
{
	struct query_value value;

	TRY(value_resolve(&parser->lexer, term, lexed, parser->now_ms, parser->zone, &value));
	if ((term->value_count & (term->value_count - 1)) == 0) { /* 0 and every power of two: full */
		size_t cap = term->value_count ? term->value_count * 2 : 1;
		struct query_value *grown = arena_alloc(parser->lexer.arena, cap * sizeof *grown);
		if (!grown)
			return error_no_memory(parser->lexer.err);
		if (term->value_count)
			memcpy(grown, term->values, term->value_count * sizeof *grown);
		term->values = grown;
	}
	term->values[term->value_count++] = value;
	return OK;
}

static enum status parse_list(struct parser *parser, struct query_term *term)
{
	struct lexer *lexer = &parser->lexer;
	struct lexed_text lexed;

	lexer_take(lexer, '(');
	do {
		lexer_skip_blanks(lexer);
		/* SQLite takes expressions of 1000 levels, two for each OR. */
		if (term->value_count == QUERY_MAX_VALUES)
			return lexer_expected(lexer, lexer->at, "at most 256 values");
		TRY(lexer_take_value(lexer, &lexed));
		TRY(add_value(parser, term, &lexed));
		lexer_skip_blanks(lexer);
	} while (lexer_take(lexer, ','));
	return lexer_take(lexer, ')') ? OK : lexer_expected(lexer, lexer->at, "',' or ')'");
}

/* "in" only before a parenthesis: "trained in zurich" are three words. */
static bool take_in(struct lexer *lexer)
{
	size_t start = lexer->at;

	if (lexer_take_word(lexer, "in")) {
		lexer_skip_blanks(lexer);
		if (lexer_peek(lexer) == '(')
			return true;
	}
	lexer->at = start;
	return false;
}

/* What follows a name: false when nothing that would make it a property. */
static bool take_comparison(struct lexer *lexer, enum query_compare *compare)
{
	size_t start = lexer->at;

	lexer_skip_blanks(lexer);
	if (lexer_take_operator(lexer, compare))
		return true;
	if (lexer->at > start && take_in(lexer)) {
		*compare = QUERY_IN;
		return true;
	}
	if (lexer->at > start && lexer_take_word(lexer, "exists")) {
		*compare = QUERY_EXISTS;
		return true;
	}
	lexer->at = start;
	return false;
}

static enum status parse_text(struct parser *parser, const struct name *name, struct query_term *term)
{
	bool is_quoted = name->quoted.ptr;
	struct lexed_text lexed = {is_quoted ? name->quoted : name->bare, true, name->at};

	if (is_quoted && (name->bare.len || name->suffix.len))
		return lexer_expected(&parser->lexer, parser->lexer.at, "an operator");
	if (lexed.text.len == 0)
		return lexer_expected(&parser->lexer, name->at, "a text that is not empty");
	term->family = QUERY_TEXT;
	term->compare = QUERY_CONTAINS;
	return add_value(parser, term, &lexed);
}

static enum status parse_term(struct parser *parser, struct query_node **out)
{
	struct lexer *lexer = &parser->lexer;
	struct query_node *node = NULL;
	struct lexed_text lexed;
	struct name name;

	TRY(name_take(lexer, &name));
	if (++parser->term_count > QUERY_MAX_TERMS)
		return lexer_expected(lexer, name.at, "at most 64 terms");
	TRY(new_node(parser, QUERY_TERM, &node));
	struct query_term *term = &node->term;
	term->column = name.at + 1;
	*out = node;
	if (!take_comparison(lexer, &term->compare))
		return parse_text(parser, &name, term);
	TRY(name_resolve_any(lexer, &name, term));
	TRY(value_check_operator(lexer, name.at, term));
	if (term->compare == QUERY_EXISTS)
		return OK;
	if (term->compare == QUERY_IN)
		return parse_list(parser, term);
	lexer_skip_blanks(lexer);
	TRY(lexer_take_value(lexer, &lexed));
	return add_value(parser, term, &lexed);
}

static enum status parse_group(struct parser *parser, struct query_node **out)
{
	struct lexer *lexer = &parser->lexer;

	TRY(parse_or(parser, out));
	return lexer_take(lexer, ')') ? OK : lexer_expected(lexer, lexer->at, "')'");
}

static enum status parse_unary(struct parser *parser, struct query_node **out)
{
	struct lexer *lexer = &parser->lexer;
	struct query_node *node = NULL;

	lexer_skip_blanks(lexer);
	if (parser->depth >= QUERY_MAX_DEPTH)
		return lexer_expected(lexer, lexer->at, "at most 32 levels of parentheses and not");
	parser->depth++;
	if (lexer_take(lexer, '(')) {
		TRY(parse_group(parser, out));
	} else if (lexer_take_word(lexer, "not")) {
		TRY(new_node(parser, QUERY_NOT, &node));
		TRY(parse_unary(parser, &node->left));
		*out = node;
	} else if (lexer_take(lexer, '-')) {
		TRY(new_node(parser, QUERY_NOT, &node));
		if (lexer_take(lexer, '('))
			TRY(parse_group(parser, &node->left));
		else
			TRY(parse_term(parser, &node->left));
		*out = node;
	} else if (lexer_at_word(lexer, "and") || lexer_at_word(lexer, "or")) {
		return lexer_expected(lexer, lexer->at, "a term");
	} else {
		TRY(parse_term(parser, out));
	}
	parser->depth--;
	return OK;
}

/* Behind a term comes a blank, a parenthesis or the end: "a"b would be two terms that nobody meant. */
static enum status check_gap(struct lexer *lexer)
{
	size_t start = lexer->at;

	lexer_skip_blanks(lexer);
	char next = lexer_peek(lexer);
	bool is_good = lexer->at > start || lexer->at == lexer->text.len || next == '(' || next == ')' ||
		       (start && lexer->text.ptr[start - 1] == ')');
	return is_good ? OK : lexer_expected(lexer, start, "a space, a parenthesis or the end");
}

static enum status parse_and(struct parser *parser, struct query_node **out)
{
	struct lexer *lexer = &parser->lexer;
	struct query_node *right;

	TRY(parse_unary(parser, out));
	for (;;) {
		TRY(check_gap(lexer));
		if (lexer->at == lexer->text.len || lexer_peek(lexer) == ')' || lexer_at_word(lexer, "or"))
			return OK;
		lexer_take_word(lexer, "and");
		TRY(parse_unary(parser, &right));
		TRY(join(parser, QUERY_AND, out, right));
	}
}

static enum status parse_or(struct parser *parser, struct query_node **out)
{
	struct query_node *right;

	TRY(parse_and(parser, out));
	while (lexer_take_word(&parser->lexer, "or")) {
		TRY(parse_and(parser, &right));
		TRY(join(parser, QUERY_OR, out, right));
	}
	return OK;
}

enum status query_parse(
	struct query_node **out, struct span text, int64_t now_ms, struct arena *arena, struct error *err)
{
	return query_parse_in(out, text, now_ms, NULL, arena, err);
}

enum status query_parse_in(struct query_node **out, struct span text, int64_t now_ms, const struct zone *zone,
	struct arena *arena, struct error *err)
{
	struct parser parser = {.lexer = {text, 0, arena, err}, .now_ms = now_ms, .zone = zone};
	struct query_node *node = NULL;

	if (text.len > QUERY_MAX_BYTES)
		return error_set(
			err, ERR_TOO_LARGE, "the query has %zu bytes, more than %d", text.len, QUERY_MAX_BYTES);
	if (!span_is_utf8(text) || span_find_char(text, 0) >= 0)
		return error_set(err, ERR_INVALID, "the query is not UTF-8 without NUL");
	lexer_skip_blanks(&parser.lexer);
	if (parser.lexer.at < text.len) {
		TRY(parse_or(&parser, &node));
		if (parser.lexer.at < text.len)
			return lexer_expected(&parser.lexer, parser.lexer.at, "the end");
	}
	*out = node;
	return OK;
}
