#include "app/app_parts.h"

#include "alert/format.h"
#include "alert/webhook.h"
#include "people/people.h"

void app_deliveries_due(void *context)
{
	struct app *app = context;

	pthread_mutex_lock(&app->sender_mutex);
	if (app->sender)
		webhook_sender_wake(app->sender);
	pthread_mutex_unlock(&app->sender_mutex);
}

static enum status read_formats(struct app *app, struct error *err)
{
	const struct embedded_file *file = embedded_find(embedded_data, SPAN("webhooks.json"));

	return file ? webhook_formats_new(&app->formats, embedded_span(file), err)
		    : error_set(err, ERR_INTERNAL, "this server was built without webhooks.json");
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
		.max_line_bytes = app_bytes(o, "max-line-bytes"),
		.max_points_bytes = app_bytes(o, "max-points-bytes"),
		.max_push_bytes = app_bytes(o, "max-push-bytes"),
		.max_record_bytes = app_bytes(o, "max-record-bytes"),
		.slice_bytes = app_bytes(o, "slice-bytes"),
		.skew_ms = options_i64(o, "skew-warning"),
		.silent_ms = options_i64(o, "silent-after"),
		.max_views = (uint64_t)options_i64(o, "max-views"),
		.max_workspaces = (uint64_t)options_i64(o, "max-workspaces"),
		.max_workspace_bytes = app_bytes(o, "max-workspace-bytes"),
		.max_notes = (uint64_t)options_i64(o, "max-notes"),
		.max_evaluations = (uint64_t)options_i64(o, "max-evaluations"),
		.max_evaluation_bytes = app_bytes(o, "max-evaluation-bytes"),
		.max_note_bytes = app_bytes(o, "max-note-bytes"),
		.max_rules = app_bytes(o, "max-rules"),
		.rule_preview_ms = options_i64(o, "rule-preview-ms"),
		.webhook_formats = app->formats,
		.max_events = app_bytes(o, "max-events"),
		.max_chart_queries = app_bytes(o, "max-chart-queries"),
		.max_chart_buckets = app_bytes(o, "max-chart-buckets"),
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
		.trash_ms = app_trash_ms(o),
		.max_sessions = app_bytes(o, "max-sessions"),
		.max_commands = app_bytes(o, "max-commands"),
		.max_reply_bytes = (size_t)options_i64(o, "max-reply-bytes"),
		.reload = app->reload.options ? reload : NULL,
		.deliveries_due = app_deliveries_due,
		.event_taken = event_taken,
		.write_metrics = write_metrics,
		.context = app};
}

enum status app_make_api(struct app *app, struct error *err)
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
	options.max_sign_ins = app_bytes(app->options, "max-sign-ins");
	options.max_waiting_sign_ins = app_bytes(app->options, "max-waiting-sign-ins");
	struct api *api = NULL;
	TRY(api_new(&api, &options, err));
	app->api = api;
	return OK;
}
