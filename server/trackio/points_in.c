#include "trackio/points_in.h"

#include "ingest/ingest.h"
#include "model/metrics/batch_points.h"
#include "model/metrics/device_metric.h"
#include "model/metrics/metric_words.h"
#include "wandb/flat.h"

#include <math.h>
#include <stdio.h>

enum {
	LABEL_ROOM = 32,
	KEYS_KEPT_MS = 24 * 60 * 60 * 1000, /* a client keeps what was not answered, and sends it when it can */
};

static const double STEP_LIMIT = 9007199254740992.0; /* 2^53, as of all points */

struct putting {
	struct points_in *in;
	struct batch_part *part;
	int64_t step, ts_ms;
};

/* ---- what a machine measures, in our words ---- */

static const struct {
	const char *theirs, *ours;
} machine_names[] = {{"cpu/utilization", "cpu_percent"}, {"memory/percent", "memory_used_percent"}};
static const struct device_name device_names[] = {{"utilization", "gpu_utilization_percent", 1},
	{"temp", "gpu_temperature_celsius", 1}, {"power", "gpu_power_watts", 1},
	{"allocated_memory", "gpu_memory_used_mib", 1024}};
static const struct device_names devices = {"gpu/", '/', device_names, sizeof device_names / sizeof *device_names};

static bool name_machine(struct span name, char *out, size_t room)
{
	for (size_t i = 0; i < sizeof machine_names / sizeof *machine_names; i++)
		if (span_equal(name, span_from(machine_names[i].theirs))) {
			snprintf(out, room, "%s", machine_names[i].ours);
			return true;
		}
	return false;
}

/* Braces are for labels here. */
static void name_plain(struct span name, char *out, size_t room)
{
	snprintf(out, room, "%.*s", SPAN_ARGS(name));
	for (; *out; out++)
		if (*out == '{' || *out == '}')
			*out = '_';
}

/* ---- points ---- */

static enum status put_leaf(void *context, const struct flat_leaf *leaf, struct error *err)
{
	struct putting *put = context;
	struct points_in *in = put->in;
	char metric[METRIC_NAME_MAX_BYTES + 1];
	double factor = 1;

	if (!leaf->is_number || ingest_check_name("metric", leaf->path, METRIC_NAME_MAX_BYTES - LABEL_ROOM, NULL)) {
		in->left_out++;
		return OK;
	}
	if (!in->is_system || (!device_metric_name(&devices, leaf->path, metric, sizeof metric, &factor) &&
				      !name_machine(leaf->path, metric, sizeof metric)))
		name_plain(leaf->path, metric, sizeof metric);
	if (put->part->series_count >= in->max_series + in->begins && !batch_has_series(put->part, span_from(metric))) {
		put->part->left_points++;
		return OK;
	}
	struct batch_series *series = batch_series(in->batch, put->part, span_from(metric));
	double number = leaf->number * factor;
	if (!series || !batch_add_points(in->batch, put->part, series, &put->step, &put->ts_ms, &number, 1))
		return error_no_memory(err);
	return OK;
}

/* transformers' Trainer logs without a step, and says its own in each row; the client's counts rows, evaluations among them. */
#define STEP_IN_ROW "train/global_step"

static enum status take_step(void *context, const struct flat_leaf *leaf, struct error *err)
{
	int64_t *step = context;

	(void)err;
	if (leaf->kind == FLAT_NUMBER && span_equal(leaf->path, SPAN(STEP_IN_ROW)) &&
		fabs(leaf->number) <= STEP_LIMIT && leaf->number == floor(leaf->number))
		*step = (int64_t)leaf->number;
	return OK;
}

/* Rows that hold none are read but once. */
static enum status find_step(const struct trackio_entry *entry, int64_t *step, struct error *err)
{
	size_t left_out = 0;

	*step = entry->step;
	return span_find(entry->metrics, SPAN("\"" STEP_IN_ROW "\"")) < 0
		       ? OK
		       : flat_read(entry->metrics, take_step, step, &left_out, err);
}

void points_in_mark(struct batch_part *part, struct span log_id)
{
	if (!log_id.len)
		return;
	part->is_push = true;
	hash128_add(&part->push_hash, SPAN("trackio"));
	hash128_add(&part->push_hash, log_id);
	part->push_kept_ms = KEYS_KEPT_MS;
}

enum status points_in_add(struct points_in *in, const struct trackio_entry *entry, struct error *err)
{
	struct putting put = {.in = in, .step = NO_STEP, .ts_ms = entry->ts_ms == NO_TIME ? in->now_ms : entry->ts_ms};

	if (!entry->metrics.len)
		return error_set_field(
			err, ERR_SEMANTIC, "metrics", "%s[%zu].metrics: it must be there", entry->list, entry->at);
	if (!(put.part = batch_part_more(in->batch, in->job, in->stream)))
		return error_no_memory(err);
	points_in_mark(put.part, entry->log_id);
	if (in->begins && !batch_add_begin(in->batch, put.part, put.ts_ms))
		return error_no_memory(err);
	if (!in->is_system)
		TRY(find_step(entry, &put.step, err));
	return flat_read(entry->metrics, put_leaf, &put, &in->left_out, err);
}
