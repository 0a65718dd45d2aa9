/*
 * Job: the state of one stream's extraction, shared by extractor.c (its life), match.c (lines to values), place.c (values to
 *      points) and extractor_pack.c. Internal to extract/.
 * Ownership: see extract.h. Threads: one at a time.
 */
#pragma once

#include "extract/attempt.h"
#include "extract/choice.h"
#include "extract/definition.h"
#include "extract/guide.h"
#include "extract/line/slot.h"

enum { HELD_MAX = 512, RECENT_MAX = 8, RECENT_LINE_BYTES = 200 };

/* A value found in a segment, before it is known at which step. */
struct found {
	uint32_t definition;
	int32_t rank;
	struct span name; /* of a definition with a name group */
	struct span text; /* the value's, in the line */
	bool has_step;
	bool has_epoch;
	bool step_follows; /* the record ends with its step */
	int64_t step; /* raw */
	int64_t epoch;
	double value;
	uint32_t slot; /* once known */
	int64_t placed; /* the step on the axis, with has_step */
};

/* A point that waits: for the step at the end of its record, or for the reason to show its guessed metric. */
struct held {
	uint32_t slot;
	bool waits_for_step;
	struct point point;
};

struct extractor {
	struct attempts attempts; /* tracks[i] belongs to slots.items[i] */
	struct slots slots;
	struct choice choice;
	struct choice guide; /* of a guided set: whose rules find the step */
	bool is_guided; /* false: begun by a program that counted instead, and goes on so until the definitions change */
	uint32_t
		first_slot; /* of the present definitions; behind them, in a guided set, that of lines with a step alone */
	size_t definition_count;
	struct span segment; /* the last of them, while its line lives */
	uint64_t segments; /* looked at; not packed: only tells one from the next */
	uint64_t pending_tried; /* segments not yet in the `tried` of those definitions that are not given up */
	int64_t last_step; /* meaningful when attempts.has_step */
	int64_t last_raw_step;
	uint64_t step_line; /* where it was seen */
	int64_t step_ts_ms; /* the time stated or shown there, or NO_TIME */
	int64_t largest_total; /* of progress bars: a smaller one is not the training's */
	int64_t said_total; /* of the run's steps; not packed: the next line says it again */
	int32_t bare_rank; /* srun's number of the last line that had one */
	bool is_srun; /* and it has come twice in a row: no counter of the trainer's */
	struct prefix_memory prefixes;
	struct buf name; /* of the series in a match without a name: the last one, "" none */
	struct buf recent; /* the last lines before a preset was chosen: they may have said the step */
	uint32_t recent_count;
	struct buf header; /* of the CSV that is being read */
	struct held *held;
	size_t held_count;
	size_t held_cap;
	size_t taken; /* scratch: of found, what earlier chains gave */
	struct buf plain; /* scratch: a line without its escapes */
	struct buf unwrapped; /* scratch: the message of a record */
	struct found *found; /* scratch: of one segment */
	size_t found_count;
	size_t found_cap;
};

/* What all segments of one line share. */
struct run {
	struct extractor *extractor;
	const struct definition_set *set;
	const struct definition_list *list;
	struct regex_scratch *scratch;
	const struct extract_line *line;
	struct span text; /* without escapes */
	int64_t arrival_ms;
	int64_t shown_ms; /* once is_time_known; NO_TIME when there is none */
	size_t start; /* of the segment (prefix.h): where an expression with a '^' matched; others look from there */
	struct span name; /* the last one that a match gave; of an earlier line: in extractor->name */
	bool is_time_known;
	bool has_match;
	bool is_guided; /* the set, and the stream */
	bool may_be_start; /* line_hint.h has to look */
	struct extracted_list *out;
};

/* match.c: fills extractor->found. */
enum status match_segment(struct run *run, struct span segment, struct error *err) MUST_CHECK;
/* guided.c: the step of the segment for what was found without one, or by itself for what comes behind it. */
enum status guide_segment(struct run *run, struct span segment, struct error *err) MUST_CHECK;
/* extractor.c: one of the last lines before it is known whose rules find the step. */
void extractor_remember(struct extractor *extractor, struct span segment);
/* extractor.c: every definition that is not left out was tried on the segments so far. */
void extractor_settle_tried(struct extractor *extractor);
/* match_csv.c: the same for a row of numbers or its header; false: no memory. */
bool match_csv(struct run *run, uint32_t index, struct span segment, int32_t rank);
/* place.c: what was found becomes points. */
enum status place_found(struct run *run, struct error *err) MUST_CHECK;
/* A step that a line says without a value. */
enum status place_step(struct run *run, const struct guided *guided, struct error *err) MUST_CHECK;
