/*
 * Job: when something became known to this server, by which a report counts it: what comes late is news then. docs/report.md.
 * Ownership: values. Threads: pure.
 */
#pragma once

#include <stdint.h>

/* What is this much older than its arrival is the past: an import or a catch-up, nobody is paged for it. */
enum { HISTORIC_MS = 15 * 60 * 1000 };

/* Never before it happened. */
static inline int64_t known_at(int64_t happened_ms, int64_t now_ms)
{
	return now_ms > happened_ms ? now_ms : happened_ms;
}

/* Of what somebody says the time of: the past is known since it happened. 0: it has not happened. */
static inline int64_t known_from(int64_t happened_ms, int64_t now_ms)
{
	return happened_ms && now_ms - happened_ms <= HISTORIC_MS ? known_at(happened_ms, now_ms) : happened_ms;
}
