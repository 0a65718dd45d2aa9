/* SageMaker, as far as it is about training jobs. */
#include "aws/sagemaker.h"

#define END                                                                                                            \
	{                                                                                                              \
		NULL, SHAPE_OBJECT, 0, 0, NULL                                                                         \
	}

static const struct shape_rule name_alone[] = {
	{"TrainingJobName", SHAPE_NEEDED, 0, 0, NULL}, {"TrainingJobName", SHAPE_STRING, 1, 255, NULL}, END};

static const struct aws_operation operations[] = {
	{"DescribeTrainingJob", SCOPE_READ, sagemaker_describe_training_job, .input = name_alone},
	{.name = NULL},
};

const struct aws_service sagemaker_service = {.target = "SageMaker",
	.operations = operations,
	.codes = {.invalid = "ValidationException",
		.missing = "ValidationException",
		.not_found = "ResourceNotFound",
		.conflict = "ResourceInUse",
		.busy = "ThrottlingException",
		.unavailable = "ServiceUnavailableException"}};
