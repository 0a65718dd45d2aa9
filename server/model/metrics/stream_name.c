#include "model/metrics/stream_name.h"

#include <stdbool.h>

/* SageMaker's are of seconds or milliseconds. */
enum { SUFFIX_LEAST = 10, SUFFIX_MOST = 13 };

struct span stream_cut_suffix(struct span *name)
{
	size_t digits = 0;

	while (digits < name->len && name->ptr[name->len - 1 - digits] >= '0' &&
		name->ptr[name->len - 1 - digits] <= '9')
		digits++;
	if (digits < SUFFIX_LEAST || digits > SUFFIX_MOST || name->len < digits + 2 ||
		name->ptr[name->len - 1 - digits] != '-')
		return SPAN("");
	name->len -= digits + 1;
	return span_of(name->ptr + name->len, digits + 1);
}

int64_t stream_algo_number(struct span name)
{
	size_t end = 0;
	int64_t number;

	if (!span_starts_with(name, SPAN("algo-")))
		return 0;
	struct span rest = span_skip(name, 5);
	while (end < rest.len && rest.ptr[end] >= '0' && rest.ptr[end] <= '9')
		end++;
	bool is_whole = end == rest.len || rest.ptr[end] == '-';
	return is_whole && span_parse_i64(span_of(rest.ptr, end), &number) && number > 0 ? number : 0;
}

struct span stream_health_host(struct span name)
{
	size_t begin = name.len;

	if (!span_starts_with(name, SPAN("SagemakerHealthMonitoringAgent/")))
		return SPAN("");
	while (name.ptr[begin - 1] != '/')
		begin--;
	return span_skip(name, begin);
}
