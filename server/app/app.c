#include "app/app.h"

#include "alert/format.h"
#include "alert/webhook.h"
#include "api/core/tokens.h"
#include "api/send/commands.h"
#include "app/collect.h"
#include "app/command_doctor.h"
#include "app/connection_options.h"
#include "app/control.h"
#include "app/data_files.h"
#include "app/reload.h"
#include "app/standby.h"
#include "app/storage.h"
#include "base/clock.h"
#include "base/log.h"
#include "live/filters.h"
#include "people/people.h"
#include "pipeline/pipeline.h"
#include "state/audit.h"
#include "state/execute.h"
#include "state/options.h"
#include "store/alerts.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

extern const struct embedded_file embedded_data[];
extern const struct embedded_file embedded_web[];
extern const struct embedded_file embedded_downloads[];

enum { HEARTBEAT_MS = 15000 };

struct app {
	const struct options *options;
	struct storage storage;
	struct store *store;
	struct hub *hub;
	struct filters *filters;
	struct pipeline *pipeline;
	struct assets *assets;
	struct api *_Atomic api; /* the pipeline's threads run before it is there */
	struct doors doors;
	struct http_route *routes; /* of all */
	struct http_server *server;
	struct http_hooks hooks; /* outlive the server */
	pthread_mutex_t sender_mutex; /* of the two who are woken by others and go first */
	struct webhook_sender *sender;
	struct webhook_formats *formats;
	struct collect_setup *collect;
	struct collector *collector; /* NULL: nothing is collected; under sender_mutex */
	struct buf public_url;
	struct data_files data;
	struct people *people;
	struct buf socket_path;
	int control_fd;
	int signal_fd;
	struct control control;
	struct reload reload;
	unsigned char seal_key[SEAL_KEY_BYTES];
};

static size_t bytes(const struct options *options, const char *name)
{
	return (size_t)options_i64(options, name);
}

/* 2048 senders and their event streams are normal: the soft limit of 1024 descriptors is not. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
			log_line(LOG_WARNING, "descriptor_limit", "error=\"%s\"", strerror(errno));
	}
}

/* ---- parts, in order ---- */

static enum status open_store(struct app *app, struct error *err)
{
	TRY(storage_open(&app->storage, &app->store, err));
	return storage_load_key(&app->storage, app->store, app->seal_key, err);
}

static void deliveries_due(void *context)
{
	struct app *app = context;

	pthread_mutex_lock(&app->sender_mutex);
	if (app->sender)
		webhook_sender_wake(app->sender);
	pthread_mutex_unlock(&app->sender_mutex);
}

static void event_taken(void *context)
{
	struct app *app = context;

	pthread_mutex_lock(&app->sender_mutex);
	if (app->collector)
		collector_wake(app->collector);
	pthread_mutex_unlock(&app->sender_mutex);
}

static void write_metrics(void *context, struct buf *out)
{
	struct app *app = context;

	pthread_mutex_lock(&app->sender_mutex);
	if (app->collector)
		collector_write_metrics(app->collector, out);
	pthread_mutex_unlock(&app->sender_mutex);
}

static void command_given(void *context, const struct command_row *command)
{
	struct app *app = context;
	struct api *api = app->api;

	if (api)
		api_command_given(api, command);
}

static int64_t lease_end_ms(void *context, int64_t job_id)
{
	struct app *app = context;
	struct api *api = app->api;

	return api ? api_lease_end_ms(api, job_id) : 0;
}

static int64_t trash_ms(const struct options *o)
{
	return options_i64(o, "trash-days") * 24 * 60 * 60 * 1000;
}

/* With the thread that asks, one a core. */
static unsigned search_threads(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores > 1 ? (unsigned)cores - 1 : 0;
}

static enum status read_formats(struct app *app, struct error *err)
{
	const struct embedded_file *file = embedded_find(embedded_data, SPAN("webhooks.json"));

	return file ? webhook_formats_new(&app->formats, embedded_span(file), err)
		    : error_set(err, ERR_INTERNAL, "this server was built without webhooks.json");
}

static enum status start_filters(struct app *app, struct error *err)
{
	struct filters_options options = {.hub = app->hub,
		.match_steps = (uint32_t)options_i64(app->options, "match-steps"),
		.event_ms = options_i64(app->options, "live-filter-time"),
		.heartbeat_ms = HEARTBEAT_MS};

	return filters_start(&app->filters, &options, err);
}

static enum status start_hub(struct app *app, struct error *err)
{
	const struct options *o = app->options;
	struct hub_options hub = {.ring_bytes = bytes(o, "live-bytes"),
		.ring_ms = 60000,
		.max_subscribers = bytes(o, "max-subscribers"),
		.max_lag_bytes = 1 << 20,
		.heartbeat_ms = HEARTBEAT_MS};

	if (!(app->hub = hub_new(&hub)))
		return error_no_memory(err);
	return start_filters(app, err);
}

static enum status start_pipeline(struct app *app, struct error *err)
{
	const struct options *o = app->options;
	const struct embedded_file *presets = embedded_find(embedded_data, SPAN("presets.json"));
	const struct embedded_file *prices = embedded_find(embedded_data, SPAN("prices.json"));

	if (!presets || !prices)
		return error_set(err, ERR_INTERNAL, "this server was built without presets.json or prices.json");
	TRY(data_files_read(&app->data, o, err));
	TRY(start_hub(app, err));
	struct pipeline_options options = {.store = app->store,
		.hub = app->hub,
		.presets = embedded_span(presets),
		.devices = buf_span(&app->data.devices),
		.prices = embedded_span(prices),
		.aws_region = span_from(options_text(o, "aws-region")),
		.aws_account = span_from(options_text(o, "aws-account")),
		.goodput_every_ms = options_i64(o, "goodput-every"),
		.signatures = buf_span(&app->data.signatures),
		.queue_items = bytes(o, "queue-items"),
		.queue_bytes = bytes(o, "queue-bytes"),
		.group_bytes = bytes(o, "group-bytes"),
		.group_ms = options_i64(o, "group-time"),
		.journal_bytes = (uint64_t)options_i64(o, "journal-bytes"),
		.seal_bytes = (uint64_t)options_i64(o, "seal-bytes"),
		.seal_age_ms = options_i64(o, "seal-age"),
		.extract_threads = (unsigned)options_i64(o, "extract-threads"),
		.search_threads = search_threads(),
		.waiting_requests = (unsigned)options_i64(o, "workers") - 1, /* and one is left to answer */
		.match_steps = (uint32_t)options_i64(o, "match-steps"),
		.audit_bytes = (uint64_t)options_i64(o, "audit-bytes"),
		.log_bytes = options_origin(o, "log-bytes") == OPTION_FROM_NOWHERE
				     ? LOG_BYTES_REMEMBERED
				     : (uint64_t)options_i64(o, "log-bytes"),
		.min_free_bytes = (uint64_t)options_i64(o, "min-free-bytes"),
		.trash_ms = trash_ms(o),
		.delivery_age_ms = options_i64(o, "delivery-age"),
		.silent_ms = options_i64(o, "silent-after"),
		.max_jobs = bytes(o, "max-jobs"),
		.max_streams_a_job = bytes(o, "max-streams"),
		.max_series_a_stream = bytes(o, "max-series"),
		.max_sampled_series = bytes(o, "max-sampled-series"),
		.max_evaluations = (uint64_t)options_i64(o, "max-evaluations"),
		.max_sources_a_stream = bytes(o, "max-sources"),
		.lease_ms = options_i64(o, "lease"),
		.max_statuses = bytes(o, "max-statuses"),
		.stop_after_ms = options_i64(o, "stop-after"),
		.tracker_wait_ms = options_i64(o, "tracker-wait"),
		.stall_ms = options_i64(o, "stall-after"),
		.on_non_finite = span_from(options_text(o, "on-non-finite") ? options_text(o, "on-non-finite") : ""),
		.emergency_grace_ms = options_i64(o, "emergency-grace"),
		.command_given = command_given,
		.lease_end_ms = lease_end_ms,
		.deliveries_due = deliveries_due,
		.context = app,
		.public_url = buf_span(&app->public_url)};
	TRY(pipeline_start(&app->pipeline, &options, err));
	return data_files_put_prices(&app->data, app->pipeline, err);
}

static enum status reload(void *context, struct buf *out, struct error *err)
{
	return reload_run(&((struct app *)context)->reload, out, err);
}

/* How senders call things: jobs, streams, parts of a step. */
static void set_names(struct api_options *out, const struct options *o)
{
	out->labels[LABEL_JOB] = options_text(o, "job-labels");
	out->labels[LABEL_STREAM] = options_text(o, "stream-labels");
	out->labels[LABEL_HOST] = options_text(o, "host-labels");
	out->labels[LABEL_TEAM] = options_text(o, "team-labels");
	out->prometheus_job_labels = options_text(o, "prometheus-job-labels");
	out->span_names = options_text(o, "span-names");
}

static struct api_options api_options_of(struct app *app, struct span advice)
{
	const struct options *o = app->options;

	return (struct api_options){.pipeline = app->pipeline,
		.store = app->store,
		.hub = app->hub,
		.filters = app->filters,
		.assets = app->assets,
		.downloads = embedded_downloads,
		.advice = advice,
		.references = buf_span(&app->data.references),
		.limits = buf_span(&app->data.limits),
		.seal_key = app->seal_key,
		.settings = o,
		.is_open = options_flag(o, "insecure"),
		.is_tls = options_text(o, "tls-cert") != NULL,
		.is_demo = options_flag(o, "demo"),
		.max_line_bytes = bytes(o, "max-line-bytes"),
		.max_points_bytes = bytes(o, "max-points-bytes"),
		.max_push_bytes = bytes(o, "max-push-bytes"),
		.max_record_bytes = bytes(o, "max-record-bytes"),
		.slice_bytes = bytes(o, "slice-bytes"),
		.skew_ms = options_i64(o, "skew-warning"),
		.silent_ms = options_i64(o, "silent-after"),
		.max_views = (uint64_t)options_i64(o, "max-views"),
		.max_workspaces = (uint64_t)options_i64(o, "max-workspaces"),
		.max_workspace_bytes = bytes(o, "max-workspace-bytes"),
		.max_notes = (uint64_t)options_i64(o, "max-notes"),
		.max_evaluations = (uint64_t)options_i64(o, "max-evaluations"),
		.max_evaluation_bytes = bytes(o, "max-evaluation-bytes"),
		.max_note_bytes = bytes(o, "max-note-bytes"),
		.max_rules = bytes(o, "max-rules"),
		.rule_preview_ms = options_i64(o, "rule-preview-ms"),
		.webhook_formats = app->formats,
		.max_events = bytes(o, "max-events"),
		.max_chart_queries = bytes(o, "max-chart-queries"),
		.max_chart_buckets = bytes(o, "max-chart-buckets"),
		.timezone = options_text(o, "timezone"),
		.max_compare_jobs = (size_t)options_i64(o, "max-compare-jobs"),
		.max_scraped_series = (size_t)options_i64(o, "max-scraped-series"),
		.max_signature_ms = options_i64(o, "max-signature"),
		.embed_origins = options_text(o, "embed-origin"),
		.ssh_template = options_text(o, "ssh-template"),
		.max_groups = (uint64_t)options_i64(o, "max-groups"),
		.max_group_periods = (uint64_t)options_i64(o, "max-group-periods"),
		.max_group_values = (uint64_t)options_i64(o, "max-group-values"),
		.search_ms = options_i64(o, "search-ms"),
		.search_cpu_ms = options_i64(o, "search-cpu-ms"),
		.job_search_ms = options_i64(o, "job-search-ms"),
		.lease_ms = options_i64(o, "lease"),
		.trash_ms = trash_ms(o),
		.max_sessions = bytes(o, "max-sessions"),
		.max_commands = bytes(o, "max-commands"),
		.max_reply_bytes = (size_t)options_i64(o, "max-reply-bytes"),
		.reload = app->reload.options ? reload : NULL,
		.deliveries_due = deliveries_due,
		.event_taken = event_taken,
		.write_metrics = write_metrics,
		.context = app};
}

static enum status make_api(struct app *app, struct error *err)
{
	TRY(read_formats(app, err));
	TRY(assets_new(&app->assets, embedded_web, options_text(app->options, "web-root"), err));
	struct api_options options = api_options_of(app, buf_span(&app->data.advice));
	set_names(&options, app->options);
	options.attachments = options_attachment_limits(app->options);
	options.team_reads = options_text(app->options, "team-reads");
	options.max_traces = (uint64_t)options_i64(app->options, "max-traces");
	options.public_url = buf_span(&app->public_url);
	options.people = app->people;
	options.needs_sign_in =
		options_text(app->options, "trusted-proxy") != NULL || people_provider(app->people, 0) != NULL;
	options.sign_in_ms = options_i64(app->options, "sign-in-for");
	options.max_sign_ins = bytes(app->options, "max-sign-ins");
	options.max_waiting_sign_ins = bytes(app->options, "max-waiting-sign-ins");
	struct api *api = NULL;
	TRY(api_new(&api, &options, err));
	app->api = api;
	return OK;
}

static bool is_loopback(struct span listen)
{
	return span_starts_with(listen, SPAN("127.")) || span_starts_with(listen, SPAN("localhost:")) ||
	       span_starts_with(listen, SPAN("[::1]"));
}

static enum status check_exposure(struct app *app, struct error *err)
{
	struct span listen = span_from(options_text(app->options, "listen"));

	if (is_loopback(listen) || options_flag(app->options, "insecure") || api_needs_tokens(app->api))
		return OK;
	return error_set_field(err, ERR_FORBIDDEN, "listen",
		"'%.*s' can be reached from other machines and no token exists yet: run `sm-server token create NAME --scope admin --db %s` first, "
		"or state --insecure",
		SPAN_ARGS(listen), options_text(app->options, "db"));
}

static enum status write_delivery(void *context, struct store_tx *tx, struct error *err)
{
	return store_put_delivery(tx, context, err);
}

static enum status report_delivery(void *context, const struct delivery_row *row, struct error *err)
{
	struct app *app = context;
	struct delivery_row copy = *row;

	return writer_execute(app->pipeline, write_delivery, &copy, err);
}

static enum status start_sender(struct app *app, struct error *err)
{
	struct webhook_sender_options options = {.store = app->store,
		.http = {.connect_ms = options_i64(app->options, "webhook-timeout"),
			.total_ms = options_i64(app->options, "webhook-timeout"),
			.allows_private = options_flag(app->options, "webhook-private"),
			.user_agent = "smfleet/" SM_VERSION},
		.limits = {.first_retry_ms = options_i64(app->options, "webhook-retry"),
			.longest_retry_ms = options_i64(app->options, "webhook-retry-longest"),
			.give_up_ms = options_i64(app->options, "webhook-give-up")},
		.formats = app->formats,
		.public_url = buf_span(&app->public_url),
		.report = report_delivery,
		.context = app};

	memcpy(options.seal_key, app->seal_key, sizeof options.seal_key);
	struct webhook_sender *sender = NULL;
	TRY(webhook_sender_start(&sender, &options, err));
	pthread_mutex_lock(&app->sender_mutex);
	app->sender = sender;
	pthread_mutex_unlock(&app->sender_mutex);
	return OK;
}

static enum status start_collector(struct app *app, struct error *err)
{
	struct collector *collector = NULL;

	if (!app->collect)
		return OK;
	TRY(collect_start(&collector, app->collect, app->store, app->pipeline, err));
	pthread_mutex_lock(&app->sender_mutex);
	app->collector = collector;
	pthread_mutex_unlock(&app->sender_mutex);
	return OK;
}

static enum status start_listening(struct app *app, struct error *err)
{
	const struct options *o = app->options;
	struct http_options options = {.listen = options_text(o, "listen"),
		.io_threads = (unsigned)options_i64(o, "io-threads"),
		.workers = (unsigned)options_i64(o, "workers"),
		.slow_workers = (unsigned)options_i64(o, "slow-workers"),
		.max_connections = bytes(o, "max-connections"),
		.max_pending = bytes(o, "max-pending"),
		.max_upload_bytes = (uint64_t)options_i64(o, "max-upload-bytes"),
		.tls_cert_file = options_text(o, "tls-cert"),
		.tls_key_file = options_text(o, "tls-key"),
		.tls_client_ca_file = options_text(o, "tls-client-ca"),
		.allowed_hosts = options_text(o, "allowed-host"),
		.public_url = options_text(o, "public-url"),
		.cors_origins = options_text(o, "cors-origins"),
		.rate_requests_per_s = (uint64_t)options_i64(o, "rate-requests"),
		.rate_bytes_per_s = (uint64_t)options_i64(o, "rate-bytes"),
		.rate_cpu_ms_per_s = (uint64_t)options_i64(o, "rate-cpu-ms"),
		.max_connections_an_address = bytes(o, "max-connections-per-address"),
		.proxies = options_text(o, "proxies"),
		.trusted_proxies = options_text(o, "trusted-proxy"),
		.proxy_user_header = options_text(o, "proxy-user-header"),
		.proxy_groups_header = options_text(o, "proxy-groups-header"),
		.header_ms = options_i64(o, "header-timeout"),
		.body_bytes_per_s = (uint64_t)options_i64(o, "min-body-rate"),
		.drain_bytes = 8 << 20,
		.drain_ms = 2000,
		.idle_timeout_s = (unsigned)(options_i64(o, "idle-timeout") / 1000)};

	TRY(http_server_listen(&app->server, &options, standby_answer, err));
	app->storage.port = http_server_port(app->server);
	return OK;
}

static enum status start_server(struct app *app, struct error *err)
{
	size_t count;

	if (!app->server)
		TRY(start_listening(app, err));
	TRY(doors_make_aws(&app->doors.aws, app->options, app->api, app->pipeline, err));
	TRY(doors_make_mlflow(&app->doors.mlflow, app->options, app->api, app->pipeline, err));
	TRY(doors_make_prometheus(&app->doors.prometheus, app->options, app->pipeline, err));
	TRY(doors_make_wandb(&app->doors.wandb, app->options, app->api, app->pipeline, err));
	TRY(doors_make_trackio(&app->doors.trackio, app->options, app->api, app->pipeline, err));
	TRY(doors_join_routes(&app->routes, &count, &app->doors, err));
	app->hooks = api_hooks(app->api);
	TRY(api_start(app->api, err));
	api_set_server(app->api, app->server);
	TRY(http_server_serve(app->server, app->routes, count, &app->hooks, err));
	reload_ready(&app->reload, app->pipeline, app->server);
	return OK;
}

static enum status take_signals(struct app *app, struct error *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	/* before any thread is made, so that all of them inherit it */
	if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0 ||
		(app->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC)) < 0)
		return error_set(err, ERR_IO, "cannot wait for signals: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	return OK;
}

/* What webhook messages link to. */
static enum status find_public_url(struct app *app, struct error *err)
{
	const char *given = options_text(app->options, "public-url");

	if (given)
		buf_append_text(&app->public_url, given);
	else
		buf_printf(&app->public_url, "%s://%s", options_text(app->options, "tls-cert") ? "https" : "http",
			options_text(app->options, "listen"));
	while (app->public_url.len && app->public_url.ptr[app->public_url.len - 1] == '/')
		app->public_url.len--;
	return buf_status(&app->public_url, err);
}

/* Who vouches for people, and what those may: a half of it alone is a mistake that lets in nobody, or everybody. */
static enum status read_people(struct app *app, struct error *err)
{
	const struct options *o = app->options;
	const char *path = options_text(o, "sign-in");
	bool has_proxy = options_text(o, "trusted-proxy") != NULL;

	TRY(people_read(&app->people, path, err));
	if ((path || has_proxy) && options_flag(o, "insecure"))
		return error_set_field(err, ERR_SEMANTIC, "insecure",
			"--insecure lets everybody in, and --sign-in and --trusted-proxy only those whom they name: state one of them");
	if (people_provider(app->people, 0) && !options_text(o, "public-url"))
		return error_set_field(err, ERR_SEMANTIC, "public-url",
			"--sign-in has \"providers\", and they send browsers back to --public-url: state it");
	if (has_proxy != (people_of_proxy(app->people) != NULL))
		return error_set_field(err, ERR_SEMANTIC, "trusted-proxy",
			has_proxy
				? "--trusted-proxy needs --sign-in with a \"proxy\": what the people that it names may do"
				: "--sign-in has a \"proxy\", and no --trusted-proxy says which one that is");
	return OK;
}

static struct app *app_new(const struct options *options)
{
	struct app *app = mem_zeroed(sizeof *app);

	if (app) {
		app->options = options;
		pthread_mutex_init(&app->sender_mutex, NULL);
		pthread_mutex_init(&app->reload.mutex, NULL);
		app->control_fd = app->signal_fd = app->storage.ended_fd = -1;
		app->public_url = BUF_INIT(4096);
		app->socket_path = BUF_INIT(4096);
	}
	return app;
}

static void say_listening(const struct app *app)
{
	struct span listen = span_from(options_text(app->options, "listen"));

	while (listen.len && listen.ptr[listen.len - 1] != ':')
		listen.len--;
	log_line(LOG_INFO, "listening", "address=\"%.*s\" port=%u page=\"%s://%.*s%u/\"",
		(int)(listen.len ? listen.len - 1 : 0), listen.ptr, http_server_port(app->server),
		options_text(app->options, "tls-cert") ? "https" : "http", SPAN_ARGS(listen),
		http_server_port(app->server));
}

static enum status listen_to_tools(struct app *app, struct error *err)
{
	TRY(storage_socket(app->options, &app->socket_path, err));
	TRY(control_listen(app->socket_path.ptr, &app->control_fd, err));
	app->control.pipeline = app->pipeline;
	app->control.api = app->api;
	return OK;
}

static enum status start_all(struct app *app, struct error *err)
{
	TRY(start_pipeline(app, err));
	TRY(make_api(app, err));
	TRY(check_exposure(app, err));
	TRY(start_sender(app, err));
	TRY(listen_to_tools(app, err));
	TRY(start_server(app, err));
	TRY(start_collector(app, err));
	say_listening(app);
	if (!storage_is_postgres(app->options))
		doctor_log(options_text(app->options, "db"));
	return OK;
}

enum status app_start(struct app **out, struct options *options, struct error *err)
{
	AUTO(app) app = app_new(options);

	if (!app)
		return error_no_memory(err);
	app->reload.options = options;
	app->reload.data = &app->data;
	TRY(take_signals(app, err));
	raise_descriptor_limit();
	TRY(find_public_url(app, err));
	TRY(read_people(app, err));
	TRY(collect_setup_new(&app->collect, options, err));
	TRY(storage_init(&app->storage, app->options, app->signal_fd, err));
	if (storage_is_postgres(options)) /* it may have to wait for another server's end */
		TRY(start_listening(app, err));
	enum status status = open_store(app, err);
	if (status == OK)
		status = start_all(app, err);
	else if (app->storage.is_told_to_stop)
		status = OK; /* it has begun nothing, and runs to its end at once */
	TRY(status);
	*out = TAKE(app);
	return OK;
}

enum status app_open_offline(struct app **out, const struct options *options, struct error *err)
{
	AUTO(app) app = app_new(options);

	if (!app)
		return error_no_memory(err);
	TRY(storage_init(&app->storage, app->options, app->signal_fd, err));
	TRY(open_store(app, err));
	TRY(start_pipeline(app, err));
	TRY(make_api(app, err));
	*out = TAKE(app);
	return OK;
}

enum status app_create_token(struct app *app, const struct local_token *asked, struct buf *out, struct error *err)
{
	return local_token_create(app->pipeline, app->api, asked, out, err);
}

static void reload_by_signal(struct app *app)
{
	AUTO_DONE(buf) told = BUF_INIT(1 << 16);
	struct error err = {0};

	if (reload_run(&app->reload, &told, &err) != OK)
		log_line(LOG_ERROR, "reload_failed", "error=\"%s\"", err.text);
}

/* False: the signal asks for the end. */
static bool was_asked_to_reload(struct app *app)
{
	struct signalfd_siginfo signal;

	if (read(app->signal_fd, &signal, sizeof signal) != sizeof signal || signal.ssi_signo != SIGHUP)
		return false;
	reload_by_signal(app);
	return true;
}

enum status app_run(struct app *app, struct error *err)
{
	struct pollfd waits[] = {{.fd = app->signal_fd, .events = POLLIN}, {.fd = app->control_fd, .events = POLLIN},
		{.fd = app->storage.ended_fd, .events = POLLIN}};

	if (app->storage.is_told_to_reload && !app->storage.is_told_to_stop)
		reload_by_signal(app);
	while (!app->storage.is_told_to_stop) {
		if (poll(waits, sizeof waits / sizeof *waits, -1) < 0 && errno != EINTR)
			return error_set(err, ERR_IO, "cannot wait: %s", strerror(errno));
		if (waits[1].revents & POLLIN)
			control_answer(&app->control, app->control_fd);
		if (waits[2].revents & POLLIN && atomic_load(&app->storage.has_ended))
			return error_set(err, ERR_UNAVAILABLE, "%s", app->storage.why.text);
		if (waits[0].revents & POLLIN && !was_asked_to_reload(app))
			break;
	}
	return OK;
}

static void free_sender(struct app *app)
{
	pthread_mutex_lock(&app->sender_mutex);
	struct webhook_sender *sender = TAKE(app->sender);
	pthread_mutex_unlock(&app->sender_mutex);
	webhook_sender_free(sender);
}

static void free_collector(struct app *app)
{
	pthread_mutex_lock(&app->sender_mutex);
	struct collector *collector = TAKE(app->collector);
	pthread_mutex_unlock(&app->sender_mutex);
	collector_free(collector);
	collect_setup_free(app->collect);
}

/* In reverse: first nothing new comes in, then what came in is made durable, then those who listen are told the end. */
void app_free(struct app *app)
{
	if (!app)
		return;
	int64_t stop_ms = options_i64(app->options, "stop-timeout"), start_ms = clock_mono_ms();

	if (app->api)
		api_set_stopping(app->api);
	if (app->server)
		http_server_quiesce(app->server);
	free_sender(app);
	free_collector(app);
	control_end_backup(&app->control);
	if (app->pipeline)
		pipeline_drain(app->pipeline, stop_ms / 2);
	api_stop(app->api);
	if (app->hub)
		hub_close(app->hub);
	if (app->server) {
		http_server_end_streams(app->server);
		http_server_free(app->server, stop_ms / 4);
	}
	pipeline_free(app->pipeline);
	data_files_done(&app->data);
	mem_free(app->routes);
	aws_free(app->doors.aws);
	mlflow_free(app->doors.mlflow);
	prometheus_free(app->doors.prometheus);
	wandb_free(app->doors.wandb);
	trackio_free(app->doors.trackio);
	api_free(app->api);
	assets_free(app->assets);
	webhook_formats_free(app->formats);
	filters_free(app->filters);
	hub_free(app->hub);
	if (app->control_fd >= 0) {
		close(app->control_fd);
		if (!atomic_load(&app->storage.has_ended)) /* else it is that of who took over, on this machine */
			unlink(app->socket_path.ptr); /* before the next server may make its own there */
	}
	people_free(app->people);
	store_free(app->store);
	storage_done(&app->storage);
	if (app->signal_fd >= 0)
		close(app->signal_fd);
	if (app->server)
		log_line(LOG_INFO, "stopped", "ms=%lld", (long long)(clock_mono_ms() - start_ms));
	buf_done(&app->public_url);
	buf_done(&app->socket_path);
	pthread_mutex_destroy(&app->sender_mutex);
	pthread_mutex_destroy(&app->reload.mutex);
	mem_free(app);
}
