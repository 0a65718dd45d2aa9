/*
 * Job: what the derived metrics of a job are made from, and what is said of it.
 * Ownership: inputs live in the arena. Threads: any.
 */
#pragma once

#include "state/streams/directory.h"
#include "store/job_facts.h"
#include "store/jobs.h"

struct inputs;
struct pipeline;

enum status derivation_read_inputs(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct inputs **out, struct error *err) MUST_CHECK;

/* Of the instance type in ResourceConfig; NaN: it is not known. */
double derivation_each_device(const struct pipeline *pipeline, const struct json *document);

/* How many processes of a trainer an instance has: of Trainium its cores, as the job's environment puts them together; NaN: not known. */
double derivation_each_rank(const struct pipeline *pipeline, const struct json *document);

/* The memory that each of these has; NaN: not known. */
double derivation_rank_bytes(const struct pipeline *pipeline, const struct json *document);

/* How many of these one device of its type has; NaN: not known. */
double derivation_device_ranks(const struct pipeline *pipeline, const struct json *document);

/* Of the model, as the job's settings say. */
struct derivation_parameters {
	double value; /* NaN: they do not */
	struct span from;
	bool is_counted; /* nobody states them: they are worked out of its sizes */
};
enum status derivation_read_parameters(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct derivation_parameters *out, struct error *err) MUST_CHECK;
void derivation_write(const struct inputs *inputs, struct span metric, struct json_writer *w);
void derivation_find_progress(struct job_state *job, struct job_progress *out);
