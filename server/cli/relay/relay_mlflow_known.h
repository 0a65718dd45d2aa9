/*
 * Job: what the relay knows of a training's experiments and runs, so that it can answer while the server is away.
 * Ownership: new/free; texts of rows are copied. Threads: one at a time: under the core's mutex.
 */
#pragma once

#include "base/alloc.h"
#include "base/span.h"

enum { KNOWN_RUN_ID_DIGITS = 32 };

struct known_experiment {
	char *id, *name, *location;
	bool is_ours; /* its id is the relay's: the server has it by name */
};

struct known_run {
	char id[KNOWN_RUN_ID_DIGITS + 1];
	char *experiment_id, *name, *user, *artifacts;
	char *tags; /* JSON array, as they were given */
	const char *status; /* static */
	int64_t start_ms, end_ms;
};

struct known_model {
	char id[64];
	char *experiment_id, *run_id, *name, *type, *artifacts;
	const char *status; /* static */
};

struct known; /* the newest ones: a training that makes thousands of runs is answered by the server alone for the others */

struct known *known_new(void);
void known_free(struct known *known);
/* NULL: not known. Good until the next call that adds. */
const struct known_experiment *known_by_id(const struct known *known, struct span id);
const struct known_experiment *known_by_name(const struct known *known, struct span name);
/* The one that was learnt last; NULL: none was. */
const struct known_experiment *known_last(const struct known *known);
/* NULL: out of memory. */
const struct known_experiment *known_add_experiment(
	struct known *known, struct span id, struct span name, struct span location, bool is_ours);
struct known_run *known_run(struct known *known, struct span id);
/* The run's texts are taken over, also when it fails. */
bool known_add_run(struct known *known, const struct known_run *run);
void known_run_done(struct known_run *run);
struct known_model *known_model(struct known *known, struct span id);
bool known_add_model(struct known *known, const struct known_model *model); /* the same of its texts */
void known_model_done(struct known_model *model);

AUTO_TYPE(known)
