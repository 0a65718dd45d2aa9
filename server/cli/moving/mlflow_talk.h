/*
 * Job: requests in MLflow's protocol, to this server or MLflow's own, and the points of its answers.
 * Ownership: nothing is kept. Threads: those of the client.
 */
#pragma once

#include "base/json/json_read.h"
#include "cli/moving/mlflow_source.h"

#define MLFLOW_CALLS "/api/2.0/mlflow/"

struct mlflow_talk {
	struct http_client *client;
	const char *headers; /* as struct http_request has them; NULL: none */
	int64_t patience_ms;
	bool (*wait)(void);
	bool is_stopped;
};
/* body: JSON of a POST; "": a GET. Asked again while the server is away, for as long as patience_ms. *document may be NULL. */
enum status mlflow_talk(struct mlflow_talk *talk, struct span path, struct span body, struct json **document,
	struct error *err) MUST_CHECK;
/* All points of a metric, page by page. */
enum status mlflow_talk_history(struct mlflow_talk *talk, struct span run_id, struct span metric,
	mlflow_take_point *take, void *context, struct error *err) MUST_CHECK;
/* A number, or a text that is one. */
bool mlflow_talk_integer(const struct json *node, int64_t *out);
