/* Any text either is an expression over two series, whose result is in order and finite, or is refused with words. */
#include "aws/metrics/metric_math.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum status add(struct math_value *out, struct error *err)
{
	struct math_series *series = math_value_add(out, 3);

	if (!series)
		return error_no_memory(err);
	series->count = 3;
	series->period_ms = 60000;
	series->until_ms = 240000;
	for (size_t i = 0; i < 3; i++) {
		series->ts_ms[i] = (int64_t)i * 60000;
		series->values[i] = (double)i - 1;
	}
	return OK;
}

static enum status find(void *context, struct span id, struct math_value *out, struct error *err)
{
	(void)context;
	*out = (struct math_value){.kind = MATH_SERIES};
	return id.len <= 2 ? add(out, err) : error_set(err, ERR_SEMANTIC, "there is no such id");
}

static enum status list(void *context, struct span part, struct math_value *out, struct error *err)
{
	(void)context;
	for (size_t i = part.len; i < 2; i++)
		TRY(add(out, err));
	return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct math_names names = {find, list, NULL};
	AUTO_DONE(math_value) out = {0};
	struct error err = {0};

	if (metric_math_run(span_of((const char *)data, size), &names, &out, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < out.series[0].count; i++)
		if (!isfinite(out.series[0].values[i]) || (i && out.series[0].ts_ms[i] <= out.series[0].ts_ms[i - 1]))
			abort();
	return 0;
}
