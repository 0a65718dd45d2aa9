#include "model/jobs/training_job.h"
#include "test.h"

static enum status check(const char *text, struct error *err)
{
	AUTO(json) document = NULL;

	TRY(json_parse(&document, span_from(text), err));
	return training_job_check(document, err);
}

static void check_field(const char *text, const char *field, const char *words)
{
	struct error err = {0};

	CHECK_INT(check(text, &err), ERR_SEMANTIC);
	CHECK_TEXT(err.field, field);
	if (span_find(span_from(err.text), span_from(words)) < 0)
		test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", err.text, words);
}

TEST(whole_documents_pass)
{
	CHECK_OK(check("{\"TrainingJobName\":\"j\"}", &err));
	CHECK_OK(check(
		"{\"TrainingJobName\":\"ü 日本\",\"Unknown\":{\"x\":[1,null]},\"RoleArn\":null,"
		"\"HyperParameters\":{\"lr\":\"1e-4\",\"lr.max\":\"\"},\"Environment\":{\"A_1\":\"x\"},"
		"\"ResourceConfig\":{\"InstanceType\":\"h100-8x\",\"InstanceCount\":4,\"KeepAlivePeriodInSeconds\":3600},"
		"\"InputDataConfig\":[{\"ChannelName\":\"train\",\"DataSource\":{\"S3DataSource\":{\"S3Uri\":\"s3://b/p\"}}}],"
		"\"StoppingCondition\":{\"MaxRuntimeInSeconds\":100,\"MaxWaitTimeInSeconds\":100},"
		"\"Tags\":[{\"Key\":\"a\",\"Value\":\"\"}]}",
		&err));
}

TEST(each_kind_names_its_path_and_value)
{
	check_field("{\"HyperParameters\":{\"lr\":0.1}}", "HyperParameters.lr", "0.1 is no string");
	check_field("{\"HyperParameters\":[]}", "HyperParameters", "is no object");
	check_field("{\"Environment\":{\"1A\":\"x\"}}", "Environment.1A", "does not match");
	check_field("{\"RoleArn\":\"arn:aws:iam::12:role/xxxx\"}", "RoleArn", "arn:aws:iam::12:role/xxxx");
	check_field(
		"{\"ResourceConfig\":{\"InstanceCount\":1.5}}", "ResourceConfig.InstanceCount", "1.5 is no integer");
	check_field(
		"{\"ResourceConfig\":{\"InstanceCount\":-1}}", "ResourceConfig.InstanceCount", "-1 is not between 0");
	check_field("{\"ResourceConfig\":{\"KeepAlivePeriodInSeconds\":3601}}",
		"ResourceConfig.KeepAlivePeriodInSeconds", "3601 is not between 0 and 3600");
	check_field("{\"EnableManagedSpotTraining\":\"true\"}", "EnableManagedSpotTraining", "neither true nor false");
	check_field("{\"AlgorithmSpecification\":{\"TrainingInputMode\":\"file\"}}",
		"AlgorithmSpecification.TrainingInputMode", "\"file\" is none of Pipe, File, FastFile");
	check_field("{\"InputDataConfig\":[]}", "InputDataConfig", "at least 1");
	check_field("{\"InputDataConfig\":[{},{\"DataSource\":{\"S3DataSource\":{\"S3DataDistributionType\":\"x\"}}}]}",
		"InputDataConfig[1].DataSource.S3DataSource.S3DataDistributionType", "FullyReplicated, ShardedByS3Key");
	check_field("{\"Tags\":[{\"Key\":\"a\",\"Value\":\"1\"},{\"Key\":\"a\",\"Value\":\"2\"}]}", "Tags[1].Key",
		"two tags");
	check_field("{\"Tags\":[{\"Value\":\"1\"}]}", "Tags[0].Key", "needs Key and Value");
	check_field("{\"Tags\":[7]}", "Tags[0]", "7 is no object");
	check_field("{\"StoppingCondition\":{\"MaxRuntimeInSeconds\":100,\"MaxWaitTimeInSeconds\":99}}",
		"StoppingCondition.MaxWaitTimeInSeconds", "99 is less than MaxRuntimeInSeconds, 100");
}

/* {"HyperParameters":{"k0":"xx…", …}} */
static enum status check_parameters(unsigned count, size_t value_length, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(json) document = NULL;

	buf_append_text(&text, "{\"HyperParameters\":{");
	for (unsigned i = 0; i < count; i++) {
		buf_printf(&text, "%s\"k%u\":\"", i ? "," : "", i);
		for (size_t j = 0; j < value_length; j++)
			buf_append_text(&text, "é");
		buf_append_char(&text, '"');
	}
	buf_append_text(&text, "}}");
	TRY(json_parse(&document, buf_span(&text), err));
	return training_job_check(document, err);
}

TEST(limits_are_counted_in_characters)
{
	CHECK_OK(check_parameters(100, 2500, &err));
	CHECK_FAILS(check_parameters(101, 1, &err), ERR_SEMANTIC, "has 101 entries; at most 100");
	CHECK_FAILS(check_parameters(1, 2501, &err), ERR_SEMANTIC, "has 2501 characters; at most 2500");
}

TEST(one_field_is_checked_alone)
{
	AUTO(json) tags = NULL;
	struct error failure = {0};

	CHECK_OK(json_parse(&tags, SPAN("[{\"Key\":\"a\",\"Value\":5}]"), &err));
	CHECK_INT(training_job_check_field("Tags", tags, &failure), ERR_SEMANTIC);
	CHECK_TEXT(failure.field, "Tags[0].Value");
}

static void check_request(const char *text, const char *want)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	struct json_writer w = json_writer_on(&out);

	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(training_job_write_request(document, SPAN("n"), &w, &err));
	CHECK_SPAN(buf_span(&out), span_from(want));
}

TEST(a_request_is_what_create_takes)
{
	check_request(
		"{\"TrainingJobName\":\"j\",\"TrainingJobStatus\":\"Failed\",\"Notes\":\"x\",\"ModelArtifacts\":{},"
		"\"VpcConfig\":null,\"RoleArn\":\"r\"}",
		"{\"TrainingJobName\":\"n\",\"RoleArn\":\"r\"}");
	check_request(
		"{\"AlgorithmSpecification\":{\"TrainingImage\":\"i\",\"MetricDefinitions\":[{\"Name\":\"a\",\"Regex\":\"b\","
		"\"Role\":\"loss\"},{\"Preset\":\"p\"}]},\"Tags\":[{\"Key\":\"aws:x\",\"Value\":\"1\"},{\"Key\":\"t\",\"Value\":\"2\"}]}",
		"{\"TrainingJobName\":\"n\",\"AlgorithmSpecification\":{\"TrainingImage\":\"i\",\"MetricDefinitions\":"
		"[{\"Name\":\"a\",\"Regex\":\"b\"}]},\"Tags\":[{\"Key\":\"t\",\"Value\":\"2\"}]}");
}

TEST(names_count_up)
{
	static const struct {
		const char *name, *next;
	} cases[] = {{"llama", "llama-2"}, {"llama-2", "llama-3"}, {"llama-9", "llama-10"}, {"a/b c", "a-b-c-2"},
		{"--", "job-2"}, {"", "job-2"}, {"run-20240101", "run-20240101-2"}, {"7", "7-2"}, {"-7", "7-2"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO_DONE(buf) out = BUF_INIT(100);
		training_job_next_name(span_from(cases[i].name), &out);
		CHECK_SPAN(buf_span(&out), span_from(cases[i].next));
	}
	AUTO_DONE(buf) out = BUF_INIT(100);
	char giant[200];
	memset(giant, 'x', sizeof giant);
	training_job_next_name(span_of(giant, sizeof giant), &out);
	CHECK_INT(out.len, 63);
}
