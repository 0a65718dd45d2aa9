/* Job: what the API's files share. Ownership and threads: as api.h. */
#pragma once

#include "api/api.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/json_read.h"
#include "ingest/labels.h"
#include "read/chart.h"
#include "read/chart_query.h"
#include "state/audit.h"
#include "state/job_view.h"

#include <pthread.h>

struct upload;
struct session_table;

enum event_verdict { VERDICT_ACCEPTED, VERDICT_DUPLICATE, VERDICT_IGNORED, VERDICT_REJECTED, VERDICT_COUNT };

enum { AWS_KEY_ID_BYTES = 20 };
/* A sender's clock is not ahead by more. */
enum { DAY_MS = 24 * 60 * 60 * 1000 };
struct aws_key {
	char id[AWS_KEY_ID_BYTES + 1];
};

struct api {
	struct api_options options;
	struct http_server *_Atomic server; /* workers run before it is known */
	atomic_bool is_stopping;
	int64_t started_ms;
	struct zone *zone; /* of times that name none; NULL: UTC */
	pthread_mutex_t tokens_loading; /* one at a time: who reads last has what is on disk */
	atomic_bool are_tokens_stale; /* they changed on disk and could not be read: the tick tries again */
	pthread_rwlock_t tokens_lock;
	struct arena *tokens_arena;
	struct token_row *tokens;
	struct aws_key *aws_keys; /* of each of them */
	size_t token_count;
	pthread_mutex_t uploads_mutex;
	struct upload *uploads;
	struct session_table *sessions;
	struct ingest_labels *labels;
	struct advice *advice;
	char *frame_ancestors; /* of pages with embed=1 */
	atomic_uint_fast64_t no_job_lines; /* of shippers: no label said of which job they are */
	atomic_uint_fast64_t bad_times;
	atomic_uint_fast64_t events[VERDICT_COUNT]; /* of EventBridge */
};

/* A worker's own things. */
struct api_worker {
	struct api *api;
	struct store_reader *reader;
	struct actor actor; /* of the request that it answers */
	char verb[64], thing[1024];
	struct buf body;
};

/* ---- tokens.c ---- */
enum status tokens_load(struct api *api, struct error *err) MUST_CHECK;
/* Each tick. */
void tokens_retry(struct api *api);
bool tokens_are_known(void *api, const struct principal *principal);
enum status tokens_authenticate(void *api, struct span token, struct principal *out, struct error *err) MUST_CHECK;

/* ---- audit.c ---- */
void audit_enter(void *api, void *worker, const struct http_request *request, const struct http_route *route);
void audit_leave(void *api);
/* The same within a handler, of a job. */
void audit_enter_job(struct api *api, struct api_worker *worker, const struct http_request *request, const char *verb,
	struct span job);

/* ---- signed_urls.c ---- */
enum status signatures_check(
	void *api, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;
/* Is there (still) such a token, that may read? 0, who needed none: as long as nobody needs one. */
bool tokens_may_read(struct api *api, uint64_t token_id);

/* ---- handlers, by file ---- */
http_handler api_audit, api_reload, api_info, api_healthz, api_readyz, api_metrics_text, api_openapi;
http_handler api_session_get, api_session_create, api_session_delete;
http_handler api_tokens_list, api_tokens_create, api_tokens_delete, api_options_list;
http_handler api_jobs_list, api_jobs_create, api_job_get, api_job_delete, api_job_transition;
http_handler api_events_take, api_search, api_job_run, api_job_checkpoints;
http_handler api_aggregate, api_compare;
http_handler api_streams, api_lines, api_lines_raw, api_log_search, api_log_histogram;
http_handler api_retention_get, api_retention_put, api_job_pin, api_job_patch;
http_handler api_series, api_points, api_points_query, api_points_search, api_job_heat;
http_handler api_chart_svg, api_signatures_create;
http_handler api_job_advice, api_nodes, api_node, api_job_nodes;
http_handler api_startup, api_job_warm_pool;
http_handler api_fleet, api_fleet_paces, api_quotas_get, api_quotas_put;
http_handler api_goodput, api_job_goodput, api_scaling, api_prices_get, api_prices_put;
http_handler api_pools_list, api_pool_get, api_pool_match;
http_handler api_definitions_test, api_definitions_get, api_definitions_put;
http_handler api_job_definitions_get, api_job_definitions_put, api_backfill_cancel;
http_handler api_incidents, api_incident_get, api_incident_acknowledge, api_incident_mute;
http_handler api_rules_list, api_rules_create, api_rule_put, api_rule_delete, api_rules_preview;
http_handler api_webhooks_list, api_webhooks_create, api_webhook_put, api_webhook_test, api_webhook_delete,
	api_deliveries, api_job_deliveries, api_delivery_retry;
http_handler api_sessions_create, api_session_beat, api_commands_create, api_commands_list;
http_handler api_assets, api_download;
http_handler api_suggestions, api_views_list, api_view_put, api_view_delete;
http_handler api_loki_ready;
http_handler api_export;
extern const struct http_upload_ops api_upload_lines, api_upload_points, api_upload_loki, api_upload_otlp_logs,
	api_upload_otlp_metrics, api_import;
extern const struct http_stream_ops api_live;

/* ---- job_copy.c: the reply to ?as=json|aws-cli ---- */
enum status api_copy_job(
	const struct job_row *row, struct span as, struct http_response *response, struct error *err) MUST_CHECK;

/* ---- retention.c: a job's own limits, said in the object that is open ---- */
enum status api_limit_job(struct api *api, const struct http_request *request, const struct json *retention,
	struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- request_query.c ---- */
/* tz=, else the server's zone. *own is the caller's to free. */
enum status api_zone(const struct api *api, const struct http_request *request, struct zone **own,
	const struct zone **out, struct error *err) MUST_CHECK;
/* q=, with times in the zone of tz=. Spans are in the arena. */
enum status api_parse_query(const struct api *api, const struct http_request *request, struct arena *arena,
	struct query_node **out, struct error *err) MUST_CHECK;

/* runs=true: only the last jobs of runs. */
enum status api_want_runs(const struct http_request *request, struct arena *arena, struct query_node **query,
	bool *wants_runs, struct error *err) MUST_CHECK;

/* ---- jobs.c: a page of a search, through logs where the query asks of them. No view of the database may be open; after OK one
 * is, of the same moment (of a later one than what is in logs): store_reader_end is the caller's ---- */
enum status api_search_page(struct api_worker *worker, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, bool *is_partial, struct error *err) MUST_CHECK;
/* ---- job_values.c ---- */
enum { JOB_FIELDS_MAX = 100 };
struct job_fields {
	bool are_asked;
	size_t count;
	struct job_field {
		struct span name; /* as asked */
		int kind;
		struct span key; /* of a property, a path or a metric */
		enum role role; /* its main metric; ROLE_OTHER: the one called so */
		unsigned aggregate; /* enum query_aggregate */
	} list[JOB_FIELDS_MAX];
};
/* Names parted by commas, which stay the text's. ERR_INVALID with the field. */
enum status api_read_fields(
	struct span text, struct arena *arena, struct job_fields *out, struct error *err) MUST_CHECK;
/* An object: what is not known, or not there, has no key. */
enum status api_write_values(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- jobs_fields.c: fields= of a page of jobs: its rows have these, and not what only a job's own page shows ---- */
enum status api_parse_fields(
	const struct http_request *request, struct arena *arena, struct job_fields *out, struct error *err) MUST_CHECK;
enum status api_write_fields_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err) MUST_CHECK;

/* As of which commit searches know what came of logs; read before the search. */
void api_print_index_seq(const struct api *api, char out[24]);

/* ---- run.c: continues and continued_by, into an object that is open ---- */
/* The jobs of its run up to this one, oldest first: an array. */
enum status api_write_run_jobs(struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w,
	struct error *err) MUST_CHECK;
enum status api_write_run(struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w,
	struct error *err) MUST_CHECK;

/* ---- goodput.c: of a run, into an object that is open ---- */
struct run_link;
enum status api_write_run_goodput(struct store_reader *reader, struct arena *arena, const struct run_link *links,
	size_t count, struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- money.c: what is not known is null ---- */
struct goodput_day;
void api_put_known(struct json_writer *w, const char *key, double value); /* NaN: it is not */
void api_put_seconds(struct json_writer *w, const char *key, int64_t ms); /* whole ones; below 0: not known */
void api_put_cost(struct json_writer *w, const char *key, int64_t cost);
/* cost, lost_cost, billed_node_hours, unpriced_node_hours: of a day, or of a sum of days. */
void api_put_day_costs(struct json_writer *w, const struct goodput_day *day, bool has_prices);
/* Of all jobs. */
enum status api_put_unpriced_types(
	struct store_reader *reader, struct arena *arena, struct json_writer *w, struct error *err) MUST_CHECK;
/* other_currencies, where there are any: what deleted jobs cost on these days, in no sum of them. */
enum status api_put_deleted_costs(struct store_reader *reader, struct arena *arena, struct span currency, int64_t first,
	int64_t last, struct json_writer *w, struct error *err) MUST_CHECK;
/* Of so many breaks, some of which are not known in that. */
void api_put_lost_steps(struct json_writer *w, int64_t known, uint64_t unknown, uint64_t breaks);

/* ---- webhooks.c: nothing of it says where a webhook is: its URL may be a secret ---- */
struct delivery_row;
void api_write_delivery(struct json_writer *w, const struct delivery_row *row);

/* ---- lines.c: the stream asked for, else the job's first; "" : it has none ---- */
enum status api_choose_stream(struct api_worker *worker, struct arena *arena, const struct http_request *request,
	struct span *stream, struct error *err) MUST_CHECK;

/* ---- points.c: what other ways to a chart share; "" is the default ---- */
enum { CHART_BUCKETS_DEFAULT = 1000, CHART_BUCKETS_MAX = 10000 };
enum status api_parse_axis(struct span x, struct chart_query *query, struct error *err) MUST_CHECK;
enum status api_parse_attempts(struct span attempts, struct chart_query *query, struct error *err) MUST_CHECK;
/* A list of names as a set for api_write_chart; NULL: all. */
enum status api_parse_columns(const struct json *names, unsigned *columns, struct error *err) MUST_CHECK;
void api_write_chart(struct json_writer *w, const struct chart *chart, unsigned columns);

/* ---- health.c: of the definitions of a job, folded over its streams: an array ---- */
enum status api_write_health(
	struct arena *arena, const struct job_view *view, struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- hosts.c: "host", and where several sent the stream "hosts" and "shared" ---- */
struct stream_host_row;
struct api_hosts {
	struct stream_host_row *rows;
	size_t count;
};
enum status api_read_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id, struct api_hosts *out,
	struct error *err) MUST_CHECK;
/* From which line on all are its present host's; UINT64_MAX: several send it. */
uint64_t api_write_hosts(struct json_writer *w, const struct api_hosts *hosts, const struct stream_view *stream);

/* ---- points_raw.c: raw=true, or CSV of points ---- */
enum status api_points_raw(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct chart_query *query, bool is_csv, struct http_response *response, struct error *err) MUST_CHECK;
/* GET /api/v1/jobs?format=csv|ndjson. */
enum status api_jobs_listing(const struct api *api, const struct http_request *request, struct api_worker *worker,
	struct http_response *response, struct error *err) MUST_CHECK;
void api_csv_text(struct buf *out, struct span text);
void api_csv_double(struct buf *out, double value);

/* ---- helpers ---- */
/* The team that this request may write for: the token's. */
struct span api_team(const struct http_request *request);
/* What is everybody's is not changed by a token of a team. what: "quotas are those". */
enum status api_all_teams(const struct http_request *request, const char *what, struct error *err) MUST_CHECK;
/* A token of a team gives away no more than it has: *team is that team's, "" becomes it. */
enum status api_own_team(const struct http_request *request, struct span *team, struct error *err) MUST_CHECK;
/* An arena for one request; freed by the caller. */
enum status api_arena(struct arena **out, struct error *err) MUST_CHECK;
enum status api_limit(
	const struct http_request *request, int64_t fallback, int64_t most, size_t *out, struct error *err) MUST_CHECK;
/* A name inside a list may hold a comma: it is then %2C, beneath the encoding of the query itself. */
enum status api_decode_name(struct arena *arena, struct span text, struct span *out, struct error *err) MUST_CHECK;
struct json_writer api_reply(struct http_response *response);
/* The body as a JSON object. */
enum status api_body_object(const struct http_request *request, struct json **out, struct error *err) MUST_CHECK;
/* A body that has members of these names alone (spaces between them), each once: a slip of the pen is no silence. */
enum status api_check_members(const struct json *body, const char *names, struct error *err) MUST_CHECK;
