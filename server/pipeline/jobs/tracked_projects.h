/*
 * Job: projects of experiment trackers, which MLflow calls experiments: made, found by their name, renamed and tagged.
 * Ownership: spans are the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "store/tracked_runs.h"

struct pipeline;

/* row->project_id is set. ERR_CONFLICT: the team has one of that name. */
enum status pipeline_add_project(
	struct pipeline *pipeline, struct tracked_project_row *row, struct error *err) MUST_CHECK;
/* The team's of that name; made as it stands in *row if there is none. What there is is in *row. */
enum status pipeline_have_project(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct tracked_project_row *row, struct error *err) MUST_CHECK;
/* Its name, and tags over those that it has. */
struct project_change {
	struct span team;
	int64_t project_id;
	struct span name; /* "": as it is */
	struct span tag_key, tag_value; /* "": none */
	int64_t now_ms;
};
enum status pipeline_change_project(
	struct pipeline *pipeline, const struct project_change *change, struct error *err) MUST_CHECK;
