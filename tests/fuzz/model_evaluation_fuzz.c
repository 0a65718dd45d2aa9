/* Any bytes as an evaluation: what is taken has finite values and a checkpoint, and can be grouped, weighed and judged. */
#include "model/jobs/evaluation_judge.h"

#include <math.h>
#include <stdlib.h>

static void judge(const struct evaluation *got, struct arena *arena)
{
	struct evaluation_checkpoint *checkpoints;
	struct evaluation_regression *falls;
	struct evaluation_weight *weights;
	size_t count, weight_count, fall_count, unjudged;

	for (size_t i = 0; i < got->count; i++)
		if (!isfinite(got->scores[i].value) || (!got->scores[i].has_step && !got->scores[i].path.len))
			abort();
	if (evaluation_group(got->scores, got->count, arena, &checkpoints, &count, NULL) != OK || count != 1 ||
		evaluation_usual_weights(checkpoints, count, arena, &weights, &weight_count, NULL) != OK ||
		evaluation_find_regressions(checkpoints, count, 1, arena, &falls, &fall_count, &unjudged, NULL) != OK ||
		fall_count)
		abort();
	if (weight_count && isnan(evaluation_weighted(&checkpoints[0], weights, weight_count)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of((const char *)data, size);
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) mended = BUF_INIT(64 << 20);
	AUTO(json) document = NULL;
	struct evaluation_weight *weights;
	struct evaluation got;
	int64_t step;
	size_t count;

	if (!arena)
		return 0;
	(void)evaluation_step_of_path(text, &step);
	if (evaluation_read_weights(text, arena, &weights, &count, NULL) == OK && !count)
		abort();
	evaluation_mend_json(text, &mended);
	if (mended.failure || json_parse(&document, buf_span(&mended), NULL) != OK)
		return 0;
	if (evaluation_read(&got, document, &(struct evaluation_stated){-1, SPAN("")}, arena, NULL) == OK)
		judge(&got, arena);
	return 0;
}
