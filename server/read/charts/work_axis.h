/*
 * Job: the axes of work: how many tokens a job had been trained on at each step, by its own count of them, and how many FLOPs these took.
 *      Between two points of the count, and beyond the last two, it is taken to go on evenly (the page does the same with these points:
 *      lib/chart/xalong.ts).
 * Ownership: in the arena. Threads: any.
 */
#pragma once

#include "read/charts/chart_query.h"
#include "read/charts/work_points.h"
#include "store/store.h"

struct chart;
struct job_view;
struct pipeline;

struct work_axis {
	double *steps, *tokens; /* both rise */
	size_t count; /* at least 2 */
	double each; /* what a token is on the axis: its FLOPs, else 1 */
	struct span tokens_from; /* what counts them, as of struct work_count */
	double parameters; /* of FLOPs */
	struct span parameters_from;
};

bool chart_axis_is_work(enum chart_axis axis);
#define WORK_FLOPS_FORMULA "6 * parameters * tokens"

enum status work_count_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct work_count *out, struct error *err) MUST_CHECK;
/* Why there are none. */
extern const char work_no_tokens[], work_no_parameters[];

/* ERR_NOT_FOUND, field x, says why there is none: the job is not there, counts no tokens, or its parameters are not known. */
enum status work_axis_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	enum chart_axis axis, bool is_chain, struct work_axis *out, struct error *err) MUST_CHECK;

/* In tokens, not in FLOPs. */
double work_axis_tokens(const struct work_axis *axis, double step);
/* The query by the steps at which its work was done. */
void work_axis_narrow(const struct work_axis *axis, const struct chart_query *asked, struct chart_query *out);

/* A chart by any axis, of a job or of its run: chart_read and chart_read_chain know steps and times. */
enum status work_axis_chart(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *query, bool is_chain, struct chart *out,
	struct error *err) MUST_CHECK;
