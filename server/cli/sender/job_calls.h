/*
 * Job: the requests that sm-ship makes about its job, one function each.
 * Ownership: nothing is kept. Threads: those of the client.
 */
#pragma once

#include "cli/sender/session_calls.h"

struct job_change {
	const char *secondary_status;
	const char *message; /* NULL: none */
	const char *reason; /* NULL: none */
	int64_t time_ms; /* 0: an end is where the log ends, where that is of the past, else now */
	bool is_assumed; /* Completed where its log ends, as far as nobody knows better; time_ms: of a log that has no times */
	const char *const
		*unless; /* statuses, NULL at the end: ERR_CONFLICT when the job has one of them; NULL: always */
};
enum status job_transition(
	struct http_client *client, const char *job, const struct job_change *change, struct error *err) MUST_CHECK;
struct job_lines {
	const char *job, *stream, *host;
	const char *session; /* NULL: none; who has the stream is nobody's business */
	const char *source; /* whose bytes `offset` counts; NULL: those without one */
	uint64_t offset;
	int64_t written_ms; /* when lines were written that bear no time; 0: now */
	const char *content_type;
	struct span body;
};
struct job_lines_told {
	bool has_next, has_accepted; /* it says so */
	uint64_t next_offset; /* where the server wants to go on */
	uint64_t accepted; /* lines that it had not */
	struct command_list commands;
};
/* ERR_CONFLICT with has_next: resume there. ERR_NOT_FOUND: the session is not known any more. */
enum status job_send_lines(struct http_client *client, const struct job_lines *lines, struct job_lines_told *told,
	struct error *err) MUST_CHECK;
/* The summary of a profiler's trace; document: as server/model/jobs/gpu_trace.h has it. run_key: of the start that asked for this name, which
 * may have got another; NULL: not known. */
enum status job_send_trace(struct http_client *client, const char *job, const char *run_key, struct span document,
	struct error *err) MUST_CHECK;
struct stored_points;
#define JOB_POINTS_SETTING "hp" /* instead of a number: the object is settings of the job, {KEY: VALUE} */
struct job_points {
	const char *program; /* for messages */
	const char *job, *stream, *host;
	/* Lines "N TAB object", "~N TAB object" where the time in it is assumed, "@TS TAB object", or JOB_POINTS_SETTING TAB object. */
	struct span text;
	uint64_t place; /* of the text in its stream */
	bool asks; /* what the server has: it may be more than is known */
	bool *has_told; /* the caller's: that the server did not take some was said */
	struct stored_points *stored; /* what the server has, as it was asked */
};
struct job_points_count {
	uint64_t there, fresh; /* points that the server has, and those that it has not */
};
/* Those that the server has not, into the body; nothing is sent. "@TS" is there where the newest of its series is not older. */
enum status job_pick_points(struct http_client *client, const struct job_points *points, struct buf *body,
	struct job_points_count *count, struct error *err) MUST_CHECK;
/* What was picked; "": nothing. *rejected: the server did not take so many. */
enum status job_send_points(struct http_client *client, const struct job_points *points, struct span body,
	uint64_t *rejected, struct error *err) MUST_CHECK;
/* Adds the text's settings to what the job states. What it states otherwise, and what the server refuses, is said. */
enum status job_send_settings(
	struct http_client *client, const struct job_points *points, struct error *err) MUST_CHECK;
/* *document stays NULL when there is no such job. */
enum status job_read_document(
	struct http_client *client, const char *job, struct json **document, struct error *err) MUST_CHECK;
struct job_stated {
	const char *program; /* for messages */
	const char *job;
	const struct json *document; /* of a job that is there already */
	struct settings tags, hyper_parameters, metrics; /* by option */
	const char *says; /* who says so: "--hp says" */
	struct buf *kept; /* NULL, or gets "lr=1e-4 (the job has 3e-4)" of each that does not come */
};
/* Tags become what is stated now; settings come where the job states none. What does not come is said. */
enum status job_send_stated(struct http_client *client, const struct job_stated *stated, struct error *err) MUST_CHECK;
struct job_machines {
	const char *program; /* for messages */
	const char *job;
	const struct json *document; /* of a job that is there already */
	const char *type; /* by option; NULL: nothing is said */
	int64_t count; /* 0: nothing is said */
};
/* Set by hand where the job states none. What it states otherwise stays, and is said. */
enum status job_send_machines(
	struct http_client *client, const struct job_machines *machines, struct error *err) MUST_CHECK;
/*
 * What the server has of a stream by imports. They count as a source of their own, JOB_IMPORT_SOURCE, so that neither what others write
 * nor what goes on with the job moves them; its name ends with the bytes that an older sm-ship had sent, or one that ran the
 * command, when the first import with a source found them: what that one passed over.
 */
#define JOB_IMPORT_SOURCE "import"
#define JOB_START_SOURCE "sm-ship-" /* and a name of its own: of one start of a command, or of what writes a pipe */
enum { JOB_SOURCE_BYTES = 32 };
struct job_imported {
	char source[JOB_SOURCE_BYTES]; /* "": the server is too old to say; offsets count without one */
	uint64_t base; /* in front of the source's first byte */
	uint64_t bytes; /* there already, base included */
	bool is_guess; /* the base is what came without a source, or of a start: at most that, and it may be of another log */
	bool is_unchecked; /* the same, but nobody can see whether: text is deleted */
	uint64_t deleted_lines; /* the stream's first ones: their text is deleted */
	uint64_t line; /* of the stream: where job_match_imported goes on */
	bool is_at_end; /* nothing is in the stream behind what job_match_imported found */
};
enum status job_read_imported(struct http_client *client, const char *job, const char *stream,
	struct job_imported *imported, struct error *err) MUST_CHECK;
/* How many bytes of the text, which is what comes next of the log, are in the stream: whole lines, others' may stand between them. */
enum status job_match_imported(struct http_client *client, const char *job, const char *stream, struct span text,
	struct job_imported *imported, size_t *matched, struct error *err) MUST_CHECK;
/* So many bytes are in front of the source's first one, and no more is there. */
void job_import_from(struct job_imported *imported, uint64_t base);
/* Completed, Failed or Stopped. */
enum status job_read_is_over(struct http_client *client, const char *job, bool *is_over, struct error *err) MUST_CHECK;
/* *awaits: the job is of a tracker's run that began at since_ms or later and has ended, and nobody has sent its log. */
enum status job_awaits_log(
	struct http_client *client, const char *job, int64_t since_ms, bool *awaits, struct error *err) MUST_CHECK;
/* ERR_BUSY: the server has points of the stream that it has not read yet, so its series are still behind them. */
enum status job_want_points_read(
	struct http_client *client, const char *job, const char *stream, bool *has_lines, struct error *err) MUST_CHECK;
/* The first and last time of its training's lines and points; unchanged when there are none, or no such job. ERR_BUSY: the server has not
 * read them all yet. */
enum status job_read_times(
	struct http_client *client, const char *job, int64_t *first_ms, int64_t *last_ms, struct error *err) MUST_CHECK;
