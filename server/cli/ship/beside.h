/*
 * Job: what the ways to send files of a kind beside the training's log share (scores of an evaluation, traces of a profiler): whose they are, a
 *      server that may come back, what is refused of many, and how it ends.
 * Ownership: init/done. Threads: the main thread.
 */
#pragma once

#include "cli/http/client.h"
#include "cli/process/identity.h"

struct beside {
	const struct options *options;
	struct identity *identity;
	struct http_client *client;
	size_t refused;
	bool is_stopped; /* by a signal */
};

void beside_done(struct beside *beside);
/* what: "trace", for who gave no --job. */
enum status beside_open(
	struct beside *beside, char *const *environment, const char *what, struct error *err) MUST_CHECK;
/* A server that is away may come back: tries for --drain-timeout, or until a signal. */
enum status beside_send(struct beside *beside, enum status (*attempt)(void *context, struct error *err), void *context,
	struct error *err) MUST_CHECK;
/* The end of one of many: what is refused is named and does not keep the others. Else (away, no memory) the rest has no chance either. */
enum status beside_take(struct beside *beside, const char *file, enum status status, struct error *err) MUST_CHECK;
/* Of a program: both with the context; the exit status. */
int beside_run(const struct beside *beside,
	enum status (*prepare)(void *context, char *const *environment, struct error *err),
	enum status (*ship)(void *context, struct error *err), void *context, char *const *environment);

AUTO_DONE_TYPE(beside)
