/*
 * PutMetricData: points at their time. A statistic set and values with counts become points that come to the same: what there
 * is of one is its count, sum, smallest and largest, and points with these exist for every set that is possible.
 */
#include "aws/metrics/metrics.h"
#include "base/hash128.h"
#include "model/metrics/batch_points.h"

#include <math.h>
#include <stdio.h>

enum { PATH_BYTES = 128, TOLERANCE_PARTS = 1000000000 };

struct putting {
	struct aws_call *call;
	struct batch *batch;
	struct span namespace_name;
	size_t room; /* points that the request may still become */
	bool has_untimed;
};

/* Where a datum's points go. */
struct target {
	const char *path; /* of the datum, "MetricData.member.1" */
	struct batch_part *part;
	struct span metric, unit;
	int64_t ts_ms;
};

static enum status bad_value(const char *path, const char *member, const char *text, struct error *err)
{
	return aws_error(err, ERR_SEMANTIC, METRICS_INVALID, "The value %.100s for parameter %s.%s is invalid.", text,
		path, member);
}

static enum status read_number(const struct putting *p, const char *path, const char *member, const struct json *node,
	double *out, struct error *err)
{
	static const double largest = 0x1p360; /* as AWS has it */
	AUTO_DONE(buf) shown = BUF_INIT(1 << 20);

	if (metrics_number(p->call, node, out) && fabs(*out) <= largest)
		return OK;
	if (json_kind(node) == JSON_STRING)
		buf_append_span(&shown, json_string_of(node));
	else
		json_print(node, &shown);
	buf_append_char(&shown, 0);
	return bad_value(path, member, buf_status(&shown, err) == OK ? shown.ptr : "", err);
}

/* ---- points ---- */

static enum status add_points(
	struct putting *p, const struct target *target, double value, uint64_t count, struct error *err)
{
	struct batch_series *series = batch_series(p->batch, target->part, target->metric);
	int64_t step = NO_STEP;

	if (!series)
		return error_no_memory(err);
	if (!series->unit.len)
		series->unit = target->unit;
	if (count > p->room)
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"With %s the request stands for more than %zu points (--max-metric-points).", target->path,
			p->call->options->max_metric_points);
	p->room -= count;
	for (uint64_t i = 0; i < count; i++)
		if (!batch_add_points(p->batch, target->part, series, &step, &target->ts_ms, &value, 1))
			return error_no_memory(err);
	return OK;
}

static enum status add_value(struct putting *p, const struct target *target, const struct json *node, struct error *err)
{
	double value;

	TRY(read_number(p, target->path, "Value", node, &value, err));
	return add_points(p, target, value, 1, err);
}

static bool is_count(double number)
{
	return number >= 1 && number <= 0x1p53 && number == floor(number);
}

static enum status read_count(const struct putting *p, const char *path, const char *member, const struct json *node,
	uint64_t *out, struct error *err)
{
	double number;

	TRY(read_number(p, path, member, node, &number, err));
	if (!is_count(number))
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"The value %g for parameter %s.%s is invalid: it must be a whole number from 1 on.", number,
			path, member);
	*out = (uint64_t)number;
	return OK;
}

static enum status add_values(struct putting *p, const struct target *target, const struct json *values,
	const struct json *counts, struct error *err)
{
	const struct json *count_node = json_first(counts);
	char member[32];
	unsigned number = 1;

	if (counts && json_count(counts) != json_count(values))
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"The parameters %s.Values and %s.Counts must be of the same length; they have %zu and %zu elements.",
			target->path, target->path, json_count(values), json_count(counts));
	for (const struct json *node = json_first(values); node; node = json_next(node), number++) {
		uint64_t count = 1;
		double value;
		snprintf(member, sizeof member, "Values.member.%u", number);
		TRY(read_number(p, target->path, member, node, &value, err));
		snprintf(member, sizeof member, "Counts.member.%u", number);
		if (count_node) {
			TRY(read_count(p, target->path, member, count_node, &count, err));
			count_node = json_next(count_node);
		}
		TRY(add_points(p, target, value, count, err));
	}
	return OK;
}

static enum status bad_set(const char *path, const char *why, struct error *err)
{
	return aws_error(
		err, ERR_SEMANTIC, METRICS_INVALID, "The parameter %s.StatisticValues is invalid: %s.", path, why);
}

/* The smallest, the largest, and as many as are left that come to the rest of the sum. */
static enum status add_set(struct putting *p, const struct target *target, const struct json *set, struct error *err)
{
	double sum, min, max;
	uint64_t count = 0;

	TRY(read_count(p, target->path, "StatisticValues.SampleCount", json_get(set, "SampleCount"), &count, err));
	TRY(read_number(p, target->path, "StatisticValues.Sum", json_get(set, "Sum"), &sum, err));
	TRY(read_number(p, target->path, "StatisticValues.Minimum", json_get(set, "Minimum"), &min, err));
	TRY(read_number(p, target->path, "StatisticValues.Maximum", json_get(set, "Maximum"), &max, err));
	if (min > max)
		return bad_set(target->path, "Minimum is larger than Maximum", err);
	double slack = (fabs(sum) + (double)count * fmax(fabs(min), fabs(max))) / TOLERANCE_PARTS;
	if (sum < min * (double)count - slack || sum > max * (double)count + slack)
		return bad_set(target->path, "no such samples can have this Sum", err);
	if (count == 1)
		return add_points(p, target, sum, 1, err);
	TRY(add_points(p, target, min, 1, err));
	TRY(add_points(p, target, max, 1, err));
	if (count == 2)
		return fabs(min + max - sum) <= slack ? OK : bad_set(target->path, "two samples have another Sum", err);
	double middle = (sum - min - max) / (double)(count - 2);
	if (middle < min - slack || middle > max + slack)
		return bad_set(target->path, "no such samples can have this Sum", err);
	return add_points(p, target, fmin(fmax(middle, min), max), count - 2, err);
}

/* ---- a datum ---- */

static enum status find_target(
	struct putting *p, const struct metric_identity *identity, struct target *target, struct error *err)
{
	struct metric_place place;
	struct error cause;

	enum status status = metric_map_place(p->batch->arena, identity, &place, &cause);
	if (status == ERR_SEMANTIC)
		return aws_error(err, status, METRICS_INVALID, "%s: %s", target->path, cause.text);
	if (status != OK)
		return error_no_memory(err);
	target->part = batch_part(p->batch, place.job, place.stream);
	target->metric = place.metric;
	return target->part ? OK : error_no_memory(err);
}

static enum status read_time(struct putting *p, const struct json *datum, struct target *target, struct error *err)
{
	const struct json *node = json_get(datum, "Timestamp");
	int64_t now_ms = p->call->now_ms;

	target->ts_ms = now_ms;
	if (!node || json_kind(node) == JSON_NULL) {
		p->has_untimed = true;
		return OK;
	}
	if (!aws_time(node, &target->ts_ms))
		return bad_value(target->path, "Timestamp", "given", err);
	if (target->ts_ms < now_ms - METRICS_PAST_MS)
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"The parameter %s.Timestamp must specify a time no more than two weeks in the past.",
			target->path);
	if (target->ts_ms > now_ms + METRICS_FUTURE_MS)
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID,
			"The parameter %s.Timestamp must specify a time within two hours from now.", target->path);
	return OK;
}

static const struct json *present(const struct json *object, const char *member)
{
	const struct json *node = json_get(object, member);

	return node && json_kind(node) != JSON_NULL ? node : NULL;
}

static enum status add_samples(
	struct putting *p, const struct json *datum, const struct target *target, struct error *err)
{
	static const char *const members[] = {"Value", "Values", "StatisticValues"};
	const struct json *given[] = {
		present(datum, "Value"), present(datum, "Values"), present(datum, "StatisticValues")};
	int first = -1;

	for (int i = 0; i < 3; i++) {
		if (given[i] && first >= 0)
			return aws_error(err, ERR_SEMANTIC, METRICS_COMBINATION,
				"The parameters %s.%s and %s.%s are mutually exclusive and you have specified both.",
				target->path, members[first], target->path, members[i]);
		first = given[i] ? i : first;
	}
	if (given[0])
		return add_value(p, target, given[0], err);
	if (given[1])
		return add_values(p, target, given[1], present(datum, "Counts"), err);
	if (given[2])
		return add_set(p, target, given[2], err);
	return aws_error(err, ERR_SEMANTIC, METRICS_COMBINATION,
		"At least one of the parameters %s.Value, %s.Values and %s.StatisticValues must be specified.",
		target->path, target->path, target->path);
}

static enum status add_datum(struct putting *p, const struct json *datum, const char *path, struct error *err)
{
	struct target target = {.path = path};
	struct metric_identity identity;

	TRY(metrics_identity(p->call, p->namespace_name, datum, &identity, err));
	TRY(find_target(p, &identity, &target, err));
	TRY(read_time(p, datum, &target, err));
	target.unit = arena_copy(p->batch->arena, metrics_text(datum, "Unit"));
	if (span_equal(target.unit, SPAN("None")))
		target.unit = SPAN("");
	return target.unit.ptr ? add_samples(p, datum, &target, err) : error_no_memory(err);
}

static enum status add_data(struct putting *p, const struct json *data, const char *path, struct error *err)
{
	char place[PATH_BYTES];
	unsigned number = 1;

	for (const struct json *datum = json_first(data); datum; datum = json_next(datum), number++) {
		snprintf(place, sizeof place, "%s.member.%u", path, number);
		TRY(add_datum(p, datum, place, err));
	}
	return OK;
}

/* Entities are who sent the metrics: their dimensions say that here, too. */
static enum status add_entities(struct putting *p, const struct json *entities, struct error *err)
{
	char path[PATH_BYTES];
	unsigned number = 1;

	for (const struct json *entity = json_first(entities); entity; entity = json_next(entity), number++) {
		snprintf(path, sizeof path, "EntityMetricData.member.%u.MetricData", number);
		TRY(add_data(p, json_get(entity, "MetricData"), path, err));
	}
	return OK;
}

/*
 * A client that got no answer sends the request again, under the same invocation's id: it is then known by that and by what it
 * says. One without an id is known by what it says, unless some points are of its arrival: two alike may then be two.
 */
static void mark_retries(struct putting *p)
{
	struct span invocation = http_request_header(p->call->request, "amz-sdk-invocation-id");
	struct hash128 hash = {0};

	if (!invocation.len && p->has_untimed)
		return;
	hash128_add(&hash, SPAN("PutMetricData"));
	hash128_add(&hash, invocation);
	hash128_add(&hash, p->call->body);
	for (size_t i = 0; i < p->batch->part_count; i++) {
		p->batch->parts[i].is_push = true;
		p->batch->parts[i].push_hash = hash;
	}
}

enum status metrics_put_data(struct aws_call *call, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	struct putting p = {.call = call,
		.batch = batch,
		.namespace_name = metrics_text(call->input, "Namespace"),
		.room = call->options->max_metric_points};

	if (!batch || !(batch->team = arena_copy(batch->arena, call->team)).ptr)
		return error_no_memory(err);
	batch->source = SPAN("");
	TRY(add_data(&p, json_get(call->input, "MetricData"), "MetricData", err));
	TRY(add_entities(&p, json_get(call->input, "EntityMetricData"), err));
	if (!batch->point_count)
		return aws_error(
			err, ERR_SEMANTIC, METRICS_INVALID, "The parameter MetricData must have at least one element.");
	mark_retries(&p);
	call->lines = TAKE(batch);
	return OK;
}
