/*
 * Job: the config file read again while the server runs: options that can change at once do, others are named.
 * Ownership: nothing here is its own. Threads: any, one at a time by its mutex; options are read under their lock.
 */
#pragma once

#include "base/buf.h"
#include "base/options/options.h"

#include <pthread.h>

struct data_files;
struct pipeline;
struct http_server;

struct reload {
	struct options *options; /* in force */
	const struct data_files *data; /* as they were at the start */
	struct pipeline *pipeline;
	struct http_server *server;
	pthread_mutex_t mutex;
	bool is_ready;
};
/* From now on reload_run may be called with effect. */
void reload_ready(struct reload *reload, struct pipeline *pipeline, struct http_server *server);
/* Appends {"changed":[…],"needs_restart":[…]}, names of options, also of those whose files have changed. On an error, which names the line, nothing has changed. */
enum status reload_run(struct reload *reload, struct buf *out, struct error *err) MUST_CHECK;

/* --log-level; ERR_SEMANTIC: there is no such level. */
enum status reload_set_level(const struct options *options, struct error *err) MUST_CHECK;
