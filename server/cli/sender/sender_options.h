/*
 * Job: what the sender is told at its start.
 * Ownership: all of it is the caller's, and outlives the sender. Threads: it is not changed.
 */
#pragma once

#include "cli/http/client.h"
#include "cli/process/command_signals.h"
#include "cli/process/identity.h"
#include "cli/spool/resume_state.h"
#include "cli/spool/spool.h"

#include <pthread.h>

/* What an earlier sm-ship could not send of a run that is over: one stream. */
struct sender_rest {
	const char *job; /* NULL: the server has none of it */
	uint64_t base; /* with a job: where it goes on in the stream */
	bool has_end; /* it is known; else nothing is said of it */
};

struct sender_options {
	const char *program; /* for messages */
	const char *server; /* its address, for messages */
	struct http_client *client;
	struct spool *spool;
	const struct identity *identity;
	const struct settings *metrics;
	const char *const *streams; /* the spool's stream numbers index it */
	const bool *is_points; /* as streams: they hold points, as event_files.h has them; NULL: none does */
	const char *const *hosts; /* as streams: whose they are; NULL, all or one: identity's */
	size_t max_streams; /* room of the table: it may grow while the sender runs */
	struct ledger *ledger; /* NULL: none is kept */
	size_t ledger_streams; /* the first ones are in it */
	size_t own_tags; /* the last ones of identity's: the program's own, which a job that is there keeps as it has them */
	bool is_import; /* of the past: what the server has of a stream is the start of its file, and is passed over */
	bool reads_files; /* to their ends, whenever they were written: the server knows by the lines when the job began and ended */
	bool resumes; /* an ended job is written to */
	bool has_one_stream; /* it is kept even while nothing is read: streams[0] */
	const char *
		session_seed; /* what tells our sessions from others' on this host, and is the same after a kill; NULL: random ones */
	const struct orders *orders; /* what commands do; NULL: nothing can be told */
	uint64_t compare_points; /* of the server, held at once to be compared with those of files */
	int64_t started_ms;
	const char *
		source; /* whose bytes of each stream are counted that the ledger does not know; NULL: those without a source */
	const struct sender_rest *rest; /* NULL: it is none */
	/* By the sender's thread: the server has it, by that name, and so many bytes of the one stream; NULL: nobody asks. */
	void (*tell_job)(void *context, const char *job, uint64_t base);
	void *tell_context;
	/* By the sender's thread: whether lines are to wait; it is asked again soon. They wait until the server has answered us for ten
	 * seconds, and an outage is no part of these. NULL: they do not. */
	bool (*must_wait)(void *context);
	void *wait_context;
	const char *secret; /* that no line is to bear: it is sent as as many asterisks; NULL: none */
	pthread_t waiter; /* gets SIGCHLD when the thread is done */
};
