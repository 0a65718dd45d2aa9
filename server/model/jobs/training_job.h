/*
 * Job: SageMaker's TrainingJob document: which fields there are, what they may hold, and which of them a new job may be made from.
 * Ownership: nothing is kept. Threads: pure.
 * Source: the service model of SageMaker (CreateTrainingJob, DescribeTrainingJob), as the table in training_job.c.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/shape.h"

extern const struct shape_rule training_job_rules[];

/* Types, enums, lengths, counts and patterns of the fields that are SageMaker's; fields that are not are left alone, and so is
 * null. ERR_SEMANTIC names the field's path and its value. */
enum status training_job_check(const struct json *document, struct error *err) MUST_CHECK;

/* One field of the document, by its path: "ResourceConfig.KeepAlivePeriodInSeconds", "Tags". */
enum status training_job_check_field(const char *path, const struct json *value, struct error *err) MUST_CHECK;

/*
 * The document as CreateTrainingJob takes it: without what only Describe says and without what is ours, under the given name.
 * Into *w: one object.
 */
enum status training_job_write_request(
	const struct json *document, struct span name, struct json_writer *w, struct error *err) MUST_CHECK;

/* A name for the next run of the job that CreateTrainingJob takes: "llama-2" after "llama", "llama-3" after "llama-2". */
void training_job_next_name(struct span name, struct buf *out);
