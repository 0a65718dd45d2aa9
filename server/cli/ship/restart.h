/*
 * Job: --on-restart: when the command has failed and all is sent, asks the server whether a restart is due, waits, asks again, and runs the
 *      user's command with the server's document. It starts nothing itself. docs/restarts.md.
 * Ownership: the caller's. Threads: the main one, once the sender has ended.
 */
#pragma once

#include "base/options/options.h"
#include "cli/http/client.h"
#include "cli/process/child.h"
#include "cli/process/identity.h"

struct restart {
	const struct options *options;
	char *const *environment;
	struct http_client *client;
	const struct identity *identity;
	const char *job; /* as the server calls it */
	const struct child_end *end; /* of the command */
	const char *program;
	bool (*wait)(int64_t ms); /* at most; true: a signal asks to stop */
};

/* All that went wrong is said on standard error: how the training ended stays what it is. unsent: why the server has not got it all; NULL. */
void restart_run(const struct restart *restart, const char *unsent);
