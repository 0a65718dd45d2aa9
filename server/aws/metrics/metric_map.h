/*
 * Job: what CloudWatch calls a metric (namespace, name, dimensions) <-> where its points are here (job, stream, series).
 *
 *      /aws/sagemaker/TrainingJobs  TrainingJobName=J            job J, stream algo-1; read: all streams of the job but machines'
 *                                   TrainingJobName=J Host=S     job J, stream S
 *                                   Host=J/H                     job J, stream system/H, which is a machine's (docs/system.md)
 *      any other N                  TrainingJobName=J            job J, stream cloudwatch/N
 *                                   none of that name            job N, stream cloudwatch/N
 *
 *      What other dimensions there are become the series' labels.
 * Ownership: texts are in the arena that is given. Threads: pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum { METRIC_DIMENSIONS_MAX = 30 };

struct metric_dimension {
	struct span name, value;
};

struct metric_identity {
	struct span namespace_name;
	struct span name;
	const struct metric_dimension *dimensions;
	size_t dimension_count;
};

struct metric_place {
	struct span job, stream;
	struct span metric; /* with its labels, in the form that is stored */
	bool is_whole_job; /* reads: of all streams, labelled or not, but for machines' */
};

/* ERR_SEMANTIC: no place, in words. */
enum status metric_map_place(struct arena *arena, const struct metric_identity *identity, struct metric_place *out,
	struct error *err) MUST_CHECK;
/* What is_whole_job leaves out. */
bool metric_map_is_apart(struct span stream);

/* Of a series; false: it is none of CloudWatch's. ERR_MEMORY else. */
enum status metric_map_identity(struct arena *arena, struct span job, struct span stream, struct span metric,
	struct metric_identity *out, struct error *err) MUST_CHECK;
