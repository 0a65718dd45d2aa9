/* Advice on a job, and on one that is not submitted yet; which of its rules a job has muted. */
#include "api/machines/advice.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/machines/advice_facts.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "fleet/advice.h"
#include "model/jobs/by_hand.h"
#include "model/incident.h"
#include "store/jobs.h"

#include <math.h>

static bool is_muted(const struct json *muted, struct span rule)
{
	for (const struct json *at = json_first(muted); at; at = json_next(at))
		if (span_equal(json_string_of(at), rule))
			return true;
	return false;
}

static void write_finding(const struct advice_finding *finding, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "rule", finding->rule);
	json_put_span(w, "severity", finding->severity);
	json_put_span(w, "field", finding->field);
	json_put_span(w, "text", finding->text);
	json_put_span(w, "reason", finding->reason);
	json_put_span(w, "source", finding->source);
	json_object_end(w);
}

static void put_own(struct json_writer *w, const char *key, double value)
{
	if (!isnan(value))
		json_put_double(w, key, value);
}

/* The configuration that was published for a model of about this size, and the job's own beside it. */
static enum status write_reference(
	const struct advice *advice, const struct advice_facts *facts, struct json_writer *w, struct error *err)
{
	const struct json *reference = advice_reference(advice, facts->parameters.value);
	AUTO_DONE(buf) text = BUF_INIT(16 << 10);

	if (!reference)
		return OK;
	json_print(reference, &text);
	TRY(buf_status(&text, err));
	json_key(w, "reference");
	json_raw(w, buf_span(&text));
	json_key(w, "own");
	json_object(w);
	put_own(w, "parameters", facts->parameters.value);
	put_own(w, "nodes", advice_quantity(advice, SPAN("nodes"), facts->settings, facts->count));
	put_own(w, "pipeline_parallel", advice_quantity(advice, SPAN("pp"), facts->settings, facts->count));
	put_own(w, "tensor_parallel", advice_quantity(advice, SPAN("tp"), facts->settings, facts->count));
	json_object_end(w);
	return OK;
}

static void write_networks(const struct advice_facts *facts, struct json_writer *w)
{
	if (!facts->network_count)
		return;
	json_key(w, "networks");
	json_array(w);
	for (size_t i = 0; i < facts->network_count; i++) {
		json_object(w);
		json_put_span(w, "stream", facts->networks[i].stream);
		json_put_span(w, "network", facts->networks[i].name);
		json_object_end(w);
	}
	json_array_end(w);
}

enum status api_write_advice(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, int64_t now_ms, struct json_writer *w,
	struct error *err)
{
	const struct json *muted = json_get(document, "MutedAdvice");
	struct advice_facts *facts = arena_alloc(arena, sizeof *facts);
	struct advice_finding *found;
	size_t count;

	if (!facts)
		return error_no_memory(err);
	TRY(advice_facts_read(api, reader, arena, row, document, now_ms, facts, err));
	TRY(advice_run(api->advice, arena, facts->settings, facts->count, &found, &count, err));
	json_key(w, "advice");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		if (!is_muted(muted, found[i].rule))
			write_finding(&found[i], w);
	json_array_end(w);
	json_key(w, "muted");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		if (is_muted(muted, found[i].rule))
			json_span(w, found[i].rule);
	json_array_end(w);
	write_networks(facts, w);
	return write_reference(api->advice, facts, w, err);
}

enum status api_job_advice(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	struct json_writer w = api_reply(response);
	struct job_row row;

	TRY(api_arena(&arena, err));
	TRY(store_read_job(own->reader, arena, http_request_segment(request, 0), &row, err));
	TRY(json_parse(&document, row.document, err));
	TRY(by_hand_settle(document, err));
	json_object(&w);
	json_put_span(&w, "job", row.name);
	TRY(api_write_advice(context, own->reader, arena, &row, document, http_request_arrival_ms(request), &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_check_muted(const struct api *api, const struct json *muted, struct error *err)
{
	if (!muted || json_kind(muted) == JSON_NULL)
		return OK;
	if (json_kind(muted) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "muted_advice",
			"muted_advice is an array of rules, [\"retries\"]; null mutes none");
	for (const struct json *at = json_first(muted); at; at = json_next(at))
		if (!advice_has_rule(api->advice, json_string_of(at)))
			return error_set_field(err, ERR_SEMANTIC, "muted_advice", "'%.*s' is no rule of advice",
				SPAN_ARGS(json_string_of(at)));
	return OK;
}
