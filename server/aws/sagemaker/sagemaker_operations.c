/* SageMaker, as far as it is about training jobs: what its operations take. Source: its service model, 2017-07-24. */
#include "aws/sagemaker/sagemaker.h"

#define NEEDED(path)                                                                                                   \
	{                                                                                                              \
		path, SHAPE_NEEDED, 0, 0, NULL                                                                         \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, SHAPE_OBJECT, 0, 0, NULL                                                                         \
	}
#define STATUSES "InProgress|Completed|Failed|Stopping|Stopped|Deleting"
#define ARN "arn:.*"

/* What the document itself may hold says training_job_rules. */
static const struct shape_rule create[] = {
	NEEDED("TrainingJobName"),
	{"TrainingJobName", SHAPE_STRING, 1, 63, "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"},
	NEEDED("RoleArn"),
	NEEDED("OutputDataConfig"),
	NEEDED("OutputDataConfig.S3OutputPath"),
	NEEDED("AlgorithmSpecification.TrainingInputMode"),
	NEEDED("InputDataConfig[].ChannelName"),
	NEEDED("InputDataConfig[].DataSource"),
	NEEDED("CheckpointConfig.S3Uri"),
	NEEDED("Tags[].Key"),
	NEEDED("Tags[].Value"),
	END,
};

/* Any name that a job of ours may have, also from the other door. */
static const struct shape_rule name_alone[] = {
	NEEDED("TrainingJobName"), {"TrainingJobName", SHAPE_STRING, 1, 255, NULL}, END};

static const struct shape_rule update[] = {NEEDED("TrainingJobName"), {"TrainingJobName", SHAPE_STRING, 1, 255, NULL},
	{"ResourceConfig", SHAPE_OBJECT, 0, 0, NULL}, NEEDED("ResourceConfig.KeepAlivePeriodInSeconds"),
	{"ResourceConfig.KeepAlivePeriodInSeconds", SHAPE_INTEGER, 0, 3600, NULL},
	{"RemoteDebugConfig", SHAPE_OBJECT, 0, 0, NULL},
	{"RemoteDebugConfig.EnableRemoteDebug", SHAPE_BOOLEAN, 0, 0, NULL},
	{"ProfilerConfig", SHAPE_OBJECT, 0, 0, NULL}, {"ProfilerRuleConfigurations", SHAPE_ARRAY, 0, 20, NULL}, END};

static const struct shape_rule list[] = {{"NextToken", SHAPE_STRING, 0, 8192, NULL},
	{"MaxResults", SHAPE_INTEGER, 1, 100, NULL}, {"CreationTimeAfter", SHAPE_TIME, 0, 0, NULL},
	{"CreationTimeBefore", SHAPE_TIME, 0, 0, NULL}, {"LastModifiedTimeAfter", SHAPE_TIME, 0, 0, NULL},
	{"LastModifiedTimeBefore", SHAPE_TIME, 0, 0, NULL}, {"NameContains", SHAPE_STRING, 0, 63, "[a-zA-Z0-9\\-]*"},
	{"StatusEquals", SHAPE_ENUM, 0, 0, STATUSES}, {"SortBy", SHAPE_ENUM, 0, 0, "Name|CreationTime|Status"},
	{"SortOrder", SHAPE_ENUM, 0, 0, "Ascending|Descending"},
	{"WarmPoolStatusEquals", SHAPE_ENUM, 0, 0, "Available|Terminated|Reused|InUse"},
	{"TrainingPlanArnEquals", SHAPE_STRING, 50, 2048,
		"arn:aws[a-z0-9\\-]*:sagemaker:[a-z0-9\\-]+:[0-9]{12}:training-plan/[^\"\\\\]*"},
	END};

static const struct shape_rule suggestions[] = {NEEDED("Resource"), {"Resource", SHAPE_STRING, 1, 64, NULL},
	{"SuggestionQuery", SHAPE_OBJECT, 0, 0, NULL}, {"SuggestionQuery.PropertyNameQuery", SHAPE_OBJECT, 0, 0, NULL},
	NEEDED("SuggestionQuery.PropertyNameQuery.PropertyNameHint"),
	{"SuggestionQuery.PropertyNameQuery.PropertyNameHint", SHAPE_STRING, 0, 100, NULL}, END};

static const struct shape_rule add_tags[] = {NEEDED("ResourceArn"), {"ResourceArn", SHAPE_STRING, 0, 2048, ARN},
	NEEDED("Tags"), {"Tags", SHAPE_ARRAY, 0, 50, NULL}, {"Tags[]", SHAPE_OBJECT, 0, 0, NULL}, NEEDED("Tags[].Key"),
	{"Tags[].Key", SHAPE_STRING, 1, 128, NULL}, NEEDED("Tags[].Value"),
	{"Tags[].Value", SHAPE_STRING, 0, 256, NULL}, END};

static const struct shape_rule list_tags[] = {NEEDED("ResourceArn"), {"ResourceArn", SHAPE_STRING, 0, 2048, ARN},
	{"NextToken", SHAPE_STRING, 0, 8192, NULL}, {"MaxResults", SHAPE_INTEGER, 50, INT32_MAX, NULL}, END};

static const struct shape_rule delete_tags[] = {NEEDED("ResourceArn"), {"ResourceArn", SHAPE_STRING, 0, 2048, ARN},
	NEEDED("TagKeys"), {"TagKeys", SHAPE_ARRAY, 1, 50, NULL}, {"TagKeys[]", SHAPE_STRING, 1, 128, NULL}, END};

static const struct aws_operation operations[] = {
	{"CreateTrainingJob", SCOPE_WRITE, sagemaker_create_training_job, .input = create},
	{"DescribeTrainingJob", SCOPE_READ, sagemaker_describe_training_job, .input = name_alone},
	{"ListTrainingJobs", SCOPE_READ, sagemaker_list_training_jobs, .input = list},
	{"StopTrainingJob", SCOPE_WRITE, sagemaker_stop_training_job, .input = name_alone, .is_void = true},
	{"UpdateTrainingJob", SCOPE_WRITE, sagemaker_update_training_job, .input = update},
	{"DeleteTrainingJob", SCOPE_ADMIN, sagemaker_delete_training_job, .input = name_alone, .is_void = true},
	{"Search", SCOPE_READ, sagemaker_search, .input = NULL},
	{"GetSearchSuggestions", SCOPE_READ, sagemaker_get_search_suggestions, .input = suggestions},
	{"AddTags", SCOPE_WRITE, sagemaker_add_tags, .input = add_tags},
	{"ListTags", SCOPE_READ, sagemaker_list_tags, .input = list_tags},
	{"DeleteTags", SCOPE_WRITE, sagemaker_delete_tags, .input = delete_tags},
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
