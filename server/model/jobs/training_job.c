#include "model/jobs/training_job.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_MAX_BYTES = 80 };

#define ARN_MAX 2048
#define S3_URI "(?:https|s3)://[^/]+/?.*"
#define YES_NO "Enabled|Disabled"
#define GROUP_NAMES(path)                                                                                              \
	{path, SHAPE_ARRAY, 0, 5, ""},                                                                                 \
	{                                                                                                              \
		path "[]", SHAPE_STRING, 1, 64, ".+"                                                                   \
	}

/* Objects before what is in them: a field of the wrong type is named itself, not its parts. InstanceType is no enum: other
 * clusters have other machines, and SageMaker's list grows by the month. */
const struct shape_rule training_job_rules[] = {
	{"TrainingJobName", SHAPE_STRING, 1, 255, ""},
	{"RoleArn", SHAPE_STRING, 20, ARN_MAX, "arn:aws[a-z-]*:iam::\\d{12}:role/?[a-zA-Z_0-9+=,.@/-]+"},

	{"HyperParameters", SHAPE_MAP, 0, 100, ""},
	{"HyperParameters{key}", SHAPE_STRING, 0, 256, ""},
	{"HyperParameters{}", SHAPE_STRING, 0, 2500, ""},
	{"Environment", SHAPE_MAP, 0, 100, ""},
	{"Environment{key}", SHAPE_STRING, 0, 512, "[a-zA-Z_][a-zA-Z0-9_]*"},
	{"Environment{}", SHAPE_STRING, 0, 512, ""},
	{"Tags", SHAPE_ARRAY, 0, 50, ""},
	{"Tags[]", SHAPE_OBJECT, 0, 0, ""},
	{"Tags[].Key", SHAPE_STRING, 1, 128, ""},
	{"Tags[].Value", SHAPE_STRING, 0, 256, ""},

	{"AlgorithmSpecification", SHAPE_OBJECT, 0, 0, ""},
	{"AlgorithmSpecification.TrainingImage", SHAPE_STRING, 0, 255, ""},
	{"AlgorithmSpecification.AlgorithmName", SHAPE_STRING, 1, 170, ""},
	{"AlgorithmSpecification.TrainingInputMode", SHAPE_ENUM, 0, 0, "Pipe|File|FastFile"},
	{"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries", SHAPE_BOOLEAN, 0, 0, ""},
	{"AlgorithmSpecification.ContainerEntrypoint", SHAPE_ARRAY, 1, 100, ""},
	{"AlgorithmSpecification.ContainerEntrypoint[]", SHAPE_STRING, 0, 256, ""},
	{"AlgorithmSpecification.ContainerArguments", SHAPE_ARRAY, 1, 100, ""},
	{"AlgorithmSpecification.ContainerArguments[]", SHAPE_STRING, 0, 256, ""},
	{"AlgorithmSpecification.TrainingImageConfig", SHAPE_OBJECT, 0, 0, ""},
	{"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode", SHAPE_ENUM, 0, 0, "Platform|Vpc"},

	{"InputDataConfig", SHAPE_ARRAY, 1, 20, ""},
	{"InputDataConfig[]", SHAPE_OBJECT, 0, 0, ""},
	{"InputDataConfig[].ChannelName", SHAPE_STRING, 1, 64, "[A-Za-z0-9.\\-_]+"},
	{"InputDataConfig[].ContentType", SHAPE_STRING, 0, 256, ""},
	{"InputDataConfig[].CompressionType", SHAPE_ENUM, 0, 0, "None|Gzip"},
	{"InputDataConfig[].RecordWrapperType", SHAPE_ENUM, 0, 0, "None|RecordIO"},
	{"InputDataConfig[].InputMode", SHAPE_ENUM, 0, 0, "Pipe|File|FastFile"},
	{"InputDataConfig[].ShuffleConfig", SHAPE_OBJECT, 0, 0, ""},
	{"InputDataConfig[].ShuffleConfig.Seed", SHAPE_INTEGER, INT64_MIN, INT64_MAX, ""},
	{"InputDataConfig[].DataSource", SHAPE_OBJECT, 0, 0, ""},
	{"InputDataConfig[].DataSource.S3DataSource", SHAPE_OBJECT, 0, 0, ""},
	{"InputDataConfig[].DataSource.S3DataSource.S3DataType", SHAPE_ENUM, 0, 0,
		"ManifestFile|S3Prefix|AugmentedManifestFile|Converse"},
	{"InputDataConfig[].DataSource.S3DataSource.S3Uri", SHAPE_STRING, 0, 1024, S3_URI},
	{"InputDataConfig[].DataSource.S3DataSource.S3DataDistributionType", SHAPE_ENUM, 0, 0,
		"FullyReplicated|ShardedByS3Key"},
	{"InputDataConfig[].DataSource.S3DataSource.AttributeNames", SHAPE_ARRAY, 0, 16, ""},
	{"InputDataConfig[].DataSource.S3DataSource.AttributeNames[]", SHAPE_STRING, 1, 256, ".+"},
	GROUP_NAMES("InputDataConfig[].DataSource.S3DataSource.InstanceGroupNames"),
	{"InputDataConfig[].DataSource.FileSystemDataSource", SHAPE_OBJECT, 0, 0, ""},
	{"InputDataConfig[].DataSource.FileSystemDataSource.FileSystemId", SHAPE_STRING, 11, 255, ".*"},
	{"InputDataConfig[].DataSource.FileSystemDataSource.FileSystemAccessMode", SHAPE_ENUM, 0, 0, "rw|ro"},
	{"InputDataConfig[].DataSource.FileSystemDataSource.FileSystemType", SHAPE_ENUM, 0, 0, "EFS|FSxLustre"},
	{"InputDataConfig[].DataSource.FileSystemDataSource.DirectoryPath", SHAPE_STRING, 0, 4096, ""},

	{"OutputDataConfig", SHAPE_OBJECT, 0, 0, ""},
	{"OutputDataConfig.S3OutputPath", SHAPE_STRING, 0, 1024, S3_URI},
	{"OutputDataConfig.KmsKeyId", SHAPE_STRING, 0, 2048, "[a-zA-Z0-9:/_-]*"},
	{"OutputDataConfig.CompressionType", SHAPE_ENUM, 0, 0, "GZIP|NONE"},
	{"CheckpointConfig", SHAPE_OBJECT, 0, 0, ""},
	{"CheckpointConfig.S3Uri", SHAPE_STRING, 0, 1024, S3_URI},
	{"CheckpointConfig.LocalPath", SHAPE_STRING, 0, 4096, ""},
	{"TensorBoardOutputConfig", SHAPE_OBJECT, 0, 0, ""},
	{"TensorBoardOutputConfig.S3OutputPath", SHAPE_STRING, 0, 1024, S3_URI},
	{"TensorBoardOutputConfig.LocalPath", SHAPE_STRING, 0, 4096, ""},
	{"ModelArtifacts", SHAPE_OBJECT, 0, 0, ""},
	{"ModelArtifacts.S3ModelArtifacts", SHAPE_STRING, 0, 1024, S3_URI},

	{"ResourceConfig", SHAPE_OBJECT, 0, 0, ""},
	{"ResourceConfig.InstanceType", SHAPE_STRING, 1, 255, ""},
	{"ResourceConfig.InstanceCount", SHAPE_INTEGER, 0, INT32_MAX, ""},
	{"ResourceConfig.VolumeSizeInGB", SHAPE_INTEGER, 0, INT32_MAX, ""},
	{"ResourceConfig.VolumeKmsKeyId", SHAPE_STRING, 0, 2048, "[a-zA-Z0-9:/_-]*"},
	{"ResourceConfig.KeepAlivePeriodInSeconds", SHAPE_INTEGER, 0, 3600, ""},
	{"ResourceConfig.InstanceGroups", SHAPE_ARRAY, 0, 5, ""},
	{"ResourceConfig.InstanceGroups[]", SHAPE_OBJECT, 0, 0, ""},
	{"ResourceConfig.InstanceGroups[].InstanceType", SHAPE_STRING, 1, 255, ""},
	{"ResourceConfig.InstanceGroups[].InstanceCount", SHAPE_INTEGER, 0, INT32_MAX, ""},
	{"ResourceConfig.InstanceGroups[].InstanceGroupName", SHAPE_STRING, 1, 64, ".+"},
	{"ResourceConfig.TrainingPlanArn", SHAPE_STRING, 50, ARN_MAX,
		"arn:aws[a-z0-9-]*:sagemaker:[a-z0-9-]+:\\d{12}:training-plan/.*"},

	{"VpcConfig", SHAPE_OBJECT, 0, 0, ""},
	{"VpcConfig.SecurityGroupIds", SHAPE_ARRAY, 1, 5, ""},
	{"VpcConfig.SecurityGroupIds[]", SHAPE_STRING, 0, 32, "[-0-9a-zA-Z]+"},
	{"VpcConfig.Subnets", SHAPE_ARRAY, 1, 16, ""},
	{"VpcConfig.Subnets[]", SHAPE_STRING, 0, 32, "[-0-9a-zA-Z]+"},
	{"StoppingCondition", SHAPE_OBJECT, 0, 0, ""},
	{"StoppingCondition.MaxRuntimeInSeconds", SHAPE_INTEGER, 1, 28 * 86400, ""},
	{"StoppingCondition.MaxWaitTimeInSeconds", SHAPE_INTEGER, 1, INT32_MAX, ""},
	{"StoppingCondition.MaxPendingTimeInSeconds", SHAPE_INTEGER, 7200, 2419200, ""},
	{"RetryStrategy", SHAPE_OBJECT, 0, 0, ""},
	{"RetryStrategy.MaximumRetryAttempts", SHAPE_INTEGER, 1, 30, ""},
	{"RemoteDebugConfig", SHAPE_OBJECT, 0, 0, ""},
	{"RemoteDebugConfig.EnableRemoteDebug", SHAPE_BOOLEAN, 0, 0, ""},
	{"InfraCheckConfig", SHAPE_OBJECT, 0, 0, ""},
	{"InfraCheckConfig.EnableInfraCheck", SHAPE_BOOLEAN, 0, 0, ""},
	{"SessionChainingConfig", SHAPE_OBJECT, 0, 0, ""},
	{"SessionChainingConfig.EnableSessionTagChaining", SHAPE_BOOLEAN, 0, 0, ""},
	{"EnableNetworkIsolation", SHAPE_BOOLEAN, 0, 0, ""},
	{"EnableInterContainerTrafficEncryption", SHAPE_BOOLEAN, 0, 0, ""},
	{"EnableManagedSpotTraining", SHAPE_BOOLEAN, 0, 0, ""},
	{"ExperimentConfig", SHAPE_OBJECT, 0, 0, ""},
	{"ExperimentConfig.ExperimentName", SHAPE_STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"ExperimentConfig.TrialName", SHAPE_STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"ExperimentConfig.TrialComponentDisplayName", SHAPE_STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"ExperimentConfig.RunName", SHAPE_STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"DebugHookConfig", SHAPE_OBJECT, 0, 0, ""},
	{"DebugHookConfig.S3OutputPath", SHAPE_STRING, 0, 1024, S3_URI},
	{"DebugRuleConfigurations", SHAPE_ARRAY, 0, 20, ""},
	{"ProfilerConfig", SHAPE_OBJECT, 0, 0, ""},
	{"ProfilerRuleConfigurations", SHAPE_ARRAY, 0, 20, ""},

	{"TrainingTimeInSeconds", SHAPE_NUMBER, 0, INT32_MAX, ""},
	{"BillableTimeInSeconds", SHAPE_NUMBER, 0, INT32_MAX, ""},
	{"FinalMetricDataList", SHAPE_ARRAY, 0, 40, ""},
	{"FinalMetricDataList[]", SHAPE_OBJECT, 0, 0, ""},
	{"FinalMetricDataList[].MetricName", SHAPE_STRING, 1, 255, ""},
	{"Notes", SHAPE_STRING, 0, 16384, ""},
	{"Labels", SHAPE_ARRAY, 0, 50, ""},
	{"Labels[]", SHAPE_STRING, 1, 128, ""},
	{NULL, SHAPE_OBJECT, 0, 0, NULL},
};

/* "3 is not between 0 and 2" behind the value. */
static void say_why(const struct shape_fault *fault, char *out, size_t room)
{
	static const char *const other_types[] = {[SHAPE_OBJECT] = "is no object",
		[SHAPE_ARRAY] = "is no array",
		[SHAPE_MAP] = "is no object",
		[SHAPE_STRING] = "is no string",
		[SHAPE_INTEGER] = "is no integer",
		[SHAPE_NUMBER] = "is no number",
		[SHAPE_BOOLEAN] = "is neither true nor false",
		[SHAPE_ENUM] = "is no string",
		[SHAPE_TIME] = "is no time"};
	const struct shape_rule *rule = fault->rule;
	const char *what = rule->kind == SHAPE_MAP ? "entries" : "elements";
	long long count = fault->count, min = rule->min, max = rule->max;

	switch (fault->wrong) {
	case SHAPE_OTHER_TYPE:
		snprintf(out, room, "%s", other_types[rule->kind]);
		break;
	case SHAPE_TOO_SHORT:
		snprintf(out, room, "has %lld characters; at least %lld are wanted", count, min);
		break;
	case SHAPE_TOO_LONG:
		snprintf(out, room, "has %lld characters; at most %lld are taken", count, max);
		break;
	case SHAPE_NO_MATCH:
		snprintf(out, room, "does not match %s", rule->words);
		break;
	case SHAPE_TOO_SMALL:
	case SHAPE_TOO_LARGE:
		snprintf(out, room, "is not between %lld and %lld", min, max);
		break;
	case SHAPE_TOO_FEW:
		snprintf(out, room, "has %lld %s; at least %lld is wanted", count, what, min);
		break;
	case SHAPE_TOO_MANY:
		snprintf(out, room, "has %lld %s; at most %lld are taken", count, what, max);
		break;
	case SHAPE_KEY_TOO_LONG:
		snprintf(out, room, "is a key of more than %d bytes", SHAPE_PATH_MAX_BYTES);
		break;
	case SHAPE_MISSING:
		snprintf(out, room, "is needed");
		break;
	case SHAPE_NO_WORD:
	case SHAPE_FITS:
		break;
	}
}

static void list_words(const struct shape_rule *rule, char *out, size_t room)
{
	struct span rest = span_from(rule->words), word;
	size_t used = (size_t)snprintf(out, room, "is none of ");

	for (bool is_first = true; span_next(&rest, '|', &word); is_first = false) {
		used += (size_t)snprintf(out + used, room - used, "%s%.*s", is_first ? "" : ", ", SPAN_ARGS(word));
		used = used < room ? used : room - 1;
	}
}

/* "ResourceConfig.InstanceCount: -1 is …" */
static enum status refuse(struct shape_fault *fault, struct error *err)
{
	AUTO_DONE(buf) shown = BUF_INIT(8 << 20);
	const char *path = shape_fault_path(fault);
	char why[256];

	if (fault->wrong == SHAPE_NO_WORD)
		list_words(fault->rule, why, sizeof why);
	else
		say_why(fault, why, sizeof why);
	bool is_long = shape_fault_show(fault, SHOWN_MAX_BYTES, &shown);
	return error_set_field(
		err, ERR_SEMANTIC, path, "%s: %.*s%s %s", path, SPAN_ARGS(buf_span(&shown)), is_long ? "…" : "", why);
}

static enum status refuse_tag(size_t number, const char *what, struct span key, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "Tags[%zu].Key", number);
	return error_set_field(err, ERR_SEMANTIC, field, "%s: '%.*s' %s", field, (int)(key.len < 128 ? key.len : 128),
		key.ptr ? key.ptr : "", what);
}

/* At most 50. */
static enum status check_tags(const struct json *tags, struct error *err)
{
	size_t number = 0;

	for (const struct json *tag = tags ? json_first(tags) : NULL; tag; tag = json_next(tag), number++) {
		struct span key = json_string_of(json_get(tag, "Key"));
		if (!key.len)
			return refuse_tag(number, "a tag needs Key and Value", key, err);
		if (!json_get(tag, "Value"))
			return refuse_tag(number, "has no Value; a tag needs Key and Value", key, err);
		for (const struct json *other = json_first(tags); other != tag; other = json_next(other))
			if (span_equal(json_string_of(json_get(other, "Key")), key))
				return refuse_tag(number, "is the key of two tags", key, err);
	}
	return OK;
}

static enum status check_waiting(const struct json *document, struct error *err)
{
	static const char field[] = "StoppingCondition.MaxWaitTimeInSeconds";
	double runtime, wait;

	if (!json_number_of(json_get_path(document, field), &wait) ||
		!json_number_of(json_get_path(document, "StoppingCondition.MaxRuntimeInSeconds"), &runtime) ||
		wait >= runtime)
		return OK;
	return error_set_field(
		err, ERR_SEMANTIC, field, "%s: %.0f is less than MaxRuntimeInSeconds, %.0f", field, wait, runtime);
}

enum status training_job_check(const struct json *document, struct error *err)
{
	AUTO_DONE(shape_fault) fault = SHAPE_FAULT_INIT;

	TRY(shape_check(training_job_rules, document, &fault, err));
	if (fault.wrong)
		return refuse(&fault, err);
	TRY(check_tags(json_get(document, "Tags"), err));
	return check_waiting(document, err);
}

enum status training_job_check_field(const char *field, const struct json *value, struct error *err)
{
	AUTO_DONE(shape_fault) fault = SHAPE_FAULT_INIT;
	size_t len = strlen(field);

	for (const struct shape_rule *rule = training_job_rules; rule->path; rule++) {
		if (strncmp(rule->path, field, len) != 0 || (rule->path[len] && !strchr("[{", rule->path[len])))
			continue;
		fault.path.len = 0;
		buf_append_text(&fault.path, field);
		TRY(shape_check_rule(rule, rule->path + len, value, &fault, err));
		if (fault.wrong)
			return refuse(&fault, err);
	}
	return strcmp(field, "Tags") == 0 && json_kind(value) == JSON_ARRAY ? check_tags(value, err) : OK;
}

/* ---- to run it again ---- */

/* The members of CreateTrainingJobRequest but for its name. */
static const char *const request_fields[] = {"HyperParameters", "AlgorithmSpecification", "RoleArn", "InputDataConfig",
	"OutputDataConfig", "ResourceConfig", "VpcConfig", "StoppingCondition", "Tags", "EnableNetworkIsolation",
	"EnableInterContainerTrafficEncryption", "EnableManagedSpotTraining", "CheckpointConfig", "DebugHookConfig",
	"DebugRuleConfigurations", "TensorBoardOutputConfig", "ExperimentConfig", "ProfilerConfig",
	"ProfilerRuleConfigurations", "Environment", "RetryStrategy", "RemoteDebugConfig", "InfraCheckConfig",
	"SessionChainingConfig", "ServerlessJobConfig", "MlflowConfig", "ModelPackageConfig"};

static enum status write_copy(const struct json *node, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(8 << 20);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	json_raw(w, buf_span(&text));
	return OK;
}

/* Name and Regex alone: Step, Role, Unit and Higher are ours. One without a Regex names a preset of ours. */
static void write_definitions(const struct json *definitions, struct json_writer *w)
{
	json_array(w);
	for (const struct json *at = json_first(definitions); at; at = json_next(at)) {
		if (!json_string_of(json_get(at, "Regex")).len)
			continue;
		json_object(w);
		json_put_span(w, "Name", json_string_of(json_get(at, "Name")));
		json_put_span(w, "Regex", json_string_of(json_get(at, "Regex")));
		json_object_end(w);
	}
	json_array_end(w);
}

static enum status write_algorithm(const struct json *algorithm, struct json_writer *w, struct error *err)
{
	json_object(w);
	for (const struct json *at = json_first(algorithm); at; at = json_next(at)) {
		json_key_span(w, json_key_of(at));
		if (span_equal(json_key_of(at), SPAN("MetricDefinitions")))
			write_definitions(at, w);
		else
			TRY(write_copy(at, w, err));
	}
	json_object_end(w);
	return OK;
}

/* Tags that AWS made are not a caller's to set. */
static enum status write_tags(const struct json *tags, struct json_writer *w, struct error *err)
{
	json_array(w);
	for (const struct json *at = json_first(tags); at; at = json_next(at))
		if (!span_starts_with(json_string_of(json_get(at, "Key")), SPAN("aws:")))
			TRY(write_copy(at, w, err));
	json_array_end(w);
	return OK;
}

enum status training_job_write_request(
	const struct json *document, struct span name, struct json_writer *w, struct error *err)
{
	json_object(w);
	json_put_span(w, "TrainingJobName", name);
	for (size_t i = 0; i < sizeof request_fields / sizeof *request_fields; i++) {
		const struct json *field = json_get(document, request_fields[i]);
		if (!field || json_kind(field) == JSON_NULL)
			continue;
		json_key(w, request_fields[i]);
		if (strcmp(request_fields[i], "AlgorithmSpecification") == 0 && json_kind(field) == JSON_OBJECT)
			TRY(write_algorithm(field, w, err));
		else if (strcmp(request_fields[i], "Tags") == 0)
			TRY(write_tags(field, w, err));
		else
			TRY(write_copy(field, w, err));
	}
	json_object_end(w);
	return OK;
}

enum { AWS_NAME_MAX = 63 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void training_job_next_name(struct span name, struct buf *out)
{
	char text[AWS_NAME_MAX + 1] = "", suffix[24];
	size_t len = 0, digits = 0;
	unsigned number = 1, unit = 1;

	while (digits < name.len && digits < 4 && is_digit(name.ptr[name.len - 1 - digits])) {
		number += unit * (unsigned)(name.ptr[name.len - 1 - digits++] - '0');
		unit *= 10;
	}
	bool is_numbered = digits && digits + 1 < name.len && name.ptr[name.len - 1 - digits] == '-';
	name.len -= is_numbered ? digits + 1 : 0;
	number = is_numbered ? number : 2;
	size_t room = AWS_NAME_MAX - (size_t)snprintf(suffix, sizeof suffix, "-%u", number);
	for (size_t i = 0; i < name.len && len < room; i++)
		if (is_alphanumeric(name.ptr[i]))
			text[len++] = name.ptr[i];
		else if (len)
			text[len++] = '-';
	while (len && text[len - 1] == '-')
		len--;
	buf_append(out, len ? text : "job", len ? len : 3);
	buf_append_text(out, suffix);
}
