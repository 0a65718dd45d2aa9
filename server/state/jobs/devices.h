/*
 * Job: which devices an instance type has, and what they can do at most: devices.json.
 * Ownership: new/free. Threads: immutable.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_read.h"
#include "extract/inputs.h"

struct devices;

enum status devices_new(struct devices **out, struct span json, struct error *err) MUST_CHECK;
void devices_free(struct devices *devices);
/* From ResourceConfig (or NULL): instance type and count, also in InstanceGroups when all are of one type. from is in `text`. */
void devices_find(const struct devices *devices, const struct json *resources, char text[INPUT_FROM_BYTES],
	struct input_machines *out);

AUTO_TYPE(devices)
