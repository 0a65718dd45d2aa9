/* The machines of one job: which streams they send and how old their last line is, what they measured, and how to get onto them. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/hosts.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand.h"
#include "model/metrics/instance_metric.h"
#include "model/metrics/stream_name.h"
#include "read/charts/derivation.h"
#include "read/logs/log_search.h"
#include "read/view.h"
#include "state/streams/job_view.h"

#include <stdio.h>

enum {
	HITS_MAX = 1000,
	HIT_TEXT_BYTES = 400,
	SEARCH_MS = 2000,
	COMMAND_MAX_BYTES = 4096,
	ID_DIGITS_MIN = 8,
	ID_DIGITS_MAX = 32
};

/* As amazon-ssm-agent prints it: "Successfully registered the instance with AWS SSM using Managed instance-id: mi-0123…" */
static const char pattern[] = "instance-id: mi-[0-9a-f]{8}";

static struct span find_id(struct span text)
{
	static const char mark[] = "instance-id: mi-";

	for (size_t i = 0; i + sizeof mark <= text.len; i++) {
		size_t end = i + sizeof mark - 1, digits = 0;
		if (memcmp(text.ptr + i, mark, sizeof mark - 1) != 0)
			continue;
		while (end < text.len && span_hex_digit(text.ptr[end]) >= 0 && digits < ID_DIGITS_MAX) {
			end++;
			digits++;
		}
		if (digits >= ID_DIGITS_MIN)
			return span_of(text.ptr + i + sizeof mark - 4, digits + 3);
	}
	return SPAN("");
}

static bool is_figure(struct span metric, const char *name)
{
	size_t len = strlen(name);

	return span_starts_with(metric, span_from(name)) && (metric.len == len || metric.ptr[len] == '{');
}

/* The mean of the last values over devices; false: none was measured. */
static bool mean_of(const struct stream_view *stream, const char *metric, double *out)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_view *series = &stream->series[i];
		if (!is_figure(series->metric, metric) || !summary_has_finite(&series->summary))
			continue;
		sum += series->summary.last;
		count++;
	}
	*out = count ? sum / (double)count : 0;
	return count > 0;
}

/* Of all devices in one series, without a label: SageMaker has added them up. */
static bool is_sum(const struct stream_view *stream, const char *name)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (span_equal(stream->series[i].metric, span_from(name)))
			return true;
	return false;
}

/* What sm-ship measured, else what was put under SageMaker's name, of one device as far as we know how many there are. */
static bool read_figure(
	const struct stream_view *stream, const struct instance_metric *figure, double gpus, double *value)
{
	double total;

	if (mean_of(stream, figure->metric, value)) {
		if (!figure->total)
			return true;
		if (mean_of(stream, figure->total, &total) && total > 0) {
			*value = 100 * *value / total;
			return true;
		}
	}
	if (!mean_of(stream, figure->name, value))
		return false;
	*value /= figure->is_of_gpus && gpus >= 1 && is_sum(stream, figure->name) ? gpus : 1;
	return true;
}

static void write_figures(const struct stream_view *stream, double gpus, struct json_writer *w)
{
	double value;

	json_key(w, "instance");
	json_object(w);
	for (size_t i = 0; i < INSTANCE_METRICS; i++)
		if (read_figure(stream, &instance_metrics[i], gpus, &value))
			json_put_double(w, instance_metrics[i].name, value);
	json_object_end(w);
}

/* ---- a shell on it ---- */

struct way_in {
	const struct api *api;
	const struct log_search_result *found;
	struct span job;
	struct api_hosts hosts;
	bool is_remote; /* SageMaker keeps its containers open for Systems Manager */
};

/* Nothing in a command that a shell would read as more than a word. */
static bool is_word(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!is_plain && (!strchr("._:@-", c) || (i == 0 && c == '-')))
			return false;
	}
	return text.len != 0;
}

/* As the machine says that sends the stream now: of lines from that one on. */
static struct span instance_of(const struct way_in *in, struct span stream, uint64_t from_line)
{
	for (size_t i = 0; i < in->found->count; i++) { /* the newest first */
		struct span id = find_id(in->found->hits[i].text);
		if (id.len && in->found->hits[i].place.line >= from_line &&
			span_equal(in->found->hits[i].stream, stream))
			return id;
	}
	return SPAN("");
}

/* What Systems Manager calls it; "": it does not know it. */
static void find_target(const struct way_in *in, const struct stream_view *stream, struct span id, struct buf *out)
{
	int64_t container = stream_algo_number(stream->name);

	if (id.len)
		buf_append_span(out, id);
	else if (in->is_remote && container && is_word(in->job)) {
		buf_append_text(out, "sagemaker-training-job:");
		buf_append_span(out, in->job);
		buf_printf(out, "_algo-%lld", (long long)container);
	}
}

/* False: something that the template names is not known, or is no plain word. */
static bool fill_template(struct span template, const struct way_in *in, const struct stream_view *stream,
	struct span target, struct buf *out)
{
	const struct {
		const char *name;
		struct span value;
	} words[] = {{"{host}", stream->host}, {"{stream}", stream->name}, {"{job}", in->job}, {"{target}", target}};

	while (template.len) {
		size_t i = 0, count = sizeof words / sizeof *words;
		while (i < count && !span_starts_with(template, span_from(words[i].name)))
			i++;
		if (i < count && !is_word(words[i].value))
			return false;
		buf_append_span(out, i < count ? words[i].value : span_of(template.ptr, 1));
		template = span_skip(template, i < count ? strlen(words[i].name) : 1);
	}
	return out->len && !out->failure;
}

static void write_session(
	const struct way_in *in, const struct stream_view *stream, uint64_t from_line, struct json_writer *w)
{
	AUTO_DONE(buf) target = BUF_INIT(COMMAND_MAX_BYTES);
	AUTO_DONE(buf) command = BUF_INIT(COMMAND_MAX_BYTES);
	AUTO_DONE(buf) ssh = BUF_INIT(COMMAND_MAX_BYTES);
	struct span id = instance_of(in, stream->name, from_line);

	find_target(in, stream, id, &target);
	if (id.len)
		json_put_span(w, "ssm_instance_id", id);
	if (target.len) {
		buf_append_text(&command, "aws ssm start-session --target ");
		buf_append_span(&command, buf_span(&target));
		json_put_span(w, "ssm_command", buf_span(&command));
	}
	if (fill_template(span_from(in->api->options.ssh_template), in, stream, buf_span(&target), &ssh))
		json_put_span(w, "ssh_command", buf_span(&ssh));
}

static void write_node(
	const struct stream_view *stream, const struct way_in *in, double gpus, int64_t now_ms, struct json_writer *w)
{
	int64_t heard_ms = stream->last_arrival_ms ? stream->last_arrival_ms : stream->last_ms;

	json_object(w);
	json_put_span(w, "stream", stream->name);
	uint64_t from_line = api_write_hosts(w, &in->hosts, stream);
	json_put_i64(w, "lines", (int64_t)stream->lines);
	if (heard_ms) {
		json_put_i64(w, "last_ms", heard_ms);
		json_put_i64(w, "last_age_seconds", now_ms > heard_ms ? (now_ms - heard_ms) / 1000 : 0);
	}
	json_put_i64(w, "attempt", stream->attempt);
	if (span_starts_with(stream->name, SPAN("system/")))
		write_figures(stream, gpus, w);
	write_session(in, stream, from_line, w);
	json_object_end(w);
}

enum status api_job_nodes(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	struct json_writer w = api_reply(response);
	struct log_search search = {.job = http_request_segment(request, 0),
		.stream = SPAN(""),
		.text = span_from(pattern),
		.is_regex = true,
		.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.limit = HITS_MAX,
		.text_bytes = HIT_TEXT_BYTES,
		.time_ms = SEARCH_MS};
	struct log_search_result found;
	struct job_view view;

	TRY(api_arena(&arena, err));
	TRY(view_read_job(
		api->options.pipeline, own->reader, arena, search.job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(log_search_run(api->options.pipeline, own->reader, arena, &search, &found, err));
	TRY(json_parse(&document, view.row.document, err));
	TRY(by_hand_settle(document, err));
	double gpus = derivation_each_device(api->options.pipeline, document);
	struct way_in in = {.api = api, .found = &found, .job = view.row.name};
	TRY(api_read_hosts(own->reader, arena, view.row.job_id, &in.hosts, err));
	in.is_remote =
		!view.row.ended_ms && json_is_true(json_get_path(document, "RemoteDebugConfig.EnableRemoteDebug"));
	json_object(&w);
	json_put_span(&w, "job", view.row.name);
	json_key(&w, "nodes");
	json_array(&w);
	for (size_t i = 0; i < view.stream_count; i++)
		write_node(&view.streams[i], &in, gpus, http_request_arrival_ms(request), &w);
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
