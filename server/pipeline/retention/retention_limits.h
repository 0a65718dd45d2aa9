/*
 * Job: limits on log text, the one thing that is ever deleted by them.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "store/retention.h"
#include "store/store.h"

struct pipeline;

enum status pipeline_pin_job(
	struct pipeline *pipeline, struct span job, struct span team, bool is_pinned, struct error *err) MUST_CHECK;

/* limits: of the job, which keeps its pin. */
enum status pipeline_limit_job(struct pipeline *pipeline, struct span job, struct span team,
	const struct retention *limits, struct error *err) MUST_CHECK;

/* team "": the server's. */
enum status pipeline_limit_team(
	struct pipeline *pipeline, struct span team, const struct retention *limits, struct error *err) MUST_CHECK;

/* What the database may use; remembered. */
enum status pipeline_limit_space(struct pipeline *pipeline, uint64_t log_bytes, struct error *err) MUST_CHECK;
