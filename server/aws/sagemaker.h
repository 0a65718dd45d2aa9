/* Job: SageMaker's operations, by file. Ownership and threads: as aws_call. */
#pragma once

#include "aws/internal.h"

aws_handler sagemaker_describe_training_job;
