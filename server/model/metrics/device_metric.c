#include "model/metrics/device_metric.h"

#include <stdio.h>

enum { NUMBER_DIGITS = 8 };

static bool is_number(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
	return text.len && text.len <= NUMBER_DIGITS;
}

bool device_metric_name(const struct device_names *names, struct span name, char *out, size_t room, double *factor)
{
	struct span rest = name, number;

	if (!span_take(&rest, span_from(names->prefix)) || !span_next(&rest, names->separator, &number) ||
		!is_number(number))
		return false;
	for (size_t i = 0; i < names->count; i++)
		if (span_equal(rest, span_from(names->items[i].theirs))) {
			snprintf(out, room, "%s{gpu=\"%.*s\"}", names->items[i].ours, SPAN_ARGS(number));
			*factor = names->items[i].factor;
			return true;
		}
	return false;
}
