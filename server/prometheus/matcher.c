#include "prometheus/matcher.h"

enum { PATTERN_MAX_BYTES = 4096 };

static bool is_pattern(const struct matcher *matcher)
{
	return matcher->op == MATCHER_LIKE || matcher->op == MATCHER_NOT_LIKE;
}

/* A pattern is of the whole value. */
static enum status prepare(struct matcher *matcher, struct error *err)
{
	AUTO_DONE(buf) pattern = BUF_INIT(PATTERN_MAX_BYTES);
	struct error cause;

	buf_append_text(&pattern, "^(?s:");
	buf_append_span(&pattern, matcher->value);
	buf_append_text(&pattern, ")\\z");
	if (pattern.failure == ERR_TOO_LARGE)
		return error_set(err, ERR_INVALID, "a pattern has at most %d bytes", PATTERN_MAX_BYTES);
	TRY(buf_status(&pattern, err));
	enum status status = regex_new(&matcher->regex, buf_span(&pattern), REGEX_UTF, &cause);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	return status == OK ? OK
			    : error_set(err, ERR_INVALID, "the pattern \"%.*s\" of label '%.*s' is none: %s",
				      SPAN_ARGS(matcher->value), SPAN_ARGS(matcher->name), cause.text);
}

enum status matchers_prepare(struct matcher *matchers, size_t count, struct error *err)
{
	enum status status = OK;

	for (size_t i = 0; status == OK && i < count; i++)
		if (is_pattern(&matchers[i]) && !matchers[i].regex)
			status = prepare(&matchers[i], err);
	if (status != OK)
		matchers_done(matchers, count);
	return status;
}

void matchers_done(struct matcher *matchers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		regex_free(matchers[i].regex);
		matchers[i].regex = NULL;
	}
}

static enum status given_up(const struct matcher *matcher, struct span value, struct error *err)
{
	return error_set(err, ERR_SEMANTIC,
		"the pattern \"%.*s\" of label '%.*s' was given up on the value '%.*s': it needs too many steps; write one without repetitions of repetitions",
		SPAN_ARGS(span_cut(matcher->value, 100)), SPAN_ARGS(matcher->name), SPAN_ARGS(span_cut(value, 60)));
}

enum status matcher_fits(
	const struct matcher *matcher, struct regex_scratch *scratch, struct span value, bool *fits, struct error *err)
{
	struct span groups[REGEX_MAX_GROUPS];
	bool wants = matcher->op == MATCHER_IS || matcher->op == MATCHER_LIKE;

	if (!is_pattern(matcher)) {
		*fits = span_equal(matcher->value, value) == wants;
		return OK;
	}
	*fits = false;
	if (!span_is_utf8(value))
		return OK;
	enum regex_result result = regex_search(matcher->regex, scratch, value, 0, groups);
	*fits = (result == REGEX_MATCH) == wants;
	return result == REGEX_LIMIT ? given_up(matcher, value, err) : OK;
}
