#include "wandb/history_in.h"

#include "ingest/ingest.h"
#include "model/jobs/job_time.h"
#include "model/metrics/batch_points.h"
#include "model/metrics/device_metric.h"
#include "model/metrics/metric_words.h"
#include "wandb/flat.h"

#include <math.h>
#include <stdio.h>

/* A line's values are kept until all of it is read: step and time may stand anywhere. */
struct history_value {
	size_t name_at, name_len;
	double number;
};

static const double STEP_LIMIT = 0x1p53; /* as of all points: their differences are whole numbers, too */

struct history_reader history_reader_on(struct batch *batch, struct span job, struct span stream, int64_t now_ms)
{
	return (struct history_reader){
		.batch = batch, .job = job, .stream = stream, .now_ms = now_ms, .names = BUF_INIT(SIZE_MAX / 2)};
}

void history_reader_done(struct history_reader *reader)
{
	buf_done(&reader->names);
	mem_free(reader->values);
}

static enum status keep(void *context, const struct flat_leaf *leaf, struct error *err)
{
	struct history_reader *reader = context;

	if (!leaf->is_number) {
		reader->left_out += leaf->kind != FLAT_NULL;
		return OK;
	}
	if (!mem_grow((void **)&reader->values, reader->value_count, &reader->value_cap, sizeof *reader->values))
		return error_no_memory(err);
	reader->values[reader->value_count++] = (struct history_value){reader->names.len, leaf->path.len, leaf->number};
	buf_append_span(&reader->names, leaf->path);
	return buf_status(&reader->names, err);
}

static struct span name_of(const struct history_reader *reader, const struct history_value *value)
{
	/* All names may be "". */
	return value->name_len ? span_of(reader->names.ptr + value->name_at, value->name_len) : SPAN("");
}

static const struct history_value *find(const struct history_reader *reader, struct span name)
{
	for (size_t i = 0; i < reader->value_count; i++)
		if (span_equal(name_of(reader, &reader->values[i]), name))
			return &reader->values[i];
	return NULL;
}

static bool is_step(const struct history_value *value)
{
	return value && fabs(value->number) <= STEP_LIMIT && value->number == floor(value->number);
}

bool history_axis_fits(const struct history_axis *axis, struct span name)
{
	if (axis->metric.len && axis->metric.ptr[axis->metric.len - 1] == '*')
		return span_starts_with(name, span_of(axis->metric.ptr, axis->metric.len - 1));
	return span_equal(axis->metric, name);
}

static int64_t step_at(const struct history_value *value)
{
	return is_step(value) ? (int64_t)value->number : NO_STEP;
}

/* Once a line: a line may have thousands of values. */
static void find_axes(struct history_reader *reader)
{
	for (size_t i = 0; i < reader->axis_count; i++)
		reader->axis_steps[i] = step_at(find(reader, reader->axes[i].axis));
}

/* By the first of its axes that the line has; else by the line's step. */
static int64_t step_of(const struct history_reader *reader, struct span name, int64_t step)
{
	for (size_t i = 0; i < reader->axis_count; i++)
		if (reader->axis_steps[i] != NO_STEP && history_axis_fits(&reader->axes[i], name))
			return reader->axis_steps[i];
	return step;
}

/* ---- what a machine measures, in our words ---- */

static const struct {
	const char *theirs, *ours;
} machine_names[] = {{"system.cpu", "cpu_percent"}, {"system.memory_percent", "memory_used_percent"},
	{"system.disk./.usagePercent", "disk_used_percent{path=\"/\"}"}};
static const struct device_name device_names[] = {{"gpu", "gpu_utilization_percent", 1},
	{"temp", "gpu_temperature_celsius", 1}, {"powerWatts", "gpu_power_watts", 1},
	{"memoryAllocatedBytes", "gpu_memory_used_mib", 1.0 / (1 << 20)}};
static const struct device_names devices = {
	"system.gpu.", '.', device_names, sizeof device_names / sizeof *device_names};

/* True: by a name of ours. */
static bool name_measure(struct span name, char *out, size_t room, double *factor)
{
	*factor = 1;
	for (size_t i = 0; i < sizeof machine_names / sizeof *machine_names; i++)
		if (span_equal(name, span_from(machine_names[i].theirs))) {
			snprintf(out, room, "%s", machine_names[i].ours);
			return true;
		}
	if (device_metric_name(&devices, name, out, room, factor))
		return true;
	snprintf(out, room, "%.*s", SPAN_ARGS(name));
	return false;
}

/* ---- points ---- */

/* Braces are for labels here. */
static void replace_braces(char *name)
{
	for (; *name; name++)
		if (*name == '{' || *name == '}')
			*name = '_';
}

static struct span without_label(struct span name, struct span label)
{
	size_t len = label.len + 3;

	if (!label.len || name.len <= len || !span_ends_with(name, label) ||
		memcmp(name.ptr + name.len - len, "/l:", 3) != 0)
		return name;
	return span_cut(name, name.len - len);
}

static enum status put_value(struct history_reader *reader, const struct history_value *value, int64_t ts_ms,
	int64_t step, struct error *err)
{
	char metric[METRIC_NAME_MAX_BYTES + 1];
	struct span name = name_of(reader, value);
	double factor = 1;

	if (name.len && name.ptr[0] == '_')
		return OK; /* W&B's own */
	if (ingest_check_name("key", name, METRIC_NAME_MAX_BYTES - 32, NULL) != OK) {
		reader->left_out++;
		return OK;
	}
	if (reader->is_system) {
		bool is_ours = name_measure(without_label(name, reader->label), metric, sizeof metric, &factor);
		if (is_ours && reader->is_measured)
			return OK; /* it is there, in the same stream */
	} else {
		snprintf(metric, sizeof metric, "%.*s", SPAN_ARGS(name));
		replace_braces(metric);
	}
	struct batch_part *part = batch_part(reader->batch, reader->job, reader->stream);
	if (part && part->series_count >= reader->max_series && !batch_has_series(part, span_from(metric))) {
		part->left_points++;
		return OK;
	}
	struct batch_series *series = part ? batch_series(reader->batch, part, span_from(metric)) : NULL;
	double number = value->number * factor;
	if (!series || !batch_add_points(reader->batch, part, series, &step, &ts_ms, &number, 1))
		return error_no_memory(err);
	return OK;
}

static int64_t time_of(const struct history_reader *reader)
{
	const struct history_value *value = find(reader, SPAN("_timestamp"));
	double ms = value ? value->number * 1000 : 0;

	return ms >= (double)JOB_EARLIEST_MS && ms < (double)JOB_LATEST_MS ? (int64_t)ms : reader->now_ms;
}

static enum status keep_line(struct history_reader *reader, struct span line, size_t *left_out, struct error *err)
{
	reader->value_count = 0;
	buf_reset(&reader->names);
	return flat_read(line, keep, reader, left_out, err);
}

enum status history_identify(struct history_reader *reader, struct span line, uint64_t *out, struct error *err)
{
	static const char *const names[] = {"_timestamp", "_step"};
	size_t left_out = reader->left_out, more = 0;
	struct hash128 hash = {0};

	TRY(keep_line(reader, line, &more, err));
	reader->left_out = left_out; /* it is counted when it is read */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct history_value *value = find(reader, span_from(names[i]));
		uint64_t bits = 0;
		if (value)
			memcpy(&bits, &value->number, sizeof bits);
		hash128_add_number(&hash, bits);
	}
	*out = (hash.low >> 1) | 1;
	return OK;
}

/* *is_there: another session has sent it. */
static void note_time(struct history_reader *reader, bool *is_there)
{
	const struct history_value *value = reader->times ? find(reader, SPAN("_timestamp")) : NULL;

	*is_there = false;
	if (!value || !(value->number > 0) || value->number > 1e10)
		return;
	sent_times_note(reader->times, value->number);
	*is_there = reader->is_sync && sent_times_has(reader->times, value->number);
}

enum status history_pass(struct history_reader *reader, struct span line, struct error *err)
{
	size_t left_out = 0;
	bool is_there;

	TRY(keep_line(reader, line, &left_out, err));
	note_time(reader, &is_there);
	return OK;
}

enum status history_read(struct history_reader *reader, struct span line, struct error *err)
{
	const struct history_value *step, *runtime;
	size_t left_out = 0;
	bool is_there;

	TRY(keep_line(reader, line, &left_out, err));
	note_time(reader, &is_there);
	if (is_there)
		return OK;
	reader->left_out += left_out;
	int64_t ts_ms = time_of(reader);
	step = reader->is_system ? NULL : find(reader, SPAN("_step"));
	runtime = find(reader, SPAN("_runtime"));
	find_axes(reader);
	for (size_t i = 0; i < reader->value_count; i++) {
		const struct history_value *value = &reader->values[i];
		int64_t at = step_of(reader, name_of(reader, value), step_at(step));
		TRY(put_value(reader, value, ts_ms, at, err));
	}
	reader->first_ms = reader->first_ms ? reader->first_ms : ts_ms;
	reader->last_ms = ts_ms;
	reader->last_step = is_step(step) ? step->number : reader->last_step;
	reader->last_runtime = runtime && isfinite(runtime->number) ? runtime->number : reader->last_runtime;
	return OK;
}
