#include "cli/search/job_field.h"

#include "base/json/json_write.h"
#include "cli/table/table.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

struct alias {
	const char *field;
	const char *path;
	bool is_time; /* seconds since 1970, SageMaker's */
	bool is_number;
	const char *by_hand; /* where it stands if somebody set it right */
};

static const struct alias aliases[] = {
	{"name", "TrainingJobName", false, false, NULL},
	{"status", "TrainingJobStatus", false, false, NULL},
	{"secondary", "SecondaryStatus", false, false, NULL},
	{"reason", "FailureReason", false, false, NULL},
	{"created", "CreationTime", true, false, NULL},
	{"started", "TrainingStartTime", true, false, NULL},
	{"ended", "TrainingEndTime", true, false, NULL},
	{"modified", "LastModifiedTime", true, false, NULL},
	{"instance", "ResourceConfig.InstanceType", false, false, "by_hand.instance_type"},
	{"instances", "ResourceConfig.InstanceCount", false, true, "by_hand.nodes"},
	{"pool", "WarmPoolStatus.Status", false, false, NULL},
	{"billable", "BillableTimeInSeconds", false, true, NULL},
	{"goodput", "goodput", false, true, NULL},
	{"cost", "cost", false, true, NULL},
	{"incidents", "open_incidents", false, true, NULL},
	{"lines", "lines", false, true, NULL},
	{"streams", "streams", false, true, NULL},
	{NULL, NULL, false, false, NULL},
};

static const char *const roles[] = {"loss", "eval_loss", "throughput", "grad_norm", "learning_rate", "mfu", "step_time",
	"reward", "kl", "entropy", "response_length", "clip_fraction", "rollout_time", "benchmark"};
static const char *const figures[] = {"last", "min", "max", "mean", "count", "step", "best", "best_step", "final"};

static const struct alias *find_alias(struct span field)
{
	for (const struct alias *alias = aliases; alias->field; alias++)
		if (span_equal(field, span_from(alias->field)))
			return alias;
	return NULL;
}

static void put_number(double value, const struct job_field_style *style, struct buf *out)
{
	char text[33];

	if (value == trunc(value) && fabs(value) < 1e15)
		buf_printf(out, "%.0f", value);
	else if (style->is_for_people)
		buf_printf(out, "%.4g", value);
	else
		buf_append(out, text, json_format_double(value, text));
}

static void put_value(const struct json *node, const struct job_field_style *style, struct buf *out)
{
	double number;

	if (json_number_of(node, &number))
		put_number(number, style, out);
	else if (json_kind(node) == JSON_STRING)
		buf_append_span(out, json_string_of(node));
	else if (json_kind(node) != JSON_NULL)
		json_print(node, out);
}

static void put_time(double seconds, const struct job_field_style *style, struct buf *out)
{
	time_t at = (time_t)seconds;
	struct tm parts;
	char text[64];

	if (style->is_for_people) {
		time_t now = (time_t)(style->now_ms / 1000);
		struct tm today;
		localtime_r(&now, &today);
		localtime_r(&at, &parts);
		bool is_this_year = parts.tm_year == today.tm_year;
		strftime(text, sizeof text, is_this_year ? "%m-%d %H:%M" : "%Y-%m-%d %H:%M", &parts);
	} else {
		gmtime_r(&at, &parts);
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	}
	buf_append_text(out, text);
}

static void put_span_of_time(double seconds, const struct job_field_style *style, struct buf *out)
{
	seconds = seconds > 0 ? trunc(seconds) : 0;
	if (style->is_for_people)
		text_put_duration(out, seconds, true);
	else
		buf_printf(out, "%.0f", seconds);
}

static bool time_of(const struct json *row, const char *key, double *seconds)
{
	return json_number_of(json_get(row, key), seconds) && *seconds > 0;
}

/* age: since it began (or was made); duration: from beginning to end, or to its last sign of life where that was it, or until now. */
static bool put_derived_time(
	const struct json *row, struct span field, const struct job_field_style *style, struct buf *out)
{
	double start, end, until_ms, now = (double)style->now_ms / 1000;
	bool is_age = span_equal(field, SPAN("age"));

	if (!is_age && !span_equal(field, SPAN("duration")))
		return false;
	bool has_start = time_of(row, "TrainingStartTime", &start) || (is_age && time_of(row, "CreationTime", &start));
	if (!has_start)
		return true;
	if (is_age || !time_of(row, "TrainingEndTime", &end))
		end = !is_age && time_of(row, "worked_until_ms", &until_ms) ? until_ms / 1000 : now;
	put_span_of_time(end - start, style, out);
	return true;
}

/* "tag.KEY": the value in the row's list of tags. */
static void put_tag(const struct json *row, struct span key, struct buf *out)
{
	for (const struct json *tag = json_first(json_get(row, "Tags")); tag; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "Key")), key))
			buf_append_span(out, json_string_of(json_get(tag, "Value")));
}

static const struct json *member(const struct json *object, struct span key)
{
	for (const struct json *node = json_first(object); node; node = json_next(node))
		if (span_equal(json_key_of(node), key))
			return node;
	return NULL;
}

/* The one that the server says answers for that role. */
static const struct json *find_main(const struct json *row, struct span role)
{
	for (const struct json *metric = json_first(json_get(row, "metrics")); metric; metric = json_next(metric))
		if (json_is_true(json_get(metric, "is_main")) &&
			span_equal(json_string_of(json_get(metric, "role")), role))
			return metric;
	return NULL;
}

/* The series of that exact name, else the main one. */
static const struct json *find_metric(const struct json *row, struct span name, bool may_be_role)
{
	for (const struct json *metric = json_first(json_get(row, "metrics")); metric; metric = json_next(metric))
		if (span_equal(json_string_of(json_get(metric, "metric")), name))
			return metric;
	return may_be_role ? find_main(row, name) : NULL;
}

/* Cuts ".min" and the like off; "last" when there is none. */
static struct span split_figure(struct span *name)
{
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		struct span figure = span_from(figures[i]);
		if (name->len > figure.len + 1 && span_ends_with(*name, figure) &&
			name->ptr[name->len - figure.len - 1] == '.') {
			name->len -= figure.len + 1;
			return figure;
		}
	}
	return SPAN("last");
}

static bool is_role(struct span name)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (span_equal(name, span_from(roles[i])))
			return true;
	return false;
}

static void put_metric(const struct json *row, struct span field, const struct job_field_style *style, struct buf *out)
{
	bool is_stated = span_starts_with(field, SPAN("metric."));
	struct span name = is_stated ? span_skip(field, 7) : field;
	const struct json *metric = find_metric(row, name, !is_stated);
	struct span figure = SPAN("last");

	if (!metric) {
		figure = split_figure(&name);
		metric = find_metric(row, name, !is_stated);
	}
	if (!metric)
		return;
	const struct json *value =
		span_equal(figure, SPAN("step")) ? json_get(metric, "last_step") : member(metric, figure);
	if (value)
		put_value(value, style, out);
}

/* By the axis of its loss, else of its eval loss; without, the furthest of any of its metrics but a benchmark's. */
static void put_step(const struct json *row, struct buf *out)
{
	const struct json *lead = find_main(row, SPAN("loss"));
	double furthest = -1, step;

	lead = lead ? lead : find_main(row, SPAN("eval_loss"));
	if (lead && json_number_of(json_get(lead, "last_step"), &furthest) && furthest >= 0) {
		buf_printf(out, "%.0f", furthest);
		return;
	}
	for (const struct json *metric = json_first(json_get(row, "metrics")); metric; metric = json_next(metric))
		if (json_number_of(json_get(metric, "last_step"), &step) && step > furthest &&
			!span_equal(json_string_of(json_get(metric, "role")), SPAN("benchmark")))
			furthest = step;
	if (furthest >= 0)
		buf_printf(out, "%.0f", furthest);
}

static const struct json *walk(const struct json *row, struct span path)
{
	struct span part;

	while (row && span_next(&path, '.', &part))
		row = member(row, part);
	return row;
}

/* What the server says that the field is; how it looks is ours. */
static void put_asked(const struct json *value, struct span field, const struct job_field_style *style, struct buf *out)
{
	const struct alias *alias = find_alias(field);
	bool is_long = span_equal(field, SPAN("age")) || span_equal(field, SPAN("duration")) ||
		       span_equal(field, SPAN("silent"));
	double seconds;

	if (!value)
		return;
	if (style->is_for_people && json_kind(value) == JSON_NULL && span_equal(field, SPAN("cost")))
		buf_append_text(out, "–"); /* without a price it is not nothing */
	else if (alias && alias->is_time && json_number_of(value, &seconds))
		put_time(seconds, style, out);
	else if (is_long && json_number_of(value, &seconds))
		put_span_of_time(seconds, style, out);
	else
		put_value(value, style, out);
}

void job_field_put(const struct json *row, struct span field, const struct job_field_style *style, struct buf *out)
{
	const struct alias *alias = find_alias(field);
	const struct json *asked = json_get(row, "fields");
	double seconds;

	bool is_estimate = style->is_for_people && span_equal(field, SPAN("cost")) &&
			   json_is_true(json_get(row, "cost_estimated"));

	buf_append_text(out, is_estimate ? "≈ " : ""); /* of nodes that were counted: nobody stated them */
	if (asked) {
		put_asked(member(asked, field), field, style, out);
	} else if (alias && alias->is_time) {
		if (time_of(row, alias->path, &seconds))
			put_time(seconds, style, out);
	} else if (span_equal(field, SPAN("step"))) {
		put_step(row, out);
	} else if (span_starts_with(field, SPAN("tag."))) {
		put_tag(row, span_skip(field, 4), out);
	} else if (span_equal(field, SPAN("owner")) || span_equal(field, SPAN("project"))) {
		put_tag(row, field, out);
	} else if (span_starts_with(field, SPAN("hp."))) {
		const struct json *value = member(json_get(row, "HyperParameters"), span_skip(field, 3));
		if (value)
			put_value(value, style, out);
	} else if (!put_derived_time(row, field, style, out)) {
		const struct json *node = alias && alias->by_hand ? walk(row, span_from(alias->by_hand)) : NULL;
		node = node ? node : walk(row, alias ? span_from(alias->path) : field);
		if (node)
			put_value(node, style, out);
		else if (!alias)
			put_metric(row, field, style, out);
	}
}

bool job_field_is_number(struct span field)
{
	const struct alias *alias = find_alias(field);

	if (alias)
		return alias->is_number;
	if (span_equal(field, SPAN("step")) || span_equal(field, SPAN("age")) || span_equal(field, SPAN("duration")) ||
		span_starts_with(field, SPAN("metric.")))
		return true;
	split_figure(&field);
	return is_role(field);
}
