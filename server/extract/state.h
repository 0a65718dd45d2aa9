/*
 * Job: the state of one stream's extraction, shared by extractor.c (its life), ask.c (who reads a line), match.c (lines to
 *      values), place.c (values to points), owner.c (names of series) and extractor_pack.c. Internal to extract/.
 * Ownership: see extract.h. Threads: one at a time.
 */
#pragma once

#include "extract/attempt.h"
#include "extract/definition.h"
#include "extract/format.h"
#include "extract/generic/memory.h"
#include "extract/generic/records.h"
#include "extract/guide.h"
#include "extract/line/partial.h"
#include "extract/line/slot.h"
#include "extract/line/unwrap.h"
#include "extract/sent.h"

enum { HELD_MAX = 512, RECENT_MAX = 8, RECENT_LINE_BYTES = 200, RECORD_LINES = 64 };
enum { RECENT_BYTES = RECENT_MAX * (RECENT_LINE_BYTES + 1) };

/* A value found in a segment, before it is known at which step. */
struct found {
	uint32_t definition;
	int32_t rank;
	struct span name; /* of a definition with a name group */
	struct span text; /* the value's, in the line */
	struct span unit; /* that the text says, where the definition states none */
	bool has_step;
	bool has_epoch;
	bool step_follows; /* the record ends with its step */
	bool has_loss; /* on the same line */
	bool is_evaluation; /* of the step of who leads */
	bool is_in_record; /* below a line that says the step alone */
	bool is_of_bar;
	bool is_of_curve; /* of an object that is a whole curve (generic/curves.h) */
	int64_t step; /* raw */
	int64_t epoch;
	int64_t total; /* that the step runs to; 0: not said */
	double value;
	uint32_t slot; /* once known */
	int64_t placed; /* the step on the axis, with has_step */
};

/* A point that waits: for the step at the end of its record, or for the reason to show its guessed metric. */
struct held {
	uint32_t slot;
	bool waits_for_step;
	struct point point;
	struct span unit; /* while its line lives */
	struct extracted_mark mark; /* not packed */
	bool lacks_step, is_counted; /* not packed, either */
};

/* One part of a line. */
struct segment {
	struct line_view view;
	size_t start; /* of its prefix: where an expression with a '^' matched; others look from there */
	int32_t rank; /* that the prefix says */
	int32_t bare_rank; /* srun's number, be it a rank or a counter */
	struct span name; /* of a series: the last one that a match gave; of an earlier line: in format->name */
};

struct extractor {
	struct attempts attempts; /* tracks[i] belongs to slots.items[i] */
	struct sent_steps sent;
	struct slots slots;
	struct formats formats; /* of explicit definitions one, without a preset */
	struct formats guide; /* of a guided set: whose rules find the step */
	bool wants_marks; /* not packed */
	bool is_guided; /* false: begun by a program that counted instead, and goes on so until the definitions change */
	struct step_seen step; /* the last one of who leads; also of formats before the definitions changed */
	bool has_several; /* the slots are of more than one preset */
	struct segment segment; /* the last of them: while its line lives */
	uint64_t segments; /* looked at; not packed: only tells one from the next */
	struct bars bars;
	struct generic_memory generic;
	struct record_state records; /* told of each line once, by whoever asks first */
	int32_t bare_rank; /* srun's number of the last line that had one */
	bool is_srun; /* it is no counter of the trainer's */
	bool has_fallen; /* one was lower than the one before it: else they may count lines */
	bool has_echo; /* two said the same behind one another; with bare_said only of lines before any step, and not packed */
	uint64_t bare_said; /* a hash of what the last of these said */
	bool is_surely_srun; /* before any line said a step, where no counter is yet, they fell, came again or said the same; or one fell within an epoch */
	struct prefix_memory prefixes;
	struct buf recent; /* the last lines that nobody took: they may have said the step of a format to come */
	size_t recent_from; /* what stands in front of it is forgotten */
	uint32_t recent_count;
	struct buf header; /* of the CSV that is being read */
	struct partials partials; /* lines that a container runtime has cut */
	struct held *held;
	size_t held_count;
	size_t held_cap;
	struct buf narrow; /* scratch: a line of UTF-16 as ASCII */
	struct buf plain; /* scratch: a line without its escapes */
	struct buf unwrapped; /* scratch: the message of a record */
	struct unwrap_trace trace; /* of the message, when marks are wanted */
	struct buf names; /* scratch: of what was found, when they do not stand in the segment as they are */
	struct found *found; /* scratch: of one segment */
	size_t found_count;
	size_t found_cap;
};

/* What all segments of one line share, and what is asked of the present one. */
struct run {
	struct extractor *extractor;
	const struct definition_set *set;
	struct format *format; /* who is asked */
	const struct definition_list *list; /* its definitions */
	struct track *tracks; /* theirs, until slots are added; of a candidate none of the stream's */
	struct regex_scratch *scratch;
	const struct extract_line *line;
	struct span given; /* its text, of a line in parts that of the last one alone */
	struct span text; /* without escapes */
	struct span message; /* of a record, which is read instead of the line; NULL: it is none */
	int64_t arrival_ms;
	int64_t shown_ms; /* once is_time_known; NO_TIME when there is none */
	bool is_time_known;
	bool has_match; /* of any format */
	bool is_side_bar; /* to who is asked: a bar, and not the training's */
	bool is_guided; /* the set, and the stream */
	struct record_state *records; /* as they were before the segment `records_at` */
	uint64_t records_at;
	struct record_line record; /* what the segment is of */
	bool has_unread; /* it says something that generic/ did not understand: the next of its shape may be clearer */
	bool has_looked; /* a sieve, for lines that may be a start */
	bool may_be_start; /* line_hint.h has to look */
	bool is_narrowed; /* the text was UTF-16: what stands where in the line is not known */
	unsigned marks; /* looked for on the line: each takes a way through it */
	struct extracted_list *out;
};

/* match.c: fills extractor->found with what run->format captures on the segment. */
enum status match_segment(struct run *run, struct error *err) MUST_CHECK;
/* ask.c: the formats of the stream read the segment, and others that know it join them. */
enum status ask_formats(struct run *run, struct error *err) MUST_CHECK;
/* learn.c: true when the prefix of the segment, which was not known, now is. */
bool learn_prefix(struct run *run);
/* The format is who is asked. */
void run_use(struct run *run, struct format *format);
/* What a later match without a name is called by: the last one that a match gave. */
void run_keep_name(struct run *run);
/* Finds or makes its slots. *has_room: false when the stream has too many. */
enum status run_give_slots(struct run *run, struct format *format, bool *has_room, struct error *err) MUST_CHECK;
/* guided.c: the step of the segment for what was found without one, or by itself for what comes behind it. */
enum status guide_segment(struct run *run, struct error *err) MUST_CHECK;
/* extractor.c: one of the last lines that nobody took. */
void extractor_remember(struct extractor *extractor, struct span segment);
/* The lines remembered, each with its '\n', the oldest first. */
struct span extractor_recent(const struct extractor *extractor);
void extractor_forget_recent(struct extractor *extractor);
/* Of its definitions; NULL when the stream has none at all. */
static inline struct track *extractor_tracks(const struct extractor *extractor, const struct format *format)
{
	return extractor->attempts.tracks ? extractor->attempts.tracks + format->first_slot : NULL;
}
/* Every definition that is not left out was tried on the segments so far. */
void format_settle_tried(struct format *format, struct track *tracks);
/* The step seen last for who is asked: its own, else that of the one that leads. NULL: none. */
const struct step_seen *run_step(const struct run *run);
/*
 * owner.c: where a point of the slot goes: another one when its name belongs to another format. SLOT_NONE: no room. False: no
 * memory.
 */
bool owner_find_slot(struct run *run, uint32_t *slot);
/* match_csv.c: the same for a row of numbers or its header; false: no memory. */
bool match_csv(struct run *run, uint32_t index, struct span segment, int32_t rank);
/* match_generic.c: the same for a line that is read by no expression. */
bool match_generic(struct run *run);
/* mark.c: where on its line a value stands. */
struct extracted_mark mark_found(const struct run *run, const struct found *found);
/* place.c: what was found becomes points. */
enum status place_found(struct run *run, struct error *err) MUST_CHECK;
/* What waited for the end of a record, which has come. */
enum status place_record_end(struct run *run, struct error *err) MUST_CHECK;
/* A step that a line says without a value. */
enum status place_step(struct run *run, const struct guided *guided, struct error *err) MUST_CHECK;
