/*
 * Job: the REST surface. One resource a file: decode, call the pipeline or the store, encode.
 * Ownership: new/free; outlives the HTTP server.
 * Threads: handlers run as their route's kind says (http.h); api_tick belongs to the pipeline's publisher.
 */
#pragma once

#include "http/assets.h"
#include "http/http.h"
#include "ingest/labels.h"
#include "store/store.h"

struct api;

struct webhook_formats;
struct api_options {
	struct pipeline *pipeline;
	struct store *store;
	struct hub *hub;
	struct filters *filters; /* of the hub's lines */
	struct assets *assets;
	const struct embedded_file *downloads; /* NAME.gz, and SHA256SUMS */
	struct span advice; /* advice.json */
	const unsigned char *seal_key; /* SEAL_KEY_BYTES */
	const struct options *settings; /* what the server was started with */
	bool is_open; /* --insecure: nobody ever does */
	bool is_tls; /* the session's cookie is for TLS alone */
	bool is_demo;
	size_t max_line_bytes;
	size_t max_points_bytes;
	size_t max_push_bytes; /* of a body of Loki's or OTLP's */
	size_t max_record_bytes; /* of a line of an import */
	const char *labels[LABEL_ROLES]; /* of shippers: lists of names */
	size_t slice_bytes;
	int64_t silent_ms; /* as the pipeline's */
	int64_t skew_ms; /* a clock that is off by so much is warned of */
	uint64_t max_views; /* saved, of one owner */
	size_t max_rules;
	int64_t rule_preview_ms; /* a rule is tried on what is stored for so long */
	const struct webhook_formats *webhook_formats;
	size_t max_events; /* of EventBridge's, in one request */
	size_t max_chart_queries; /* in one request */
	size_t max_chart_buckets; /* of all of them */
	int64_t lease_ms; /* of a session */
	size_t max_sessions;
	size_t max_commands; /* of one job */
	const char *timezone; /* of times in queries that name none */
	size_t max_compare_jobs;
	int64_t max_signature_ms; /* a signed address is good for so long at most */
	const char *ssh_template; /* of the command that opens a shell on a machine; "": none */
	const char *embed_origins; /* who may frame pages with embed=1: separated by commas; "": nobody */
	uint64_t max_groups; /* of an aggregation */
	uint64_t max_group_periods; /* of a job in one */
	uint64_t max_group_values; /* kept for medians and percentiles of all of them */
	int64_t job_search_ms; /* a search of jobs ends then, with what it has */
	int64_t search_ms; /* a search of logs ends then, with what it has */
	size_t max_reply_bytes; /* of a page of lines */
	/* Reads the config file again: appends {"changed", "needs_restart"}. NULL: there is none to read. Any thread. */
	enum status (*reload)(void *context, struct buf *out, struct error *err);
	/* A changed webhook may make deliveries due. */
	void (*deliveries_due)(void *context);
	/* An event of EventBridge's has come: there may be more to know where it came from. Any thread. */
	void (*event_taken)(void *context);
	/* The figures of those whom this layer does not know, as Prometheus' text. Any thread; NULL: there are none. */
	void (*write_metrics)(void *context, struct buf *out);
	void *context;
};

enum status api_new(struct api **out, const struct api_options *options, struct error *err) MUST_CHECK;
void api_free(struct api *api);

/* For its figures, and to tell it of tokens that ended; after http_server_start. */
void api_set_server(struct api *api, struct http_server *server);
/* Its database connection; worker: as api_hooks' worker_new made it. */
struct store_reader *api_worker_reader(void *worker);
/* Does a request need a token? Once there is one, everybody does (but for is_open). */
bool api_needs_tokens(struct api *api);
/* From now on /readyz says that the server is stopping. */
void api_set_stopping(struct api *api);

const struct http_route *api_routes(size_t *count);
struct http_hooks api_hooks(struct api *api);

/* A command that is on disk: the sessions of its job are told. Any thread. */
struct command_row;
void api_command_given(struct api *api, const struct command_row *command);
/* When the last lease on one of the job's streams is, or was, over, by the wall clock; 0: nobody had one. */
int64_t api_lease_end_ms(struct api *api, int64_t job_id);

/* Each 50 ms: hands slices that have waited long enough to the writer. */
void api_tick(void *api);

struct new_token {
	struct span name; /* 1 to 63 bytes */
	enum http_scope scope;
	struct span team;
	uint64_t rate_requests, rate_bytes; /* a second; 0: as the options say */
};
/* Makes a token; its text is printed once and never again. ERR_CONFLICT: the name is taken. Also for `token create`. */
enum status api_create_token(
	struct api *api, const struct new_token *asked, struct buf *token, struct error *err) MUST_CHECK;

/* What AWS's clients sign with instead of the token. */
void api_print_aws_pair(struct api *api, struct span token, struct buf *key_id, struct buf *secret);
/* Whose access key it is, and its secret; false: nobody's. Any thread. */
bool api_find_aws_key(void *api, struct span key_id, struct principal *out, struct buf *secret);

AUTO_TYPE(api)
