#include "query/expression_names.h"

static const struct {
	const char *name;
	enum property_kind kind;
} properties[] = {
	{"TrainingJobName", PROPERTY_TEXT},
	{"TrainingJobArn", PROPERTY_TEXT},
	{"TuningJobArn", PROPERTY_TEXT},
	{"LabelingJobArn", PROPERTY_TEXT},
	{"AutoMLJobArn", PROPERTY_TEXT},
	{"ModelArtifacts.S3ModelArtifacts", PROPERTY_TEXT},
	{"TrainingJobStatus", PROPERTY_TEXT},
	{"SecondaryStatus", PROPERTY_TEXT},
	{"FailureReason", PROPERTY_TEXT},
	{"AlgorithmSpecification.TrainingImage", PROPERTY_TEXT},
	{"AlgorithmSpecification.AlgorithmName", PROPERTY_TEXT},
	{"AlgorithmSpecification.TrainingInputMode", PROPERTY_TEXT},
	{"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries", PROPERTY_BOOL},
	{"AlgorithmSpecification.MetricDefinitions.Name", PROPERTY_TEXT},
	{"AlgorithmSpecification.MetricDefinitions.Regex", PROPERTY_TEXT},
	{"AlgorithmSpecification.ContainerEntrypoint", PROPERTY_TEXT},
	{"AlgorithmSpecification.ContainerArguments", PROPERTY_TEXT},
	{"RoleArn", PROPERTY_TEXT},
	{"InputDataConfig.ChannelName", PROPERTY_TEXT},
	{"InputDataConfig.ContentType", PROPERTY_TEXT},
	{"InputDataConfig.CompressionType", PROPERTY_TEXT},
	{"InputDataConfig.RecordWrapperType", PROPERTY_TEXT},
	{"InputDataConfig.InputMode", PROPERTY_TEXT},
	{"InputDataConfig.ShuffleConfig.Seed", PROPERTY_NUMBER},
	{"InputDataConfig.DataSource.S3DataSource.S3DataType", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.S3DataSource.S3Uri", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.S3DataSource.S3DataDistributionType", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.S3DataSource.AttributeNames", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.S3DataSource.InstanceGroupNames", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.FileSystemDataSource.FileSystemId", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.FileSystemDataSource.FileSystemAccessMode", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.FileSystemDataSource.FileSystemType", PROPERTY_TEXT},
	{"InputDataConfig.DataSource.FileSystemDataSource.DirectoryPath", PROPERTY_TEXT},
	{"OutputDataConfig.S3OutputPath", PROPERTY_TEXT},
	{"OutputDataConfig.KmsKeyId", PROPERTY_TEXT},
	{"OutputDataConfig.CompressionType", PROPERTY_TEXT},
	{"ResourceConfig.InstanceType", PROPERTY_TEXT},
	{"ResourceConfig.InstanceCount", PROPERTY_NUMBER},
	{"ResourceConfig.VolumeSizeInGB", PROPERTY_NUMBER},
	{"ResourceConfig.VolumeKmsKeyId", PROPERTY_TEXT},
	{"ResourceConfig.KeepAlivePeriodInSeconds", PROPERTY_NUMBER},
	{"ResourceConfig.TrainingPlanArn", PROPERTY_TEXT},
	{"ResourceConfig.InstanceGroups.InstanceType", PROPERTY_TEXT},
	{"ResourceConfig.InstanceGroups.InstanceCount", PROPERTY_NUMBER},
	{"ResourceConfig.InstanceGroups.InstanceGroupName", PROPERTY_TEXT},
	{"VpcConfig.SecurityGroupIds", PROPERTY_TEXT},
	{"VpcConfig.Subnets", PROPERTY_TEXT},
	{"StoppingCondition.MaxRuntimeInSeconds", PROPERTY_NUMBER},
	{"StoppingCondition.MaxWaitTimeInSeconds", PROPERTY_NUMBER},
	{"StoppingCondition.MaxPendingTimeInSeconds", PROPERTY_NUMBER},
	{"CreationTime", PROPERTY_TIME},
	{"TrainingStartTime", PROPERTY_TIME},
	{"TrainingEndTime", PROPERTY_TIME},
	{"LastModifiedTime", PROPERTY_TIME},
	{"SecondaryStatusTransitions.Status", PROPERTY_TEXT},
	{"SecondaryStatusTransitions.StatusMessage", PROPERTY_TEXT},
	{"SecondaryStatusTransitions.StartTime", PROPERTY_TIME},
	{"SecondaryStatusTransitions.EndTime", PROPERTY_TIME},
	{"FinalMetricDataList.MetricName", PROPERTY_TEXT},
	{"FinalMetricDataList.Value", PROPERTY_NUMBER},
	{"FinalMetricDataList.Timestamp", PROPERTY_TIME},
	{"EnableNetworkIsolation", PROPERTY_BOOL},
	{"EnableInterContainerTrafficEncryption", PROPERTY_BOOL},
	{"EnableManagedSpotTraining", PROPERTY_BOOL},
	{"CheckpointConfig.S3Uri", PROPERTY_TEXT},
	{"CheckpointConfig.LocalPath", PROPERTY_TEXT},
	{"TrainingTimeInSeconds", PROPERTY_NUMBER},
	{"BillableTimeInSeconds", PROPERTY_NUMBER},
	{"ExperimentConfig.ExperimentName", PROPERTY_TEXT},
	{"ExperimentConfig.TrialName", PROPERTY_TEXT},
	{"ExperimentConfig.TrialComponentDisplayName", PROPERTY_TEXT},
	{"ExperimentConfig.RunName", PROPERTY_TEXT},
	{"RetryStrategy.MaximumRetryAttempts", PROPERTY_NUMBER},
	{"WarmPoolStatus.Status", PROPERTY_TEXT},
	{"WarmPoolStatus.ResourceRetainedBillableTimeInSeconds", PROPERTY_NUMBER},
	{"WarmPoolStatus.ReusedByJob", PROPERTY_TEXT},
	{"OutputModelPackageArn", PROPERTY_TEXT},
};

/* Each of them has many rare leaves, all of them texts. */
static const char *const trees[] = {"DebugHookConfig.", "DebugRuleConfigurations.", "DebugRuleEvaluationStatuses.",
	"ProfilerConfig.", "ProfilerRuleConfigurations.", "ProfilerRuleEvaluationStatuses.", "TensorBoardOutputConfig.",
	"ModelPackageConfig.", "RemoteDebugConfig.", "InfraCheckConfig.", "ServerlessJobConfig.", "MlflowConfig."};

static const char *const lists[] = {"InputDataConfig", "AlgorithmSpecification.MetricDefinitions",
	"ResourceConfig.InstanceGroups", "SecondaryStatusTransitions", "FinalMetricDataList", "DebugRuleConfigurations",
	"DebugRuleEvaluationStatuses", "ProfilerRuleConfigurations", "ProfilerRuleEvaluationStatuses",
	"DebugHookConfig.CollectionConfigurations"};

static bool take_family(struct span name, struct query_term *term, enum property_kind *kind)
{
	static const struct {
		const char *prefix;
		enum query_family family;
		enum property_kind kind;
	} families[] = {{"Metrics.", QUERY_METRIC, PROPERTY_NUMBER}, {"HyperParameters.", QUERY_HP, PROPERTY_TEXT},
		{"Tags.", QUERY_TAG, PROPERTY_TEXT}, {"Environment.", QUERY_ENV, PROPERTY_TEXT}};

	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		struct span prefix = span_from(families[i].prefix);
		if (!span_starts_with(name, prefix) || name.len == prefix.len)
			continue;
		term->family = families[i].family;
		term->key = span_skip(name, prefix.len);
		*kind = families[i].kind;
		return true;
	}
	return false;
}

bool expression_name(struct span name, struct query_term *term, enum property_kind *kind)
{
	term->aggregate = AGGREGATE_LAST;
	if (take_family(name, term, kind))
		return true;
	term->family = QUERY_PROPERTY;
	term->key = name;
	*kind = PROPERTY_TEXT;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
		if (span_equal(name, span_from(properties[i].name))) {
			*kind = properties[i].kind;
			return true;
		}
	for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
		if (span_starts_with(name, span_from(trees[i])) && name.len > strlen(trees[i]))
			return true;
	return false;
}

bool expression_is_list(struct span name)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (span_equal(name, span_from(lists[i])))
			return true;
	return false;
}
