#include "extract/printed_name.h"

#include "extract/generic/series.h"

const struct metric_definition *printed_name_find(struct span name)
{
	enum generic_series series;

	return series_by_name(name, &series) ? &generic_definitions[series] : NULL;
}

bool printed_name_is(struct span name, struct span metric, struct span unit)
{
	const struct metric_definition *kept = printed_name_find(name);

	return kept && metric_matches(metric, kept->name) && (!kept->unit.len || span_equal(unit, kept->unit));
}
