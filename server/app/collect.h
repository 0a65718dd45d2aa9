/* Job: the collector from options and credentials. Ownership: in comments. Threads: main. */
#pragma once

#include "base/options/options.h"
#include "collect/collector.h"

struct collect_setup;

/* *out NULL: it is off. ERR_SEMANTIC with the option; ERR_FORBIDDEN: others may read the file of credentials. */
enum status collect_setup_new(struct collect_setup **out, const struct options *options, struct error *err) MUST_CHECK;
void collect_setup_free(struct collect_setup *setup); /* after the collector */
enum status collect_start(struct collector **out, const struct collect_setup *setup, struct store *store,
	struct pipeline *pipeline, struct error *err) MUST_CHECK;

AUTO_TYPE(collect_setup)
