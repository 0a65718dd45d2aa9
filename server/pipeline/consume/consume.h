/*
 * Job: extraction and detection of slices, stream by stream.
 * Ownership: states are the directory's. Threads: an extract thread, under the stream's lock but for consume_slice, which takes it.
 */
#pragma once

#include "state/streams/directory.h"
#include "state/pipeline_state.h"

/*
 * Takes the stream's lock. A slice that fails for want of memory ends the extraction of its stream until it is read again (mend.h) from
 * the journal: half of it is in the state, so it can be neither taken again nor passed over, and nothing from it on is sealed.
 */
enum status consume_slice(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err) MUST_CHECK;

/* The same of a stream that is held up, which it stays: whoever listens is not sent it. */
enum status consume_again(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err) MUST_CHECK;

/* Under the stream's lock: half of something is in its state, so it is read again from the journal, and is not sealed before. */
void consume_hold_up(struct stream_state *stream);

/* It cannot be read: what is behind it goes on. */
void consume_pass_over(struct stream_state *stream, uint64_t seq, const struct journal_slice *slice);
bool consume_has(const struct stream_state *stream, const struct journal_slice *slice);

/* False: more was committed than was extracted, and it stays held up. */
bool consume_close_hole(struct stream_state *stream);

/* Under the stream's lock. *out NULL: there is none, and there may be no more. */
enum status consume_find_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct metric_definition *definition, struct series_state **out, struct error *err) MUST_CHECK;
/*
 * The series of an extractor's number, by a point of it: several numbers may feed one metric, and a new generation goes on with the old
 * series. *out stays NULL where the stream has as many as it may: that metric is left out, the others go on.
 */
enum status consume_series_of(struct pipeline *pipeline, struct stream_state *stream,
	const struct definitions *definitions, const struct extracted *one, struct series_state **out,
	struct error *err) MUST_CHECK;
/* The value, in the unit of the series that consume_series_of found; once. */
void consume_convert(const struct stream_state *stream, struct extracted *one);
/*
 * found->items[first] is the first point of its number, by its own count. Of a metric that goes on behind a change of definitions it is
 * not the first: that and those behind it count on.
 */
void consume_count_on(struct stream_state *stream, const struct definitions *definitions,
	const struct series_state *series, const struct extracted_list *found, size_t first);
/*
 * A value without a step: *is_taken: not as a point of its own, since a tracker tells that metric with its steps, or may do so yet (consume_held.c).
 * Whoever defines a metric means its lines; of times and rates others are derived. The series is there in any case: its number must not depend
 * on what was told by when.
 */
enum status consume_see_told(struct pipeline *pipeline, struct stream_state *stream,
	const struct definitions *definitions, const struct extracted *found, struct series_state *series,
	int64_t arrival_ms, bool *is_taken, struct error *err) MUST_CHECK;
/* A value with its step: it is a point of the log whatever is told. Behind the end of a tracker's run it answers for its role again. */
enum status consume_see_step(struct stream_state *stream, const struct definitions *definitions,
	const struct extracted *found, struct series_state *series, int64_t arrival_ms, struct error *err) MUST_CHECK;
/* A number of a series that the job's tracker tells by the same name: it is none of that series' points, whatever step its line says. */
bool consume_is_told_there(const struct stream_state *stream, const struct extracted *found,
	const struct series_state *series, int64_t arrival_ms);
enum status consume_find_derived(
	struct stream_state *stream, enum derived derived, struct series_state **out, struct error *err) MUST_CHECK;
/* Of ROLE_OTHER it answers for no role any more, and nothing is looked for in it. */
enum status consume_give_role(struct series_state *series, enum role role, struct error *err) MUST_CHECK;
/* As long as it is told, what was read of it before stands as a metric of the log, for no role. before NULL: there is none. */
enum status consume_give_way(struct series_state *before, bool is_told, enum role role, struct error *err) MUST_CHECK;
/* It has room for one more in its tail. */
void consume_add_point(struct series_state *series, const struct point *point);
enum status consume_point(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct point *point, int64_t arrival_ms, struct error *err) MUST_CHECK;
/* The same of a point that may be of the next training or of this one: against neither's curve it says anything. */
enum status consume_point_between(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct point *point, int64_t arrival_ms, struct error *err) MUST_CHECK;

/*
 * consume_waiting.c: a sent point that may be of a restart (extract/sent.h) is kept, but detectors see it once that is decided: with its own
 * attempt's number, or as any other. What is no number is one in either, and waits for nothing.
 */
bool consume_may_wait(const struct stream_state *stream, const struct series_state *series, const struct point *point);
void consume_wait(struct stream_state *stream, struct series_state *series, uint64_t ordinal);
/* Decided. */
enum status consume_waiting(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err) MUST_CHECK;
/* The stream is sealed all the same, since nothing more came of it for an hour, or the journal is long. To look at them now would take what may be a
 * training from its start for a spike of the one before. */
void consume_forget_waiting(struct stream_state *stream);
/* A point that is kept, by its detectors. number_ms: when the one before came; 0: there is none, or the point is a number. */
enum status consume_look_at(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	uint64_t ordinal, const struct point *point, int64_t number_ms, int64_t arrival_ms,
	struct error *err) MUST_CHECK;

/*
 * What was said of a series' metric before ts_ms in other series of its stream: lines of another form say it, also those that wait for a tracker or
 * are passed over beside one, or a tracker tells it. *usual, of numbers: the last one.
 */
enum said {
	SAID_NUMBERS = 1,
	SAID_PRINTED_NONE = 2, /* a NaN or an infinity that is looked for */
	SAID_TOLD_NONE = 4, /* the same, by the tracker */
};
unsigned consume_said_by_others(const struct stream_state *stream, const struct series_state *series, enum role role,
	int64_t ts_ms, double *usual);
/* So its detectors know, when its first value is none. */
void consume_feed_usual(struct series_state *series, const struct point *point, double usual);
/*
 * What any line is read by has no role beside a format that is known, nor has what gave way to a tracker's. Where it says no number it is about
 * what it is called by.
 */
enum role consume_role_of_no_number(const struct series_state *series, enum role role);
/* A form of line that comes with a NaN, where others have said the metric of that name with numbers: that is no trainer's first word. The
 * series has their role from then on. */
enum status consume_expect_by_others(const struct stream_state *stream, struct series_state *series,
	const struct point *point, struct error *err) MUST_CHECK;

/* When a line or a point that was sent as such is of, under the stream's lock. */
void consume_time(struct stream_state *stream, int64_t ts_ms);

/* Some of its points are superseded by now, and its summary has them. */
void consume_rebuild_summary(struct stream_state *stream, struct series_state *series);

/* A point that was made again since is not counted: whoever takes it gives the series the summary of before. */
bool consume_is_made_again(
	const struct stream_state *stream, const struct series_state *series, const struct point *point);

/* The newest attempt has opened: what was sent since it began is of it. */
void consume_opened(struct stream_state *stream);
/* Of a series that has come to the millisecond in which an attempt began: what of it is of the attempt before, by the order of its points.
 * True: some are, and its summary has them. */
bool consume_cut_start(struct stream_state *stream, struct series_state *series, uint32_t attempt);
/* True: an attempt was taken back, and the points that had it are of the one before again. */
bool consume_revised(struct stream_state *stream);

/* consume_axes.c: series whose steps are others than those of the series that leads. An attempt has opened. */
void consume_await_axes(struct stream_state *stream, uint32_t attempt);
/* It was none. */
void consume_revise_axis(struct series_state *series, uint32_t attempt);
/* At the end of a slice, when all series have told theirs. */
enum status consume_follow_axes(struct stream_state *stream, struct error *err) MUST_CHECK;

/* What a line says of the job's settings. */
enum status consume_settings(
	struct stream_state *stream, struct span text, uint64_t number, struct error *err) MUST_CHECK;

/* What follows from the line whose points were consumed. */
enum status consume_derived(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err) MUST_CHECK;

/* A slice of points that were sent as such. */
enum status consume_points(struct pipeline *pipeline, struct stream_state *stream, const struct journal_slice *slice,
	struct error *err) MUST_CHECK;

/*
 * consume_held.c: a metric that lines print without its step, in a job with a tracker's run. Its first values wait until the tracker has told
 * that metric (then they are the tracker's, and dropped), or for --tracker-wait, or until the job ends (then they are the log's own).
 * Clients of trackers send behind what they print: W&B's each 15 seconds.
 */
/* Counts lives of the job and processes of its tracker: what was the log's own in one period may be told in the next. */
unsigned held_period(const struct stream_state *stream);

/* Whether a value without a step of this series waits. */
bool held_may(const struct pipeline *pipeline, const struct stream_state *stream, const struct series_state *series);

enum status held_put(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct error *err) MUST_CHECK;

/* Of a metric that the tracker told, printed behind the end of its run: nobody else tells it. */
bool held_is_alone(const struct stream_state *stream, int64_t ts_ms, int64_t arrival_ms);
/* So it is decided of this series, by what came before. */
bool held_goes_on_alone(const struct stream_state *stream, const struct series_state *series);
/* A last word about the whole training is no curve that goes on: the first ones wait, but for a NaN that is news. False: none may wait. */
bool held_may_alone(const struct pipeline *pipeline, const struct stream_state *stream);
enum status held_put_alone(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, const struct told_when *when, struct error *err) MUST_CHECK;

/* So its lines that say their step go on with that role, from this point on. */
enum status held_take_back(struct stream_state *stream, struct series_state *series, const struct point *point,
	enum role role, const struct told_when *when, struct error *err) MUST_CHECK;

/* It says a step now: what waits of it is due before. */
void held_end_wait(struct series_state *series);

/* Roles of which a NaN is looked for. */
bool held_looks_for(enum role role);

/* A value of a metric that the tracker tells makes no point. But a first NaN of a loss or a norm waits, too: the tracker may not be told it. */
enum status held_pass_over(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct error *err) MUST_CHECK;

/* Those whose time has come; is_all: and the others. Within a slice. */
enum status held_release(
	struct pipeline *pipeline, struct stream_state *stream, bool is_all, struct error *err) MUST_CHECK;

/*
 * Between these, under the stream's lock, what waits is points of its series, as it may never be: for a copy of the stream. What detectors say
 * of it is told to nobody here.
 */
struct held_shown {
	struct series_state *before;
	size_t count;
	struct said_list *said; /* NULL: nothing waits */
};
/* To be hidden after an error, too. */
enum status held_show(struct stream_state *stream, struct held_shown *shown, struct error *err) MUST_CHECK;
void held_hide(struct stream_state *stream, struct held_shown *shown);

/* What was found of an attempt belongs to another one: as consume.c does with points. */
void held_revise(struct series_state *series, uint64_t line, uint32_t from, uint32_t to);

/* Of all streams: what waits longer than it should, or for a job that has ended. */
void held_run(struct pipeline *pipeline);

void *extract_run(void *worker);
void group_unref(struct pipeline *pipeline, struct group *group);

/* Everything up to this number was extracted. */
uint64_t pipeline_extracted_seq(struct pipeline *pipeline);
