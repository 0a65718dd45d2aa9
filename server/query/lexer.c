#include "query/lexer.h"

#include <ctype.h>

enum status lexer_expected(const struct lexer *lexer, size_t at, const char *expected)
{
	struct span rest = span_skip(lexer->text, at);
	size_t len = 0;

	while (len < rest.len && len < 40 && rest.ptr[len] != ' ')
		len++;
	while (len && len < rest.len && ((unsigned char)rest.ptr[len] & 0xc0) == 0x80)
		len--; /* not half a character */
	if (len)
		error_set(lexer->err, ERR_SEMANTIC, "column %zu: expected %s, found '%.*s'", at + 1, expected, (int)len,
			rest.ptr);
	else
		error_set(lexer->err, ERR_SEMANTIC, "column %zu: expected %s, found the end", at + 1, expected);
	if (lexer->err)
		lexer->err->column = (int64_t)at + 1;
	return ERR_SEMANTIC;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void lexer_skip_blanks(struct lexer *lexer)
{
	while (lexer->at < lexer->text.len && is_blank(lexer->text.ptr[lexer->at]))
		lexer->at++;
}

char lexer_peek(const struct lexer *lexer)
{
	return lexer->at < lexer->text.len ? lexer->text.ptr[lexer->at] : 0;
}

bool lexer_take(struct lexer *lexer, char c)
{
	if (lexer_peek(lexer) != c)
		return false;
	lexer->at++;
	return true;
}

bool lexer_is_bare(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_./@%+*-", c)) || (unsigned char)c >= 0x80;
}

bool lexer_is_keyword(struct span word)
{
	return span_equal_fold(word, SPAN("and")) || span_equal_fold(word, SPAN("or")) ||
	       span_equal_fold(word, SPAN("not"));
}

struct span lexer_take_bare(struct lexer *lexer)
{
	size_t start = lexer->at;

	while (lexer_is_bare(lexer_peek(lexer)))
		lexer->at++;
	return span_of(lexer->text.ptr + start, lexer->at - start);
}

bool lexer_take_word(struct lexer *lexer, const char *word)
{
	size_t start = lexer->at;

	if (span_equal_fold(lexer_take_bare(lexer), span_from(word)))
		return true;
	lexer->at = start;
	return false;
}

bool lexer_at_word(struct lexer *lexer, const char *word)
{
	size_t start = lexer->at;
	bool is_there = lexer_take_word(lexer, word);

	lexer->at = start;
	return is_there;
}

bool lexer_take_operator(struct lexer *lexer, enum query_compare *compare)
{
	static const struct {
		struct span text;
		enum query_compare compare;
	} operators[] = {
		/* the longer ones first */
		{{"!=", 2}, QUERY_NOT_EQUAL},
		{{"!~", 2}, QUERY_MATCHES_NOT},
		{{"<=", 2}, QUERY_AT_MOST},
		{{">=", 2}, QUERY_AT_LEAST},
		{{"~*", 2}, QUERY_MATCHES_FOLDED},
		{{"~", 1}, QUERY_MATCHES},
		{{"=", 1}, QUERY_EQUAL},
		{{"<", 1}, QUERY_LESS},
		{{">", 1}, QUERY_MORE},
		{{":", 1}, QUERY_CONTAINS},
	};
	struct span rest = span_skip(lexer->text, lexer->at);

	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
		if (span_starts_with(rest, operators[i].text)) {
			lexer->at += operators[i].text.len;
			*compare = operators[i].compare;
			return true;
		}
	return false;
}

enum status lexer_take_quoted(struct lexer *lexer, struct span *out)
{
	size_t open = lexer->at, len = 0;
	char *text = arena_alloc(lexer->arena, lexer->text.len - open);

	if (!text)
		return error_no_memory(lexer->err);
	for (lexer->at++; lexer_peek(lexer) && lexer_peek(lexer) != '"'; lexer->at++) {
		if (lexer_peek(lexer) == '\\' && lexer->at + 1 < lexer->text.len &&
			strchr("\"\\", lexer->text.ptr[lexer->at + 1]))
			lexer->at++;
		text[len++] = lexer_peek(lexer);
	}
	if (!lexer_take(lexer, '"'))
		return lexer_expected(lexer, lexer->text.len, "a closing quote");
	*out = span_of(text, len);
	return OK;
}

enum status lexer_take_value(struct lexer *lexer, struct lexed_text *out)
{
	size_t start = lexer->at;

	out->at = start;
	out->is_quoted = lexer_peek(lexer) == '"';
	if (out->is_quoted)
		return lexer_take_quoted(lexer, &out->text);
	if (lexer_peek(lexer) && strchr("=<>!~:", lexer_peek(lexer)))
		return lexer_expected(lexer, start, "a value");
	while (lexer_peek(lexer) && !is_blank(lexer_peek(lexer)) && !strchr("(),\"", lexer_peek(lexer)))
		lexer->at++;
	if (lexer->at == start)
		return lexer_expected(lexer, start, "a value");
	out->text = span_of(lexer->text.ptr + start, lexer->at - start);
	return OK;
}
