#include "state/jobs/devices.h"

#include "base/arena.h"

#include <stdio.h>

struct device {
	struct span name;
	double peak_tflops;
	double cores, ranks; /* of one; 1 of what has no cores of its own */
	double memory_gib; /* 0: not known */
};

struct instance {
	struct span type;
	const struct device *device;
	double count;
	double memory_gib; /* of a device, where it is not as usual; 0 */
};

struct devices {
	struct json *json; /* holds the names */
	struct arena *arena;
	struct device *devices;
	size_t device_count;
	struct instance *instances;
	size_t instance_count;
};

void devices_free(struct devices *devices)
{
	if (!devices)
		return;
	json_free(devices->json);
	arena_free(devices->arena);
	mem_free(devices);
}

static const struct device *find_device(const struct devices *devices, struct span name)
{
	for (size_t i = 0; i < devices->device_count; i++)
		if (span_equal(devices->devices[i].name, name))
			return &devices->devices[i];
	return NULL;
}

static enum status read_devices(struct devices *devices, const struct json *list, struct error *err)
{
	for (const struct json *at = json_first(list); at; at = json_next(at)) {
		struct device *device = &devices->devices[devices->device_count++];
		device->name = json_string_of(json_get(at, "name"));
		if (!json_number_of(json_get(at, "cores"), &device->cores))
			device->cores = 1;
		if (!json_number_of(json_get(at, "ranks"), &device->ranks))
			device->ranks = device->cores;
		if (!json_number_of(json_get(at, "memory_gib"), &device->memory_gib))
			device->memory_gib = 0;
		if (!device->name.len || !json_number_of(json_get(at, "peak_tflops"), &device->peak_tflops))
			return error_set(err, ERR_INVALID, "devices[%zu] ('%.*s') has no name or no peak_tflops",
				devices->device_count - 1, SPAN_ARGS(span_cut(device->name, 60)));
	}
	return OK;
}

static enum status read_instances(struct devices *devices, const struct json *list, struct error *err)
{
	for (const struct json *at = json_first(list); at; at = json_next(at)) {
		struct instance *instance = &devices->instances[devices->instance_count++];
		instance->type = json_string_of(json_get(at, "type"));
		instance->device = find_device(devices, json_string_of(json_get(at, "device")));
		if (!json_number_of(json_get(at, "memory_gib"), &instance->memory_gib))
			instance->memory_gib = 0;
		if (!instance->type.len || !instance->device ||
			!json_number_of(json_get(at, "count"), &instance->count))
			return error_set(err, ERR_INVALID, "instances[%zu] ('%.*s') has no type, count or known device",
				devices->instance_count - 1, SPAN_ARGS(instance->type));
	}
	return OK;
}

enum status devices_new(struct devices **out, struct span json, struct error *err)
{
	AUTO(devices) devices = mem_zeroed(sizeof *devices);

	if (!devices || !(devices->arena = arena_new()))
		return error_no_memory(err);
	TRY(json_parse(&devices->json, json, err));
	const struct json *list = json_get(devices->json, "devices"), *types = json_get(devices->json, "instances");
	devices->devices = arena_alloc(devices->arena, json_count(list) * sizeof *devices->devices);
	devices->instances = arena_alloc(devices->arena, json_count(types) * sizeof *devices->instances);
	if (!devices->devices || !devices->instances)
		return error_no_memory(err);
	TRY(read_devices(devices, list, err));
	TRY(read_instances(devices, types, err));
	*out = TAKE(devices);
	return OK;
}

static bool holds(struct span text, struct span word)
{
	for (size_t i = 0; i + word.len <= text.len; i++)
		if (span_equal_fold(span_of(text.ptr + i, word.len), word))
			return true;
	return false;
}

/* "NVIDIA A100-SXM4-80GB": of several that it holds (H100, GH100) the longest. */
static const struct device *device_in(const struct devices *devices, struct span text)
{
	const struct device *best = NULL;

	for (size_t i = 0; i < devices->device_count; i++)
		if (holds(text, devices->devices[i].name) && (!best || devices->devices[i].name.len > best->name.len))
			best = &devices->devices[i];
	return best;
}

static void take_type(const struct devices *devices, struct span type, struct input_machines *out)
{
	const struct device *device = NULL;
	struct span bare = span_starts_with(type, SPAN("ml.")) ? span_skip(type, 3) : type;

	for (size_t i = 0; i < devices->instance_count && !device; i++)
		if (span_equal(devices->instances[i].type, bare)) {
			device = devices->instances[i].device;
			out->devices_each = devices->instances[i].count;
			out->memory_gib = devices->instances[i].memory_gib;
		}
	if (!device && span_find_char(bare, '.') < 0)
		device = device_in(devices, bare); /* an instance type that is not known is no device */
	if (!device)
		return;
	out->peak_tflops = device->peak_tflops;
	out->cores_of_device = device->cores;
	out->ranks_of_device = device->ranks;
	if (out->memory_gib == 0)
		out->memory_gib = device->memory_gib;
}

void devices_find(const struct devices *devices, const struct json *resources, char text[INPUT_FROM_BYTES],
	struct input_machines *out)
{
	struct span type = json_string_of(json_get(resources, "InstanceType"));
	double count = 0, each;

	*out = (struct input_machines){.from = SPAN("")};
	if (!resources || json_kind(resources) != JSON_OBJECT)
		return;
	if (!json_number_of(json_get(resources, "InstanceCount"), &count) || count < 1)
		count = 0;
	const struct json *groups = json_get(resources, "InstanceGroups");
	for (const struct json *at = json_first(groups); at; at = json_next(at)) {
		struct span its = json_string_of(json_get(at, "InstanceType"));
		if (type.len && !span_equal(type, its))
			return; /* peaks of two kinds make no MFU */
		type = its;
		count += json_number_of(json_get(at, "InstanceCount"), &each) && each > 0 ? each : 0;
	}
	if (!type.len || type.len > 100)
		return;
	take_type(devices, type, out);
	out->instances = count;
	snprintf(text, INPUT_FROM_BYTES, "%g x %.*s", count, SPAN_ARGS(type));
	out->from = span_from(text);
}
