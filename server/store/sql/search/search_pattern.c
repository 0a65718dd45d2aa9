#include "store/sql/search/search_pattern.h"

#include "base/clock.h"
#include "base/text/regex.h"
#include "model/query.h"

#include <stdarg.h>
#include <stdio.h>

enum { MATCH_STEPS = 1000000, PATTERN_MS = 10000 /* for all texts of a query; it has its own deadline between them */ };

enum status search_mistake(struct error *err, const struct query_term *term, const char *format, ...)
{
	char text[384];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	error_set(err, ERR_SEMANTIC, "column %zu: %s", term->column, text);
	if (err)
		err->column = (int64_t)term->column;
	return ERR_SEMANTIC;
}

enum status search_pattern_new(
	struct regex **regex, struct regex_scratch **scratch, const struct query_term *term, struct error *err)
{
	unsigned flags = REGEX_UTF | (term->compare == QUERY_MATCHES_FOLDED ? REGEX_IGNORE_CASE : 0);
	struct error reason = {0};

	if (regex_new(regex, term->values[0].text, flags, &reason))
		return reason.status == ERR_SEMANTIC ? search_mistake(err, term, "%s", reason.text)
						     : error_set(err, reason.status, "%s", reason.text);
	*scratch = regex_scratch_new();
	if (!*scratch)
		return error_no_memory(err);
	regex_scratch_limit(*scratch, MATCH_STEPS);
	regex_scratch_until(*scratch, clock_mono_ms() + PATTERN_MS);
	return OK;
}

enum status search_pattern_gave_up(const struct query_term *term, struct error *err)
{
	struct span pattern = term->values[0].text;

	return search_mistake(err, term, "the pattern '%.*s' needs too many steps",
		(int)(pattern.len < 200 ? pattern.len : 200), pattern.ptr);
}
