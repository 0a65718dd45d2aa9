/*
 * Job: a job with its streams and series as readers see it; read/view.h makes it.
 * Ownership: it lives in its arena.
 */
#pragma once

#include "model/metrics/metric.h"
#include "model/metrics/own_axis.h"
#include "model/metrics/point.h"
#include "model/jobs/stretches.h"
#include "model/jobs/totals.h"
#include "store/jobs.h"
#include "store/store.h"

struct series_view {
	uint32_t series_id;
	struct span metric;
	struct span unit;
	enum role role;
	int higher;
	struct summary summary; /* of the points that are not superseded */
	int64_t min_step, max_step, min_ms, max_ms; /* over all points */
	struct own_axis axis;
	uint64_t sealed_points;
	struct totals totals; /* of a distribution's counts */
	bool is_told, has_given_way, says_steps;
	struct point *tail; /* a copy of the points behind them; NULL unless asked for */
	size_t tail_count;
};

struct health_view {
	struct span name;
	uint64_t tried, matched, not_numeric, limited, missing, without_step;
};

/* A preset that a stream speaks. */
struct format_view {
	struct span preset;
	struct span reason; /* why it was chosen */
	uint64_t lines; /* that it took */
	uint64_t last_line; /* the last of them */
};

struct stream_view {
	uint32_t stream_id;
	struct span name;
	struct span host;
	uint64_t lines;
	uint64_t extracted_lines; /* so many of them are in first_ms, last_ms and the series */
	uint64_t bytes;
	int64_t first_ms; /* of lines and points, log time; 0: nothing is extracted yet */
	int64_t last_ms;
	struct stretches
		stretches; /* first_ms and last_ms are of all lines and points, these of those that belong together */
	int64_t last_arrival_ms;
	bool has_skew;
	int64_t skew_ms; /* of its clock: what its log times are ahead of arrival */
	uint64_t sent_points; /* points that came as such */
	uint64_t extracted_points; /* of these, see extracted_lines */
	bool has_hole; /* extraction stopped there for want of memory; it is tried again (mend.h) */
	uint32_t attempt;
	const int64_t *attempt_starts; /* attempt i + 1 opened at step starts[i] */
	size_t attempt_start_count;
	struct span damage; /* "": none; else why its consumers began anew (stream_rebuild.h) */
	struct span preset; /* the one that leads; "" : definitions of the job, or none recognised yet */
	struct span preset_reason; /* why that one; "" with preset "" */
	uint32_t series_base; /* what the numbers of its series begin with: another after a back-fill */
	struct series_view *series;
	size_t series_count;
	struct format_view *formats; /* all presets, the one that leads first; none of definitions of the job */
	size_t format_count;
	struct health_view *health; /* of the definitions, or of those of all formats */
	size_t health_count;
};

/*
 * Is it what is asked for (metric_matches)? What another format of the stream calls by the same name is beside it, train:loss{preset="…"}:
 * that is another trainer's, and meant by its own name alone.
 */
bool stream_view_means(const struct stream_view *stream, const struct series_view *series, struct span asked);
/* Where attempts began for its points. */
struct attempt_starts stream_view_starts(const struct stream_view *stream, const struct series_view *series);
/* The first that means it; NULL: none, or nothing is asked for. */
const struct series_view *stream_view_find(const struct stream_view *stream, struct span asked);

/* Its lines say no step: those of this series are a count of its prints, 0, 1, 2 …, and stand on nobody's schedule. Asks the health. */
bool stream_view_counts(const struct stream_view *stream, struct span metric);

struct job_view {
	struct job_row row;
	struct stream_view *streams;
	size_t stream_count;
	uint64_t seq; /* everything up to it is in the view */
};
/* That its log tells of: at least one. */
uint32_t job_view_attempts(const struct job_view *view);
