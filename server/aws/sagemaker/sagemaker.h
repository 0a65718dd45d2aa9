/* Job: SageMaker's operations, by file. Ownership and threads: as aws_call. */
#pragma once

#include "aws/protocol/internal.h"
#include "pipeline/jobs/job_record.h"
#include "store/jobs.h"

/* ---- sagemaker_jobs.c ---- */
aws_handler sagemaker_create_training_job, sagemaker_describe_training_job, sagemaker_stop_training_job,
	sagemaker_update_training_job, sagemaker_delete_training_job;
/* ValidationException "Requested resource not found.": what waiters know of a job that is not there. */
enum status sagemaker_read_job(
	struct aws_call *call, struct span name, struct job_row *row, struct error *err) MUST_CHECK;
struct arn_place sagemaker_place(const struct aws_call *call);

/* ---- sagemaker_list.c ---- */
aws_handler sagemaker_list_training_jobs;

/* ---- sagemaker_search.c ---- */
aws_handler sagemaker_search, sagemaker_get_search_suggestions;

/* ---- sagemaker_tags.c ---- */
aws_handler sagemaker_add_tags, sagemaker_list_tags, sagemaker_delete_tags;
