/*
 * Job: what somebody set right by hand of what is worked out of a job: the member by_hand of its document.
 * Ownership: spans are the document's. Threads: pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"

struct by_hand {
	int64_t start_ms, end_ms; /* of its training; 0: not set, as all others */
	int64_t nodes;
	struct span instance_type; /* "" */
	double price_per_hour; /* of one node; NaN */
	struct span price_currency; /* "": that of the list of prices */
};
/* What is no such value is not set. */
void by_hand_read(struct by_hand *out, const struct json *document);
/* Is one of a job's times as it was set? Then no seconds that the document states are of them. */
static inline bool by_hand_sets_times(const struct by_hand *by, int64_t started_ms, int64_t ended_ms)
{
	return (by->start_ms && by->start_ms == started_ms) || (by->end_ms && by->end_ms == ended_ms);
}
/*
 * A document that is only read from now on becomes what somebody set: HyperParameters have the settings, and ResourceConfig type and count,
 * and no groups of several types any more. Whoever works something out of a job's settings or machines reads it behind this.
 */
enum status by_hand_settle(struct json *document, struct error *err) MUST_CHECK;
enum status by_hand_settle_settings(struct json *document, struct error *err) MUST_CHECK;
/* Did somebody set it? */
bool by_hand_has_setting(const struct json *document, struct span key);
bool by_hand_has_key(const struct json *object, struct span key); /* object: NULL: no */
/* "algo-1:104", a key of faults: a stream and a line of it. false: it is none. */
bool by_hand_read_place(struct span place, struct span *stream, uint64_t *line);
/* Why the fault that begins at that line is not its machine's, copied; "": nobody says so; ptr NULL: out of memory. */
struct span by_hand_find_fault(struct arena *arena, struct span document, struct span stream, uint64_t line);
/* NULL and null say nothing; its times are at most latest_ms. ERR_SEMANTIC names the member. */
enum status by_hand_check(const struct json *changes, int64_t latest_ms, struct error *err) MUST_CHECK;
/* A price of which no currency is noted is of this one. */
enum status by_hand_name_currency(struct json *document, struct span currency, struct error *err) MUST_CHECK;
/* {"nodes": 4, "end_ms": null}: into the document's; null takes it back. ERR_SEMANTIC names the member. */
enum status by_hand_change(struct json *document, const struct json *changes, struct error *err) MUST_CHECK;
