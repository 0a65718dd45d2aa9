/*
 * Job: a condition that a user writes on one metric: `loss.last > 4 for 20 steps`, `tokens_per_second < 0.8 * median(500)`; its text
 *      to a program, and the program over a series point by point. Grammar: docs/alerts.md.
 * Ownership: new/free; an expression is immutable once parsed and may be shared, a watch belongs to one series.
 * Threads: an expression any, a watch one at a time. Pure and deterministic, as detectors are: a watch packs to the bit. A point
 *      costs no more than the windows' bounded size, whose medians are kept by insertion (at most WINDOW_MAX values).
 */
#pragma once

#include "base/alloc.h"
#include "base/codec/pack.h"
#include "detect/condition_limits.h"
#include "detect/detector.h"

struct condition;

/* ERR_SEMANTIC with field "expression" and the column: what was expected there. */
enum status condition_parse(struct condition **out, struct span text, struct error *err) MUST_CHECK;
void condition_free(struct condition *expression);
/* The metric that it is of, or the role that goes by that name. */
struct span condition_metric(const struct condition *expression);

struct watch; /* an expression over one series, so far */
struct watch *watch_new(const struct condition *expression) __attribute__((warn_unused_result));
void watch_free(struct watch *watch);

/* Says when it begins to be true and has been for as long as the expression wants, and when it is no more. The incident is of
 * kind INCIDENT_RULE; the severity and whose it is are the caller's to fill in. */
void watch_feed(struct watch *watch, const struct condition *expression, uint64_t ordinal, const struct point *point,
	detector_report *report, void *context);

/* The job goes on after an end: what is open is to be reported again (is_again) where it is still true. */
void watch_say_again(struct watch *watch);

void watch_pack(const struct watch *watch, struct buf *out);
/* ERR_INVALID: damaged, or not of this expression. */
enum status watch_unpack(
	struct watch **out, const struct condition *expression, struct unpacker *in, struct error *err) MUST_CHECK;

AUTO_TYPE(condition)
AUTO_TYPE(watch)
