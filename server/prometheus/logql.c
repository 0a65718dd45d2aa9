#include "prometheus/logql.h"

#include "prometheus/matcher_parse.h"

enum { PATTERN_MAX_BYTES = 4096 };

void logql_release(struct logql *logql)
{
	matchers_done(logql->matchers, logql->matcher_count);
	for (size_t i = 0; i < logql->filter_count; i++)
		regex_free(TAKE(logql->filters[i].regex));
}

void logql_done(struct logql *logql)
{
	logql_release(logql);
	*logql = (struct logql){0};
}

static enum status add_filter(
	struct logql *out, const struct tokens *tokens, bool is_pattern, bool is_negated, struct error *err)
{
	if (is_pattern && tokens->token.text.len > PATTERN_MAX_BYTES)
		return tokens_fail(tokens, "a pattern has at most 4096 bytes", err);
	if (out->filter_count == LOGQL_FILTERS_MAX)
		return tokens_fail(tokens, "a query has at most 32 filters of lines", err);
	out->filters[out->filter_count++] = (struct logql_filter){is_pattern, is_negated, tokens->token.text, NULL};
	return OK;
}

static enum status compile(struct logql_filter *filter, struct error *err)
{
	struct error cause;
	enum status status = regex_new(&filter->regex, filter->text, REGEX_UTF, &cause);

	if (status == ERR_MEMORY)
		return error_no_memory(err);
	return status == OK ? OK
			    : error_set(err, ERR_INVALID, "parse error: the pattern \"%.*s\" is none: %s",
				      SPAN_ARGS(span_cut(filter->text, 100)), cause.text);
}

enum status logql_prepare(struct logql *logql, struct error *err)
{
	for (size_t i = 0; i < logql->filter_count; i++)
		if (logql->filters[i].is_pattern && !logql->filters[i].regex)
			TRY(compile(&logql->filters[i], err));
	return matchers_prepare(logql->matchers, logql->matcher_count, err);
}

/* Labels that parsers would have made go, as Grafana asks: there are none here, and those that there are stay. */
static enum status take_drop(struct logql *out, struct tokens *tokens, struct error *err)
{
	bool goes_on = true;

	if (out->drop_count == LOGQL_DROPS_MAX)
		return tokens_fail(tokens, "a query has at most 8 times drop", err);
	TRY(tokens_next(tokens, err));
	size_t first = tokens->token.at, end = first;
	while (goes_on) {
		if (tokens->token.kind != TOKEN_NAME)
			return tokens_fail(tokens, "expected a label's name", err);
		if (tokens_is(tokens, "job") || tokens_is(tokens, "stream") || tokens_is(tokens, "host"))
			return tokens_fail(
				tokens, "a stream's own labels are not dropped here (sum without does that),", err);
		end = tokens->token.at + tokens->token.text.len;
		TRY(tokens_next(tokens, err));
		if (tokens_is(tokens, "=") || tokens_is(tokens, "=~") || tokens_is(tokens, "!=") ||
			tokens_is(tokens, "!~"))
			return tokens_fail(tokens, "a label is dropped whatever its value is, drop x; not", err);
		TRY(tokens_take(tokens, ",", &goes_on, err));
	}
	out->drops[out->drop_count].behind = out->filter_count;
	out->drops[out->drop_count++].names = span_of(tokens->query.ptr + first, end - first);
	return OK;
}

static enum status fail_stage(const struct tokens *tokens, struct error *err)
{
	return tokens_fail(
		tokens, "only filters of lines (|= != |~ !~) and drop are answered behind the selector, not this", err);
}

static const char *const signs[] = {"|=", "|~", "!=", "!~"};

static size_t sign_of(const struct tokens *tokens)
{
	size_t sign = 0;

	while (sign < 4 && !tokens_is(tokens, signs[sign]))
		sign++;
	return sign;
}

static enum status take_filter(struct logql *out, struct tokens *tokens, struct error *err)
{
	size_t sign = sign_of(tokens);

	TRY(tokens_next(tokens, err));
	if (sign == 4)
		return tokens_is(tokens, "drop") ? take_drop(out, tokens, err) : fail_stage(tokens, err);
	if (tokens->token.kind != TOKEN_TEXT)
		return tokens_fail(tokens, "expected a text in quotes", err);
	TRY(add_filter(out, tokens, sign % 2 == 1, sign >= 2, err));
	return tokens_next(tokens, err);
}

enum status logql_take(struct logql *out, struct tokens *tokens, struct error *err)
{
	*out = (struct logql){0};
	TRY(matchers_take(tokens, &out->matchers, &out->matcher_count, err));
	while (sign_of(tokens) < 4 || tokens_is(tokens, "|"))
		TRY(take_filter(out, tokens, err));
	return OK;
}

enum status logql_parse(struct logql *out, struct span query, struct arena *arena, struct error *err)
{
	struct tokens tokens;

	*out = (struct logql){0};
	TRY(tokens_open(&tokens, query, "=~ !~ != |= |~ ==", arena, err));
	if (!tokens_is(&tokens, "{"))
		return tokens_fail(&tokens,
			"only selections of lines, {job=\"…\"} and filters, are answered here; expected '{'", err);
	TRY(logql_take(out, &tokens, err));
	if (tokens.token.kind != TOKEN_END)
		return fail_stage(&tokens, err);
	return logql_prepare(out, err);
}

static bool has_pattern(
	const struct logql *logql, const struct logql_filter *filter, struct regex_scratch *scratch, struct span line)
{
	struct span groups[REGEX_MAX_GROUPS];
	enum regex_result result =
		span_is_utf8(line) ? regex_search(filter->regex, scratch, line, 0, groups) : REGEX_NO_MATCH;

	if (result == REGEX_LIMIT && logql->gave_up)
		atomic_store(logql->gave_up, true);
	return result == REGEX_MATCH;
}

bool logql_takes(const void *context, struct regex_scratch *scratch, struct span line)
{
	const struct logql *logql = context;

	for (size_t i = 0; i < logql->filter_count; i++) {
		const struct logql_filter *filter = &logql->filters[i];
		bool has_it = filter->is_pattern ? has_pattern(logql, filter, scratch, line)
						 : span_find(line, filter->text) >= 0;
		if (has_it == filter->is_negated)
			return false;
	}
	return true;
}
