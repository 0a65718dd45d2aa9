/* CloudWatch's metrics: its table of operations, and what they read alike. */
#include "aws/metrics/metrics.h"

#include <math.h>

#define UNITS                                                                                                          \
	"Seconds|Microseconds|Milliseconds|Bytes|Kilobytes|Megabytes|Gigabytes|Terabytes|Bits|Kilobits|Megabits|"      \
	"Gigabits|Terabits|Percent|Count|Bytes/Second|Kilobytes/Second|Megabytes/Second|Gigabytes/Second|"             \
	"Terabytes/Second|Bits/Second|Kilobits/Second|Megabits/Second|Gigabits/Second|Terabits/Second|Count/Second|None"

const char metrics_units[] = UNITS;

struct span metrics_text(const struct json *object, const char *member)
{
	struct span text = json_string_of(json_get(object, member));

	return text.ptr ? text : SPAN("");
}

void metrics_write_double(struct json_writer *w, double value)
{
	char text[33 + 2];
	size_t len = json_format_double(value, text);

	if (!isfinite(value)) { /* the sum of what is */
		json_double(w, value);
		return;
	}
	if (!strpbrk(text, ".e"))
		memcpy(text + len, ".0", 3);
	json_raw(w, span_from(text));
}

bool metrics_number(const struct aws_call *call, const struct json *node, double *out)
{
	if (!aws_number(node, out))
		return false;
	return json_kind(node) == JSON_NUMBER || call->protocol == AWS_QUERY || !isfinite(*out);
}

static bool is_twice(const struct metric_dimension *dimensions, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(dimensions[i].name, name))
			return true;
	return false;
}

enum status metrics_identity(const struct aws_call *call, struct span namespace_name, const struct json *metric,
	struct metric_identity *out, struct error *err)
{
	const struct json *list = json_get(metric, "Dimensions");
	size_t count = json_count(list), used = 0;
	struct metric_dimension *dimensions = arena_alloc(call->arena, (count + 1) * sizeof *dimensions);

	if (!dimensions)
		return error_no_memory(err);
	for (const struct json *node = json_first(list); node; node = json_next(node)) {
		struct metric_dimension one = {metrics_text(node, "Name"), metrics_text(node, "Value")};
		if (is_twice(dimensions, used, one.name))
			return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
				"The dimension '%.*s' of metric '%.*s' is there twice.", SPAN_ARGS(one.name),
				SPAN_ARGS(metrics_text(metric, "MetricName")));
		dimensions[used++] = one;
	}
	*out = (struct metric_identity){namespace_name, metrics_text(metric, "MetricName"), dimensions, used};
	return OK;
}

/* ---- what the operations take ---- */

#define NEEDED(path)                                                                                                   \
	{                                                                                                              \
		path, SHAPE_NEEDED, 0, 0, NULL                                                                         \
	}
#define OBJECT(path)                                                                                                   \
	{                                                                                                              \
		path, SHAPE_OBJECT, 0, 0, NULL                                                                         \
	}
#define LIST(path, least, most)                                                                                        \
	{                                                                                                              \
		path, SHAPE_ARRAY, least, most, NULL                                                                   \
	}
#define TEXT(path, most)                                                                                               \
	{                                                                                                              \
		path, SHAPE_STRING, 1, most, NULL                                                                      \
	}
#define INTEGER(path, least, most)                                                                                     \
	{                                                                                                              \
		path, SHAPE_INTEGER, least, most, NULL                                                                 \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, SHAPE_OBJECT, 0, 0, NULL                                                                         \
	}
#define NAMESPACE(path)                                                                                                \
	{                                                                                                              \
		path, SHAPE_STRING, 1, 255, "[^:][\\s\\S]*"                                                            \
	}
#define DIMENSIONS(path, most)                                                                                         \
	LIST(path, 0, most), OBJECT(path "[]"), NEEDED(path "[].Name"), TEXT(path "[].Name", 255),                     \
		TEXT(path "[].Value", 1024)
#define UNIT(path)                                                                                                     \
	{                                                                                                              \
		path, SHAPE_ENUM, 0, 0, UNITS                                                                          \
	}
#define DATUM(path)                                                                                                    \
	LIST(path, 0, DATA_MAX), OBJECT(path "[]"), NEEDED(path "[].MetricName"), TEXT(path "[].MetricName", 255),     \
		DIMENSIONS(path "[].Dimensions", METRIC_DIMENSIONS_MAX), NEEDED(path "[].Dimensions[].Value"),         \
		{path "[].Timestamp", SHAPE_TIME, 0, 0, NULL}, LIST(path "[].Values", 1, VALUES_MAX),                  \
		LIST(path "[].Counts", 1, VALUES_MAX), OBJECT(path "[].StatisticValues"),                              \
		NEEDED(path "[].StatisticValues.SampleCount"), NEEDED(path "[].StatisticValues.Sum"),                  \
		NEEDED(path "[].StatisticValues.Minimum"), NEEDED(path "[].StatisticValues.Maximum"),                  \
		UNIT(path "[].Unit"), INTEGER(path "[].StorageResolution", 1, 60)

enum { DATA_MAX = 1000, VALUES_MAX = 150, QUERIES_MAX = 500, DATAPOINTS_MAX = 100800 };

static const struct shape_rule put_input[] = {NEEDED("Namespace"), NAMESPACE("Namespace"), DATUM("MetricData"),
	LIST("EntityMetricData", 0, 2), OBJECT("EntityMetricData[]"), DATUM("EntityMetricData[].MetricData"), END};

static const struct shape_rule statistics_input[] = {NEEDED("Namespace"), NAMESPACE("Namespace"), NEEDED("MetricName"),
	TEXT("MetricName", 255), DIMENSIONS("Dimensions", METRIC_DIMENSIONS_MAX), NEEDED("Dimensions[].Value"),
	NEEDED("StartTime"), {"StartTime", SHAPE_TIME, 0, 0, NULL}, NEEDED("EndTime"),
	{"EndTime", SHAPE_TIME, 0, 0, NULL}, NEEDED("Period"), INTEGER("Period", 1, INT32_MAX),
	LIST("Statistics", 0, 5), {"Statistics[]", SHAPE_ENUM, 0, 0, "SampleCount|Average|Sum|Minimum|Maximum"},
	LIST("ExtendedStatistics", 0, 10), TEXT("ExtendedStatistics[]", 100), UNIT("Unit"), END};

static const struct shape_rule data_input[] = {NEEDED("MetricDataQueries"), LIST("MetricDataQueries", 1, QUERIES_MAX),
	OBJECT("MetricDataQueries[]"), NEEDED("MetricDataQueries[].Id"),
	{"MetricDataQueries[].Id", SHAPE_STRING, 1, 255, "[a-z][a-zA-Z0-9_]*"},
	OBJECT("MetricDataQueries[].MetricStat"), NEEDED("MetricDataQueries[].MetricStat.Metric"),
	OBJECT("MetricDataQueries[].MetricStat.Metric"), NEEDED("MetricDataQueries[].MetricStat.Metric.Namespace"),
	NAMESPACE("MetricDataQueries[].MetricStat.Metric.Namespace"),
	NEEDED("MetricDataQueries[].MetricStat.Metric.MetricName"),
	TEXT("MetricDataQueries[].MetricStat.Metric.MetricName", 255),
	DIMENSIONS("MetricDataQueries[].MetricStat.Metric.Dimensions", METRIC_DIMENSIONS_MAX),
	NEEDED("MetricDataQueries[].MetricStat.Metric.Dimensions[].Value"),
	NEEDED("MetricDataQueries[].MetricStat.Period"), INTEGER("MetricDataQueries[].MetricStat.Period", 1, INT32_MAX),
	NEEDED("MetricDataQueries[].MetricStat.Stat"), TEXT("MetricDataQueries[].MetricStat.Stat", 100),
	UNIT("MetricDataQueries[].MetricStat.Unit"), TEXT("MetricDataQueries[].Expression", 2048),
	{"MetricDataQueries[].Label", SHAPE_STRING, 0, 4096, NULL},
	{"MetricDataQueries[].ReturnData", SHAPE_BOOLEAN, 0, 0, NULL},
	INTEGER("MetricDataQueries[].Period", 1, INT32_MAX), NEEDED("StartTime"), {"StartTime", SHAPE_TIME, 0, 0, NULL},
	NEEDED("EndTime"), {"EndTime", SHAPE_TIME, 0, 0, NULL},
	{"ScanBy", SHAPE_ENUM, 0, 0, "TimestampDescending|TimestampAscending"},
	INTEGER("MaxDatapoints", 1, DATAPOINTS_MAX), {"NextToken", SHAPE_STRING, 0, 1024, NULL}, END};

static const struct shape_rule list_input[] = {NAMESPACE("Namespace"), TEXT("MetricName", 255),
	DIMENSIONS("Dimensions", 10), {"NextToken", SHAPE_STRING, 0, 1024, NULL},
	{"RecentlyActive", SHAPE_ENUM, 0, 0, "PT3H"}, END};

static const struct aws_operation operations[] = {
	{"PutMetricData", SCOPE_WRITE, metrics_put_data, .input = put_input, .is_void = true},
	{"GetMetricStatistics", SCOPE_READ, metrics_get_statistics, .input = statistics_input},
	{"GetMetricData", SCOPE_READ, metrics_get_data, .input = data_input},
	{"ListMetrics", SCOPE_READ, metrics_list, .input = list_input},
	{.name = NULL},
};

static const char *const times[] = {"Timestamp", "Timestamps", NULL};
static const char *const maps[] = {"ExtendedStatistics", NULL};

static const char *const query_codes[] = {METRICS_INVALID, "InvalidParameterValue", METRICS_COMBINATION,
	"InvalidParameterCombination", "MissingRequiredParameterException", "MissingParameter", "InternalServiceFault",
	"InternalServiceError", "UnknownOperationException", "InvalidAction", NULL};

const struct aws_service cloudwatch_service = {.target = "GraniteServiceVersion20100801",
	.version = "2010-08-01",
	.namespace_uri = "http://monitoring.amazonaws.com/doc/2010-08-01/",
	.operations = operations,
	.codes = {.invalid = METRICS_INVALID,
		.missing = "MissingRequiredParameterException",
		.not_found = "ResourceNotFoundException",
		.conflict = "ConflictException",
		.busy = "ThrottlingException",
		.unavailable = "InternalServiceFault"},
	.times = times,
	.maps = maps,
	.query_codes = query_codes};
