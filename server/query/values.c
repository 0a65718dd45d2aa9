#include "base/text/iso8601.h"
#include "query/names.h"

#include <ctype.h>
#include <math.h>

static const int64_t DAY_MS = 86400000;

static bool is_one_of(struct span name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(name, span_from(names[i])))
			return true;
	return false;
}

static bool is_time(const struct query_term *term)
{
	static const char *const names[] = {"created", "started", "ended", "modified", "CreationTime",
		"TrainingStartTime", "TrainingEndTime", "LastModifiedTime", "StartKnownTime", "EndKnownTime"};

	return term->family == QUERY_PROPERTY && is_one_of(term->key, names, sizeof names / sizeof names[0]);
}

static bool is_duration(const struct query_term *term)
{
	static const char *const names[] = {
		"duration", "billable", "silent", "BillableTimeInSeconds", "TrainingTimeInSeconds"};

	return term->family == QUERY_PROPERTY && is_one_of(term->key, names, sizeof names / sizeof names[0]);
}

/* A number alone: no text stands behind it that words could be compared with. */
static bool is_amount(const struct query_term *term)
{
	static const char *const names[] = {"cost", "goodput"};

	return term->family == QUERY_METRIC ||
	       (term->family == QUERY_PROPERTY && is_one_of(term->key, names, sizeof names / sizeof names[0]));
}

static bool is_order(enum query_compare compare)
{
	return compare >= QUERY_LESS && compare <= QUERY_AT_LEAST;
}

/* Digits with a sign, point or exponent; no words like nan or 1.#IND, which are text in most places. */
static bool parse_literal(struct span text, double *number)
{
	char first = text.len ? text.ptr[0] : 0, second = text.len > 1 ? text.ptr[1] : 0;
	bool has_sign = first == '-' || first == '+';
	char digit = has_sign ? second : first;

	return (isdigit((unsigned char)digit) || digit == '.') && span_find_char(text, '#') < 0 &&
	       span_parse_double(text, number);
}

struct unit {
	const char *name;
	double factor;
};
static const struct unit durations[] = {
	{"ms", 0.001}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {NULL, 0}};
static const struct unit sizes[] = {{"b", 1}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"kib", 1024},
	{"mib", 1048576}, {"gib", 1073741824}, {"tib", 1099511627776}, {NULL, 0}};

/* One or several numbers with units, "1h30m"; the sum. */
static bool parse_units(struct span text, const struct unit *units, double *sum)
{
	if (text.len == 0)
		return false;
	*sum = 0;
	while (text.len) {
		size_t digits = 0, letters = 0;
		double number;
		while (digits < text.len && (isdigit((unsigned char)text.ptr[digits]) || text.ptr[digits] == '.'))
			digits++;
		while (digits + letters < text.len && isalpha((unsigned char)text.ptr[digits + letters]))
			letters++;
		if (!span_parse_double(span_of(text.ptr, digits), &number))
			return false;
		const struct unit *unit = units;
		while (unit->name && !span_equal_fold(span_of(text.ptr + digits, letters), span_from(unit->name)))
			unit++;
		if (!unit->name)
			return false;
		*sum += number * unit->factor;
		text = span_skip(text, digits + letters);
	}
	return true;
}

/* Does the time say of which zone it is? With a "Z" behind it only one is a time that does not. */
static bool names_zone(struct span text)
{
	char longer[ISO8601_BYTES + 16];
	int64_t ms;

	if (text.len + 1 > sizeof longer || text.len == sizeof "2026-01-31" - 1)
		return text.len + 1 > sizeof longer;
	memcpy(longer, text.ptr, text.len);
	longer[text.len] = 'Z';
	return !iso8601_parse(span_of(longer, text.len + 1), &ms);
}

static int64_t midnight(int64_t now_ms, const struct zone *zone, int days_ago)
{
	int64_t local_ms = now_ms + zone_offset_ms(zone, now_ms);

	return zone_to_utc_ms(zone, local_ms - ((local_ms % DAY_MS) + DAY_MS) % DAY_MS - days_ago * DAY_MS);
}

static bool parse_time(struct span text, int64_t now_ms, const struct zone *zone, double *unix_ms)
{
	double seconds;
	int64_t ms;

	if (span_equal_fold(text, SPAN("now")))
		*unix_ms = (double)now_ms;
	else if (span_equal_fold(text, SPAN("today")))
		*unix_ms = (double)midnight(now_ms, zone, 0);
	else if (span_equal_fold(text, SPAN("yesterday")))
		*unix_ms = (double)midnight(now_ms, zone, 1);
	else if (iso8601_parse(text, &ms))
		*unix_ms = (double)(names_zone(text) ? ms : zone_to_utc_ms(zone, ms));
	else if (text.len > 1 && (text.ptr[0] == '-' || text.ptr[0] == '+') &&
		 parse_units(span_skip(text, 1), durations, &seconds))
		*unix_ms = (double)now_ms + (text.ptr[0] == '-' ? -1000 : 1000) * seconds;
	else if (parse_literal(text, &seconds) && seconds >= 0) /* Unix time: seconds end where milliseconds begin */
		*unix_ms = seconds < 1e11 ? seconds * 1000 : seconds;
	else
		return false;
	*unix_ms = floor(*unix_ms);
	return isfinite(*unix_ms);
}

enum status value_check_operator(const struct lexer *lexer, size_t at, const struct query_term *term)
{
	bool is_match = term->compare == QUERY_MATCHES || term->compare == QUERY_MATCHES_FOLDED ||
			term->compare == QUERY_MATCHES_NOT;

	if (is_match && is_amount(term))
		return lexer_expected(lexer, at,
			term->family == QUERY_METRIC ? "a comparison of numbers (a metric is a number)"
						     : "a comparison of numbers");
	if (is_match && (is_time(term) || is_duration(term)))
		return lexer_expected(lexer, at, "a comparison of times");
	return OK;
}

static bool is_unit_number(const struct query_term *term, struct span text, double *number)
{
	if (!is_duration(term) && !is_order(term->compare))
		return false;
	return parse_units(text, durations, number) || parse_units(text, sizes, number);
}

enum status value_resolve(const struct lexer *lexer, const struct query_term *term, const struct lexed_text *lexed,
	int64_t now_ms, const struct zone *zone, struct query_value *out)
{
	*out = (struct query_value){.text = lexed->text};
	if (is_time(term)) {
		out->is_number = parse_time(lexed->text, now_ms, zone, &out->number);
		return out->is_number ? OK
				      : lexer_expected(lexer, lexed->at,
						"a time (2026-01-31, 2026-01-31T12:00:00Z, -7d, today)");
	}
	if (is_duration(term)) {
		out->is_number =
			parse_literal(lexed->text, &out->number) || is_unit_number(term, lexed->text, &out->number);
		return out->is_number ? OK : lexer_expected(lexer, lexed->at, "a duration (90s, 2h, 1h30m)");
	}
	if (is_amount(term)) {
		out->is_number =
			span_parse_double(lexed->text, &out->number) || is_unit_number(term, lexed->text, &out->number);
		return out->is_number ? OK : lexer_expected(lexer, lexed->at, "a number");
	}
	if (lexed->is_quoted || term->compare == QUERY_MATCHES || term->compare == QUERY_MATCHES_FOLDED ||
		term->compare == QUERY_MATCHES_NOT)
		return OK;
	out->is_number = parse_literal(lexed->text, &out->number) || is_unit_number(term, lexed->text, &out->number);
	return OK;
}

bool value_is_plain_text(struct span text)
{
	if (text.len == 0 || isdigit((unsigned char)text.ptr[0]) || strchr("+-.", text.ptr[0]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!lexer_is_bare(text.ptr[i]))
			return false;
	return !lexer_is_keyword(text);
}
