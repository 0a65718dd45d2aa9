#include "app/app.h"

#include "alert/format.h"
#include "alert/webhook.h"
#include "api/core/tokens.h"
#include "app/app_parts.h"
#include "app/command_doctor.h"
#include "app/standby.h"
#include "app/stop_watch.h"
#include "base/clock.h"
#include "base/log.h"
#include "live/filters.h"
#include "people/people.h"
#include "pipeline/pipeline.h"
#include "state/execute.h"
#include "store/alerts.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
		.max_connections = app_bytes(o, "max-connections"),
		.max_pending = app_bytes(o, "max-pending"),
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
		.max_connections_an_address = app_bytes(o, "max-connections-per-address"),
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
	TRY(app_start_pipeline(app, err));
	TRY(app_make_api(app, err));
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
	TRY(app_start_pipeline(app, err));
	TRY(app_make_api(app, err));
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
	struct stop_watch *watch = NULL;

	if (app->server && app->pipeline)
		stop_watch_start(&watch, app->server, app->pipeline, stop_ms);
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
		stop_watch_leave_server(watch);
		http_server_free(app->server, stop_ms / 4);
	}
	if (app->pipeline)
		pipeline_end(app->pipeline);
	stop_watch_leave_pipeline(watch);
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
	stop_watch_end(watch);
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
