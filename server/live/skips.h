/*
 * Job: of which jobs and kinds something was not rendered lately, and up to which sequence. What is old becomes one floor a kind, for all
 *      jobs, so that memory is for what was skipped within twice an age, not for all jobs that ever were.
 * Ownership: new/free; names are copied. Threads: one at a time (the hub's mutex).
 */
#pragma once

#include "base/alloc.h"
#include "base/span.h"

enum { SKIPS_MAX = 16384 /* jobs and kinds; more become the floor */, SKIPS_KINDS = 64 };

struct skips;

struct skips *skips_new(void) __attribute__((warn_unused_result)); /* NULL: out of memory */
void skips_free(struct skips *skips);
/* kind: below SKIPS_KINDS. */
void skips_note(struct skips *skips, struct span job, unsigned kind, uint64_t seq);
/* Up to which sequence something of this job is not known to be rendered. */
uint64_t skips_of_job(const struct skips *skips, struct span job, unsigned kind);
/* The same of any job. */
uint64_t skips_of_all(const struct skips *skips, unsigned kind);
/* Names are kept from one age to two. */
void skips_age(struct skips *skips, int64_t now_ms, int64_t age_ms);
size_t skips_count(const struct skips *skips);

AUTO_TYPE(skips)
