/*
 * Job: the step that stands on a line, for definitions that say none (SageMaker's have a Name and a Regex alone): by the
 *      rules of the preset that knows the stream's format, else by the generic ones. Internal to extract/.
 * Ownership: spans into the line. Threads: any; `header` and `largest_total` are the stream's.
 */
#pragma once

#include "extract/choice.h"

/* What the preset remembers of earlier lines. */
struct guide_memory {
	struct buf *header; /* of the CSV that is being read */
	int64_t *largest_total; /* of progress bars: a smaller one is not the training's */
};

struct guided {
	bool has_step;
	bool has_epoch;
	bool step_follows; /* the record ends with it: values wait */
	int64_t step;
	int64_t epoch;
	int64_t total; /* of the run's steps; 0: not said */
	struct span where; /* the step's */
};

/* Is the line to be shown to choice_see, though no definition matches on it? */
bool guide_is_choosing(const struct choice *choice);
/* Of a line with a value; `text` is what stands behind the prefixes. */
void guide_find(const struct definition_set *set, int preset, struct regex_scratch *scratch, struct span text,
	const struct guide_memory *memory, struct guided *out);
/* Of a line without one, of a format that gives the step a line of its own. */
void guide_find_alone(const struct definition_set *set, int preset, struct regex_scratch *scratch, struct span text,
	const struct guide_memory *memory, struct guided *out);
