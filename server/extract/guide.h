/*
 * Job: the step that stands on a line, for definitions that say none (SageMaker's have a Name and a Regex alone): by the
 *      rules of the preset that knows the stream's format, else by the generic ones. Internal to extract/.
 * Ownership: spans into the line. Threads: any; `header` and `bars` are the stream's.
 */
#pragma once

#include "extract/format.h"
#include "extract/line/bars.h"

/* What a preset remembers of earlier lines. */
struct guide_memory {
	struct buf *header; /* of the CSV that is being read */
	struct bars *bars;
};

struct guided {
	bool has_step;
	bool has_epoch;
	bool step_follows; /* the record ends with it: values wait */
	int64_t step;
	int64_t epoch;
	int64_t total; /* that the step runs to; 0: not said */
	int64_t run_total; /* of the run's steps, as a preset knows them */
	struct span where; /* the step's */
};

/*
 * Which presets know a line (in `formats`, as far as they are chosen by their `detect` alone). has_value: a definition matched
 * on it; others are shown at the beginning of a stream only. True: one is new.
 */
enum status guide_hear(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, bool has_value, bool *is_new, struct error *err) MUST_CHECK;
bool guide_is_choosing(const struct formats *formats); /* the beginning */
/*
 * Of a line with a value, by the first of the presets that knows the line. False: none of them does, and what was found are the generic rules.
 */
bool guide_find(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, const struct guide_memory *memory, struct guided *out);
/* By the rules that hold for any format. */
void guide_find_generic(struct span text, struct guided *out);
/* Of a line without one, of a format that gives the step a line of its own. */
void guide_find_alone(const struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, const struct guide_memory *memory, struct guided *out);
