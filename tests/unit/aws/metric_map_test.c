#include "aws/metrics/metric_map.h"
#include "base/buf.h"
#include "test.h"

/* "NAMESPACE|NAME|DIM=VALUE|…" */
static struct metric_identity identity_of(const char *text, struct metric_dimension *dimensions)
{
	struct span rest = span_from(text), part;
	struct metric_identity out = {.dimensions = dimensions};

	CHECK(span_next(&rest, '|', &out.namespace_name));
	CHECK(span_next(&rest, '|', &out.name));
	while (span_next(&rest, '|', &part)) {
		struct metric_dimension *dimension = &dimensions[out.dimension_count++];
		CHECK(span_next(&part, '=', &dimension->name));
		dimension->value = part;
	}
	return out;
}

static enum status place(const char *text, struct arena *arena, struct metric_place *out, struct error *err)
{
	struct metric_dimension dimensions[METRIC_DIMENSIONS_MAX];
	struct metric_identity identity = identity_of(text, dimensions);

	return metric_map_place(arena, &identity, out, err);
}

TEST(a_metric_has_its_place)
{
#define SM "/aws/sagemaker/TrainingJobs|"
	static const struct {
		const char *identity, *job, *stream, *metric;
		bool is_whole_job;
	} rows[] = {
		{SM "train:loss|TrainingJobName=j", "j", "algo-1", "train:loss", true},
		{SM "loss|TrainingJobName=j|rank=3", "j", "algo-1", "loss{rank=\"3\"}", true},
		{SM "loss|rank=3|TrainingJobName=j|Host=algo-2", "j", "algo-2", "loss{rank=\"3\"}", false},
		{SM "CPUUtilization|Host=j/algo-1", "j", "system/algo-1", "CPUUtilization", false},
		{SM "CPUUtilization|Host=a/b/algo-1", "a/b", "system/algo-1", "CPUUtilization", false},
		{"CWAgent|mem used|host=h|InstanceId=i-1", "CWAgent", "cloudwatch/CWAgent",
			"mem used{InstanceId=\"i-1\",host=\"h\"}", false},
		{"My/App|loss|TrainingJobName=j|Host=x", "j", "cloudwatch/My/App", "loss{Host=\"x\"}", false},
		{"N|m|a b=c\"d\\|1x=y", "N", "cloudwatch/N", "m{_1x=\"y\",a_b=\"c\\\"d\\\\\"}", false},
	};
	AUTO(arena) arena = arena_new();
	struct metric_place out;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_OK(place(rows[i].identity, arena, &out, &err));
		CHECK_SPAN(out.job, span_from(rows[i].job));
		CHECK_SPAN(out.stream, span_from(rows[i].stream));
		CHECK_SPAN(out.metric, span_from(rows[i].metric));
		CHECK_INT(out.is_whole_job, rows[i].is_whole_job);
	}
}

TEST(a_metric_without_a_place_is_refused)
{
	static const struct {
		const char *identity, *words;
	} rows[] = {
		{SM "loss", "have the dimension TrainingJobName, or Host"},
		{SM "loss|rank=1", "have the dimension TrainingJobName, or Host"},
		{SM "CPUUtilization|Host=algo-1", "is 'algo-1', not JOB/HOST"},
		{SM "CPUUtilization|Host=/algo-1", "not JOB/HOST"},
		{SM "CPUUtilization|Host=j/", "not JOB/HOST"},
		{"N|m|a=1|b=1|c=1|d=1|e=1|f=1|g=1|h=1|i=1|j=1|k=1|l=1|m=1|n=1|o=1|p=1|q=1|r=1|s=1|t=1|u=1|v=1|w=1|x=1|y=1",
			"has 25 dimensions"},
		{"N|m|a b=1|a_b=2", "has the label 'a_b' twice"},
		{"N|m{x}", "expected label"},
		{"N|m\x01", "control character"},
		{"N\x01|m", "control character"},
	};
	AUTO(arena) arena = arena_new();
	struct metric_place out;

	CHECK_OK(place("N|m|a=1|b=2|c=3|d=4|e=5|f=6|g=7|h=8|TrainingJobName=j", arena, &out, &err));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_FAILS(place(rows[i].identity, arena, &out, &err), ERR_SEMANTIC, rows[i].words);
}

TEST(a_series_has_its_metric)
{
	static const struct {
		const char *job, *stream, *metric, *identity;
	} rows[] = {
		{"j", "algo-7", "train:loss", SM "train:loss|TrainingJobName=j"},
		{"j", "algo-1", "loss{rank=\"3\"}", SM "loss|TrainingJobName=j|rank=3"},
		{"a/b", "system/algo-1", "CPUUtilization", SM "CPUUtilization|Host=a/b/algo-1"},
		{"j", "system/h", "gpu_power_watts{gpu=\"0\"}", SM "gpu_power_watts|Host=j/h|gpu=0"},
		{"CWAgent", "cloudwatch/CWAgent", "m{a=\"c\\\"d\\\\\"}", "CWAgent|m|a=c\"d\\"},
		{"j", "cloudwatch/My/App", "m", "My/App|m|TrainingJobName=j"},
		{"j", "algo-1", "odd}", SM "odd}|TrainingJobName=j"},
	};
	AUTO(arena) arena = arena_new();
	struct metric_identity out;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_DONE(buf) text = BUF_INIT(1 << 10);
		CHECK_OK(metric_map_identity(arena, span_from(rows[i].job), span_from(rows[i].stream),
			span_from(rows[i].metric), &out, &err));
		buf_append_span(&text, out.namespace_name);
		buf_append_char(&text, '|');
		buf_append_span(&text, out.name);
		for (size_t k = 0; k < out.dimension_count; k++)
			buf_printf(&text, "|%.*s=%.*s", SPAN_ARGS(out.dimensions[k].name),
				SPAN_ARGS(out.dimensions[k].value));
		CHECK_SPAN(buf_span(&text), span_from(rows[i].identity));
	}
}
