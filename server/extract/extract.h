/*
 * Job: metric definitions compiled to one immutable set; lines of one stream, in order, to points: values, steps, attempts.
 * Ownership: new/free. Threads: a set is immutable and shared; an extractor (the state of one stream) belongs to whoever
 *      holds its stream's lock. Pure: no clock, no I/O; the same lines in the same order give the same points.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/codec/pack.h"
#include "base/text/regex.h"
#include "model/metrics/metric.h"
#include "model/metrics/point.h"

struct definition_set;

enum { DEFINITIONS_MAX = 100 };

/*
 * From MetricDefinitions: an array of {Name, Regex, Step?, Role?, Unit?, Higher?}. ERR_SEMANTIC with field
 * ("MetricDefinitions[2].Regex") and the column inside the expression. An empty array or NULL: the preset form, which
 * finds the presets that each stream speaks by what they capture on its lines (format.h).
 * [{"Preset": "nanogpt"}] is that preset without waiting.
 */
enum status definition_set_new(struct definition_set **out, const struct json *definitions,
	const struct definition_set *presets, struct error *err) MUST_CHECK;
/*
 * From the data file presets.json: {"presets":[{"name","detect":regex,"definitions":[…]}]}, tried in their order. The
 * result serves only as `presets` above and lives longer than what was made from it.
 */
enum status definition_presets_new(struct definition_set **out, struct span json, struct error *err) MUST_CHECK;
void definition_set_free(struct definition_set *set);

/* Of the set itself (explicit definitions), or of a preset by its number. */
size_t definition_set_count(const struct definition_set *set, int preset);
struct metric_definition definition_set_get(const struct definition_set *set, int preset, size_t index);
bool definition_set_is_preset_form(const struct definition_set *set);
/* Has definitions of a user's that do not say where the step is: it is looked for on the line, by the rules of the presets. */
bool definition_set_is_guided(const struct definition_set *set);
int definition_set_preset_find(const struct definition_set *set, struct span name); /* -1: there is none */
bool definition_set_preset_is_renamed(
	const struct definition_set *set, int preset); /* its name is an older one of another */
const char *definition_set_preset_name(const struct definition_set *set, int preset); /* NULL for -1 */

/*
 * What happened to one definition in one stream. Searches that take more than a hundredth of the match limit are charged to
 * it, each line pays a little back. One that owes too much (100 lines in a row at the limit, 1000 at a tenth of it) is not
 * tried again until extractor_reset_definitions: then `tried` stands still, and `limited` grows with each line.
 */
struct definition_health {
	uint64_t tried; /* lines (segments) it was run on */
	uint64_t matched; /* lines where it matched */
	uint64_t not_numeric; /* matched, but the captured text is no number */
	uint64_t
		limited; /* not looked at as a whole: given up at the match limit, matched but cut short (a line longer than
			     --max-line-bytes, more matches on one line than are read, names of more series than a
			     stream may have), or not tried any more */
	uint64_t missing; /* lines where "None", "n/a", "-" or the like stands in its place */
	uint64_t
		without_step; /* matched, and no step stands on the line, nor just before it in a record of several lines */
};

enum { EXTRACT_MARKS_MAX = 64 }; /* of a line; the values behind them have none */

/* What of a line became a point (extractor_want_marks). */
struct extracted_mark {
	uint32_t start, end; /* bytes of the text of the line `point.line`; 0, 0: not known */
	double value; /* as said there, in the metric's unit */
	bool has_step;
	int64_t step; /* as said there, or above or below in its record: not unrolled over epochs */
};

/* A point found: which series of the stream it belongs to. */
struct extracted {
	uint32_t definition; /* index in the set, or in its preset's */
	uint32_t series; /* number in the stream: one definition may have many (names out of the text, ranks) */
	struct point point;
	struct span unit; /* that the text says, where the definition states none; while the line lives */
	struct extracted_mark mark;
	bool lacks_step; /* neither its line nor its record says one: it is the last one that was seen, or a count */
	bool is_counted; /* it is a count */
};

struct extracted_series {
	int preset; /* whose definition; -1: of the set itself */
	uint32_t definition;
	struct span name; /* out of the text; empty: the definition's */
	int32_t rank; /* -1: no label */
	bool is_beside; /* label preset="NAME": the name belongs to another preset of the stream */
	bool is_beside_guess; /* and this one is what any line is read by */
};

/* A preset that a stream speaks. */
struct extracted_format {
	int preset;
	uint64_t lines; /* that it took */
	uint64_t last_line; /* the last of them, by its number in the stream */
};

struct extracted_list {
	struct extracted *items;
	size_t count;
	size_t cap;
};
void extracted_list_done(struct extracted_list *list);

struct extractor;

struct extractor *extractor_new(void) __attribute__((warn_unused_result));
void extractor_free(struct extractor *extractor);

struct extract_line {
	struct span text;
	int64_t ts_ms; /* log time if the protocol stated one, else NO_TIME of model/metrics/batch.h */
	uint64_t number; /* of the line in its stream */
	bool is_cut; /* text is not all of it */
};

/*
 * Appends the points of one line to `out` (which the caller clears). A line is cut into segments at '\r'; ANSI escapes
 * are skipped; every definition runs on every segment (of several segments that match, each gives a point). A line that a
 * container runtime has cut gives what it gives with its last part.
 * arrival_ms is the log time of a line that neither states nor shows one. A value that takes its step from a line at
 * most 64 further up (a record of several lines) takes the time shown there too.
 *
 * Step: the `step` group, else step_regex on the segment, else the step found on the segment, else (of definitions that say
 * nothing of a step) where the preset that knows the format finds it, or the generic rules do; else the stream's last seen
 * step, else the definition's own count from 0; in a preset that counts its losses so, what comes more seldom stands at the
 * last of them. When an `epoch` group grows as the step falls back, the step is unrolled (base + step), so that a per-epoch
 * counter gives a global axis; a per-epoch counter without an epoch group is unrolled from where it is recognised on (its third
 * epoch; its second, where it had come to the total that the line says).
 * Attempt: see attempt.h and docs/decisions/0014-attempts.md. An attempt opens when a definition's step goes back while log
 * time does not, and it stays back for five of its points, or a start-up or checkpoint-load line came between; per-epoch
 * counters excepted. While that is open the points carry the new attempt. If it turns out to be a late chunk or a stray line
 * instead (the step jumps back above the old maximum within five points), extractor_take_revision says from which line on the points get their
 * old attempt again.
 */
enum status extract_line(struct extractor *extractor, const struct definition_set *set, struct regex_scratch *scratch,
	const struct extract_line *line, int64_t arrival_ms, struct extracted_list *out, struct error *err) MUST_CHECK;

/*
 * From now on points say where they stood; not in all but the last part of a line that a container runtime has cut.
 */
void extractor_want_marks(struct extractor *extractor);
/*
 * When the job's processes broke off and began, by time, as others than the stream's lines say (copied); `changes` comes back from
 * extractor_break_changes, 0 before any was said. False: no memory.
 */
bool extractor_set_breaks(struct extractor *extractor, const int64_t *at_ms, size_t count, unsigned changes)
	__attribute__((warn_unused_result));
unsigned extractor_break_changes(const struct extractor *extractor);
/* The lines to come stand elsewhere in the log: the name that was said last is none of theirs. */
void extractor_leave_place(struct extractor *extractor);

/*
 * True once after a provisional attempt was taken back: points from line on with attempt `from` are of attempt `to` (those
 * of the line just extracted already say so). To be asked after each line: while an answer waits, no other opens.
 */
bool extractor_take_revision(struct extractor *extractor, uint64_t *line, uint32_t *from, uint32_t *to);
/* True once after the newest attempt turned out to have begun at an earlier step: its first lines came behind later ones. */
bool extractor_take_move(struct extractor *extractor);
bool extractor_is_undecided(
	const struct extractor *extractor); /* an attempt is provisional, or may open in what was sent: do not seal */
bool extractor_is_on_trial(const struct extractor *extractor); /* the newest attempt may be taken back yet */

uint32_t extractor_attempt(const struct extractor *extractor); /* from 1 */
/* That of a line that says no value: of an earlier one where it stands in a batch that comes late. */
uint32_t extractor_attempt_of_line(const struct extractor *extractor, int64_t ts_ms);

/*
 * Points of the stream that were sent as such (sent.h). One series leads: the first of a loss, else the first of all. True: it is this one.
 */
bool extractor_is_led_by(struct extractor *extractor, struct span metric, bool is_loss);
struct sent_step {
	int64_t step, ts_ms;
	int64_t arrival_ms; /* ts_ms is the same: it was sent without its time */
	bool may_be_none; /* a 0 that its sender also sends for no step: alone it is no restart */
};
/* A step of the series that leads. *is_open: it has opened an attempt, that of all points sent since extractor_began_ms. */
enum status extractor_place_sent(
	struct extractor *extractor, const struct sent_step *at, bool *is_open, struct error *err) MUST_CHECK;
/* When points that were sent began it; INT64_MAX: lines alone did. */
int64_t extractor_began_ms(const struct extractor *extractor, uint32_t attempt);
/* Since when what is sent may be of a restart that is not sure yet; INT64_MAX: it is not. */
int64_t extractor_fallen_ms(const struct extractor *extractor);
/* Their sender begins anew: if its steps go back, that is an attempt. */
void extractor_begin_sent(struct extractor *extractor);
/* It does, and no step since has said where it stands. */
bool extractor_has_begun_sent(const struct extractor *extractor);
/* Of a point that was sent with this time. */
uint32_t extractor_attempt_of_sent(const struct extractor *extractor, int64_t ts_ms);
/* The attempt that points have begun which were sent with this very time, as the last ones of the attempt before may have been; 0: none. */
uint32_t extractor_begun_at(const struct extractor *extractor, int64_t ts_ms);
/* Behind a body: what is not decided does not stay so for long. */
void extractor_end_sent(struct extractor *extractor, int64_t arrival_ms);
/* Of one stream; those behind are of the last. */
enum { ATTEMPTS_MAX = 1000 };
/* Attempts that sent points opened are those of a state that was made again from lines, too, unless these opened more. */
enum status extractor_keep_sent(
	struct extractor *extractor, const struct extractor *before, struct error *err) MUST_CHECK;
/* Steps at which the attempts opened: attempt i + 1 at starts[i]. */
size_t extractor_attempt_starts(const struct extractor *extractor, const int64_t **starts);
int64_t extractor_last_step(const struct extractor *extractor); /* the last one seen; -1: none */
/* Of the line just extracted, which still is there: its text without escapes and prefixes, of several parts the last. */
struct span extractor_peeled(const struct extractor *extractor);
/* The same without launchers' tags and times alone: what logger printed it tells forms of lines apart. */
struct span extractor_untagged(const struct extractor *extractor);
bool extractor_has_steps(const struct extractor *extractor); /* a line has said one */
/* The last one of a run, as said beside a step ("12/500"): of the loss, or of a progress bar. 0: not said since the start. */
int64_t extractor_total(const struct extractor *extractor);
/* Who leads: of the presets that the stream speaks the one with the most lines; -1: none (yet). */
int extractor_preset(const struct extractor *extractor);
/* The presets that know lines of it, also where definitions take their steps by their rules. */
size_t extractor_known_count(const struct extractor *extractor);
int extractor_known_at(const struct extractor *extractor, size_t index);
/* Why that one: "matched 12 of the first 40 lines: 'iteration …'"; nothing is appended when there is none. */
void extractor_preset_reason(const struct extractor *extractor, struct buf *out);
/* All that captured values, the one that leads first. Explicit definitions have none. */
size_t extractor_format_count(const struct extractor *extractor);
struct extracted_format extractor_format_at(const struct extractor *extractor, size_t index);
void extractor_format_reason(const struct extractor *extractor, size_t index, struct buf *out);
/* The definitions of all of them together, or the explicit ones. */
size_t extractor_definition_count(const struct extractor *extractor, const struct definition_set *set);
/* Of a definition of that preset; of explicit ones `index` is 0. */
struct definition_health extractor_format_health(const struct extractor *extractor, size_t index, size_t definition);
/* A number stays the same series until extractor_reset_definitions. Spans last until the extractor changes. */
struct extracted_series extractor_series(const struct extractor *extractor, uint32_t series);
/* The series' name with its labels: train:loss, train:loss{rank="3"}, train:loss{preset="nanogpt"}. `set` is what gave the point. */
void extractor_series_name(
	const struct extractor *extractor, const struct definition_set *set, uint32_t series, struct buf *out);
/* Of the definitions themselves, or of the preset that leads. */
struct definition_health extractor_health(const struct extractor *extractor, size_t definition);
/* A change of definitions (a new generation): counts and the preset start anew, steps and attempts go on. */
void extractor_reset_definitions(struct extractor *extractor);
/* False: another number of these definitions has points of the same series. */
bool extractor_is_alone(const struct extractor *extractor, const struct definition_set *set, uint32_t series);
/* Where the number's points have no step, they were counted to here already. */
void extractor_count_on(struct extractor *extractor, uint32_t series, uint64_t count);

/* The whole state, for the sealer; a restored extractor goes on as if it had never stopped. */
void extractor_pack(struct extractor *extractor, struct buf *out);
enum status extractor_unpack(struct extractor **out, struct unpacker *in, struct error *err) MUST_CHECK;

AUTO_TYPE(definition_set)
AUTO_TYPE(extractor)
AUTO_DONE_TYPE(extracted_list)
