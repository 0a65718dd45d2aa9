#include "extract/number.h"

#include <math.h>

enum { GROUPED_MAX_BYTES = 64 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Without its separators into out; 0 when the commas are not in places where thousands have them. */
static size_t ungrouped(struct span text, char out[GROUPED_MAX_BYTES])
{
	size_t len = 0, digits = 0;
	bool is_grouped = false, is_fraction = false;

	if (text.len > GROUPED_MAX_BYTES)
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == ',') {
			if (is_fraction || digits == 0 || digits > 3 || (is_grouped && digits != 3))
				return 0;
			is_grouped = true;
			digits = 0;
			continue;
		}
		if (!is_fraction && is_digit(c)) {
			digits++;
		} else if (!is_fraction && digits > 0) {
			if (is_grouped && digits != 3)
				return 0;
			is_fraction = true;
		}
		out[len++] = c;
	}
	return is_grouped && (is_fraction || digits == 3) ? len : 0;
}

bool number_parse(struct span text, double *value)
{
	char plain[GROUPED_MAX_BYTES];

	if (span_parse_double(text, value))
		return true;
	text = span_trim(text);
	if (span_parse_double(text, value))
		return true;
	if (span_find_char(text, ',') < 0)
		return false;
	size_t len = ungrouped(text, plain);
	return len > 0 && span_parse_double(span_of(plain, len), value);
}

bool number_parse_step(struct span text, int64_t *step)
{
	double value;
	int64_t whole;

	text = span_trim(text);
	if (!span_parse_i64(text, &whole)) {
		if (!number_parse(text, &value) || !(fabs(value) <= (double)STEP_MAX) || value != floor(value))
			return false;
		whole = (int64_t)value;
	}
	if (whole > STEP_MAX || whole < -STEP_MAX)
		return false;
	*step = whole;
	return true;
}
