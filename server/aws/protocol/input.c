#include "aws/protocol/internal.h"
#include "base/text/iso8601.h"

#include <math.h>

static const double latest_s = 253402300799; /* the year 9999 */

void aws_string(const struct aws_call *call, const char *member, struct span *out)
{
	const struct json *node = json_get(call->input, member);

	if (node && json_kind(node) == JSON_STRING)
		*out = json_string_of(node);
}

bool aws_number(const struct json *node, double *out)
{
	if (node && json_kind(node) == JSON_STRING)
		return span_parse_double(json_string_of(node), out);
	return json_number_of(node, out);
}

bool aws_integer(const struct json *node, int64_t *out)
{
	double number;

	if (!aws_number(node, &number) || !(fabs(number) < 9e15))
		return false;
	*out = (int64_t)number;
	return true;
}

bool aws_time(const struct json *node, int64_t *ms)
{
	double seconds;

	if (node && json_kind(node) == JSON_STRING)
		return iso8601_parse(json_string_of(node), ms);
	if (!json_number_of(node, &seconds) || !(fabs(seconds) <= latest_s))
		return false;
	*ms = (int64_t)floor(seconds * 1000 + 0.5);
	return true;
}
