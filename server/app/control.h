/*
 * Job: the socket beside the database (storage_socket, mode 0600) by which subcommands ask the running server. One JSON object
 *      on a line each way: {"command":"token_create","name","scope","team"} -> {"token"} or {"error","status"};
 *      {"command":"backup","file"} -> lines of {"left","total"}, then {"done":true} or {"error","status"}.
 * Ownership: as said. Threads: main; a backup has a thread of its own, one at a time.
 */
#pragma once

#include "api/api.h"

#include <pthread.h>
#include <stdatomic.h>

/* A listening socket at path; an old one there is replaced (the database's lock says that nobody listens). */
enum status control_listen(const char *path, int *fd, struct error *err) MUST_CHECK;
/* The server's side: zeroed to begin with, but for what it works on. */
struct control {
	struct pipeline *pipeline;
	struct api *api;
	/* a backup that runs */
	pthread_t thread;
	bool is_started; /* main's */
	atomic_bool is_running, must_stop;
	int fd;
	char path[4096];
};
/* Takes one connection and answers its one command, or lets the thread of a backup answer it. Failures are the client's to see. */
void control_answer(struct control *control, int listen_fd);
/* Ends a backup that runs, and waits. */
void control_end_backup(struct control *control);

/* The client's side. ERR_NOT_FOUND: nobody listens there. take sees each line; false: it was the last one. */
enum status control_ask(const char *path, struct span request, bool (*take)(void *context, struct span line),
	void *context, struct error *err) MUST_CHECK;
