#include "aws/sagemaker.h"
#include "pipeline/job_record.h"

enum status sagemaker_describe_training_job(struct aws_call *call, struct error *err)
{
	struct span name = SPAN("");
	struct job_row row;

	aws_string(call, "TrainingJobName", &name);
	enum status status = store_read_job(call->reader, call->arena, name, &row, err);
	if (status == ERR_NOT_FOUND)
		return aws_error(err, ERR_SEMANTIC, "ValidationException", "Requested resource not found.");
	TRY(status);
	return job_record_write(call->pipeline, call->reader, call->arena, &row, &call->w, err);
}
