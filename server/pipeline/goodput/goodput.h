/*
 * Job: keeps what jobs' time came to (store/goodput.h) in step with them: gathers the facts that server/fleet/goodput.h derives
 *      from, splits what comes out by days, and prices it. A job is worked out again soon after its status changed, and every
 *      --goodput-every while lines come; what a reader asks for is worked out as of now.
 * Ownership: all in the arena that the caller gives. Threads: goodput_run: maintenance; the rest: any reader's.
 */
#pragma once

#include "base/json/json_write.h"
#include "fleet/goodput.h"
#include "fleet/price.h"
#include "state/streams/job_view.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/transitions.h"

struct pipeline;

/* What a tracker's client is taken to say with its first Training: the message stays with the job, wherever that is carried. */
#define GOODPUT_RUN_BEGAN "the run began"

/*
 * Did its tracker's client alone say that it trains, at *last_ms the last time (0: no)? Such a client always says so, and one that is killed
 * never says the end. Of a run of somebody else's job the first to train is not the run's beginning. rows: the job's.
 */
enum status goodput_find_client_word(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	const struct transition_row *rows, size_t count, int64_t *last_ms, struct error *err) MUST_CHECK;

struct job_nodes {
	struct span instance; /* "": not known */
	int64_t count;
};

/* The steps of the stream with most attempts, by time: when each of them began. */
struct attempt_points {
	const struct goodput_point *items; /* none: it has one attempt */
	size_t count;
	uint32_t attempts;
	const int64_t *starts; /* attempt i + 1 opened at step starts[i] */
};
enum status goodput_read_attempts(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct attempt_points *out, struct error *err) MUST_CHECK;
/* What a job's time is derived from. */
struct job_facts {
	struct stretches work; /* when its lines and points say that it was at it */
	int64_t paused_ms; /* between them, where nobody stated that it ran */
	struct goodput_facts facts;
	bool *is_billed; /* beside facts.phases */
	struct job_nodes *nodes; /* one a type */
	size_t type_count;
	int64_t node_count; /* at least 1 */
	enum nodes_from nodes_from;
	bool has_price; /* set by hand, of one node; else it is the list's */
	double price_per_hour;
	struct span price_currency; /* that it was set in; "": the list's */
	int64_t stated_billable_ms; /* -1: nobody stated it, or its times were set right by hand */
	bool is_spot;
	bool is_open; /* its time still runs */
	int64_t last_ms; /* its last sign of life, by the times that it has; 0: none */
	int64_t from_by_hand_ms, to_by_hand_ms; /* its training, where that was set; INT64_MIN, INT64_MAX: it was not */
	bool is_start_stated; /* somebody said when it began, or was held up */
	int64_t changed_ms; /* when it was heard of last */
	struct span metric, stream; /* by which its steps are known; "" */
	struct span went_on_in; /* the job in which its training went on first; "" */
};
enum status goodput_gather(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	int64_t now_ms, struct job_row *row, struct job_facts *out, struct error *err) MUST_CHECK;
/* The same without the steps: no point is read. */
enum status goodput_gather_phases(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, int64_t now_ms, struct job_facts *out, struct error *err) MUST_CHECK;

/* Its part of that: the machines. out->work is known. */
enum status goodput_read_nodes(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct json *document, struct job_facts *out, struct error *err) MUST_CHECK;
/* Its part of that: statuses as phases, and whether the job is open. out->work is known. */
enum status goodput_read_phases(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, int64_t now_ms, struct job_facts *out, struct error *err) MUST_CHECK;

struct job_goodput {
	struct job_row job;
	struct job_facts facts;
	struct goodput derived;
	struct goodput_row row;
	struct goodput_day *days;
	size_t day_count;
	struct goodput_incident *incidents; /* beside derived.breaks */
	int64_t redone_cost; /* of the steps alone that were made again; STORE_NO_COST */
};
enum status goodput_read_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct price_list *prices, int64_t now_ms, struct job_goodput *out,
	struct error *err) MUST_CHECK;

/* Days and costs of what was derived; goodput_read_job does it. Pure. */
enum status goodput_account(
	struct job_goodput *job, const struct price_list *prices, struct arena *arena, struct error *err) MUST_CHECK;

/* As its settings say; 0: not known. */
enum status goodput_read_devices(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, double *out, struct error *err) MUST_CHECK;
/* Over all devices; where its own do not say it, as those of the nearest job before it in its run. */
enum status goodput_read_tokens_per_step(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, double *out, struct error *err) MUST_CHECK;

/* Types with spaces between them as "unpriced_types": an array. */
void goodput_put_unpriced(struct json_writer *w, struct span types);

/* The list in force: as it was put, else the one that the server was built with. */
enum status goodput_read_prices(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct price_list *out, struct error *err) MUST_CHECK;
/* A job's document, as it goes elsewhere: where another list is in force a price by hand is still of the currency that it has here. */
enum status goodput_name_currency(
	struct store_reader *reader, struct arena *arena, struct span *document, struct error *err) MUST_CHECK;
/* How many jobs have a price that was set by hand in another currency than this one. */
enum status goodput_count_other_currencies(
	struct store_reader *reader, const struct price_list *list, uint64_t *jobs, struct error *err) MUST_CHECK;
/* Puts a list, and has every job worked out again. Prices that were set by hand keep the currency that the list had. */
enum status goodput_put_prices(struct pipeline *pipeline, const struct json *document, struct error *err) MUST_CHECK;

/* Worker threads, behind what ended a job or was set by hand: whoever asks next, for the job, a list or a sum, finds what it came to. Failing that the
 * maintenance thread tries again. */
void goodput_settle(struct pipeline *pipeline, struct store_reader *reader, struct span job);

/* Maintenance thread: some of what is due. */
enum status goodput_run(
	struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err) MUST_CHECK;
