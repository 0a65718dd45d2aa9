/*
 * Job: what the settings of a job say of its run as a whole. A job that goes on with another one trains the same model: what it does not
 *      state, the nearest one before it that does.
 * Ownership: in the arena. Threads: any.
 */
#pragma once

#include "extract/inputs.h"
#include "store/jobs.h"

struct pipeline;

/* `wanted`: of which inputs earlier jobs are asked. */
enum status run_inputs_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, const enum input *wanted, size_t wanted_count, struct inputs **out,
	struct error *err) MUST_CHECK;
