/*
 * Job: what a job's settings say of the memory that it takes: names of Megatron-LM, NeMo, transformers, DeepSpeed, FSDP and torchtitan to the inputs
 *      of the formulas (fleet/fit.h). Internal to api/.
 * Ownership: spans are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/fit_sharding.h"
#include "model/jobs/model_size.h"

enum fit_input {
	FIT_PARAMETERS,
	FIT_HIDDEN,
	FIT_LAYERS,
	FIT_HEADS,
	FIT_SEQUENCE,
	FIT_MICRO_BATCH,
	FIT_TENSOR,
	FIT_PIPELINE,
	FIT_CONTEXT,
	FIT_DATA,
	FIT_PARAMETER_BYTES,
	FIT_GRADIENT_BYTES,
	FIT_OPTIMIZER_BYTES,
	FIT_INPUTS
};

struct fit_settings {
	struct fit_setup setup;
	struct span from[FIT_INPUTS]; /* the setting that says it; "": none alone does */
	struct model_size model;
	bool counts_parameters; /* nobody states them: they are the model's by its sizes */
	struct fit_sharding sharding;
	struct fit_unread unread;
	const char *other; /* what the formulas are not of; NULL */
};

void fit_settings_read(const struct api *api, const struct advice_facts *facts, struct fit_settings *out);
/* The same training on as many ranks: data parallel by what they leave. NaN: not known. */
void fit_settings_place(struct fit_settings *settings, double ranks, double ranks_per_node);
const char *fit_input_name(enum fit_input input);
/* Its place in a setup. */
double *fit_input_of(struct fit_setup *setup, enum fit_input input);
/* The setting that names the model's family, or the model; NULL: none does. */
const struct advice_setting *fit_settings_family(const struct advice_facts *facts);
/* Those that say hidden size and layers, each NULL where none does. */
void fit_settings_sizes(const struct advice_facts *facts, const struct advice_setting *out[2]);
