#include "base/text/zone.h"

#include "base/text/iso8601.h"

#include <ctype.h>
#include <stdio.h>

#define ZONE_FOLDER "/usr/share/zoneinfo/"

enum { NAME_MAX_BYTES = 64, FILE_MAX_BYTES = 64 << 10, HEADER_BYTES = 44, DAY_S = 86400, DAY_MS = 1000 * DAY_S };

enum rule_kind { RULE_WEEKDAY, RULE_JULIAN, RULE_DAY };

/* When in a year something changes: Mm.w.d, Jn or n, and /time. */
struct rule {
	enum rule_kind kind;
	unsigned month, week, day;
	int32_t time_s;
};

/* A TZ text: summer_s == standard_s when there is no summer time. */
struct rules {
	int32_t standard_s, summer_s; /* ahead of UTC */
	struct rule start, end;
};

struct zone {
	bool has_rules;
	struct rules rules;
	int32_t first_s; /* before all changes */
	size_t count;
	int64_t *times; /* of changes, in Unix seconds */
	int32_t *offsets; /* from then on */
};

/* ---- TZ texts ---- */

static bool take_char(struct span *text, char c)
{
	if (!text->len || text->ptr[0] != c)
		return false;
	*text = span_skip(*text, 1);
	return true;
}

static bool take_number(struct span *text, unsigned most, unsigned *out)
{
	size_t digits = 0;
	unsigned number = 0;

	while (digits < text->len && digits < 4 && isdigit((unsigned char)text->ptr[digits]))
		number = number * 10 + (unsigned)(text->ptr[digits++] - '0');
	*text = span_skip(*text, digits);
	*out = number;
	return digits && number <= most;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct span *text, int32_t *out)
{
	bool is_minus = take_char(text, '-');
	unsigned hours, minutes = 0, seconds = 0;

	if (!is_minus)
		take_char(text, '+');
	if (!take_number(text, 167, &hours) || (take_char(text, ':') && !take_number(text, 59, &minutes)))
		return false;
	if (take_char(text, ':') && !take_number(text, 59, &seconds))
		return false;
	*out = (int32_t)(hours * 3600 + minutes * 60 + seconds) * (is_minus ? -1 : 1);
	return true;
}

/* EST, <-03> */
static bool take_abbreviation(struct span *text)
{
	size_t len = 0;

	if (take_char(text, '<')) {
		while (len < text->len && text->ptr[len] != '>')
			len++;
		*text = span_skip(*text, len);
		return len && take_char(text, '>');
	}
	while (len < text->len && isalpha((unsigned char)text->ptr[len]))
		len++;
	*text = span_skip(*text, len);
	return len >= 3;
}

static bool take_rule(struct span *text, struct rule *out)
{
	struct rule rule = {.kind = RULE_DAY, .time_s = 2 * 3600};

	if (!take_char(text, ','))
		return false;
	if (take_char(text, 'M')) {
		rule.kind = RULE_WEEKDAY;
		if (!take_number(text, 12, &rule.month) || !take_char(text, '.') || !take_number(text, 5, &rule.week) ||
			!take_char(text, '.') || !rule.month || !rule.week || !take_number(text, 6, &rule.day))
			return false;
	} else {
		rule.kind = take_char(text, 'J') ? RULE_JULIAN : RULE_DAY;
		if (!take_number(text, 365, &rule.day) || (rule.kind == RULE_JULIAN && !rule.day))
			return false;
	}
	if (take_char(text, '/') && !take_time(text, &rule.time_s))
		return false;
	*out = rule;
	return true;
}

/* POSIX counts west of Greenwich. */
static bool parse_rules(struct span text, struct rules *out)
{
	struct rules rules = {0};
	int32_t west_s;

	if (!take_abbreviation(&text) || !take_time(&text, &west_s) || west_s < -DAY_S || west_s > DAY_S)
		return false;
	rules.standard_s = rules.summer_s = -west_s;
	if (text.len) {
		rules.summer_s = rules.standard_s + 3600;
		if (!take_abbreviation(&text))
			return false;
		if (text.len && text.ptr[0] != ',') {
			if (!take_time(&text, &west_s) || west_s < -DAY_S || west_s > DAY_S)
				return false;
			rules.summer_s = -west_s;
		}
		if (!take_rule(&text, &rules.start) || !take_rule(&text, &rules.end))
			return false;
	}
	*out = rules;
	return text.len == 0;
}

static int64_t floor_days(int64_t seconds)
{
	return seconds / DAY_S - (seconds % DAY_S < 0);
}

static int64_t year_of(int64_t seconds)
{
	int64_t days = floor_days(seconds), year = 1970 + days / 366;

	while (iso8601_days(year + 1, 1, 1) <= days)
		year++;
	while (iso8601_days(year, 1, 1) > days)
		year--;
	return year;
}

/* Local seconds at which the rule applies. */
static int64_t rule_time(const struct rule *rule, int64_t year)
{
	int64_t first = iso8601_days(year, 1, 1), day;

	if (rule->kind == RULE_WEEKDAY) {
		int64_t month = iso8601_days(year, rule->month, 1);
		int64_t next =
			rule->month == 12 ? iso8601_days(year + 1, 1, 1) : iso8601_days(year, rule->month + 1, 1);
		int64_t weekday = ((month + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
		day = month + ((int64_t)rule->day - weekday + 7) % 7 + 7 * ((int64_t)rule->week - 1);
		while (day >= next)
			day -= 7; /* the fifth one is the last one */
	} else {
		bool is_leap = iso8601_days(year, 3, 1) - iso8601_days(year, 2, 1) == 29;
		day = first + rule->day;
		if (rule->kind == RULE_JULIAN) /* counts from 1, and never the leap day */
			day += (is_leap && rule->day >= 60) - 1;
	}
	return day * DAY_S + rule->time_s;
}

static int32_t rules_offset(const struct rules *rules, int64_t utc_s)
{
	if (rules->summer_s == rules->standard_s)
		return rules->standard_s;
	int64_t year = year_of(utc_s + rules->standard_s);
	int64_t start = rule_time(&rules->start, year) - rules->standard_s;
	int64_t end = rule_time(&rules->end, year) - rules->summer_s;
	bool is_summer = start < end ? utc_s >= start && utc_s < end : utc_s >= start || utc_s < end;
	return is_summer ? rules->summer_s : rules->standard_s;
}

/* ---- files ---- */

static uint64_t big_endian(const char *at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | (unsigned char)at[i];
	return value;
}

struct header {
	uint32_t utc_flags, standard_flags, leaps, times, types, letters;
};

static bool take_header(struct span *bytes, struct header *out)
{
	if (bytes->len < HEADER_BYTES || !span_starts_with(*bytes, SPAN("TZif")))
		return false;
	uint32_t counts[6];
	for (size_t i = 0; i < 6; i++) {
		counts[i] = (uint32_t)big_endian(bytes->ptr + 20 + 4 * i, 4);
		if (counts[i] > FILE_MAX_BYTES)
			return false;
	}
	*out = (struct header){counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
	*bytes = span_skip(*bytes, HEADER_BYTES);
	return out->types > 0;
}

static size_t body_bytes(const struct header *h, size_t time_bytes)
{
	return h->times * (time_bytes + 1) + h->types * (size_t)6 + h->letters + h->leaps * (time_bytes + 4) +
	       h->standard_flags + h->utc_flags;
}

static bool read_changes(struct zone *zone, struct span body, const struct header *h)
{
	const char *indexes = body.ptr + h->times * (size_t)8, *types = indexes + h->times;

	zone->first_s = (int32_t)big_endian(types, 4);
	zone->count = h->times;
	for (size_t i = 0; i < h->times; i++) {
		unsigned type = (unsigned char)indexes[i];
		zone->times[i] = (int64_t)big_endian(body.ptr + 8 * i, 8);
		if (type >= h->types || (i && zone->times[i] <= zone->times[i - 1]))
			return false;
		zone->offsets[i] = (int32_t)big_endian(types + 6 * (size_t)type, 4);
		if (zone->offsets[i] < -2 * DAY_S || zone->offsets[i] > 2 * DAY_S)
			return false;
	}
	return zone->first_s >= -2 * DAY_S && zone->first_s <= 2 * DAY_S;
}

static bool read_file(struct zone *zone, struct span bytes)
{
	struct header h;

	/* The first part has times of 32 bits, for the programs of long ago. */
	if (!take_header(&bytes, &h) || bytes.len < body_bytes(&h, 4))
		return false;
	bytes = span_skip(bytes, body_bytes(&h, 4));
	if (!take_header(&bytes, &h) || bytes.len < body_bytes(&h, 8))
		return false;
	zone->times = mem_alloc((h.times + 1) * sizeof *zone->times);
	zone->offsets = mem_alloc((h.times + 1) * sizeof *zone->offsets);
	if (!zone->times || !zone->offsets || !read_changes(zone, bytes, &h))
		return false;
	struct span rest = span_skip(bytes, body_bytes(&h, 8)), rules;
	if (take_char(&rest, '\n') && span_next(&rest, '\n', &rules) && rules.len)
		zone->has_rules = parse_rules(rules, &zone->rules);
	return true;
}

enum status zone_parse_file(struct zone **out, struct span bytes, struct error *err)
{
	AUTO(zone) zone = mem_zeroed(sizeof *zone);

	if (!zone)
		return error_no_memory(err);
	if (!read_file(zone, bytes))
		return error_set(err, ERR_INVALID, "this is no file of a time zone (TZif, version 2 or later)");
	*out = TAKE(zone);
	return OK;
}

static bool is_file_name(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && !strchr("_+-/", name.ptr[i]))
			return false; /* no dot: nothing leads out of the folder */
	return isalpha((unsigned char)name.ptr[0]) && name.len <= NAME_MAX_BYTES;
}

static bool open_file(struct zone **out, struct span name)
{
	char path[sizeof ZONE_FOLDER + NAME_MAX_BYTES];
	AUTO_MEM char *bytes = NULL;
	size_t len = 0;

	if (!is_file_name(name))
		return false;
	snprintf(path, sizeof path, ZONE_FOLDER "%.*s", SPAN_ARGS(name));
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bytes = mem_alloc(FILE_MAX_BYTES);
	if (bytes)
		len = fread(bytes, 1, FILE_MAX_BYTES, file);
	fclose(file);
	return len && zone_parse_file(out, span_of(bytes, len), NULL) == OK;
}

enum status zone_new(struct zone **out, struct span name, struct error *err)
{
	AUTO(zone) zone = NULL;

	*out = NULL;
	if (!name.len || span_equal(name, SPAN("UTC")) || span_equal(name, SPAN("Z")))
		return OK;
	if (open_file(out, name))
		return OK;
	zone = mem_zeroed(sizeof *zone);
	if (!zone)
		return error_no_memory(err);
	zone->has_rules = parse_rules(name, &zone->rules);
	if (!zone->has_rules)
		return error_set(err, ERR_SEMANTIC,
			"'%.*s' is no time zone: neither a name as Europe/Berlin in " ZONE_FOLDER
			", nor a rule as CET-1CEST,M3.5.0,M10.5.0/3",
			(int)(name.len < 100 ? name.len : 100), name.ptr);
	*out = TAKE(zone);
	return OK;
}

void zone_free(struct zone *zone)
{
	if (!zone)
		return;
	mem_free(zone->times);
	mem_free(zone->offsets);
	mem_free(zone);
}

/* ---- answers ---- */

static int32_t offset_s(const struct zone *zone, int64_t utc_s)
{
	size_t low = 0, high = zone->count;

	if (zone->has_rules && (!zone->count || utc_s >= zone->times[zone->count - 1]))
		return rules_offset(&zone->rules, utc_s);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (zone->times[middle] <= utc_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? zone->offsets[low - 1] : zone->first_s;
}

int64_t zone_offset_ms(const struct zone *zone, int64_t utc_ms)
{
	/* Far from any time that is meant the rules would take long to find a year. */
	const int64_t most_ms = (int64_t)1 << 50;
	int64_t ms = utc_ms > most_ms ? most_ms : utc_ms < -most_ms ? -most_ms : utc_ms;

	return zone ? (int64_t)offset_s(zone, ms / 1000 - (ms % 1000 < 0)) * 1000 : 0;
}

int64_t zone_to_utc_ms(const struct zone *zone, int64_t local_ms)
{
	const int64_t most_ms = (int64_t)1 << 50;

	if (!zone || local_ms > most_ms || local_ms < -most_ms)
		return local_ms;
	int64_t before_ms = zone_offset_ms(zone, local_ms - 2 * DAY_MS);
	int64_t after_ms = zone_offset_ms(zone, local_ms + 2 * DAY_MS);
	int64_t early_ms = local_ms - (before_ms > after_ms ? before_ms : after_ms);
	int64_t late_ms = local_ms - (before_ms > after_ms ? after_ms : before_ms);
	if (early_ms + zone_offset_ms(zone, early_ms) == local_ms)
		return early_ms;
	if (late_ms + zone_offset_ms(zone, late_ms) == local_ms)
		return late_ms;
	return local_ms - before_ms; /* in the gap */
}
