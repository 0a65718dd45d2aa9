/*
 * Job: where MLflow keeps runs, read run by run: a folder (mlruns), a database (mlflow.db), or a server. A kind of place is a table of
 *      functions; what is common of them is here.
 * Ownership: a source owns its state, a run its texts. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "cli/http/http_post.h"

struct mlflow_pair {
	struct span key, value;
};
struct mlflow_pairs {
	struct mlflow_pair *items;
	size_t count, cap;
};
/* What is not moved; summed up over runs. */
struct mlflow_left {
	size_t artifacts; /* files; a server is not asked for them */
	size_t datasets, models, traces;
};
struct mlflow_past_run {
	struct arena *arena;
	struct span id, name, experiment, user, status, artifacts; /* as MLflow has them; "": not said */
	int64_t start_ms, end_ms; /* 0: not said */
	bool is_deleted; /* itself, or its experiment */
	struct mlflow_pairs params, tags, metrics; /* the values of metrics: where the source has their points */
	struct mlflow_left left;
};
void mlflow_past_run_done(struct mlflow_past_run *run);
/* Copies both. False: out of memory. */
bool mlflow_pairs_add(struct arena *arena, struct mlflow_pairs *pairs, struct span key, struct span value)
	__attribute__((warn_unused_result));
const struct mlflow_pair *mlflow_pairs_find(const struct mlflow_pairs *pairs, const char *key);

struct mlflow_point {
	int64_t ts_ms, step;
	double value;
};
/* MLflow's databases hold an infinity as the largest finite number, and its server answers with that. */
double mlflow_stored_value(double value);
typedef enum status mlflow_take_point(void *context, const struct mlflow_point *point, struct error *err);

struct mlflow_source_kind {
	/* The next run into what is empty; *is_end: there is none. ERR_INVALID: this one cannot be read, others can. */
	enum status (*next)(void *state, struct mlflow_past_run *out, bool *is_end, struct error *err);
	/* In the order in which they were logged, as far as the place knows it. */
	enum status (*points)(void *state, const struct mlflow_past_run *run, const struct mlflow_pair *metric,
		mlflow_take_point *take, void *context, struct error *err);
	void (*free)(void *state);
};
struct mlflow_source {
	const struct mlflow_source_kind *kind;
	void *state;
	size_t count; /* of runs; 0: not known before the end */
	struct mlflow_left left; /* of no run */
};
void mlflow_source_done(struct mlflow_source *source);

/* ERR_INVALID: it is none. */
enum status mlflow_files_open(struct mlflow_source *out, const char *folder, struct error *err) MUST_CHECK;
/* A line of its metrics: "TIME VALUE", of the first versions, "TIME VALUE STEP", or with a dataset behind it. */
bool mlflow_files_point(struct span line, struct mlflow_point *out);
/* A file of SQLite. ERR_INVALID: it is none, or not MLflow's. */
enum status mlflow_database_open(struct mlflow_source *out, const char *path, struct error *err) MUST_CHECK;
struct mlflow_server_options {
	const char *address; /* "http://…" */
	const char *token, *user, *password, *ca_file; /* NULL: none */
	int64_t patience_ms; /* how long a server that is away is asked again */
	bool (*wait)(void); /* a moment; true: a signal came */
};
/* ERR_UNAVAILABLE: it is away. */
enum status mlflow_server_open(
	struct mlflow_source *out, const struct mlflow_server_options *options, struct error *err) MUST_CHECK;

AUTO_DONE_TYPE(mlflow_past_run)
AUTO_DONE_TYPE(mlflow_source)
