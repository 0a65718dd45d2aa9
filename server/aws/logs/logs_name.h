/*
 * Job: names of CloudWatch Logs to and from ours. The group /aws/sagemaker/TrainingJobs holds the streams of all training jobs,
 *      JOB/STREAM-MILLISECONDS; any other group is the job of its name, with its streams as they are named.
 * Ownership: spans point into what was given, or into the arena. Threads: pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#define LOGS_TRAINING_GROUP "/aws/sagemaker/TrainingJobs"

enum { LOGS_NAME_MAX_BYTES = 255 };

struct logs_name {
	bool is_training; /* of the group of all training jobs */
	struct span job, stream;
	struct span suffix; /* "-1700000000000", which the stream's own name has not; "" */
};

bool logs_is_training(struct span group);
/* ERR_SEMANTIC with field (logGroupName, logStreamName) and, as text, the constraint that it breaks. */
enum status logs_check_group(struct span group, struct error *err) MUST_CHECK;
enum status logs_split(struct span group, struct span stream, struct logs_name *out, struct error *err) MUST_CHECK;
/* A name, or arn:aws:logs:REGION:ACCOUNT:log-group:NAME with or without ":*". */
struct span logs_group_of(struct span identifier);
/* The stream's full name. suffix "": as it is. ptr NULL: out of memory. */
struct span logs_join(struct arena *arena, const struct logs_name *name);
/* "-1700000000000" */
struct span logs_suffix(struct arena *arena, int64_t first_ms);
