/* Will it fit? The memory of a device that a document's settings, or a job's, ask for: docs/fit.md. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/machines/fit_job.h"
#include "model/jobs/by_hand.h"
#include "read/charts/derivation.h"

#include <math.h>
#include <stdio.h>

enum { DOCUMENT_BYTES = 8 << 20, PLACES_MAX = 20, TYPE_MAX = 64, RESOURCE_BYTES = 256 };

/* "4 x ml.trn1.32xlarge", "8xH100", "ml.p5.48xlarge": then as many as the document has. */
static enum status parse_place(const struct fit_job *job, struct span text, struct fit_place *out, struct error *err)
{
	struct span given = text, digits;
	int64_t count = 0;
	size_t len = 0;

	text = span_trim(text);
	while (len < text.len && text.ptr[len] >= '0' && text.ptr[len] <= '9')
		len++;
	digits = span_of(text.ptr, len);
	struct span rest = span_trim(span_skip(text, len));
	if (len && span_take(&rest, SPAN("x")) && span_parse_i64(digits, &count))
		text = span_trim(rest);
	else if (!json_number_of(json_get_path(job->document, "ResourceConfig.InstanceCount"), &out->count))
		out->count = 1;
	if (count)
		out->count = (double)count;
	out->type = text;
	if (!text.len || text.len > TYPE_MAX || out->count < 1 || out->count > 1e6)
		return error_set_field(err, ERR_SEMANTIC, "instances",
			"'%.*s' is no instance type with a count: '4 x ml.p5.48xlarge', or 'ml.p5.48xlarge' for as many as ResourceConfig has",
			SPAN_ARGS(given));
	return OK;
}

/* A document with these machines, and the environment that says how a Neuron runtime puts cores together. */
static enum status make_document(
	const struct fit_job *job, const struct fit_place *place, struct json **out, struct error *err)
{
	const struct json *environment = json_get(job->document, "Environment");
	AUTO_DONE(buf) text = BUF_INIT(RESOURCE_BYTES);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	json_key(&w, "ResourceConfig");
	json_object(&w);
	json_put_span(&w, "InstanceType", place->type);
	json_put_double(&w, "InstanceCount", place->count);
	json_object_end(&w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(out, buf_span(&text), err));
	if (environment && !json_set_copy(*out, "Environment", environment))
		return error_no_memory(err);
	return OK;
}

static enum status write_place(const struct fit_job *job, struct span text, struct json_writer *w, struct error *err)
{
	AUTO(json) document = NULL;
	struct fit_settings settings = job->settings;
	struct fit_place place = {.type = SPAN("")};

	TRY(parse_place(job, text, &place, err));
	TRY(make_document(job, &place, &document, err));
	fit_place_find(job->api, document, &place);
	double node = place.ranks_per_node;
	if (isnan(place.ranks) && span_find_char(place.type, '.') < 0) /* "8 x H100": devices, not machines */
		place.ranks = place.ranks_per_node =
			place.count * derivation_device_ranks(job->api->options.pipeline, document);
	if (isnan(place.limit))
		return error_set_field(err, ERR_SEMANTIC, "instances",
			"'%.*s' is no instance type or device whose memory devices.json knows; its types are like ml.p5.48xlarge, its devices like H100",
			SPAN_ARGS(place.type));
	fit_settings_place(&settings, place.ranks, node);
	json_object(w);
	json_put_span(w, "instance_type", place.type);
	json_put_double(w, "instance_count", place.count);
	json_put_double(w, "devices", place.ranks);
	fit_write_place(w, &settings, &place, &job->observed);
	json_object_end(w);
	return OK;
}

/* ---- the answer ---- */

static void write_observations(const struct fit_job *job, struct json_writer *w)
{
	json_key(w, "observed");
	json_array(w);
	for (size_t i = 0; i < job->observed.jobs; i++) {
		const struct fit_observation *one = &job->observations[i];
		json_object(w);
		json_put_span(w, "job", one->job);
		json_put_span(w, "metric", one->metric);
		json_put_double(w, "peak_bytes", one->peak);
		json_put_double(w, "formula_bytes", one->formula);
		json_put_double(w, "factor", one->peak / one->formula);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_own(struct fit_job *job, struct json_writer *w)
{
	struct fit_place place;

	fit_job_place(job, &place);
	fit_write_place(w, &job->settings, &place, &job->observed);
	write_observations(job, w);
	fit_write_settings(w, &job->settings);
}

/* asked: an array, or NULL. */
static enum status write_asked(
	const struct fit_job *job, const struct json *asked, struct json_writer *w, struct error *err)
{
	if (!asked || json_kind(asked) == JSON_NULL)
		return OK;
	if (json_kind(asked) != JSON_ARRAY || json_count(asked) > PLACES_MAX)
		return error_set_field(err, ERR_SEMANTIC, "instances",
			"instances is an array of at most %d texts, like \"4 x ml.p5.48xlarge\"", PLACES_MAX);
	json_key(w, "instances");
	json_array(w);
	for (const struct json *at = json_first(asked); at; at = json_next(at))
		TRY(write_place(job, json_string_of(at), w, err));
	json_array_end(w);
	return OK;
}

static enum status write_listed(const struct fit_job *job, struct span list, struct json_writer *w, struct error *err)
{
	struct span text;
	size_t count = 0;

	json_key(w, "instances");
	json_array(w);
	while (span_next(&list, ',', &text)) {
		if (count++ == PLACES_MAX)
			return error_set_field(err, ERR_INVALID, "instances", "instances are at most %d", PLACES_MAX);
		TRY(write_place(job, text, w, err));
	}
	json_array_end(w);
	return OK;
}

enum status api_fit(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_BYTES);
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &document, err));
	const struct json *settings = json_get(document, "HyperParameters");
	if (!settings || json_kind(settings) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "HyperParameters",
			"HyperParameters is an object: the settings of the trainer");
	TRY(by_hand_settle(document, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	struct job_row row = {.name = SPAN(""), .document = buf_span(&text)};
	struct fit_job job = {
		.api = context, .reader = ((struct api_worker *)worker)->reader, .arena = arena, .document = document};
	TRY(fit_job_read(&job, &row, http_request_arrival_ms(request), err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	write_own(&job, &w);
	TRY(write_asked(&job, json_get(document, "instances"), &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_job_fit(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	struct span list = SPAN("");
	struct job_row row;

	TRY(api_arena(&arena, err));
	struct fit_job job = {.api = context, .reader = ((struct api_worker *)worker)->reader, .arena = arena};
	TRY(store_read_job(job.reader, arena, http_request_segment(request, 0), &row, err));
	TRY(json_parse(&document, row.document, err));
	TRY(by_hand_settle(document, err));
	job.document = document;
	TRY(fit_job_read(&job, &row, http_request_arrival_ms(request), err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_span(&w, "job", row.name);
	write_own(&job, &w);
	if (http_request_query(request, "instances", &list) && list.len)
		TRY(write_listed(&job, list, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
