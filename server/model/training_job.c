#include "model/training_job.h"

#include "base/regex.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum kind { OBJECT, ARRAY, MAP, STRING, INTEGER, NUMBER, BOOLEAN, ENUM };

enum { PATH_MAX_BYTES = 1024, SHOWN_MAX_BYTES = 80, PATTERN_STEPS = 100000 };

/*
 * path   "a.b"; "a[]" is each element of the array a, "a{}" each value of the map a, "a{key}" each key of it
 * min    smallest number, fewest elements, fewest characters
 * words  of an enum its values, of a string a pattern that all of it must match, "" : none
 */
struct rule {
	const char *path;
	enum kind kind;
	int64_t min, max;
	const char *words;
};

#define ARN_MAX 2048
#define S3_URI "(?:https|s3)://[^/]+/?.*"
#define YES_NO "Enabled|Disabled"
#define GROUP_NAMES(path)                                                                                              \
	{path, ARRAY, 0, 5, ""},                                                                                       \
	{                                                                                                              \
		path "[]", STRING, 1, 64, ".+"                                                                         \
	}

/* Objects before what is in them: a field of the wrong type is named itself, not its parts. InstanceType is no enum: other
 * clusters have other machines, and SageMaker's list grows by the month. */
static const struct rule rules[] = {
	{"TrainingJobName", STRING, 1, 255, ""},
	{"RoleArn", STRING, 20, ARN_MAX, "arn:aws[a-z-]*:iam::\\d{12}:role/?[a-zA-Z_0-9+=,.@/-]+"},

	{"HyperParameters", MAP, 0, 100, ""},
	{"HyperParameters{key}", STRING, 0, 256, ""},
	{"HyperParameters{}", STRING, 0, 2500, ""},
	{"Environment", MAP, 0, 100, ""},
	{"Environment{key}", STRING, 0, 512, "[a-zA-Z_][a-zA-Z0-9_]*"},
	{"Environment{}", STRING, 0, 512, ""},
	{"Tags", ARRAY, 0, 50, ""},
	{"Tags[]", OBJECT, 0, 0, ""},
	{"Tags[].Key", STRING, 1, 128, ""},
	{"Tags[].Value", STRING, 0, 256, ""},

	{"AlgorithmSpecification", OBJECT, 0, 0, ""},
	{"AlgorithmSpecification.TrainingImage", STRING, 0, 255, ""},
	{"AlgorithmSpecification.AlgorithmName", STRING, 1, 170, ""},
	{"AlgorithmSpecification.TrainingInputMode", ENUM, 0, 0, "Pipe|File|FastFile"},
	{"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries", BOOLEAN, 0, 0, ""},
	{"AlgorithmSpecification.ContainerEntrypoint", ARRAY, 1, 100, ""},
	{"AlgorithmSpecification.ContainerEntrypoint[]", STRING, 0, 256, ""},
	{"AlgorithmSpecification.ContainerArguments", ARRAY, 1, 100, ""},
	{"AlgorithmSpecification.ContainerArguments[]", STRING, 0, 256, ""},
	{"AlgorithmSpecification.TrainingImageConfig", OBJECT, 0, 0, ""},
	{"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode", ENUM, 0, 0, "Platform|Vpc"},

	{"InputDataConfig", ARRAY, 1, 20, ""},
	{"InputDataConfig[]", OBJECT, 0, 0, ""},
	{"InputDataConfig[].ChannelName", STRING, 1, 64, "[A-Za-z0-9.\\-_]+"},
	{"InputDataConfig[].ContentType", STRING, 0, 256, ""},
	{"InputDataConfig[].CompressionType", ENUM, 0, 0, "None|Gzip"},
	{"InputDataConfig[].RecordWrapperType", ENUM, 0, 0, "None|RecordIO"},
	{"InputDataConfig[].InputMode", ENUM, 0, 0, "Pipe|File|FastFile"},
	{"InputDataConfig[].ShuffleConfig", OBJECT, 0, 0, ""},
	{"InputDataConfig[].ShuffleConfig.Seed", INTEGER, INT64_MIN, INT64_MAX, ""},
	{"InputDataConfig[].DataSource", OBJECT, 0, 0, ""},
	{"InputDataConfig[].DataSource.S3DataSource", OBJECT, 0, 0, ""},
	{"InputDataConfig[].DataSource.S3DataSource.S3DataType", ENUM, 0, 0,
		"ManifestFile|S3Prefix|AugmentedManifestFile|Converse"},
	{"InputDataConfig[].DataSource.S3DataSource.S3Uri", STRING, 0, 1024, S3_URI},
	{"InputDataConfig[].DataSource.S3DataSource.S3DataDistributionType", ENUM, 0, 0,
		"FullyReplicated|ShardedByS3Key"},
	{"InputDataConfig[].DataSource.S3DataSource.AttributeNames", ARRAY, 0, 16, ""},
	{"InputDataConfig[].DataSource.S3DataSource.AttributeNames[]", STRING, 1, 256, ".+"},
	GROUP_NAMES("InputDataConfig[].DataSource.S3DataSource.InstanceGroupNames"),
	{"InputDataConfig[].DataSource.FileSystemDataSource", OBJECT, 0, 0, ""},
	{"InputDataConfig[].DataSource.FileSystemDataSource.FileSystemId", STRING, 11, 255, ".*"},
	{"InputDataConfig[].DataSource.FileSystemDataSource.FileSystemAccessMode", ENUM, 0, 0, "rw|ro"},
	{"InputDataConfig[].DataSource.FileSystemDataSource.FileSystemType", ENUM, 0, 0, "EFS|FSxLustre"},
	{"InputDataConfig[].DataSource.FileSystemDataSource.DirectoryPath", STRING, 0, 4096, ""},

	{"OutputDataConfig", OBJECT, 0, 0, ""},
	{"OutputDataConfig.S3OutputPath", STRING, 0, 1024, S3_URI},
	{"OutputDataConfig.KmsKeyId", STRING, 0, 2048, "[a-zA-Z0-9:/_-]*"},
	{"OutputDataConfig.CompressionType", ENUM, 0, 0, "GZIP|NONE"},
	{"CheckpointConfig", OBJECT, 0, 0, ""},
	{"CheckpointConfig.S3Uri", STRING, 0, 1024, S3_URI},
	{"CheckpointConfig.LocalPath", STRING, 0, 4096, ""},
	{"TensorBoardOutputConfig", OBJECT, 0, 0, ""},
	{"TensorBoardOutputConfig.S3OutputPath", STRING, 0, 1024, S3_URI},
	{"TensorBoardOutputConfig.LocalPath", STRING, 0, 4096, ""},
	{"ModelArtifacts", OBJECT, 0, 0, ""},
	{"ModelArtifacts.S3ModelArtifacts", STRING, 0, 1024, S3_URI},

	{"ResourceConfig", OBJECT, 0, 0, ""},
	{"ResourceConfig.InstanceType", STRING, 1, 255, ""},
	{"ResourceConfig.InstanceCount", INTEGER, 0, INT32_MAX, ""},
	{"ResourceConfig.VolumeSizeInGB", INTEGER, 0, INT32_MAX, ""},
	{"ResourceConfig.VolumeKmsKeyId", STRING, 0, 2048, "[a-zA-Z0-9:/_-]*"},
	{"ResourceConfig.KeepAlivePeriodInSeconds", INTEGER, 0, 3600, ""},
	{"ResourceConfig.InstanceGroups", ARRAY, 0, 5, ""},
	{"ResourceConfig.InstanceGroups[]", OBJECT, 0, 0, ""},
	{"ResourceConfig.InstanceGroups[].InstanceType", STRING, 1, 255, ""},
	{"ResourceConfig.InstanceGroups[].InstanceCount", INTEGER, 0, INT32_MAX, ""},
	{"ResourceConfig.InstanceGroups[].InstanceGroupName", STRING, 1, 64, ".+"},
	{"ResourceConfig.TrainingPlanArn", STRING, 50, ARN_MAX,
		"arn:aws[a-z0-9-]*:sagemaker:[a-z0-9-]+:\\d{12}:training-plan/.*"},

	{"VpcConfig", OBJECT, 0, 0, ""},
	{"VpcConfig.SecurityGroupIds", ARRAY, 1, 5, ""},
	{"VpcConfig.SecurityGroupIds[]", STRING, 0, 32, "[-0-9a-zA-Z]+"},
	{"VpcConfig.Subnets", ARRAY, 1, 16, ""},
	{"VpcConfig.Subnets[]", STRING, 0, 32, "[-0-9a-zA-Z]+"},
	{"StoppingCondition", OBJECT, 0, 0, ""},
	{"StoppingCondition.MaxRuntimeInSeconds", INTEGER, 1, 28 * 86400, ""},
	{"StoppingCondition.MaxWaitTimeInSeconds", INTEGER, 1, INT32_MAX, ""},
	{"StoppingCondition.MaxPendingTimeInSeconds", INTEGER, 7200, 2419200, ""},
	{"RetryStrategy", OBJECT, 0, 0, ""},
	{"RetryStrategy.MaximumRetryAttempts", INTEGER, 1, 30, ""},
	{"RemoteDebugConfig", OBJECT, 0, 0, ""},
	{"RemoteDebugConfig.EnableRemoteDebug", BOOLEAN, 0, 0, ""},
	{"InfraCheckConfig", OBJECT, 0, 0, ""},
	{"InfraCheckConfig.EnableInfraCheck", BOOLEAN, 0, 0, ""},
	{"SessionChainingConfig", OBJECT, 0, 0, ""},
	{"SessionChainingConfig.EnableSessionTagChaining", BOOLEAN, 0, 0, ""},
	{"EnableNetworkIsolation", BOOLEAN, 0, 0, ""},
	{"EnableInterContainerTrafficEncryption", BOOLEAN, 0, 0, ""},
	{"EnableManagedSpotTraining", BOOLEAN, 0, 0, ""},
	{"ExperimentConfig", OBJECT, 0, 0, ""},
	{"ExperimentConfig.ExperimentName", STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"ExperimentConfig.TrialName", STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"ExperimentConfig.TrialComponentDisplayName", STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"ExperimentConfig.RunName", STRING, 1, 120, "[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,119}"},
	{"DebugHookConfig", OBJECT, 0, 0, ""},
	{"DebugHookConfig.S3OutputPath", STRING, 0, 1024, S3_URI},
	{"DebugRuleConfigurations", ARRAY, 0, 20, ""},
	{"ProfilerConfig", OBJECT, 0, 0, ""},
	{"ProfilerRuleConfigurations", ARRAY, 0, 20, ""},

	{"TrainingTimeInSeconds", NUMBER, 0, INT32_MAX, ""},
	{"BillableTimeInSeconds", NUMBER, 0, INT32_MAX, ""},
	{"FinalMetricDataList", ARRAY, 0, 40, ""},
	{"FinalMetricDataList[]", OBJECT, 0, 0, ""},
	{"FinalMetricDataList[].MetricName", STRING, 1, 255, ""},
	{"Notes", STRING, 0, 16384, ""},
	{"Labels", ARRAY, 0, 50, ""},
	{"Labels[]", STRING, 1, 128, ""},
};

struct check {
	const struct rule *rule;
	struct buf path; /* of the value that is looked at, with the numbers of elements */
	struct error *err;
};

static enum status wrong(struct check *check, const struct json *value, struct span key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* "ResourceConfig.InstanceCount: -1 is …"; value NULL: it is the key that is wrong. */
static enum status wrong(struct check *check, const struct json *value, struct span key, const char *format, ...)
{
	AUTO_DONE(buf) shown = BUF_INIT(8 << 20);
	char why[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof why, format, arguments);
	va_end(arguments);
	if (value)
		json_print(value, &shown);
	else
		buf_append_span(&shown, key);
	struct span text = buf_span(&shown);
	bool is_long = text.len > SHOWN_MAX_BYTES;
	text.len = is_long ? SHOWN_MAX_BYTES : text.len;
	while (is_long && text.len && !span_is_utf8(text))
		text.len--;
	buf_append_char(&check->path, '\0');
	const char *path = check->path.failure == OK ? check->path.ptr : check->rule->path;
	return error_set_field(
		check->err, ERR_SEMANTIC, path, "%s: %.*s%s %s", path, SPAN_ARGS(text), is_long ? "…" : "", why);
}

static int64_t characters(struct span text)
{
	int64_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	return count;
}

static enum status matches(const char *pattern, struct span text, bool *is_match, struct error *err)
{
	AUTO(regex) regex = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO_DONE(buf) whole = BUF_INIT(4096);
	struct span groups[REGEX_MAX_GROUPS];

	if (!scratch)
		return error_set(err, ERR_MEMORY, "out of memory");
	buf_printf(&whole, "\\A(?:%s)\\z", pattern);
	TRY(buf_status(&whole, err));
	TRY(regex_new(&regex, buf_span(&whole), 0, err));
	regex_scratch_limit(scratch, PATTERN_STEPS);
	*is_match = regex_search(regex, scratch, text, 0, groups) == REGEX_MATCH;
	return OK;
}

static enum status check_text(struct check *check, const struct json *value, struct span text)
{
	const struct rule *rule = check->rule;
	int64_t count = characters(text);
	bool is_match = true;

	if (count < rule->min)
		return wrong(check, value, text, "has %lld characters; at least %lld are wanted", (long long)count,
			(long long)rule->min);
	if (count > rule->max)
		return wrong(check, value, text, "has %lld characters; at most %lld are taken", (long long)count,
			(long long)rule->max);
	if (rule->words[0])
		TRY(matches(rule->words, text, &is_match, check->err));
	return is_match ? OK : wrong(check, value, text, "does not match %s", rule->words);
}

static enum status check_enum(struct check *check, const struct json *value)
{
	struct span rest = span_from(check->rule->words), word;
	char listed[160];
	size_t used = 0;

	if (json_kind(value) != JSON_STRING)
		return wrong(check, value, SPAN(""), "is no string");
	while (span_next(&rest, '|', &word)) {
		if (span_equal(word, json_string_of(value)))
			return OK;
		used += (size_t)snprintf(
			listed + used, sizeof listed - used, "%s%.*s", used ? ", " : "", SPAN_ARGS(word));
		used = used < sizeof listed ? used : sizeof listed - 1;
	}
	return wrong(check, value, SPAN(""), "is none of %s", listed);
}

static enum status check_number(struct check *check, const struct json *value)
{
	const struct rule *rule = check->rule;
	double number;

	if (!json_number_of(value, &number))
		return wrong(check, value, SPAN(""), rule->kind == INTEGER ? "is no integer" : "is no number");
	if (rule->kind == INTEGER && (!isfinite(number) || number != floor(number)))
		return wrong(check, value, SPAN(""), "is no integer");
	if (!(number >= (double)rule->min && number <= (double)rule->max))
		return wrong(check, value, SPAN(""), "is not between %lld and %lld", (long long)rule->min,
			(long long)rule->max);
	return OK;
}

static enum status check_list(struct check *check, const struct json *value, bool is_map)
{
	const struct rule *rule = check->rule;
	size_t count = json_count(value);

	if (json_kind(value) != (is_map ? JSON_OBJECT : JSON_ARRAY))
		return wrong(check, value, SPAN(""), is_map ? "is no object" : "is no array");
	if ((int64_t)count > rule->max)
		return wrong(check, value, SPAN(""), "has %zu %s; at most %lld are taken", count,
			is_map ? "entries" : "elements", (long long)rule->max);
	if ((int64_t)count < rule->min)
		return wrong(check, value, SPAN(""), "has %zu %s; at least %lld is wanted", count,
			is_map ? "entries" : "elements", (long long)rule->min);
	return OK;
}

static enum status check_value(struct check *check, const struct json *value)
{
	switch (check->rule->kind) {
	case OBJECT:
		return json_kind(value) == JSON_OBJECT ? OK : wrong(check, value, SPAN(""), "is no object");
	case ARRAY:
	case MAP:
		return check_list(check, value, check->rule->kind == MAP);
	case STRING:
		return json_kind(value) == JSON_STRING ? check_text(check, value, json_string_of(value))
						       : wrong(check, value, SPAN(""), "is no string");
	case ENUM:
		return check_enum(check, value);
	case INTEGER:
	case NUMBER:
		return check_number(check, value);
	case BOOLEAN:
		return json_kind(value) == JSON_BOOL ? OK : wrong(check, value, SPAN(""), "is neither true nor false");
	}
	return OK;
}

static enum status walk(struct check *check, const struct json *node, const char *path);

static enum status walk_each(struct check *check, const struct json *node, const char *rest)
{
	bool is_map = rest[0] == '{', is_key = strncmp(rest, "{key}", 5) == 0;
	const char *behind = rest + (is_key ? 5 : 2);
	size_t number = 0;

	if (json_kind(node) != (is_map ? JSON_OBJECT : JSON_ARRAY))
		return OK; /* said by the rule of the list itself */
	for (const struct json *at = json_first(node); at; at = json_next(at), number++) {
		size_t len = check->path.len;
		if (is_map)
			buf_append_char(&check->path, '.');
		if (is_map)
			buf_append_span(&check->path, json_key_of(at));
		else
			buf_printf(&check->path, "[%zu]", number);
		TRY(is_key ? check_text(check, NULL, json_key_of(at)) : walk(check, at, behind));
		if (check->path.failure == OK)
			check->path.len = len;
		else
			return wrong(check, NULL, json_key_of(at), "is a key of more than %d bytes", PATH_MAX_BYTES);
	}
	return OK;
}

/* The values that the path names below node; "" : node itself. Null is what is not there. */
static enum status walk(struct check *check, const struct json *node, const char *path)
{
	char key[64];

	if (json_kind(node) == JSON_NULL)
		return OK;
	if (!path[0])
		return check_value(check, node);
	if (path[0] == '[' || path[0] == '{')
		return walk_each(check, node, path);
	path += path[0] == '.';
	size_t len = strcspn(path, ".[{"), before = check->path.len;
	snprintf(key, sizeof key, "%.*s", (int)len, path);
	const struct json *below = json_kind(node) == JSON_OBJECT ? json_get(node, key) : NULL;
	if (!below)
		return OK;
	if (check->path.len)
		buf_append_char(&check->path, '.');
	buf_append_text(&check->path, key);
	TRY(walk(check, below, path + len));
	check->path.len = before;
	return OK;
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
	AUTO_DONE(buf) path = BUF_INIT(PATH_MAX_BYTES);

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		struct check check = {.rule = &rules[i], .path = path, .err = err};
		enum status status = walk(&check, document, rules[i].path);
		path = check.path;
		path.len = 0;
		if (status != OK)
			return status;
	}
	TRY(check_tags(json_get(document, "Tags"), err));
	return check_waiting(document, err);
}

enum status training_job_check_field(const char *field, const struct json *value, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(PATH_MAX_BYTES);
	size_t len = strlen(field);

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		if (strncmp(rules[i].path, field, len) != 0 ||
			(rules[i].path[len] && !strchr("[{", rules[i].path[len])))
			continue;
		struct check check = {.rule = &rules[i], .path = path, .err = err};
		buf_append_text(&check.path, field);
		enum status status = walk(&check, value, rules[i].path + len);
		path = check.path;
		path.len = 0;
		if (status != OK)
			return status;
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
	char text[AWS_NAME_MAX + 1], suffix[24];
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
