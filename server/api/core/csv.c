#include "api/core/csv.h"

#include "base/json/json_write.h"

#include <math.h>

void api_csv_double(struct buf *out, double value)
{
	char digits[33];

	if (isfinite(value))
		buf_append(out, digits, json_format_double(value, digits));
	else
		buf_append_text(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}
