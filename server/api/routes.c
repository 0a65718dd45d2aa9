/* The whole REST surface in one table; the OpenAPI document is written from it. */
#include "api/api.h"
#include "api/core/handlers.h"
#include "api/core/request.h"

enum { DOCUMENT_BYTES = 4 << 20, SMALL_BYTES = 64 << 10, EVALUATION_BYTES = 32 << 20, ATTACHMENT_BYTES = 32 << 20 };

/* Beside its name. */
#define RULE_FIELDS                                                                                                        \
	"query:string kinds:array|null minimum_severity:string expression:string severity:string persistence_s:integer "   \
	"cool_down_s:integer collect_s:integer quiet:object|null webhooks:array|string endpoints:array exclusive:boolean " \
	"tell:boolean recovery:boolean command:string team:string enabled:boolean"

static const struct http_route routes[] = {
	{HTTP_GET, "/healthz", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_healthz, .query = "",
		.summary = "Answers while the process runs"},
	{HTTP_GET, "/readyz", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_readyz, .query = "",
		.summary =
			"Answers 200 if the server takes data; otherwise it says why not: it stops, lost its database, or has a full disk"},
	{HTTP_GET, "/metrics", SCOPE_READ, ROUTE_WORKER, .handler = api_metrics_text, .query = "jobs",
		.summary =
			"Figures of the server in the text format of Prometheus; jobs= adds the newest values of these jobs"},
	{HTTP_GET, "/api/v1/info", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_info, .query = "",
		.summary =
			"The server's version and features, and figures such as its jobs and the lines that it takes per second"},
	{HTTP_GET, "/api/v1/openapi.json", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_openapi, .query = "",
		.summary = "This list as an OpenAPI 3.1 document"},

	{HTTP_GET, "/api/v1/session", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_session_get, .query = "",
		.summary = "Who is signed in, and what they may do"},
	{HTTP_POST, "/api/v1/session", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_session_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .body = "token!:string",
		.summary = "Sign in with a token; the reply sets a cookie"},
	{HTTP_DELETE, "/api/v1/session", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_session_delete,
		.query = "everywhere",
		.summary =
			"Sign out; everywhere=true ends all sessions of this token or person, in other browsers, too"},
	{HTTP_GET, "/sign-in/{provider}", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_sign_in, .query = "return",
		.summary = "For browsers: sign in by a provider of --sign-in, and come back to the page return="},
	{HTTP_GET, "/sign-in/{provider}/callback", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_sign_in_return,
		.query = "*", .summary = "Where the provider sends the browser back to; the reply sets a cookie"},
	{HTTP_GET, "/api/v1/tokens", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_tokens_list, .query = "",
		.summary = "List the tokens, without their text"},
	{HTTP_POST, "/api/v1/tokens", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_tokens_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "tokens",
		.body = "name!:string scope:string team:string aws:boolean rate_requests:integer rate_bytes:integer",
		.summary = "Make a token; the reply shows its text, once"},
	{HTTP_DELETE, "/api/v1/tokens/{token}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_tokens_delete, .query = "",
		.audit = "tokens", .summary = "Revoke a token"},
	{HTTP_GET, "/api/v1/audit", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_audit, .query = "after limit",
		.summary =
			"Who changed what, with the values before and after, newest first; after= takes the next_cursor of the previous page"},
	{HTTP_POST, "/api/v1/admin/reload", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_reload, .query = "",
		.max_body_bytes = SMALL_BYTES, .body = "",
		.summary =
			"Read the configuration file again, as SIGHUP does; the reply lists the options that changed and those that wait for a restart"},
	{HTTP_GET, "/api/v1/options", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_options_list, .query = "",
		.summary = "The server's options: their values, and where each value comes from"},

	{HTTP_POST | HTTP_PUT, "/api/v1/logs", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_lines,
		.query = "job stream host offset written_ms session source time_zone",
		.summary =
			"Send log lines as text/plain, application/x-ndjson or a JSON array; with offset= or an Idempotency-Key you can send the same body again without storing it twice"},
	{HTTP_POST, "/api/v1/points", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_points,
		.query = "job stream host offset session source", .body = "series:array points:array",
		.summary =
			"Send points of metrics as JSON (columns, objects or an array of these), NDJSON, CSV (long or wide) or Prometheus text; an Idempotency-Key, or source= and offset=, work as for lines"},
	{HTTP_POST, "/api/v1/sessions", SCOPE_WRITE, ROUTE_WORKER, .handler = api_sessions_create, .query = "",
		.max_body_bytes = DOCUMENT_BYTES,
		.body = "job!:string stream:string run_key:string host:string source:string hp:object tags:object resume:boolean past:boolean commands_after:integer instance_type:string instance_count:integer",
		.summary =
			"Begin to send a stream: the reply has the run's name, a lease on the stream, and the byte at which to go on"},
	{HTTP_POST, "/api/v1/sessions/{session}", SCOPE_WRITE, ROUTE_WORKER, .handler = api_session_beat, .query = "",
		.max_body_bytes = SMALL_BYTES, .body = "acks:array end:boolean exit:object",
		.summary =
			"Keep the session alive and get new commands; the body acknowledges commands, or says how the process ended"},
	{HTTP_POST, "/loki/api/v1/push", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_loki, .query = "",
		.body = "streams!:array",
		.summary = "Send log lines as Loki's clients do, as snappy protobuf or JSON; the reply is 204"},
	{HTTP_POST, "/v1/logs", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_otlp_logs, .query = "",
		.body = "resourceLogs:array", .summary = "Send log lines as OTLP, in protobuf or JSON"},
	{HTTP_POST, "/otlp/v1/logs", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_otlp_logs, .query = "",
		.body = "resourceLogs:array",
		.summary = "The same, where Loki has it: for collectors whose endpoint is Loki's /otlp"},
	{HTTP_POST, "/v1/metrics", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_otlp_metrics, .query = "",
		.body = "resourceMetrics:array",
		.summary =
			"Send metrics as OTLP, in protobuf or JSON; a histogram or summary becomes the mean of each interval"},
	{HTTP_POST, "/v1/traces", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_otlp_traces, .query = "",
		.body = "resourceSpans:array",
		.summary =
			"Send spans as OTLP, in protobuf or JSON: how long each part of a step took is kept, not the spans"},
	{HTTP_POST, "/prometheus/api/v1/write", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_remote_write,
		.query = "",
		.summary =
			"Send samples by Prometheus' remote write 1.0; the reply is 204, or 200 with a text that says what was left out"},
	{HTTP_POST | HTTP_PUT, "/metrics/job/{rest...}", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_push,
		.query = "",
		.summary = "Push points of a job in Prometheus' text, as to a Pushgateway; labels are in the path"},
	{HTTP_POST | HTTP_PUT, "/metrics/job@base64/{rest...}", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_push,
		.query = "", .summary = "The same with the job's name in base64"},
	{HTTP_POST, "/api/v1/events", SCOPE_WRITE, ROUTE_WORKER, .handler = api_events_take, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .body = "id:string detail-type:string detail:object",
		.summary = "Send EventBridge's event SageMaker Training Job State Change: one event or an array"},
	{HTTP_GET, "/ready", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_loki_ready, .query = "",
		.summary = "The same as /readyz, at the address that Loki's clients ask"},
	{HTTP_GET, "/api/v1/live", SCOPE_READ, ROUTE_STREAM, .stream = &api_live,
		.query = "jobs kinds after stream filter filter_regex filter_ignore_case",
		.summary =
			"A stream of server-sent events: new points and lines, changes of jobs, incidents, back-fills and warm pools"},

	{HTTP_GET, "/api/v1/jobs", SCOPE_READ, ROUTE_WORKER, .handler = api_jobs_list, .is_slow = api_is_slow_query,
		.query = "q tz runs sort limit cursor offset total explain format fields",
		.summary =
			"Search jobs; fields= chooses columns, format=csv or ndjson returns all jobs found, explain=true says how the query was understood and answered"},
	{HTTP_GET, "/api/v1/export", SCOPE_READ, ROUTE_WORKER, .handler = api_export, .is_slow = api_is_slow,
		.query = "q tz",
		.summary =
			"Export whole jobs of a search as NDJSON: documents, lines, points, incidents, notes, evaluations"},
	{HTTP_POST, "/api/v1/import", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_import, .query = "",
		.summary = "Import the jobs of an export; a job is left out if its name is taken"},
	{HTTP_POST, "/api/v1/jobs", SCOPE_WRITE, ROUTE_WORKER, .handler = api_jobs_create, .query = "dry_run",
		.max_body_bytes = DOCUMENT_BYTES, .audit = "jobs",
		.body = "TrainingJobName!:string AlgorithmSpecification:object HyperParameters:object InputDataConfig:array OutputDataConfig:object ResourceConfig:object StoppingCondition:object CheckpointConfig:object Environment:object Tags:array",
		.summary =
			"Create a job from a CreateTrainingJob document; dry_run=true checks the document and stores nothing"},
	{HTTP_POST, "/api/v1/search", SCOPE_READ, ROUTE_WORKER, .handler = api_search, .is_slow = api_is_slow,
		.query = "", .max_body_bytes = DOCUMENT_BYTES,
		.body = "Resource!:string SearchExpression:object SortBy:string SortOrder:string NextToken:string MaxResults:integer",
		.summary = "Search jobs with the body and the reply of SageMaker's Search"},
	{HTTP_GET, "/api/v1/aggregate", SCOPE_READ, ROUTE_WORKER, .handler = api_aggregate, .is_slow = api_is_slow,
		.query = "q by of tz format",
		.summary =
			"Group jobs by team, month or other properties; the reply has sums, means and percentiles of each group"},
	{HTTP_GET, "/api/v1/compare", SCOPE_READ, ROUTE_WORKER, .handler = api_compare, .query = "jobs equal metric",
		.summary =
			"How jobs differ: their settings, their metrics side by side, values at the same steps; equal=true adds the settings that do not differ"},
	{HTTP_GET, "/api/v1/jobs/{job}", SCOPE_READ, ROUTE_WORKER, .handler = api_job_get, .query = "as",
		.summary =
			"One job: its document and what was derived from its log; as=json or as=aws-cli returns what is needed to run it again"},
	{HTTP_PATCH, "/api/v1/jobs/{job}", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_patch, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .audit = "jobs",
		.body = "tags:object Tags:array|null hp:object notes:string|null labels:array|null muted_advice:array|null by_hand:object "
			"ResourceConfig:object RemoteDebugConfig:object|null ProfilerConfig:object|null "
			"ProfilerRuleConfigurations:array|null retention:object|null",
		.summary =
			"Change tags, notes, labels and the keep-alive period, add settings (hp) that the document lacks, set values by hand; an admin can also limit its log text"},
	{HTTP_DELETE, "/api/v1/jobs/{job}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_job_delete, .query = "purge id",
		.audit = "jobs",
		.summary =
			"Move a job that has ended to the trash; purge=true deletes it for good; with id= one from there"},
	{HTTP_POST, "/api/v1/jobs/{job}/restore", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_job_restore, .query = "id",
		.max_body_bytes = SMALL_BYTES, .audit = "jobs", .body = "",
		.summary =
			"Take a job out of the trash: the one of that name that was deleted last, or the one of id=; the reply has its name"},
	{HTTP_GET, "/api/v1/trash", SCOPE_READ, ROUTE_WORKER, .handler = api_trash_list, .query = "limit cursor",
		.summary =
			"Deleted jobs that can be restored: when and by whom they were deleted, when they go for good, what they take"},
	{HTTP_POST, "/api/v1/jobs/{job}/transitions", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_transition,
		.query = "", .max_body_bytes = SMALL_BYTES, .audit = "jobs",
		.body = "SecondaryStatus!:string StatusMessage:string FailureReason:string time_ms:integer unless:array assumed:boolean",
		.summary =
			"State a new secondary status; assumed: the job's log is complete, so Completed counts from where the log ends"},
	{HTTP_POST, "/api/v1/jobs/{job}/commands", SCOPE_WRITE, ROUTE_WORKER, .handler = api_commands_create,
		.query = "", .max_body_bytes = SMALL_BYTES, .audit = "jobs", .body = "command!:string stream:string",
		.summary = "Send a command, checkpoint or stop, to those who send the job's log"},
	{HTTP_GET, "/api/v1/jobs/{job}/commands", SCOPE_READ, ROUTE_WORKER, .handler = api_commands_list, .query = "",
		.summary = "The commands that were given, and for each stream whether it got and answered them"},
	{HTTP_GET, "/api/v1/jobs/{job}/schedule", SCOPE_READ, ROUTE_WORKER, .handler = api_job_schedule, .query = "",
		.summary =
			"The learning rate that the settings declare beside the one that is printed, and the share of clipped gradients"},
	{HTTP_GET, "/api/v1/jobs/{job}/tokens", SCOPE_READ, ROUTE_WORKER, .handler = api_job_tokens, .query = "",
		.summary =
			"How many tokens the training has consumed, of how many, and when and at what cost it will be through"},
	{HTTP_GET, "/api/v1/jobs/{job}/anatomy", SCOPE_READ, ROUTE_WORKER, .handler = api_job_anatomy,
		.query = "from_step to_step",
		.summary =
			"What a step of the training is made of, by the timers that its trainer prints, and by profilers' traces"},
	{HTTP_POST, "/api/v1/jobs/{job}/anatomy", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_anatomy_put,
		.query = "run_key", .max_body_bytes = SMALL_BYTES, .audit = "jobs",
		.body = "stream!:string trace!:string file:string rank:integer devices:integer profiled_ms:integer "
			"first_step:integer last_step:integer steps:integer step_us:integer last_left_out:boolean "
			"kernels!:integer kernel_us!:integer idle_us!:integer compute_us!:integer "
			"communication_us!:integer overlap_us!:integer by_kind_us:object",
		.summary = "Send what a profiler's trace says of the time of a GPU: sm-ship --trace does"},
	{HTTP_DELETE, "/api/v1/jobs/{job}/anatomy", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_anatomy_delete,
		.query = "stream trace", .audit = "jobs", .summary = "Delete what a trace said"},
	{HTTP_GET, "/api/v1/jobs/{job}/continuity", SCOPE_READ, ROUTE_WORKER, .handler = api_job_continuity,
		.query = "",
		.summary =
			"Whether each restart went on from where it was: loss, learning rate and data position at the steps printed twice"},
	{HTTP_GET, "/api/v1/jobs/{job}/checkpoints", SCOPE_READ, ROUTE_WORKER, .handler = api_job_checkpoints,
		.query = "limit", .summary = "The checkpoints that the log mentions, newest first"},
	{HTTP_GET, "/api/v1/jobs/{job}/restart", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_restart, .query = "",
		.summary =
			"Whether the job should be started again, from which checkpoint, without which machines: what sm-ship --on-restart is given"},
	{HTTP_GET, "/api/v1/jobs/{job}/evaluations", SCOPE_READ, ROUTE_WORKER, .handler = api_evaluations_list,
		.query = "limit weights errors",
		.summary =
			"Scores of the job's checkpoints, the best by weights=, and what fell by more than its standard error"},
	{HTTP_POST, "/api/v1/jobs/{job}/evaluations", SCOPE_WRITE, ROUTE_WORKER, .handler = api_evaluations_put,
		.query = "step path", .max_body_bytes = EVALUATION_BYTES, .audit = "jobs",
		.body = "results:object scores:object step:integer path:string suite:string n:integer evaluated_ms:integer",
		.summary =
			"Send what an evaluation found of a checkpoint: the results of lm-evaluation-harness, or scores of your own"},
	{HTTP_DELETE, "/api/v1/jobs/{job}/evaluations", SCOPE_WRITE, ROUTE_WORKER, .handler = api_evaluations_delete,
		.query = "step path", .audit = "jobs", .summary = "Delete the scores of a checkpoint"},
	{HTTP_GET, "/api/v1/evaluations", SCOPE_READ, ROUTE_WORKER, .handler = api_leaders, .is_slow = api_is_slow,
		.query = "q tz metric weights by limit format",
		.summary =
			"The best checkpoints of a search's jobs by a score or weights=: of each job, of each run, or all of them"},
	{HTTP_GET, "/api/v1/evaluation-references", SCOPE_READ, ROUTE_WORKER, .handler = api_references_get,
		.query = "", .summary = "Scores of named models, which evaluations of jobs are shown beside"},
	{HTTP_PUT, "/api/v1/evaluation-references", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_references_put,
		.query = "", .max_body_bytes = DOCUMENT_BYTES, .audit = "evaluation-references",
		.body = "references!:array about:string", .summary = "Replace the list of scores of named models"},
	{HTTP_GET, "/api/v1/jobs/{job}/attachments", SCOPE_READ, ROUTE_WORKER, .handler = api_attachments_list,
		.query = "after limit", .summary = "Small files of the job, by their paths"},
	{HTTP_GET, "/api/v1/jobs/{job}/attachments/{path...}", SCOPE_READ, ROUTE_WORKER, .handler = api_attachment_get,
		.query = "", .summary = "One small file of the job"},
	{HTTP_PUT, "/api/v1/jobs/{job}/attachments/{path...}", SCOPE_WRITE, ROUTE_WORKER, .handler = api_attachment_put,
		.query = "", .max_body_bytes = ATTACHMENT_BYTES, .audit = "jobs",
		.summary = "Store a small file of the job, in place of what the path had"},
	{HTTP_DELETE, "/api/v1/jobs/{job}/attachments/{path...}", SCOPE_WRITE, ROUTE_WORKER,
		.handler = api_attachment_delete, .query = "", .audit = "jobs",
		.summary = "Delete a small file of the job"},
	{HTTP_GET, "/api/v1/jobs/{job}/notes", SCOPE_READ, ROUTE_WORKER, .handler = api_notes_list,
		.query = "after limit deleted",
		.summary =
			"Notes at places of the job; deleted=true adds those that were deleted within the hour and can be taken back"},
	{HTTP_POST, "/api/v1/jobs/{job}/notes", SCOPE_WRITE, ROUTE_WORKER, .handler = api_notes_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "jobs",
		.body = "text!:string step:integer ts_ms:integer stream:string line:integer checkpoint:integer",
		.summary =
			"Write a note at a step, a time, a line of a stream, or a checkpoint; an Idempotency-Key makes it once"},
	{HTTP_PATCH, "/api/v1/jobs/{job}/notes/{note}", SCOPE_WRITE, ROUTE_WORKER, .handler = api_note_change,
		.query = "", .max_body_bytes = SMALL_BYTES, .audit = "jobs", .body = "text:string deleted:boolean",
		.summary = "Change the text of a note; deleted: false takes a deletion back"},
	{HTTP_DELETE, "/api/v1/jobs/{job}/notes/{note}", SCOPE_WRITE, ROUTE_WORKER, .handler = api_note_delete,
		.query = "", .audit = "jobs", .summary = "Delete a note; for an hour that can be taken back"},
	{HTTP_GET, "/api/v1/jobs/{job}/run", SCOPE_READ, ROUTE_WORKER, .handler = api_job_run, .query = "",
		.summary =
			"The chain of jobs that this one belongs to, and jobs that look as if they belonged to it (proposed)"},
	{HTTP_GET, "/api/v1/jobs/{job}/goodput", SCOPE_READ, ROUTE_WORKER, .handler = api_job_goodput, .query = "",
		.summary = "How the job spent its time, what restarts lost, and what it cost, up to now"},
	{HTTP_GET, "/api/v1/jobs/{job}/streams", SCOPE_READ, ROUTE_WORKER, .handler = api_streams, .query = "sources",
		.summary =
			"The job's log streams; sources=true adds how many bytes each source has sent, which is what offsets count"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs", SCOPE_READ, ROUTE_WORKER, .handler = api_lines,
		.query = "stream streams from limit around_ms merge cursor",
		.summary =
			"Lines of one stream, from a line number or around a time; merge=true returns the lines of all streams by time"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/raw", SCOPE_READ, ROUTE_WORKER, .handler = api_lines_raw,
		.query = "stream from limit", .summary = "The text of a stream as it was sent"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/histogram", SCOPE_READ, ROUTE_WORKER, .handler = api_log_histogram,
		.query = "stream", .summary = "How many lines were logged in each part of the log's time"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/captures", SCOPE_READ, ROUTE_WORKER, .handler = api_log_captures,
		.is_slow = api_is_slow, .query = "stream from limit",
		.summary = "Which values of the lines of a stream are taken for points, and where they stand"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/search", SCOPE_READ, ROUTE_WORKER, .handler = api_log_search,
		.is_slow = api_is_slow,
		.query =
			"q regex ignore_case errors stream limit cursor order from_ms to_ms from_line to_line histogram ticks",
		.summary = "Search the lines of all streams for a text or a regular expression"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/groups", SCOPE_READ, ROUTE_WORKER, .handler = api_log_groups,
		.is_slow = api_is_slow, .query = "q regex ignore_case errors stream limit from_ms to_ms",
		.summary =
			"What lines of all streams say, each message once: how often, on which streams, and its first line"},
	{HTTP_GET, "/api/v1/jobs/{job}/metrics", SCOPE_READ, ROUTE_WORKER, .handler = api_series, .query = "",
		.summary = "The job's metrics by stream, and how often each definition matched"},
	{HTTP_GET, "/api/v1/jobs/{job}/points", SCOPE_READ, ROUTE_WORKER, .handler = api_points,
		.query = "metric stream x from to buckets attempts raw format chain sig", .is_signable = true,
		.summary =
			"The points of a metric, in buckets for a chart; raw=true returns each, attempts=all superseded ones, too"},
	{HTTP_GET, "/api/v1/jobs/{job}/chart.svg", SCOPE_READ, ROUTE_WORKER, .handler = api_chart_svg,
		.query = "metric jobs stream x from to attempts width height theme scale smooth title sig",
		.is_signable = true, .summary = "A chart as an SVG picture, for mails, READMEs and chats"},
	{HTTP_POST, "/api/v1/signatures", SCOPE_READ, ROUTE_WORKER, .handler = api_signatures_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .body = "url!:string expires_in_s:integer",
		.summary =
			"Sign the address of a chart.svg or an embedded chart, so that it works without a token until the signature expires"},
	{HTTP_GET, "/api/v1/jobs/{job}/heat", SCOPE_READ, ROUTE_WORKER, .handler = api_job_heat,
		.query = "metric x from to buckets attempts",
		.summary =
			"Compare the streams of a job by one metric: how far each is from their median, by step or time"},
	{HTTP_GET, "/api/v1/points", SCOPE_READ, ROUTE_WORKER, .handler = api_points_search, .is_slow = api_is_slow,
		.query = "q tz metric format", .summary = "The points of a metric in all jobs of a search, as CSV"},
	{HTTP_POST, "/api/v1/points/query", SCOPE_READ, ROUTE_WORKER, .handler = api_points_query, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .body = "queries!:array",
		.summary =
			"The points of many jobs and metrics, folded into buckets; columns chooses what is returned of each bucket"},

	{HTTP_GET, "/api/v1/nodes", SCOPE_READ, ROUTE_WORKER, .handler = api_nodes, .query = "q limit cursor",
		.summary =
			"The machines of all jobs: their faults, the jobs that these broke off, slow steps, utilisation, and which machines to drain"},
	{HTTP_GET, "/api/v1/nodes/{host}", SCOPE_READ, ROUTE_WORKER, .handler = api_node, .query = "",
		.summary =
			"One machine: its faults with their log lines, whether they come again, its jobs, and the interruptions to be expected of the next week"},
	{HTTP_GET, "/api/v1/jobs/{job}/nodes", SCOPE_READ, ROUTE_WORKER, .handler = api_job_nodes, .query = "",
		.summary =
			"The job's machines: their last lines, what they measured, and the commands that open an SSM session on them"},
	{HTTP_GET, "/api/v1/jobs/{job}/replacements", SCOPE_READ, ROUTE_WORKER, .handler = api_job_replacements,
		.is_slow = api_is_slow, .query = "limit",
		.summary =
			"Which machine took which stream from which, why, how long it took, and whether the fault went away with the machine"},
	{HTTP_GET, "/api/v1/fleet", SCOPE_READ, ROUTE_WORKER, .handler = api_fleet, .query = "",
		.summary =
			"An overview of the fleet: jobs by status, open incidents, node-hours, warm pools, quotas, and whether data comes in"},
	{HTTP_GET, "/api/v1/fleet/paces", SCOPE_READ, ROUTE_WORKER, .handler = api_fleet_paces, .query = "limit",
		.summary = "The running jobs with their present and their usual speed, the slowest first"},
	{HTTP_GET, "/api/v1/quotas", SCOPE_READ, ROUTE_WORKER, .handler = api_quotas_get, .query = "",
		.summary = "The quotas: configured, used now, and the highest use so far"},
	{HTTP_PUT, "/api/v1/quotas", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_quotas_put, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "quotas", .body = "quotas!:array",
		.summary = "Set the quotas that the body names; the others stay"},
	{HTTP_GET, "/api/v1/startup", SCOPE_READ, ROUTE_WORKER, .handler = api_startup, .query = "by from_ms to_ms",
		.summary =
			"Start-up times with and without a warm pool, by type, day or pool: seconds, what pools saved, and how long clusters waited"},
	{HTTP_GET, "/api/v1/jobs/{job}/advice", SCOPE_READ, ROUTE_WORKER, .handler = api_job_advice, .query = "",
		.summary =
			"What to change about the job, each with a reason and a source; PATCH muted_advice of the job to mute a rule"},
	{HTTP_GET, "/api/v1/jobs/{job}/deliveries", SCOPE_READ, ROUTE_WORKER, .handler = api_job_deliveries,
		.query = "limit",
		.summary = "The messages about the job's incidents and the webhooks that they went to, newest first"},
	{HTTP_GET, "/api/v1/jobs/{job}/warm-pool", SCOPE_READ, ROUTE_WORKER, .handler = api_job_warm_pool, .query = "",
		.summary =
			"How the job got its cluster, how long each status of its start took, and why it got no waiting cluster"},
	{HTTP_GET, "/api/v1/warm-pools", SCOPE_READ, ROUTE_WORKER, .handler = api_pools_list,
		.query = "state limit cursor",
		.summary = "The warm pools: the jobs that used each, what it saved and what it cost"},
	{HTTP_GET, "/api/v1/warm-pools/{id}", SCOPE_READ, ROUTE_WORKER, .handler = api_pool_get, .query = "",
		.summary = "One warm pool, with every job that used it"},
	{HTTP_POST, "/api/v1/warm-pools/match", SCOPE_READ, ROUTE_WORKER, .handler = api_pool_match, .query = "",
		.max_body_bytes = DOCUMENT_BYTES,
		.body = "TrainingJobName:string ResourceConfig:object AlgorithmSpecification:object",
		.summary = "Which warm pool a job with this document would get, or which field of it fits none"},

	{HTTP_GET, "/api/v1/goodput", SCOPE_READ, ROUTE_WORKER, .handler = api_goodput, .query = "from to",
		.summary = "How all jobs spent their time, by day (UTC), and how often and why they broke off"},
	{HTTP_GET, "/api/v1/scaling", SCOPE_READ, ROUTE_WORKER, .handler = api_scaling, .is_slow = api_is_slow,
		.query = "q", .summary = "Throughput per node against the number of nodes, over the jobs of a search"},
	{HTTP_POST, "/api/v1/fit", SCOPE_READ, ROUTE_WORKER, .handler = api_fit, .query = "",
		.max_body_bytes = DOCUMENT_BYTES,
		.body = "TrainingJobName:string HyperParameters!:object ResourceConfig:object Environment:object instances:array",
		.summary =
			"Whether a job with this document fits into the memory of its devices, by published formulas"},
	{HTTP_GET, "/api/v1/jobs/{job}/nccl", SCOPE_READ, ROUTE_WORKER, .handler = api_job_nccl, .is_slow = api_is_slow,
		.query = "",
		.summary =
			"Bandwidth by size as nccl-tests printed it, against what the machines can do and what others reach, and who is slow"},
	{HTTP_GET, "/api/v1/jobs/{job}/s3", SCOPE_READ, ROUTE_WORKER, .handler = api_job_s3, .is_slow = api_is_slow,
		.query = "stream depth from_ms to_ms limit writes_per_s reads_per_s",
		.summary =
			"Requests to S3 and its refusals by prefix, as the log tells them, against the service's limits, and which prefixes to split"},
	{HTTP_GET, "/api/v1/jobs/{job}/fit", SCOPE_READ, ROUTE_WORKER, .handler = api_job_fit, .query = "instances",
		.summary =
			"Whether the job fits into the memory of its devices, or of others, and what would make it fit"},
	{HTTP_GET, "/api/v1/prices", SCOPE_READ, ROUTE_WORKER, .handler = api_prices_get, .query = "",
		.summary = "The list of prices: what an hour of each instance type costs, and from which day"},
	{HTTP_PUT, "/api/v1/prices", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_prices_put, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .audit = "prices", .body = "currency:string prices:array",
		.summary = "Replace the list of prices; the costs of all jobs are worked out again"},

	{HTTP_GET, "/api/v1/search/suggestions", SCOPE_READ, ROUTE_WORKER, .handler = api_suggestions,
		.query = "prefix limit",
		.summary = "What can come next in a query: names, or after an operator values"},
	{HTTP_GET, "/api/v1/views", SCOPE_READ, ROUTE_WORKER, .handler = api_views_list, .query = "",
		.summary = "The saved views: your own and the team's"},
	{HTTP_POST, "/api/v1/views", SCOPE_READ, ROUTE_WORKER, .handler = api_view_put, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "views",
		.body = "name!:string query:string sort:string scope:string columns:array",
		.summary = "Save a view: name, query, sort, columns, scope (user or team)"},
	{HTTP_DELETE, "/api/v1/views", SCOPE_READ, ROUTE_WORKER, .handler = api_view_delete, .query = "name scope",
		.audit = "views", .summary = "Delete a saved view"},

	{HTTP_GET, "/api/v1/workspaces", SCOPE_READ, ROUTE_WORKER, .handler = api_workspaces_list, .query = "",
		.summary = "The team's workspaces of the page: name, title, number of panels, who saved it and when"},
	{HTTP_GET, "/api/v1/workspaces/{name}", SCOPE_READ, ROUTE_WORKER, .handler = api_workspace_get, .query = "",
		.summary = "One workspace as it was saved; the reply's ETag is for If-Match"},
	{HTTP_PUT, "/api/v1/workspaces/{name}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_workspace_put, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .audit = "workspaces",
		.body = "version!:integer panels!:array title:string query:string x:string ranges:object "
			"last_hours:number smooth:number",
		.summary =
			"Save a workspace for the team; If-Match: only over what one has read, If-None-Match: * only a new one, else 412"},
	{HTTP_DELETE, "/api/v1/workspaces/{name}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_workspace_delete,
		.query = "", .audit = "workspaces", .summary = "Delete a workspace; If-Match as with PUT"},

	{HTTP_GET, "/api/v1/retention", SCOPE_READ, ROUTE_WORKER, .handler = api_retention_get, .query = "",
		.summary = "The limits on log text, how much is stored, and which text is deleted next"},
	{HTTP_PUT, "/api/v1/retention", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_retention_put, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "retention",
		.body = "team:string log_bytes:integer max_age_days:number max_bytes:integer",
		.summary = "Change the limits on log text of the server or of a team"},
	{HTTP_POST, "/api/v1/jobs/{job}/pin", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_pin, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "jobs", .body = "pinned:boolean",
		.summary = "Keep the job's log text whatever the limits are; pinned false lifts that"},

	{HTTP_GET, "/api/v1/jobs/{job}/definitions", SCOPE_READ, ROUTE_WORKER, .handler = api_job_definitions_get,
		.query = "",
		.summary =
			"The job's metric definitions: which they are, why these, how often each matched, and the newest back-fill"},
	{HTTP_PUT, "/api/v1/jobs/{job}/definitions", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_definitions_put,
		.query = "backfill", .max_body_bytes = DOCUMENT_BYTES, .audit = "jobs",
		.body = "definitions:array preset:string",
		.summary =
			"Change the job's metric definitions for new lines; backfill=true applies them to the whole stored log as well"},
	{HTTP_DELETE, "/api/v1/jobs/{job}/definitions/backfill", SCOPE_WRITE, ROUTE_WORKER,
		.handler = api_backfill_cancel, .query = "", .audit = "jobs", .summary = "Cancel a running back-fill"},
	{HTTP_GET, "/api/v1/jobs/{job}/definitions/proposals", SCOPE_READ, ROUTE_WORKER,
		.handler = api_definition_proposals, .is_slow = api_is_slow, .query = "stream",
		.summary =
			"Propose metric definitions: shapes of line whose numbers vary, and definitions that would read them"},
	{HTTP_GET, "/api/v1/definitions", SCOPE_READ, ROUTE_WORKER, .handler = api_definitions_get, .query = "",
		.summary = "The metric definitions for jobs that bring none, and all presets"},
	{HTTP_PUT, "/api/v1/definitions", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_definitions_put, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .audit = "definitions", .body = "definitions!:array",
		.summary = "Change the metric definitions for jobs that will be made and bring none"},
	{HTTP_POST, "/api/v1/definitions/test", SCOPE_READ, ROUTE_WORKER, .handler = api_definitions_test,
		.is_slow = api_is_slow, .query = "", .max_body_bytes = DOCUMENT_BYTES,
		.body = "MetricDefinitions:array lines:array job:string stream:string from:integer limit:integer",
		.summary = "Try metric definitions on lines that you send or that are stored"},

	{HTTP_GET, "/api/v1/incidents", SCOPE_READ, ROUTE_WORKER, .handler = api_incidents,
		.is_slow = api_is_slow_query,
		.query = "q tz state kind minimum_severity from_ms to_ms limit cursor all",
		.summary =
			"The incidents, newest first; all=true also lists those that are shown as part of another stream's"},
	{HTTP_GET, "/api/v1/incidents/{id}", SCOPE_READ, ROUTE_WORKER, .handler = api_incident_get, .query = "",
		.summary = "One incident, and the messages about it and its group"},
	{HTTP_POST, "/api/v1/incidents/{id}/ack", SCOPE_WRITE, ROUTE_WORKER, .handler = api_incident_acknowledge,
		.query = "", .max_body_bytes = SMALL_BYTES, .audit = "incidents", .body = "",
		.summary = "Acknowledge an incident: somebody has seen it"},
	{HTTP_POST, "/api/v1/incidents/{id}/mute", SCOPE_WRITE, ROUTE_WORKER, .handler = api_incident_mute, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "incidents", .body = "for_s:integer",
		.summary =
			"Stop messages about this incident and its like in the job, for so many seconds (for_s) or for good"},
	{HTTP_GET, "/api/v1/rules", SCOPE_READ, ROUTE_WORKER, .handler = api_rules_list, .query = "",
		.summary = "The rules: which incidents are reported to whom, and when"},
	{HTTP_POST, "/api/v1/rules", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_rules_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "rules", .body = "name!:string " RULE_FIELDS,
		.summary = "Make a rule"},
	{HTTP_POST, "/api/v1/rules/preview", SCOPE_READ, ROUTE_WORKER, .handler = api_rules_preview,
		.is_slow = api_is_slow, .query = "", .max_body_bytes = SMALL_BYTES,
		.body = "name:string " RULE_FIELDS " from_ms:integer to_ms:integer",
		.summary = "What a rule would have reported in a past time window; partial: it ran out of time"},
	{HTTP_PUT, "/api/v1/rules/{id}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_rule_put, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "rules", .body = "name!:string " RULE_FIELDS,
		.summary = "Replace a rule"},
	{HTTP_DELETE, "/api/v1/rules/{id}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_rule_delete, .query = "",
		.audit = "rules", .summary = "Delete a rule, and close the incidents that its expression opened"},
	{HTTP_GET, "/api/v1/webhooks", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhooks_list, .query = "",
		.summary = "List the webhooks, without their secrets"},
	{HTTP_POST, "/api/v1/webhooks", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhooks_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "webhooks",
		.body = "url!:string format:string team:string secret:string minimum_severity:string enabled:boolean events:array heartbeat_s:integer per_minute:integer",
		.summary = "Make a webhook"},
	{HTTP_PUT, "/api/v1/webhooks/{id}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhook_put, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "webhooks",
		.body = "url:string format:string team:string secret:string minimum_severity:string enabled:boolean events:array heartbeat_s:integer per_minute:integer",
		.summary = "Change a webhook; if the body has no secret, the old one stays"},
	{HTTP_POST, "/api/v1/webhooks/preview", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhooks_preview, .query = "",
		.max_body_bytes = SMALL_BYTES,
		.body = "url!:string format:string team:string secret:string minimum_severity:string enabled:boolean events:array heartbeat_s:integer per_minute:integer",
		.summary =
			"A message as the receiver of such a webhook would get it, and the format that its address has; nothing is sent"},
	{HTTP_POST, "/api/v1/webhooks/{id}/test", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhook_test, .query = "",
		.max_body_bytes = SMALL_BYTES, .audit = "webhooks", .body = "",
		.summary = "Send a test message to a webhook"},
	{HTTP_DELETE, "/api/v1/webhooks/{id}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhook_delete, .query = "",
		.audit = "webhooks", .summary = "Delete a webhook"},
	{HTTP_GET, "/api/v1/webhooks/{id}/deliveries", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_deliveries,
		.query = "limit", .summary = "The messages to a webhook, newest first"},
	{HTTP_POST, "/api/v1/webhooks/{id}/deliveries/{n}/retry", SCOPE_ADMIN, ROUTE_WORKER,
		.handler = api_delivery_retry, .query = "", .max_body_bytes = SMALL_BYTES, .audit = "webhooks",
		.body = "", .summary = "Send a message to a webhook again"},

	{HTTP_POST, "/mcp", SCOPE_READ, ROUTE_WORKER, .handler = api_mcp, .is_slow = api_is_slow, .query = "",
		.max_body_bytes = SMALL_BYTES, .body = "jsonrpc!:string method:string id:string|integer params:object",
		.summary = "The Model Context Protocol: tools to read jobs, logs, points and incidents"},
	{HTTP_GET, "/mcp", SCOPE_READ, ROUTE_WORKER, .handler = api_mcp_stream, .query = "",
		.summary = "Nothing is sent to MCP's clients unasked: 405"},
	{HTTP_GET, "/dl/{file}", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_download, .query = "",
		.summary =
			"Download a client: sm-ship-x86_64, sm-ship-aarch64, sm_ship.py, sm_search.py, the Python package, or their SHA256SUMS"},
	{HTTP_GET, "/", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_assets, .query = "*"},
	{HTTP_GET, "/jobs/{job}", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_job_page, .query = "*"},
	{HTTP_GET, "/{path...}", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_assets, .query = "*"},
};

const struct http_route *api_routes(size_t *count)
{
	*count = sizeof routes / sizeof *routes;
	return routes;
}
