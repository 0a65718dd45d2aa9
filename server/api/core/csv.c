#include "api/core/csv.h"

#include "base/json/json_write.h"

#include <math.h>

void api_csv_text(struct buf *out, struct span text)
{
	bool must_quote = false;

	for (size_t i = 0; i < text.len; i++)
		must_quote = must_quote || memchr(",\"\r\n", text.ptr[i], 4);
	if (!must_quote) {
		buf_append_span(out, text);
		return;
	}
	buf_append_char(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"')
			buf_append_char(out, '"');
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '"');
}

void api_csv_double(struct buf *out, double value)
{
	char digits[33];

	if (isfinite(value))
		buf_append(out, digits, json_format_double(value, digits));
	else
		buf_append_text(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}
