#include "base/options/options.h"

#include <ctype.h>

enum { MAX_COMPARED = 64 };

struct unit {
	const char *name;
	int64_t factor;
};

/* A whole number and one of the units; the first unit stands for a number alone. */
static bool parse_with_unit(struct span text, const struct unit *units, int64_t *value)
{
	size_t digits = 0;
	int64_t number;

	while (digits < text.len && isdigit((unsigned char)text.ptr[digits]))
		digits++;
	if (!span_parse_i64(span_of(text.ptr, digits), &number))
		return false;
	struct span unit = span_trim(span_skip(text, digits));
	for (const struct unit *u = units; u->name; u++) {
		if (!span_equal_fold(unit, span_from(u->name)) && !(unit.len == 0 && u == units))
			continue;
		int64_t product;
		if (__builtin_mul_overflow(number, u->factor, &product))
			return false;
		*value = product;
		return true;
	}
	return false;
}

bool option_parse_bytes(struct span text, int64_t *bytes)
{
	static const struct unit units[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"TiB", (int64_t)1 << 40}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", (int64_t)1 << 40},
		{"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000}, {NULL, 0}};

	return parse_with_unit(text, units, bytes);
}

bool option_parse_duration(struct span text, int64_t *ms)
{
	static const struct unit units[] = {{"s", 1000}, {"ms", 1}, {"m", 60000}, {"min", 60000}, {"h", 3600000},
		{"d", 86400000}, {"w", 604800000}, {NULL, 0}};

	return parse_with_unit(text, units, ms);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours that turn one name into the other. */
size_t text_distance(struct span a, struct span b)
{
	size_t rows[3][MAX_COMPARED + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	if (a.len > MAX_COMPARED || b.len > MAX_COMPARED)
		return MAX_COMPARED;
	for (size_t j = 0; j <= b.len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			row[j] =
				smaller(last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]), smaller(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
		size_t *freed = before;
		before = last;
		last = row;
		row = freed;
	}
	return last[b.len];
}
