/* What derived metrics are made from, for readers; and how far a job is, for its summary. */
#include "read/charts/derivation.h"

#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/job_facts.h"
#include "store/jobs.h"

#include <stdio.h>

enum status derivation_read_inputs(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct inputs **out, struct error *err)
{
	struct setting_row *rows;
	struct stated stated;
	size_t found;

	TRY(job_settings_read_stated(&stated, pipeline->devices, row->document, arena, err));
	TRY(store_read_settings(reader, arena, row->job_id, &rows, &found, err));
	size_t count = stated.count;
	struct input_setting *all = arena_alloc(arena, (count + found + 1) * sizeof *all);
	*out = arena_alloc(arena, sizeof **out);
	if (!all || !*out)
		return error_no_memory(err);
	if (count)
		memcpy(all, stated.items, count * sizeof *all);
	for (size_t i = 0; i < found; i++) {
		char from[INPUT_FROM_BYTES];
		if (!input_is_wanted(rows[i].key))
			continue;
		snprintf(from, sizeof from, "%.*s line %llu", SPAN_ARGS(rows[i].stream),
			(unsigned long long)rows[i].line);
		all[count] =
			(struct input_setting){rows[i].key, rows[i].value, arena_copy(arena, span_from(from)), false};
		if (!all[count++].from.ptr)
			return error_no_memory(err);
	}
	inputs_resolve(all, count, &stated.machines, *out);
	return OK;
}

double derivation_each_device(const struct pipeline *pipeline, const struct json *document)
{
	char from[INPUT_FROM_BYTES];
	struct input_machines machines = {0};

	devices_find(pipeline->devices, json_get(document, "ResourceConfig"), from, &machines);
	return machines.devices_each > 0 ? machines.devices_each : NAN;
}

/* How many physical cores make one; 0: nobody says. */
static double logical_core(const struct json *document)
{
	static const char *const keys[] = {
		"Environment.NEURON_LOGICAL_NC_CONFIG", "Environment.NEURON_RT_VIRTUAL_CORE_SIZE"};
	double size;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct json *said = json_get_path(document, keys[i]);
		if (json_number_of(said, &size) || span_parse_double(json_string_of(said), &size))
			return size;
	}
	return 0;
}

/* How many ranks one device has. */
static double ranks_of(const struct json *document, const struct input_machines *machines)
{
	double size = logical_core(document);
	bool is_said = machines->cores_of_device > 1 && (size == 1 || size == 2 || size == 4);

	return is_said ? machines->cores_of_device / size : machines->ranks_of_device;
}

double derivation_each_rank(const struct pipeline *pipeline, const struct json *document)
{
	char from[INPUT_FROM_BYTES];
	struct input_machines machines = {0};

	devices_find(pipeline->devices, json_get(document, "ResourceConfig"), from, &machines);
	return machines.devices_each > 0 ? machines.devices_each * ranks_of(document, &machines) : NAN;
}

double derivation_rank_bytes(const struct pipeline *pipeline, const struct json *document)
{
	const double gib = 1 << 30;
	char from[INPUT_FROM_BYTES];
	struct input_machines machines = {0};

	devices_find(pipeline->devices, json_get(document, "ResourceConfig"), from, &machines);
	return machines.memory_gib > 0 ? machines.memory_gib * gib / ranks_of(document, &machines) : NAN;
}

double derivation_device_ranks(const struct pipeline *pipeline, const struct json *document)
{
	char from[INPUT_FROM_BYTES];
	struct input_machines machines = {0};

	devices_find(pipeline->devices, json_get(document, "ResourceConfig"), from, &machines);
	return machines.memory_gib > 0 ? ranks_of(document, &machines) : NAN;
}

enum status derivation_read_parameters(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct derivation_parameters *out, struct error *err)
{
	struct inputs *inputs;

	TRY(derivation_read_inputs(pipeline, reader, arena, row, &inputs, err));
	const struct input_value *found = &inputs->items[INPUT_PARAMETERS];
	*out = (struct derivation_parameters){
		found->value > 0 ? found->value : NAN, span_from(found->from), inputs->has_counted_parameters};
	return OK;
}

void derivation_write(const struct inputs *inputs, struct span metric, struct json_writer *w)
{
	enum input wanted[INPUT_COUNT];
	enum derived derived;

	if (!derived_by_name(metric, &derived))
		return;
	json_key(w, "derived");
	json_object(w);
	json_put_text(w, "formula", derived_formula(derived));
	json_key(w, "inputs");
	json_object(w);
	size_t count = derived_inputs(derived, wanted);
	for (size_t i = 0; i < count; i++) {
		const struct input_value *value = &inputs->items[wanted[i]];
		if (value->value <= 0)
			continue;
		json_key(w, input_name(wanted[i]));
		json_object(w);
		json_put_double(w, "value", value->value);
		json_put_text(w, "from", value->from);
		json_object_end(w);
	}
	json_object_end(w);
	json_object_end(w);
}

/* ---- how far ---- */

/* Said beside the step ("12/500"), else in the settings, else by the epochs that are printed. */
static void find_total(const struct inputs *inputs, const struct progress *at, int64_t said, struct job_progress *out)
{
	const struct input_value *steps = &inputs->items[INPUT_TOTAL_STEPS], *epochs = &inputs->items[INPUT_EPOCHS];
	double total = 0;

	if (said > 0) {
		total = (double)said;
		out->total_from = SPAN("the log's step/total");
	} else if (steps->value > 0) {
		total = steps->value;
		out->total_from = span_from(steps->from);
	} else if (epochs->value > 0 && at->epoch > 0 && at->step > 0) {
		total = floor((double)at->step * epochs->value / at->epoch + 0.5);
		out->total_from = span_from(epochs->from);
	}
	out->total_steps = total < 1e15 ? (int64_t)total : 0;
}

void derivation_find_progress(struct job_state *job, struct job_progress *out)
{
	const struct inputs *inputs = job_settings_inputs(job->settings);
	struct progress best = {.step = -1};
	struct stream_state *stream;
	int64_t said = 0;

	*out = (struct job_progress){.total_from = SPAN("")};
	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		struct progress at = derive_progress(stream->derive);
		int64_t total = extractor_total(stream->extractor);
		pthread_mutex_unlock(&stream->mutex);
		said = total > said ? total : said;
		if (at.step > best.step || (at.step == best.step && at.steps_per_second > best.steps_per_second))
			best = at;
	}
	if (best.step < 0)
		return;
	find_total(inputs, &best, said, out);
	double left_s = best.steps_per_second > 0 ? (double)(out->total_steps - best.step) / best.steps_per_second : -1;
	if (out->total_steps > best.step && left_s >= 0 && left_s < 1e10)
		out->eta_ms = best.ts_ms + (int64_t)(left_s * 1000);
}
