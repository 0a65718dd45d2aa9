/*
 * Job: which of a job's series tells how many tokens it has consumed, and how many tokens one of its units is.
 * Ownership: the series is the view's. Threads: any.
 */
#pragma once

#include "store/store.h"

#include <stdbool.h>

struct inputs;
struct job_view;
struct pipeline;
struct series_view;

enum { TOKENS_FROM_BYTES = 512 };
struct tokens_meter {
	const struct series_view *series; /* of the view; NULL: none does */
	double tokens_each;
	bool is_by_step; /* its steps are counted, not its values */
	char from[TOKENS_FROM_BYTES];
};

/* view: with its series. inputs: also of the jobs before it. */
enum status tokens_meter_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct inputs **inputs, struct tokens_meter *out, struct error *err) MUST_CHECK;
