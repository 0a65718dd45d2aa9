/*
 * Job: what the calls of MLflow's protocol share. A call is a function that reads call->body (of a POST) or the query (of a GET) by
 *      mlflow_text and its like, and writes members of its reply into call->w, whose object is open.
 *
 *   Errors     mlflow_error with a code as MLflow has it; an error of the pipeline's or the store's gets the code of its status.
 *   Points     a batch is left in call->points: the reply leaves after the commit, no worker waits for it.
 *
 * Ownership: what a call has is in its arena, and ends with its reply. Threads: a worker.
 */
#pragma once

#include "base/arena.h"
#include "base/json/json_read.h"
#include "mlflow/mlflow_options.h"
#include "model/metrics/batch.h"
#include "pipeline/jobs/tracked_projects.h"
#include "pipeline/jobs/tracked_runs.h"
#include "store/jobs.h"

#define MLFLOW_INVALID "INVALID_PARAMETER_VALUE"
#define MLFLOW_NOT_IMPLEMENTED "NOT_IMPLEMENTED"

/* MLflow's own limits on one request and on what is in it; names are in bytes. */
enum {
	MLFLOW_BATCH_METRICS_MAX = 1000,
	MLFLOW_BATCH_PARAMS_MAX = 100,
	MLFLOW_BATCH_TAGS_MAX = 100,
	MLFLOW_BATCH_DATASETS_MAX = 100,
	MLFLOW_KEY_MAX_BYTES = 250,
	MLFLOW_PARAM_MAX_BYTES = 6000,
	MLFLOW_TAG_MAX_BYTES = 8000,
	MLFLOW_NAME_MAX_BYTES = 500,
	MLFLOW_USER_MAX_BYTES = 256,
	MLFLOW_PLACE_MAX_BYTES = 2000,
};

/* The stream of a run's job that has its metrics. */
#define MLFLOW_STREAM "algo-1"
/* The experiment that is there without having been made. */
#define MLFLOW_DEFAULT_ID 0
#define MLFLOW_DEFAULT_NAME "Default"

struct mlflow_call {
	const struct mlflow_options *options;
	struct pipeline *pipeline;
	struct store_reader *reader;
	const struct http_request *request;
	struct span team; /* the principal's */
	int64_t now_ms; /* when the request came */
	struct arena *arena;
	const struct json *body; /* an object; NULL: a GET */
	struct json_writer w;
	struct batch *points;
	void *worker;
	struct http_response *response;
	bool has_own_reply; /* it is no object: what was written into w is gone */
};

typedef enum status mlflow_handler(struct mlflow_call *call, struct error *err);

struct mlflow {
	struct mlflow_options options;
	struct http_route *routes;
	size_t route_count;
};

/* ---- call.c ---- */
/* Who may call it: BY_SENDERS with a token to write or to read. ABSENT: the same, and its body is not looked at, nor is that of FILE, to write. */
enum mlflow_use { MLFLOW_WRITES, MLFLOW_READS, MLFLOW_BY_SENDERS, MLFLOW_ABSENT, MLFLOW_FILE };
enum status mlflow_run_call(struct mlflow *mlflow, void *worker, const struct http_request *request,
	struct http_response *response, enum mlflow_use use, mlflow_handler *handler, struct error *err) MUST_CHECK;
void mlflow_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

/* ---- admit.c: who is asking ---- */
enum status mlflow_admit(
	void *context, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;

/* ---- input.c: what is absent or null leaves *out as it is ---- */
/* Is `status`. code: static. */
enum status mlflow_error(struct error *err, enum status status, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
enum status mlflow_text(const struct mlflow_call *call, const char *name, size_t max_bytes, struct span *out,
	struct error *err) MUST_CHECK;
/* The same of what must be there. */
enum status mlflow_want_text(const struct mlflow_call *call, const char *name, size_t max_bytes, struct span *out,
	struct error *err) MUST_CHECK;
enum status mlflow_integer(const struct mlflow_call *call, const char *name, int64_t min, int64_t max, int64_t *out,
	struct error *err) MUST_CHECK;
/* A number, or a text that is one: what protobuf makes of 64 bits. */
bool mlflow_integer_of(const struct json *node, int64_t *out);
enum status mlflow_run_id(const struct mlflow_call *call, struct span *out, struct error *err) MUST_CHECK;
enum status mlflow_experiment_id(const struct mlflow_call *call, int64_t *out, struct error *err) MUST_CHECK;
bool mlflow_experiment_id_of(struct span text, int64_t *out);
/* [{"key", "value"}], at most `most` of them. */
enum status mlflow_pairs(const struct mlflow_call *call, const char *name, size_t most, size_t value_max_bytes,
	struct tracked_pairs *out, struct error *err) MUST_CHECK;

/* ---- experiments.c ---- */
mlflow_handler mlflow_experiment_create, mlflow_experiment_get, mlflow_experiment_get_by_name, mlflow_experiment_search,
	mlflow_experiment_update, mlflow_experiment_set_tag;
/* Also the default one. ERR_NOT_FOUND */
enum status mlflow_find_experiment(const struct mlflow_call *call, int64_t experiment_id,
	struct tracked_project_row *out, struct error *err) MUST_CHECK;
/* The team's of that name, made if there is none. */
enum status mlflow_ensure_experiment(
	struct mlflow_call *call, struct span name, struct tracked_project_row *out, struct error *err) MUST_CHECK;
/* ERR_FORBIDDEN: it is another team's. Says nothing else of it. */
enum status mlflow_check_owner(
	const struct mlflow_call *call, const struct tracked_project_row *experiment, struct error *err) MUST_CHECK;

/* ---- runs.c ---- */
mlflow_handler mlflow_run_create, mlflow_run_get, mlflow_run_update, mlflow_run_log_parameter, mlflow_run_set_tag,
	mlflow_run_delete_tag, mlflow_run_log_inputs;
/* Settings and tags of the run, as they are stated now. */
enum status mlflow_state(const struct mlflow_call *call, struct span run_id, const struct tracked_pairs *params,
	const struct tracked_pairs *tags, struct error *err) MUST_CHECK;

/* ---- deletion.c: into the trash, and back ---- */
mlflow_handler mlflow_run_delete, mlflow_run_restore;
/* What was not found may be a run that was deleted: then that is the error. */
enum status mlflow_explain_absence(const struct mlflow_call *call, struct error *err);
/* The same of this run, whose job is not there. */
enum status mlflow_explain_deletion(
	const struct mlflow_call *call, const struct tracked_run_row *run, struct error *err);

/* ---- run_view.c: a run as it is shown ---- */
struct mlflow_metric {
	struct span key;
	double value;
	int64_t ts_ms, step;
};
struct mlflow_run {
	struct tracked_run_row row;
	struct span job;
	bool is_deleted; /* its job is in the trash */
	struct span status; /* as the client or, where that said no end, as the job has it */
	struct tracked_pairs params, tags;
	struct mlflow_metric *metrics; /* the last point of each series */
	size_t metric_count;
};
/* row: of the store. With all that is acknowledged; metrics may take a while, where points came in no order. */
/* One of MLflow's own: runs of other trackers' doors are jobs with other ids, and their own client moves them. */
bool mlflow_is_run_id(struct span id);
enum status mlflow_view_run(const struct mlflow_call *call, const struct tracked_run_row *row, bool has_metrics,
	struct mlflow_run *out, struct error *err) MUST_CHECK;
void mlflow_write_run(const struct mlflow_run *run, struct json_writer *w);
void mlflow_write_run_info(const struct mlflow_run *run, struct json_writer *w);

/* ---- metrics.c ---- */
mlflow_handler mlflow_log_metric, mlflow_log_batch;
/* The job that the run is. ERR_NOT_FOUND */
enum status mlflow_find_job(
	const struct mlflow_call *call, struct span run_id, struct job_row *out, struct error *err) MUST_CHECK;

/* ---- known_points.c ---- */
struct job_points {
	const struct mlflow_call *call;
	struct span job;
};
struct point;
/* context: a struct job_points. Of what readers see: a client that asked for the history first has all of that there. */
enum status mlflow_has_point(
	void *context, struct span key, const struct point *asked, bool *out, struct error *err) MUST_CHECK;

/* ---- history.c ---- */
mlflow_handler mlflow_get_history, mlflow_get_history_bulk, mlflow_get_history_bulk_interval;

/* ---- models.c ---- */
mlflow_handler mlflow_model_create, mlflow_model_get, mlflow_model_change, mlflow_run_outputs;

/* ---- search.c ---- */
mlflow_handler mlflow_run_search;

/* ---- artifacts.c ---- */
#define MLFLOW_KEPT_HERE "mlflow-artifacts:"
/* Does the server keep the files whose place this is? */
bool mlflow_keeps_files(struct span location);
mlflow_handler mlflow_file_put, mlflow_file_get, mlflow_file_delete, mlflow_files_list, mlflow_run_files_list;

/* ---- absent.c: what is not there, and what to do instead ---- */
#define MLFLOW_ARTIFACTS_PATH "/api/2.0/mlflow-artifacts/"
enum status mlflow_say_no_artifacts(const struct mlflow_options *options, struct error *err);
/* Of a body that the transport did not take. */
enum { MLFLOW_FILE_MAX_BYTES = 32 << 20 };
enum status mlflow_say_too_large(const struct mlflow_options *options, struct error *err);
mlflow_handler mlflow_no_parts, mlflow_no_artifacts, mlflow_no_models, mlflow_no_traces, mlflow_no_deletion,
	mlflow_unknown;
