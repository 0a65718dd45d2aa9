/*
 * Job: what the files of MLflow's dialect share. Its clients are answered at once: what they write is put into the spool, with a run's id
 *      that is the run's for ever; what they read is asked of the server while it is there.
 * Ownership: a call is its caller's. Threads: that of the connection.
 */
#pragma once

#include "cli/relay/relay_core.h"
#include "cli/relay/relay_mlflow_known.h"

#define MLFLOW_PREFIX "/api/2.0/mlflow/"

struct relay_call {
	struct relay_core *core;
	const struct relay_request *request;
	struct span name; /* "runs/create" */
	struct json *body; /* an object that may be changed; NULL: a GET */
	struct relay_reply *reply;
	struct json_writer w; /* into the reply, whose object is open */
};

typedef enum status relay_call_handler(struct relay_call *call, struct error *err);

/* ---- relay_mlflow.c ---- */
/* A member of the body or a parameter, into the buf; false: it is not there. */
bool relay_text(const struct relay_call *call, const char *name, struct buf *out);
/* relay_put, of a body. */
void relay_mlflow_put(struct relay_core *core, const char *call, const struct json *body);
/* As the server answers; ERR_UNAVAILABLE. */
enum status relay_pass(struct relay_call *call, struct error *err) MUST_CHECK;
/* What it answered is the reply. */
void relay_reply_with(struct relay_call *call, int status, struct span body);

/* ---- relay_mlflow_experiments.c ---- */
relay_call_handler relay_experiment_get, relay_experiment_get_by_name, relay_experiment_create;
/* The experiment's name where its id is ours, and where its runs' files go. */
struct relay_experiment {
	struct buf name; /* "": the server knows the id */
	struct buf location;
};
void relay_find_experiment(struct relay_call *call, struct span id, struct relay_experiment *out);
/* The server's id of one that is ours. False: it has none, or is away. */
bool relay_server_id(struct relay_call *call, struct span id, struct buf *out);
/* The id that the client has of what the server calls so. */
void relay_client_id(struct relay_call *call, struct span server_id, struct buf *out);

/* ---- relay_mlflow_runs.c ---- */
relay_call_handler relay_run_create, relay_run_update, relay_run_get, relay_run_search, relay_run_record;

/* ---- relay_mlflow_models.c ---- */
relay_call_handler relay_model_create, relay_model_call, relay_run_outputs;

/* ---- relay_mlflow_compose.c ---- */
/* The call begins a run that may be the job of the log (a nested one may not), or goes on with one, or ends it. */
bool relay_mlflow_is_run(struct span call, const struct json *body);
enum status relay_mlflow_compose(
	struct span records, const struct relay_terms *terms, struct relay_sending *out, struct error *err) MUST_CHECK;
