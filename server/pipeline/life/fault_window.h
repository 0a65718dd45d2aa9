/*
 * Job: of which time the fault is that made a job fail or fall silent, by its steps and its history.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "state/jobs/history.h"
#include "state/known_fault.h"

/* history: the job's; at_ms: when it failed, or was heard last. Where nothing was said by then, no steps are asked. */
enum status fault_window_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct history *history, int64_t at_ms, struct fault_window *out,
	struct error *err) MUST_CHECK;
