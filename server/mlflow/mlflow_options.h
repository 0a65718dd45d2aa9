/*
 * Job: what the protocol of MLflow is told at the start: limits, and whom it asks who may do what.
 * Ownership: texts and context are the caller's. Threads: as each function says.
 */
#pragma once

#include "http/http.h"
#include "store/attachments.h"

struct pipeline;

struct mlflow_options {
	struct pipeline *pipeline;
	size_t max_body_bytes; /* also unpacked */
	size_t max_search_runs; /* that one search of runs may have to look at */
	int64_t search_ms; /* and so long it may take */
	bool has_trash; /* what is deleted can be restored */
	const char *
		artifact_root; /* where clients put files: a folder of theirs, s3://…, or mlflow-artifacts: for this server */
	struct attachment_limits attachments;
	/* The file of the job at that path becomes the reply. */
	enum status (*send_attachment)(void *worker, const struct http_request *request, int64_t job_id,
		struct span path, struct http_response *response, struct error *err);
	/* What the workers that the HTTP server makes have of the database. */
	struct store_reader *(*reader_of)(void *worker);
	/* token "": none was sent; OK then: everybody may do everything. I/O threads; must not block. */
	enum status (*authenticate)(void *context, struct span token, struct principal *out, struct error *err);
	void *context; /* of authenticate */
};
