/*
 * Job: what log lines said outright, in durable rows: stretches of signatures and their incidents, faults of machines, checkpoints.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "model/incident.h"
#include "store/store.h"

/* ---- faults of machines: the one place that the ledger of nodes reads ---- */
/* Of a stretch that goes on for long a row is kept for each part of it, as another job may have the machine by then. Those have its line. */
struct node_fault_row {
	struct span host;
	int64_t ts_ms; /* log time of the first line */
	int64_t job_id; /* it may be deleted since */
	uint32_t stream_id;
	uint64_t line; /* the first */
	struct span signature; /* a name in signatures.json */
	bool is_drain; /* the machine should not be given to the next job */
	uint64_t count; /* lines so far */
	int64_t last_ms;
	struct span text; /* of the first line */
	struct span cleared; /* why somebody says that it is not the machine's; "": nobody does */
	bool is_told_again; /* an event that another row tells of; of the ledger's alone (read/node_ledger.h) */
};
/* By (host, ts_ms, job, stream, line); said again with more lines: count and last_ms grow. */
enum status store_put_node_fault(struct store_tx *tx, const struct node_fault_row *row, struct error *err) MUST_CHECK;
/* What there is of the row's stretch already. */
struct fault_parts {
	int64_t ts_ms, last_ms; /* of the last part */
	uint64_t count, last_count; /* lines of all, and of that; 0: there is none */
};
enum status store_read_fault_parts(struct store_reader *reader, const struct node_fault_row *row,
	struct fault_parts *out, struct error *err) MUST_CHECK;
/* That count: not those that somebody cleared; a stretch is one row. host "": of all; from_ms inclusive. Newest first. */
enum status store_read_node_faults(struct store_reader *reader, struct arena *arena, struct span host, int64_t from_ms,
	size_t limit, struct node_fault_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Those of the host that do not count, as above. */
enum status store_read_cleared_faults(struct store_reader *reader, struct arena *arena, struct span host,
	int64_t from_ms, size_t limit, struct node_fault_row **out, size_t *count, struct error *err) MUST_CHECK;
/* By its first line. *was_there false: no machine is charged with one there. */
enum status store_clear_node_fault(struct store_tx *tx, int64_t job_id, uint32_t stream_id, uint64_t line,
	struct span why, bool *was_there, struct error *err) MUST_CHECK;
/* All that one name was charged with is the other one's. */
enum status store_rename_charged(struct store_tx *tx, struct span from, struct span to, struct error *err) MUST_CHECK;
/* First lines of faults of the job that somebody cleared. By stream and line. */
struct fault_line {
	uint32_t stream_id;
	uint64_t line;
};
enum status store_read_cleared_lines(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct fault_line **out, size_t *count, struct error *err) MUST_CHECK;
/* All of the job count again. */
enum status store_count_node_faults(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;

/* ---- stretches of lines with one signature ---- */
struct signature_hit_row {
	int64_t job_id;
	uint32_t stream_id;
	struct span signature;
	uint64_t first_line;
	uint32_t incident_id;
	uint64_t count;
	uint64_t last_line;
	int64_t first_ms, last_ms; /* log time */
	struct span text; /* of the last line */
	struct span
		host; /* machines that its first line names, as Slurm lists them (base/text/host_list.h); "": whose the line is */
	bool is_of_nobody; /* it is of another machine than its sender, and which one is not known */
};
/* Of each signature the stretch that began first, of those with lines within the two times; by time. */
struct said_hit {
	struct signature_hit_row row;
	struct span stream; /* its name; "": it is another job's */
	struct span told_by; /* the other job whose log has it; "": the job's own */
	int64_t told_by_job; /* its number; 0: the same */
	bool is_of_no_team; /* that other job, and this one is of a team */
};
enum status store_read_hits_between(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, struct said_hit **out, size_t *count, struct error *err) MUST_CHECK;
/* All of them, of each stream and machine, not the first of each signature alone; by time, at most `limit`. */
enum status store_read_every_hit(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, size_t limit, struct said_hit **out, size_t *count, struct error *err) MUST_CHECK;
/* From when until when machines send a stream. */
struct stream_ends {
	/* Log times of the first and the last line or point that memory has of it; 0: of none. */
	void (*read)(void *context, int64_t job_id, uint32_t stream_id, int64_t *first_ms, int64_t *last_ms);
	void *context;
	int64_t silent_ms; /* who is silent for no longer sends it still */
};
/*
 * Faults that logs of other jobs told of, of machines of this one while they sent its streams (from the first line, until another machine
 * sends the stream, or it began to send to another job behind its last line here), with lines within the two times; not those
 * that somebody cleared. Of that machine alone; host "": of all. Only of jobs of the same team, and of no team (the fleet's own): nothing that
 * another team's log says, or a deleted job's, counts. By time; of each part the first line's text (store_put_node_fault), with times while the
 * machine was there: "" if it was not yet when that was said. row.first_line is that of the stretch, of a stream of that job.
 */
enum status store_read_told_elsewhere(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	int64_t job_id, struct span host, int64_t from_ms, int64_t to_ms, size_t limit, struct said_hit **out,
	size_t *count, struct error *err) MUST_CHECK;
/*
 * Of other jobs that have failed and were there when this job's log told of the fault of one of their machines, or at most after_ms before that:
 * by the line of the fault. The first ones to end first: those that began before it are among them.
 */
enum status store_read_failed_by(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, int64_t after_ms, size_t limit, int64_t **job_ids, size_t *count, struct error *err) MUST_CHECK;
/*
 * The same faults of all jobs that were near a break of the job: at most near_ms before it, until the job went on, and of its end at most
 * after_ms behind that. Each once a job, in no order, the newest `limit`.
 */
struct break_fault_wish {
	struct span host; /* "": of all */
	int64_t from_ms; /* they began from then on */
	int64_t near_ms, after_ms;
	size_t limit;
};
struct break_fault {
	struct span host;
	int64_t job_id; /* that broke off */
	int64_t ts_ms, last_ms;
	struct span signature;
};
enum status store_read_break_faults(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	const struct break_fault_wish *wish, struct break_fault **out, size_t *count, struct error *err) MUST_CHECK;
/* Of any signature, one that began by then. */
enum status store_has_hit_until(
	struct store_reader *reader, int64_t job_id, int64_t to_ms, bool *has, struct error *err) MUST_CHECK;
/* Those of the two signatures with lines within the two times, by time; at most `limit`. */
enum status store_read_hits_of(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct span signatures[2], int64_t from_ms, int64_t to_ms, size_t limit, struct said_hit **out,
	size_t *count, struct error *err) MUST_CHECK;
/* By (job, stream, signature, first_line); its incident and its machine stay the first ones said. */
enum status store_put_signature_hit(
	struct store_tx *tx, const struct signature_hit_row *row, struct error *err) MUST_CHECK;
/* What is decided once: its incident (0: it is not known) and its machine, in the arena. */
enum status store_find_signature_hit(
	struct store_reader *reader, struct arena *arena, struct signature_hit_row *row, struct error *err) MUST_CHECK;
/* Of faults of that machine those whose line names it, with their job, stream, signature, first line and host; by job. */
enum status store_read_naming_hits(struct store_reader *reader, struct arena *arena, struct span machine,
	struct signature_hit_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_set_hit_host(struct store_tx *tx, const struct signature_hit_row *row, struct error *err) MUST_CHECK;
/* The incident of any stream of the job with this signature that was said within the two times. 0: none was. */
enum status store_find_signature_incident(struct store_reader *reader, int64_t job_id, struct span signature,
	int64_t from_ms, int64_t to_ms, uint32_t *incident_id, struct error *err) MUST_CHECK;
/* What was said belongs to another incident from now on, in which its own is shown, and that says so: "part_of". */
enum status store_fold_incident(
	struct store_tx *tx, int64_t job_id, uint32_t from_id, uint32_t to_id, struct error *err) MUST_CHECK;

/* Incidents of the job of these kinds (bits) that opened within the two times, the oldest first. */
struct near_incident {
	uint32_t incident_id;
	enum incident_kind kind;
	uint64_t opened_ordinal;
};
enum status store_read_near(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t kinds,
	int64_t from_ms, int64_t to_ms, struct near_incident **out, size_t *count, struct error *err) MUST_CHECK;
/* Jobs of the team ("": of all) with a stream that the host sent at at_ms, and that were there then, had not ended, and as far as is known were
 * at work no longer before than streams may be silent: one that nobody ended is none for ever. The newest first. */
enum status store_read_jobs_on_host(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	struct span host, struct span team, int64_t at_ms, size_t limit, int64_t **out, size_t *count,
	struct error *err) MUST_CHECK;
/* How many jobs that the host sent streams of, but for the one that told of its fault, have an incident of it that opened within the two times;
 * at most `limit`. */
struct told_on_host {
	struct span host;
	int64_t teller_id;
	int64_t from_ms, to_ms;
};
enum status store_count_told(struct store_reader *reader, struct arena *arena, const struct told_on_host *told,
	size_t limit, size_t *count, struct error *err) MUST_CHECK;

enum { SAID_STREAMS_MAX = 16, SAID_SIGNATURES_MAX = 16 };
struct incident_said { /* of all stretches of one incident */
	uint64_t count; /* lines */
	uint64_t stream_count;
	int64_t last_ms;
	struct span streams[SAID_STREAMS_MAX]; /* names of the first ones */
	size_t named;
	struct span signatures[SAID_SIGNATURES_MAX]; /* different ones */
	size_t signature_count;
	struct span last_stream; /* "": nothing was said */
	uint64_t last_line;
	struct span last_text;
};
enum status store_read_said(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	struct incident_said *out, struct error *err) MUST_CHECK;

/* Open incidents of the kind that nothing was said of since a time; at most `limit`. */
struct quiet_incident {
	int64_t job_id;
	uint32_t incident_id;
	int64_t last_ms;
};
struct quiet_before {
	int64_t ended_ms; /* of jobs that have ended */
	int64_t any_ms; /* of all jobs */
};
enum status store_read_quiet(struct store_reader *reader, struct arena *arena, enum incident_kind kind,
	struct quiet_before before, size_t limit, struct quiet_incident **out, size_t *count,
	struct error *err) MUST_CHECK;
/* Open incidents of a machine that began with a fault that somebody cleared, and of whose other lines none counts either, whoever's log told of
 * it; those of the host alone. At most `limit`. */
struct cleared_incident {
	int64_t job_id;
	uint32_t incident_id;
	struct span host;
};
enum status store_read_cleared_incidents(struct store_reader *reader, struct arena *arena, size_t limit,
	struct cleared_incident **out, size_t *count, struct error *err) MUST_CHECK;

/* ---- checkpoints ---- */
struct checkpoint_row {
	int64_t job_id;
	uint32_t attempt; /* 0: not known; its stream had printed no step */
	int64_t step;
	int64_t ts_ms; /* log time */
	uint32_t stream_id;
	uint64_t line;
	struct span stream; /* its name; when read */
	/* What somebody set right by hand of it (read/checkpoints.h); the store knows nothing of that. */
	bool is_by_hand, is_denied;
	bool is_added; /* no line tells of it: stream "", line 0 */
	int64_t told_ms; /* by its line */
	struct span path, why, set_by; /* "": nobody says */
	int64_t set_ms;
};
/* By (job, attempt, step): of several streams the one that said it first, by log time, then by number. */
enum status store_put_checkpoint(struct store_tx *tx, const struct checkpoint_row *row, struct error *err) MUST_CHECK;
/* What the log tells of alone: what is known of a job's checkpoints read/checkpoints.h has. */
/* The last `limit` until the time, the newest first. One of no known attempt is left out where an attempt has its step, too. */
enum status store_read_checkpoints(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Of these the one of that attempt and step. */
enum status store_read_checkpoint(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t attempt,
	int64_t step, struct checkpoint_row *out, bool *is_there, struct error *err) MUST_CHECK;

/* ---- what was asked of a job's senders because of an incident ---- */
struct emergency_row { /* one a job */
	int64_t job_id;
	uint32_t incident_id;
	int64_t asked_ms;
	int64_t stop_due_ms; /* it is stopped then, if no checkpoint is seen before; 0: it is not, or was already */
	int64_t checkpoint_step; /* the newest one known before; -1: none */
};
/* By its job: replaces. */
enum status store_put_emergency(struct store_tx *tx, const struct emergency_row *row, struct error *err) MUST_CHECK;
/* job_id 0 in *out: nothing was asked. */
enum status store_read_emergency(
	struct store_reader *reader, int64_t job_id, struct emergency_row *out, struct error *err) MUST_CHECK;
/* Those that wait to be stopped; at most `limit`. */
enum status store_read_emergencies(struct store_reader *reader, struct arena *arena, size_t limit,
	struct emergency_row **out, size_t *count, struct error *err) MUST_CHECK;
