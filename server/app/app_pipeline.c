#include "app/app_parts.h"

#include "api/send/commands.h"
#include "live/filters.h"
#include "pipeline/pipeline.h"
#include "state/options.h"

#include <unistd.h>

enum { HEARTBEAT_MS = 15000 };

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

/* With the thread that asks, one a core. */
static unsigned search_threads(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores > 1 ? (unsigned)cores - 1 : 0;
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
	struct hub_options hub = {.ring_bytes = app_bytes(o, "live-bytes"),
		.ring_ms = 60000,
		.max_subscribers = app_bytes(o, "max-subscribers"),
		.max_lag_bytes = 1 << 20,
		.heartbeat_ms = HEARTBEAT_MS};

	if (!(app->hub = hub_new(&hub)))
		return error_no_memory(err);
	return start_filters(app, err);
}

enum status app_start_pipeline(struct app *app, struct error *err)
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
		.are_reads_own = span_equal(span_from(options_text(o, "team-reads")), SPAN("own")),
		.signatures = buf_span(&app->data.signatures),
		.queue_items = app_bytes(o, "queue-items"),
		.queue_bytes = app_bytes(o, "queue-bytes"),
		.group_bytes = app_bytes(o, "group-bytes"),
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
		.trash_ms = app_trash_ms(o),
		.delivery_age_ms = options_i64(o, "delivery-age"),
		.silent_ms = options_i64(o, "silent-after"),
		.max_jobs = app_bytes(o, "max-jobs"),
		.max_streams_a_job = app_bytes(o, "max-streams"),
		.max_series_a_stream = app_bytes(o, "max-series"),
		.max_sampled_series = app_bytes(o, "max-sampled-series"),
		.max_evaluations = (uint64_t)options_i64(o, "max-evaluations"),
		.max_sources_a_stream = app_bytes(o, "max-sources"),
		.lease_ms = options_i64(o, "lease"),
		.max_statuses = app_bytes(o, "max-statuses"),
		.stop_after_ms = options_i64(o, "stop-after"),
		.tracker_wait_ms = options_i64(o, "tracker-wait"),
		.stall_ms = options_i64(o, "stall-after"),
		.on_non_finite = span_from(options_text(o, "on-non-finite") ? options_text(o, "on-non-finite") : ""),
		.emergency_grace_ms = options_i64(o, "emergency-grace"),
		.command_given = command_given,
		.lease_end_ms = lease_end_ms,
		.deliveries_due = app_deliveries_due,
		.context = app,
		.public_url = buf_span(&app->public_url)};
	TRY(pipeline_start(&app->pipeline, &options, err));
	return data_files_put_prices(&app->data, app->pipeline, err);
}
