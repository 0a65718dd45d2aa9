/*
 * Job: runs of an MLflow store become jobs of the server, by its own MLflow calls: the run's id is kept, so that a run that is there
 *      already, whole or in part, gets what it lacks and nothing twice. A point is the same by metric, time, step and value.
 * Ownership: nothing is kept but the counts. Threads: one at a time.
 */
#pragma once

#include "cli/moving/mlflow_source.h"

struct mlflow_sending {
	const char *program; /* for messages */
	struct http_client *client;
	int64_t patience_ms; /* how long a server that is away is asked again */
	bool (*wait)(void); /* a moment; true: a signal came */
	bool is_stopped; /* by it */
	uint64_t points_there, points_new;
	uint64_t points_odd; /* whose time or step the server does not take */
	uint64_t texts_long; /* params and tags that are longer than it takes */
	size_t metrics_damaged; /* that could not be read to their end */
	size_t runs_there, runs_open; /* of a status that is no end */
};

/* ERR_UNAVAILABLE: the server is away. Others: it does not take the run. */
enum status mlflow_send_run(struct mlflow_sending *sending, const struct mlflow_source *source,
	const struct mlflow_past_run *run, struct error *err) MUST_CHECK;
