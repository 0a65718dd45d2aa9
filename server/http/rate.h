/*
 * Job: token buckets, one a principal: requests and bytes per second, bursts of two seconds; a principal's own limits go first. Bytes are charged as they
 *      arrive and may run into debt; the next request waits until it is paid, so that a large body is never cut. Processor
 *      time of slow requests is charged in the same way, with bursts of a minute, and only slow requests wait for it.
 * Ownership: new/free. Threads: any. Time is an argument.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "http/http.h"

struct rate;

/* 0: no limit. */
struct rate *rate_new(uint64_t requests_per_s, uint64_t bytes_per_s, uint64_t cpu_ms_per_s)
	__attribute__((warn_unused_result));
void rate_free(struct rate *rate);
/* ERR_BUSY with retry_after_s when the principal has to wait. */
enum status rate_admit(
	struct rate *rate, const struct principal *who, int64_t now_mono_ms, struct error *err) MUST_CHECK;
/* The same of a slow request, beside rate_admit. */
enum status rate_admit_slow(
	struct rate *rate, const struct principal *who, int64_t now_mono_ms, struct error *err) MUST_CHECK;
void rate_charge_cpu(struct rate *rate, const struct principal *who, int64_t cpu_ns, int64_t now_mono_ms);
void rate_charge_bytes(struct rate *rate, const struct principal *who, uint64_t bytes, int64_t now_mono_ms);
/* From now on, for those who have no limits of their own. */
void rate_set(struct rate *rate, uint64_t requests_per_s, uint64_t bytes_per_s);

AUTO_TYPE(rate)
