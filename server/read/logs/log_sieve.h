/*
 * Job: passes over text in which an expression cannot match: each match holds certain texts, or so many characters of one class
 *      behind each other, which are found faster than it is tried, in time that no text can make long.
 * Ownership: new/free. Threads: immutable.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

struct log_sieve;

/* *out NULL: nothing is known of what the pattern (of bytes) needs. */
enum status log_sieve_new(struct log_sieve **out, struct span pattern, bool ignore_case, struct error *err) MUST_CHECK;
void log_sieve_free(struct log_sieve *sieve);

/* A place behind which each line that begins at `from` or later, and matches, ends; text.len: there is none. */
size_t log_sieve_next(const struct log_sieve *sieve, struct span text, size_t from);

AUTO_TYPE(log_sieve)
