/* Bodies of log-batch and log-metric: whatever they are, the batch counts what it holds, and an error has a text. */
#include "mlflow/metrics_in.h"
#include "model/metrics/batch_series.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum status has_odd_steps(
	void *context, struct span key, const struct point *asked, bool *out, struct error *err)
{
	(void)context;
	(void)err;
	*out = asked->step % 2 && key.len;
	return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(batch) batch = batch_new(INT64_C(1700000000000));
	AUTO(json) body = NULL;
	struct error err = {0};
	size_t points = 0;

	if (!batch || json_parse(&body, span_of((const char *)data, size), &err) != OK)
		return 0;
	struct batch_part *part = batch_part(batch, SPAN("j"), SPAN("s"));
	const struct json *metrics = json_get(body, "metrics");
	if (!part)
		return 0;
	err = (struct error){0};
	if (metrics_in_read(metrics ? metrics : body, &(struct metrics_stored){.has = has_odd_steps}, batch, part,
		    INT64_C(1700000000000), &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < part->series_count; i++)
		points += part->series[i].count;
	if (points != batch->point_count || !part->is_push)
		abort();
	return 0;
}
