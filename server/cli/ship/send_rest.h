/*
 * Job: sm-ship --send-rest: what earlier ones could not send, because they were killed or the server was away: lines, how it ended, and what
 *      the training told its tracker, each once.
 * Ownership: nothing is kept. Threads: the main thread.
 */
#pragma once

#include "base/options/options.h"

int send_rest_run(const struct options *options, char *const *environment);
