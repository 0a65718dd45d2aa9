/*
 * Job: one chart over all jobs of a run.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "read/charts/chart.h"
#include "read/charts/chart_query.h"

struct pipeline;

enum { CHAIN_JOBS_MAX = 100 };

/* Over all jobs of its run, by steps: those that a later job prints again are superseded. Streams of the view are of all of them. */
enum status chart_read_chain(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *query, struct chart *out, struct error *err) MUST_CHECK;
/* The same up to the job, without what goes on with it; of a run that is longer than a chart may be, the newest jobs. */
enum status chart_read_chain_so_far(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *query, struct chart *out, struct error *err) MUST_CHECK;
