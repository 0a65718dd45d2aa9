/*
 * Job: what is in RAM of jobs and streams that are being written: committed counts, unsealed line ranges and points, the
 *      state of the consumers. Everything here can be rebuilt from the store and the journal.
 * Ownership: reference counts; the directory holds one on each job, a job one on each of its streams.
 * Threads: each field says who. "lock" is the stream's mutex: held for one slice by extraction, shortly by all others.
 *      Order: a stream's mutex, then its job's; never the other way round (walk the streams by job_stream_at).
 */
#pragma once

#include "alert/rule.h"
#include "base/buf.h"
#include "base/map.h"
#include "detect/detector.h"
#include "detect/pace_watch.h"
#include "detect/rhythm.h"
#include "extract/definition.h"
#include "extract/derive.h"
#include "extract/extract.h"
#include "extract/settings/settings.h"
#include "fleet/lr_watch.h"
#include "model/metrics/metric.h"
#include "model/metrics/own_axis.h"
#include "model/metrics/point.h"
#include "model/jobs/stretches.h"
#include "model/jobs/totals.h"
#include "state/watchers/backfill_incidents.h"
#include "state/watchers/clock_skew.h"
#include "state/jobs/job_settings.h"
#include "state/streams/held_values.h"
#include "state/streams/kept_filter.h"
#include "state/streams/told_metrics.h"
#include "store/jobs.h"
#include "store/store.h"
#include "store/tracked_runs.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * A stream has 1 << SERIES_BITS numbers for its series: one half for those that are shown, the other for a back-fill's; in each
 * the last ones are those of derived metrics.
 */
enum { SERIES_BITS = 12, SERIES_HALF = 1 << (SERIES_BITS - 1), SERIES_DERIVED = SERIES_HALF - 16 };

struct rule_set;
struct watcher; /* watchers.h */
struct signs; /* signs.h */
struct log_scores; /* state/watchers/score_state.h */
struct silences; /* silence.h */

struct definitions { /* immutable, counted */
	atomic_uint refs;
	uint32_t generation;
	struct definition_set *set;
	char *damage; /* why they cannot be read: nothing is extracted by them; NULL: they can */
};
struct definitions *definitions_ref(struct definitions *definitions);
void definitions_unref(struct definitions *definitions);

/* Unsealed lines or points of a stream: where they are in the journal. Of points, line_count is 0. */
struct tail_range {
	uint64_t seq;
	uint64_t first_line;
	size_t line_count;
	size_t text_bytes;
	int64_t arrival_ms;
	uint64_t first_point;
	size_t point_count;
	struct kept_filter *filter; /* of lines that are a block; NULL: it is to be made */
};

/* The best of what is sealed, as far as a ranking has read it (pipeline/jobs/rank_jobs.c). */
struct series_best {
	uint64_t points; /* so many of the first ones */
	uint64_t starts; /* of the attempts by which they counted */
	bool is_higher_better;
	double value; /* NaN: none is finite */
	int64_t step;
};

struct series_state { /* lock */
	uint32_t series_id; /* stream_id << 12 | number in the stream: the same after every replay */
	char *metric;
	char *unit;
	enum role role;
	int higher;
	enum measure measure; /* of what derived metrics are made */
	double factor; /* to its base unit */
	struct summary summary;
	int64_t min_step, max_step, min_ms, max_ms;
	struct own_axis axis;
	uint64_t sealed_points; /* ordinal of tail[0] */
	struct series_best best;
	struct point *tail;
	size_t tail_count, tail_cap;
	uint64_t published; /* ordinal of the next point to be published */
	struct totals totals; /* of a distribution's counts: its last reading */
	struct detector_set *detectors;
	struct watcher *watchers; /* watchers.h */
	size_t watcher_count;
	uint64_t watched_by; /* the version of the rules that they were bound to; 0: none yet */
	unsigned life; /* of the job, in which what is open was asked for again */
	uint32_t paces_seen; /* of what the detectors say of its pace */
	struct pace *paces; /* those that stragglers.c has not fetched yet; of step time and throughput only */
	size_t pace_count, pace_cap;
	bool needs_summary; /* an attempt opened: the summary still holds superseded points that were sealed */
	bool is_told; /* sent as points with steps (told_metrics.h) */
	bool says_steps; /* sent with a step that can be no "none" (batch_series.h) */
	bool has_stated_steps; /* by its lines, since the start: those are read as ever, whatever the others wait for */
	bool has_given_way; /* of lines: its role is that of what is told, until the job goes on without */
	unsigned told_life; /* in which its job knows that; 0: it was read from the store */
	unsigned own_period; /* of lines: in which its values do not wait for a tracker (any more); consume.h */
	struct held_values held;
	bool is_waiting; /* detectors have not seen its points from this ordinal on: they may be of a restart (consume_waiting.c) */
	uint64_t waits_from;
	bool has_passed_over;
	double passed_over; /* the newest finite value of lines that a tracker tells */
};

/* The last log time known of a source's lines of the past, on disk; 0: none. */
enum { PAST_SOURCES = 4 };
struct past_source {
	uint64_t source; /* hash of its name */
	int64_t past_ms;
};

struct host_lines { /* lock: where its machine changed */
	uint64_t *at;
	size_t count, cap;
	size_t planned; /* the writer's, behind them */
};

/* Streams that somebody has to look at. */
enum stream_list_kind {
	STREAMS_DIRTY, /* what is shown of them is old: the publisher */
	STREAMS_HOLDING, /* values of theirs wait for a tracker: maintenance */
	STREAM_LISTS
};

struct stream_link {
	struct stream_state *next;
	bool is_in;
};

struct numbered_series {
	struct series_state *series; /* NULL: no point yet */
	int factor; /* by which a value is multiplied (below 0: divided) that another form of line prints in another unit of time; 0: none */
};

struct stream_state {
	struct job_state *job; /* not counted: the job owns the stream */
	uint32_t stream_id;
	char *name;
	char *host; /* lock: that sends now; "": not known, or several do */
	/* Writer only. planned: inside the open group; committed: on disk. */
	struct {
		char *planned; /* host, when the open group changes it; else NULL */
		uint64_t said_hash; /* of the one that was stated last; 0: none since the start */
		int64_t changed_ms; /* when what was stated last changed */
		bool is_shared; /* as far as it was read */
		bool is_by_hand; /* whose it is was set; what is told is noted beside that */
	} hosts; /* hosts.c */
	uint64_t planned_line, planned_byte, planned_point;
	enum {
		COUNT_IS_UNKNOWN, /* the store knows */
		COUNT_IS_WHOLE, /* all its bytes came with an offset and no source */
		COUNT_HAS_ROW,
	} planned_count; /* sources.c; as the transaction that is open has it */
	struct stream_state *next_touched;
	bool is_touched;

	pthread_mutex_t mutex;
	/* lock */
	struct host_lines host_lines;
	uint64_t committed_line, committed_byte;
	struct past_source past[PAST_SOURCES];
	/* Points that were sent as such have numbers of their own: what is on disk, consumed, and in chunks. */
	uint64_t committed_point, extracted_points, sealed_sent_points;
	struct tail_range *ranges;
	size_t range_count, range_cap;
	size_t unsealed_bytes;
	int64_t heard_mono_ms; /* when its newest line came, on the monotonic clock */
	uint64_t sealed_seq, sealed_lines, sealed_bytes; /* replay goes on at line sealed_lines */
	uint64_t text_lines; /* maintenance: up to where its blocks go; below sealed_lines: not known to go further */
	uint64_t extracted_seq, extracted_lines, extracted_bytes;
	atomic_bool
		has_hole; /* a slice was extracted in part: none behind it is, and none is sealed; a replay mends it */
	atomic_int_fast64_t mend_due_ms; /* monotonic: then that is tried (mend.h) */
	int64_t mend_wait_ms; /* maintenance, and whoever makes the hole */
	int64_t first_ms, last_ms, last_arrival_ms;
	struct stretches stretches; /* of its lines and of points that were sent as such; no back-fill changes them */
	int64_t seen_ms, seen_last_ms, seen_after_ms, awaited_ms, awaited_to_ms, seen_gap_ms, seen_gap_last_ms,
		gap_from_ms, gap_to_ms; /* of the slice that is being consumed: life_signs_see */
	atomic_int_fast64_t believed_ms; /* its earliest line that is believed; 0: none, or not known yet */
	uint32_t generation; /* of the definitions that the extractor last ran */
	uint32_t series_base; /* of its series' numbers: 0 or SERIES_HALF */
	struct stream_state *shadow; /* a back-fill's, fed along with it; its lock is taken after this one's */
	/* A shadow's own: the definitions that it is extracted by, and what its detectors said. NULL in others. */
	struct definitions *own_definitions;
	struct said_list *said;
	char *damage; /* of the state that it was loaded from; NULL: none, or a back-fill made it again */
	const struct rule_set *rules; /* during a slice: those with conditions, and its number */
	uint64_t rules_seq;
	struct extractor *extractor;
	struct signs *signs; /* NULL: no line had any */
	uint64_t
		told_hash; /* of the machine of whose faults by other logs it was told last; 0: of none since the start */
	int64_t told_until_ms; /* log time up to which that was looked at */
	bool has_bare_steps; /* its newest line with points has no pod of kubectl's in front; not packed */
	struct log_scores *scores; /* the same of tables of scores */
	struct silences *silences; /* NULL: no definition found anything */
	struct settings *settings; /* NULL: its lines are not looked at any more */
	struct series_state **series;
	size_t series_count, series_cap;
	struct map *series_index; /* metric -> one of them, the first indexed_series; NULL: few, or no memory for it */
	size_t indexed_series;
	size_t held_count; /* values of its series that wait for a tracker */
	int64_t held_since_ms; /* monotonic: since when it has some */
	bool has_waiting; /* a series is_waiting */
	bool is_decided; /* sealed soon: a replay of its lines might let wait what has become points */
	struct derive *derive;
	struct series_state *derived[DERIVED_COUNT]; /* among `series`; NULL: none yet, or not looked up */
	size_t derived_count; /* of `series`, with numbers from the other end: --max-series does not count them */
	struct numbered_series *by_number; /* by the extractor's numbers */
	size_t number_count, number_cap;
	/* Streams of a thousand series are looked at each moment, mostly in vain: so that nobody looks through all of them. */
	bool has_paces; /* a series noted some that stragglers.c has not fetched */
	bool has_unsummed; /* a series may need its summary */
	bool is_resummed; /* one was made anew since the stream was sealed: the stored state lacks it */
	bool are_axes_due; /* an attempt has opened, was taken back, or some points are of another one by now */
	uint64_t undue_lines, undue_points; /* no tail was long (seal.c) when so much was extracted */
	unsigned pending_incidents; /* handed to the writer, not durable yet: do not seal past them; also of statuses */
	struct clock_skew skew;
	unsigned statuses; /* that its lines said of the job, since the start */
	struct buf live_lines; /* JSON of new lines for subscribers, without brackets */
	uint64_t live_from; /* number of the first one in it */
	uint64_t live_count;
	bool has_skipped_lines; /* nobody listened to its lines: the publisher tells the hub */
	struct stream_link links[STREAM_LISTS]; /* under the directory's mutex of lists */
};

enum settle { SETTLE_NOT, SETTLE_ASKED, SETTLE_DONE };

/* When the maintenance thread looks at a job again: monotonic, and the distance to the look behind it; 0: not yet asked. */
struct job_look {
	int64_t at_ms, wait_ms;
};

struct job_state {
	atomic_uint refs;
	int64_t job_id;
	char *name;
	char *team;
	atomic_bool is_deleted;
	/* Who moves it to the trash asks that all of it be sealed and summed up; once that is so, its summaries are not begun anew. */
	atomic_int settling; /* enum settle; pipeline/jobs/settle.h */
	atomic_bool is_summary_dirty; /* summaries in the store are behind */
	atomic_bool is_row_dirty; /* subscribers have an old row */
	atomic_int_fast64_t touched_ms;
	/* Which lines would change what is shown of its life (life.h): earlier than signed_ms; from awaited_ms on (INT64_MAX: none), before awaited_to_ms;
	 * that come after presumed_ms, when it was taken for stopped (INT64_MAX: it is not); between gap_from_ms (INT64_MAX: none) and
	 * gap_to_ms, in which it has gaps (run_gap.h). */
	atomic_int_fast64_t signed_ms, awaited_ms, awaited_to_ms, presumed_ms, gap_from_ms, gap_to_ms;
	atomic_int_fast64_t halts_to_ms; /* of an earlier one its stored log is asked (halts.h) */
	atomic_bool is_halt_due; /* it is, with the next summary; at a start: before it that was perhaps left undone */
	atomic_bool is_end_due; /* a fault was told of it behind its failure, which is to be named anew (life_run.h) */
	atomic_bool is_over; /* its last status is an end */
	atomic_llong over_ms; /* of which time; INT64_MAX: it is not */
	atomic_bool is_tracked; /* a tracker's run is in it */
	/* Behind the first and up to the second no tracker tells what its log prints (store/tracked_runs.h); INT64_MAX: there is none. */
	atomic_llong alone_from_ms, alone_to_ms;
	/* From the first and before the second its log is of later runs, which are jobs of their own; INT64_MAX: there is none. */
	atomic_llong lent_from_ms, lent_to_ms;
	atomic_uint life; /* counts up when it goes on after an end; from 1 on at each start */
	atomic_uint begins; /* of processes of its tracker that went on with its run, since the start */
	atomic_llong began_ms; /* when it went on after its last end; 0: it never did */
	atomic_uint break_changes; /* how often `breaks` has changed */
	atomic_bool goes_on_otherwise; /* it states another job to go on with since: continuity_watch.c takes it away */
	atomic_bool is_backfilled; /* stays in RAM meanwhile */
	atomic_uint changes; /* of all streams' derived state at once: odd while one is under way */
	struct job_settings *settings; /* has a lock of its own */
	struct told_metrics told; /* so has this */

	/* Maintenance thread only. */
	bool is_watched; /* it was looked whether a stall of an earlier server is open */
	bool has_stall;
	int64_t looked_ms; /* overdue.c */
	bool is_due; /* an incident of its is open */
	unsigned late_looks;
	uint32_t judged_attempts; /* continuity_watch.c: up to which it is known whether they went on */
	uint32_t judging_attempt;
	bool is_judged_anew;
	int64_t judge_ms, judge_wait_ms; /* monotonic: the next look, and the distance to the one behind it */
	struct job_look data_look, rate_look; /* data_watch.c, rate_watch.c: the same (pipeline/alert/each_job.h) */
	struct schedule_progress rate;
	struct stragglers *stragglers; /* NULL: nothing was compared of late */
	int64_t paced_since_ms; /* monotonic: since it first said something of its pace; 0: it did not */

	pthread_mutex_t mutex; /* of the fields below */
	int64_t *breaks; /* of its history (history_find_breaks) */
	size_t break_count;
	struct rhythm rhythm; /* of commits, on the monotonic clock, since the start */
	struct definitions *definitions; /* in force; writer changes */
	struct stream_state **streams;
	struct map *by_stream; /* the same, by name */
	size_t stream_count, stream_cap;
	/* Writer only. */
	uint32_t generation;
	/* The transaction (pipeline.round) that a back-fill takes its place in, and by which definitions; RAM hears by its commit. */
	uint64_t change_round;
	uint32_t change_generation;
	uint64_t birth_round; /* the newest one that makes a stream */
};

struct directory;

struct directory *directory_new(void) __attribute__((warn_unused_result));
void directory_free(struct directory *directory);

/* A counted reference, or NULL. */
struct job_state *directory_find(struct directory *directory, struct span name);
struct job_state *directory_find_id(struct directory *directory, int64_t job_id);
void job_unref(struct job_state *job);
struct job_state *job_ref(struct job_state *job);

/* Writer and start-up only: not counted. */
struct job_state *directory_peek(struct directory *directory, struct span name);
size_t directory_count(struct directory *directory);
struct job_state *directory_peek_id(struct directory *directory, int64_t job_id);
bool directory_add(struct directory *directory, struct job_state *job); /* takes the reference; false: out of memory */
void directory_remove(struct directory *directory, struct job_state *job);
/* Counted references to all jobs, in an array to be freed by mem_free. */
enum status directory_list(
	struct directory *directory, struct job_state ***out, size_t *count, struct error *err) MUST_CHECK;

struct job_state *job_state_new(const struct job_row *row) __attribute__((warn_unused_result));
struct stream_state *stream_state_new(struct job_state *job, uint32_t stream_id, struct span name, struct span host)
	__attribute__((warn_unused_result));
void stream_state_free(struct stream_state *stream);
/* With the lock; NULL: it has none of that name. */
struct series_state *stream_find_series(struct stream_state *stream, struct span metric);
/* With the lock, where others know the stream: its job knows what was told since it went on after its last end. False: no memory. */
bool stream_note_told(const struct stream_state *stream);
/* Whose its log is, as the row of its tracker's run has it. False: it is known. */
bool job_note_log(struct job_state *job, const struct tracked_run_row *run);
/* A line of that time was printed by another run: it says nothing of this job's values. */
bool job_log_is_lent(const struct job_state *job, int64_t ts_ms);
bool job_add_stream(struct job_state *job, struct stream_state *stream); /* takes it */
struct stream_state *job_find_stream(struct job_state *job, struct span name); /* not counted: lives with the job */
struct stream_state *job_stream_at(struct job_state *job, size_t index); /* NULL: there are not so many */
struct stream_state *job_find_stream_id(struct job_state *job, uint32_t stream_id);

void series_state_free(struct series_state *series);
/* Where attempts began for its points; of the stream's own until the next change of either. */
struct attempt_starts series_starts(const struct stream_state *stream, const struct series_state *series);
/* One without any was told by a tracker before its lines were, or may be yet: it is not shown. */
bool series_has_points(const struct series_state *series);
/* By its number, so that the series of the log have the same ones however much could be derived. */
bool series_is_derived(uint32_t series_id);

/* Each list has one thread that takes from it. */
void directory_mark(struct directory *directory, enum stream_list_kind list,
	struct stream_state *stream); /* counts a reference on the job */
void directory_swap(
	struct directory *directory, enum stream_list_kind list); /* what is in it now is what pop gives from now on */
struct stream_state *directory_pop(
	struct directory *directory, enum stream_list_kind list); /* NULL: done; unref its job after use */

AUTO_TYPE(directory)
static inline void job_state_free(struct job_state *job)
{
	job_unref(job);
}
AUTO_TYPE(job_state)
