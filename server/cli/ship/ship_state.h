/*
 * Job: what one run of sm-ship has, for the two files that begin and end it.
 * Ownership: ship.c's. Threads: the main thread, but `rest`.
 */
#pragma once

#include "cli/host/host_monitor.h"
#include "cli/input/input_reader.h"
#include "cli/process/child.h"
#include "cli/process/identity.h"
#include "cli/relay/relay.h"
#include "cli/sender/sender.h"
#include "cli/ship/rest_save.h"
#include "cli/ship/ship_options.h"
#include "cli/spool/spool_file.h"

#include <pthread.h>

/* The sender's streams: those of the training, then the host's own, its lines and its points. */
enum { SYSTEM_LINES = WATCH_MAX_FILES, SYSTEM_POINTS, MAX_STREAMS };

struct ship {
	const struct options *options;
	struct identity *identity;
	struct settings metrics;
	struct http_client *client;
	struct spool *spool;
	struct spool_file files[2]; /* our own: the child's output, or what standard input said */
	struct spool_file system_files[2]; /* lines and points of --system */
	char system_stream[300];
	struct system_options system_options;
	struct system *system;
	const char **streams;
	bool *is_points; /* of them */
	struct intake_input *inputs;
	size_t input_count;
	struct ledger *ledger; /* of files that are sent under a name that comes again; of our own files by theirs */
	struct ledger
		*name_lock; /* of our own: whose the sessions are that are called by job and stream; NULL: another's */
	pthread_mutex_t rest_mutex;
	struct rest_note rest; /* under it: what is left if we are killed, or in vain */
	int rest_room_fd; /* the disk may be full when the last note is written; -1: none */
	bool keeps_rest; /* the server has not got all: note and files stay */
	struct watch *watch; /* the user's files */
	struct sender *sender;
	struct intake *intake;
	bool shows_progress;
	int64_t shown_mono_ms;
	uint64_t shown_lines;
	struct child child;
	struct relay *relay; /* of the training's tracker; NULL: none */
	struct orders orders;
	char session_seed[SHIP_SEED_BYTES];
	struct child_end end; /* of the command; "Completed" else */
};

/* How the training ended, for what is sent later. */
void ship_keep_end(struct ship *ship, int64_t ended_ms);
