/*
 * Job: what senders agree on with the server, in the writer's transactions: the name of a run, the stream of a session and where
 *      it goes on, how it ended, commands and what became of them.
 * Ownership: spans are the caller's. Threads: worker threads: they wait for the writer.
 */
#pragma once

#include "store/sessions.h"

struct pipeline;

enum { JOB_NAME_MAX_BYTES = 255 };

struct run_asked {
	struct span job; /* as the sender calls it */
	struct span run_key; /* the same in all processes of one start; "": not known */
	struct span team;
	bool resumes; /* a job that ended is gone on with */
	bool is_all; /* no stream is opened for it: its name is kept at once */
};
/*
 * The name that the run has: J, or, when that has ended and this is another run, the first of J-2, J-3 … that is free or runs. All
 * that say the same run_key get the same name, whenever they come. A new one is kept with the run's first stream: a start that was refused
 * is none, and comes again as another.
 */
enum status pipeline_choose_run(struct pipeline *pipeline, const struct run_asked *asked,
	char name[JOB_NAME_MAX_BYTES + 1], struct error *err) MUST_CHECK;

struct session_stream {
	/* The writer asks it before anything is changed; what it refuses changes nothing. */
	enum status (*take)(void *context, int64_t job_id, uint32_t stream_id, struct error *err);
	void *take_context;
	struct span job, team, stream, host;
	struct span asked, run_key; /* as in run_asked: job is their name from now on; "": none is kept */
	struct span source; /* "": what is sent with an offset and without a source */
	bool resumes; /* a job that has ended goes on with it; with what is past, only the end of one that was stated to be Completed is open */
	bool is_past; /* what comes is of the past: its lines say when they are of, and the job is what it was; but see resumes */
	int64_t now_ms;
	int64_t waited_ms; /* so long its process has been at work without a session: another had the stream, or the server was away */
	/* What comes back. */
	int64_t job_id;
	uint32_t stream_id;
	uint64_t next_offset;
};
/* Makes the stream when it is not there; unless it is of the past, it has no exit any more, and the job trains. */
enum status pipeline_open_stream(
	struct pipeline *pipeline, struct session_stream *stream, struct error *err) MUST_CHECK;

struct session_exit {
	struct exit_row row; /* at_ms 0: nobody said: where its log ends, of a session or a log of the past, else now */
	bool is_past; /* its session was opened so */
	struct span job;
	int64_t now_ms;
};
/* The job ends by it when it was rank 0, or the last one, and nobody says otherwise. */
enum status pipeline_put_exit(struct pipeline *pipeline, const struct session_exit *exit, struct error *err) MUST_CHECK;
/* The session ended without an exit: the stream is nobody's, and the job does not wait for it. */
enum status pipeline_leave_stream(
	struct pipeline *pipeline, int64_t job_id, uint32_t stream_id, struct error *err) MUST_CHECK;

/* command_id and job_id are set. ERR_CONFLICT: the job has ended; ERR_NOT_FOUND: no such job or stream. */
enum status pipeline_add_command(struct pipeline *pipeline, struct span job, struct span team, size_t most,
	struct command_row *row, struct error *err) MUST_CHECK;
/* The same, and the job is Stopping: what a "stop" to all of it means. */
enum status pipeline_stop_job(struct pipeline *pipeline, struct span job, struct span team, size_t most,
	struct command_row *row, struct error *err) MUST_CHECK;
enum status pipeline_acknowledge_command(
	struct pipeline *pipeline, const struct command_ack_row *row, struct error *err) MUST_CHECK;
