/*
 * Job: what trackers measure of a machine, in the words of sm-ship: PREFIX, the device's number, and a name of a table. Pure.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "base/span.h"

struct device_name {
	const char *theirs, *ours;
	double factor; /* of their values to ours */
};
struct device_names {
	const char *prefix; /* "system.gpu." */
	char separator; /* behind the number */
	const struct device_name *items;
	size_t count;
};

/* "system.gpu.3.temp" -> gpu_temperature_celsius{gpu="3"}; false: it is no such. */
bool device_metric_name(const struct device_names *names, struct span name, char *out, size_t room, double *factor);
