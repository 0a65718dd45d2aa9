/*
 * Job: how long a request may wait for what runs behind it. It holds a worker of the HTTP server: all but one of them may wait long.
 * Ownership: none. Threads: workers.
 */
#pragma once

#include <stdint.h>

struct pipeline;

/* So many milliseconds. patience_end follows, however the waiting ended. */
int64_t patience_begin(struct pipeline *pipeline);
void patience_end(struct pipeline *pipeline);
