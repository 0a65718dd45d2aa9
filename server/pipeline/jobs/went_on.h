/*
 * Job: when a run went on, by what it logged: its client dates ends, and says of a resumption only that it is.
 * Ownership: values. Threads: any, the writer with its transaction's reader.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#include <stdint.h>

struct pipeline;
struct store_reader;

/* Log time of its first point behind after_ms, up to until_ms; 0: there is none. */
enum status went_on_find(struct pipeline *pipeline, struct store_reader *reader, struct span job, int64_t after_ms,
	int64_t until_ms, int64_t *out, struct error *err) MUST_CHECK;
