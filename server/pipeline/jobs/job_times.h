/*
 * Job: TrainingTimeInSeconds and BillableTimeInSeconds.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/jobs.h"
#include "store/store.h"

/* paused_ms: of its goodput. */
enum status job_write_seconds(struct store_reader *reader, const struct job_row *row, const struct json *document,
	int64_t paused_ms, struct json_writer *w, struct error *err) MUST_CHECK;
