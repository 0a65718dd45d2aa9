/* Job: what parameters of routes are, for those who read the interface. Ownership and threads: immutable. */
#pragma once

#include "base/span.h"

struct api_parameter {
	const char *name;
	const char *pattern; /* of the routes that mean it so, or what these begin with; NULL: of all others */
	const char *type; /* as JSON's schema has it */
	const char *text;
};

const struct api_parameter *api_parameter_find(const char *pattern, struct span name); /* NULL: not known */
