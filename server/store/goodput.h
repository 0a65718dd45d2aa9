/*
 * Job: what jobs' time came to: one row a job, its share of each day, the days' totals, and what broke jobs off. Which job is to
 *      be worked out again is a column of its row. Buckets are by number; what they mean: server/fleet/goodput.h.
 * Ownership: spans in the arena that the caller gives. Threads: as store_reader and store_tx.
 */
#pragma once

#include "model/incident.h"
#include "store/store.h"

enum { STORE_GOODPUT_BUCKETS = 14, STORE_GOODPUT_STARTUPS = 5 /* the first ones: before the first Training */ };

/* In millionths of the currency. */
#define STORE_NO_COST INT64_MIN
#define STORE_NO_TYPE "unknown"
#define STORE_IN_CURRENCY "currency:" /* a price in another one than the list has, which comes behind it */
#define STORE_NO_TIMES (-1) /* nobody knows how long it was at work */

/* Who says how many nodes a job has; all but the first are an estimate. The numbers are in the database. */
enum nodes_from { NODES_STATED, NODES_HOSTS, NODES_STREAMS };

/* Where the steps of a job begin, or of those that go on with it (server/fleet/goodput.h: goodput_link). */
struct goodput_went_on {
	struct span job; /* when read */
	int64_t from_step;
	int64_t step_ms; /* 0: there is no step yet */
	int64_t work_ms;
	int64_t silent_ms;
};

struct goodput_row {
	int64_t job_id;
	int64_t due_ms; /* to be worked out again then; 0: when something changes */
	int64_t changes; /* when read: how often something did; when put: up to which all was seen */
	int64_t as_of_ms; /* 0: never yet */
	int64_t nodes; /* 0: not counted yet */
	enum nodes_from nodes_from;
	bool is_measured;
	bool is_over; /* nobody ended it, but its time is over: it was of the past, or is silent */
	struct span instance;
	double goodput; /* percent; NaN: nothing was measured */
	int64_t steps;
	int64_t lost_steps;
	double step_ms;
	int64_t first_from_step;
	int64_t last_step;
	int64_t billable_ms; /* of one node; STORE_NO_TIMES */
	int64_t work_from_ms, work_to_ms; /* when its lines and points say that it was at work; 0: there are none */
	int64_t paused_ms; /* within that, and not billed */
	uint64_t odd_times; /* lines and points that are of none of it */
	struct goodput_went_on went_on; /* what it is to the job that it goes on with */
	struct span currency;
	int64_t cost, lost_cost, spot_saving; /* STORE_NO_COST: no price is known */
	struct span
		unpriced; /* instance types that have none, spaces between them; STORE_NO_TYPE: nobody says what it runs on */
};

struct goodput_day {
	int64_t day; /* from 1970-01-01 on, UTC */
	int64_t node_ms[STORE_GOODPUT_BUCKETS];
	int64_t measured_ms; /* of all nodes, as above */
	int64_t cost, lost_cost; /* of what has a price */
	int64_t unpriced_ms; /* billed, of all nodes, and without one */
	int64_t billed_ms; /* of all nodes, with a price or without */
	int64_t estimated_ms; /* of these, with a price: of nodes that were counted, as nobody stated them */
};

struct goodput_incident {
	int64_t from_ms;
	int64_t to_ms; /* 0: nothing came after it */
	struct span cause;
	int64_t nodes;
	int64_t lost_steps; /* -1: not known */
	int64_t redone_ms, restart_ms; /* of one node */
};

/* Something of the job changed: it is due wait_ms after it was worked out last, and not later than it was; 0: at once. */
enum status store_touch_goodput(struct store_tx *tx, int64_t job_id, int64_t wait_ms, struct error *err) MUST_CHECK;
/* Of a job that has come from elsewhere: if nothing was heard of it since before_ms, its time is over. */
enum status store_put_silent_before(
	struct store_tx *tx, int64_t job_id, int64_t before_ms, struct error *err) MUST_CHECK;
/* Makes the next `limit` jobs behind *after due, whether they have a row or not; *after: the last one, INT64_MAX at the end. */
enum status store_touch_all_goodput(struct store_tx *tx, int64_t *after, size_t limit, struct error *err) MUST_CHECK;
struct goodput_due {
	int64_t job_id;
	int64_t changes;
	struct span name;
};
enum status store_read_goodput_due(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct goodput_due **out, size_t *count, struct error *err) MUST_CHECK;
/* Of those of its team, or of none, that state to go on with this job and have steps; forks are none: their job goes on as well. */
enum status store_read_went_on(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span job,
	struct goodput_went_on **out, size_t *count, struct error *err) MUST_CHECK;
/* The job of that name, if there is one that next_id may go on with, is to be worked out again, and who else went on with it; the job that this one states to go on with. */
enum status store_touch_goodput_of(struct store_tx *tx, struct span job, int64_t next_id, struct error *err) MUST_CHECK;
enum status store_touch_goodput_before(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;

/* All of the job anew, and the totals with it, and what it goes on with is due if that has lost by it what it had not. What changed
 * meanwhile leaves it due. */
enum status store_put_goodput(struct store_tx *tx, const struct goodput_row *row, const struct goodput_day *days,
	size_t day_count, const struct goodput_incident *incidents, size_t incident_count,
	struct error *err) MUST_CHECK;
/* It could not be worked out: what is known stays, until it is tried again. */
enum status store_postpone_goodput(struct store_tx *tx, int64_t job_id, int64_t due_ms, struct error *err) MUST_CHECK;
/* as_of_ms 0: there is none yet. */
enum status store_read_goodput(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct goodput_row *out, struct error *err) MUST_CHECK;
/* Of a job, by day. */
enum status store_read_goodput_days(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t first,
	int64_t last, struct goodput_day **out, size_t *count, struct error *err) MUST_CHECK;
/* Of all jobs, by day; costs in `currency`. */
enum status store_read_fleet_days(struct store_reader *reader, struct arena *arena, struct span currency, int64_t first,
	int64_t last, struct goodput_day **out, size_t *count, struct error *err) MUST_CHECK;

/* What jobs cost in another currency: deleted ones, while the list was in that, and those whose price was set in it by hand. */
struct deleted_cost {
	struct span currency;
	int64_t cost, lost_cost;
};
enum status store_read_deleted_costs(struct store_reader *reader, struct arena *arena, struct span currency,
	int64_t first, int64_t last, struct deleted_cost **out, size_t *count, struct error *err) MUST_CHECK;
/* Names of jobs whose documents have a leaf of that key, and none of the other. */
enum status store_read_jobs_of_key(struct store_reader *reader, struct arena *arena, struct span key,
	struct span without, size_t limit, struct span **out, size_t *count, struct error *err) MUST_CHECK;
/* How many have the key with another text, and some value of the key `with`. */
enum status store_count_jobs_of_other_value(struct store_reader *reader, struct span key, struct span text,
	struct span with, uint64_t *count, struct error *err) MUST_CHECK;
/* Prices are of another currency from now on: those of which nobody noted it were of this one. */
enum status store_name_deleted_costs(struct store_tx *tx, struct span currency, struct error *err) MUST_CHECK;

/*
 * What jobs have as `unpriced` that had hours without a price on these days, each once; some have several types in one. Of deleted
 * jobs the other currencies that they were priced in.
 */
enum status store_read_unpriced_types(struct store_reader *reader, struct arena *arena, struct span currency,
	int64_t first, int64_t last, size_t limit, struct span **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_count_unpriced(struct store_reader *reader, uint64_t *jobs, struct error *err) MUST_CHECK;

struct goodput_cause {
	struct span cause;
	uint64_t count;
	uint64_t ended; /* of these: work went on */
	int64_t repair_ms; /* until it did, summed up */
	int64_t lost_steps; /* of those that are known */
	uint64_t unknown_steps; /* of these breaks it is not known */
	int64_t redone_node_ms, restart_node_ms;
};
/*
 * Of what broke off in [from_ms, to_ms), the most frequent first; and of what had before, until work went on behind from_ms: of that the
 * restart's time alone, as much as lies within, so that adjacent times share it. count 0: all of a cause is of before. What broke off more
 * than STORE_BREAK_SHARED_MS before from_ms is not looked for.
 */
#define STORE_BREAK_SHARED_MS (INT64_C(30) * 24 * 60 * 60 * 1000)
enum status store_read_goodput_causes(struct store_reader *reader, struct arena *arena, int64_t from_ms, int64_t to_ms,
	struct goodput_cause **out, size_t *count, struct error *err) MUST_CHECK;

/* Stretches of lines with a signature whose incident is a warning or worse. */
struct said_signature {
	int64_t first_ms, last_ms;
	struct span signature;
	enum severity severity;
};
/* By time, at most `limit`. */
enum status store_read_said_signatures(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct said_signature **out, size_t *count, struct error *err) MUST_CHECK;

/* What was said beside a status, and when. The same again is nothing new. */
struct status_message {
	int64_t at_ms;
	struct span status;
	struct span message;
};
enum status store_put_status_message(
	struct store_tx *tx, int64_t job_id, const struct status_message *row, struct error *err) MUST_CHECK;
/* Also where it was the same before that: what comes later may have been said between the two. is_new: it was not kept yet. */
enum status store_keep_status_message(struct store_tx *tx, int64_t job_id, const struct status_message *row,
	bool *is_new, struct error *err) MUST_CHECK;
/* By time and status. */
enum status store_read_status_messages(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct status_message **out, size_t *count, struct error *err) MUST_CHECK;
