/*
 * Job: sees to it that a stop comes to its end although the writer hangs, because the disk or the database server does: then the main thread
 *      waits for it. Near the end of --stop-timeout, or once that is so, the connections are given up that wait for the writer. If it has not
 *      moved for that long, and for a quarter of a minute, the process ends as by a crash: what was acknowledged is in the journal. A reader
 *      that hangs while the writer has nothing to do is not seen: that stop is for whoever supervises the process to end.
 * Ownership: start/end. Threads: main; it has one of its own.
 */
#pragma once

#include "base/error.h"

struct http_server;
struct pipeline;
struct stop_watch;

/* Without one (no memory) the stop is only less sure of its end. */
void stop_watch_start(
	struct stop_watch **out, struct http_server *server, const struct pipeline *pipeline, int64_t stop_ms);
/* Before the server is freed: that gives connections up by itself. */
void stop_watch_leave_server(struct stop_watch *watch);
/* Its threads have ended: from now on it is the main thread that closes the database. */
void stop_watch_leave_pipeline(struct stop_watch *watch);
void stop_watch_end(struct stop_watch *watch);
