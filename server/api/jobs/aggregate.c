/* What groups of jobs come to: GET /api/v1/aggregate?q=&by=tag.team,month&of=sum:node_hours,count. */
#include "api/core/api_state.h"
#include "api/core/csv.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/jobs/jobs.h"
#include "base/json/json_write.h"
#include "base/text/zone.h"
#include "model/jobs/aggregate.h"
#include "model/query.h"
#include "pipeline/goodput/goodput.h"
#include "query/query.h"
#include "read/search_jobs.h"
#include "store/aggregate.h"

#include <math.h>
#include <stdio.h>

struct asking {
	struct job_aggregation ask;
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct aggregate_figure figures[QUERY_MAX_FIGURES];
	struct job_group *groups;
	size_t count;
	bool is_partial;
	char seq[24];
	struct zone *own_zone; /* that the request names */
	struct span currency; /* of sums of costs */
	uint64_t too_long_jobs; /* last longer than --max-group-periods: left out */
};

static void asking_free(struct asking *a)
{
	if (a)
		zone_free(a->own_zone);
	mem_free(a);
}
AUTO_TYPE(asking)

static enum status in_field(enum status status, const char *field, struct error *err)
{
	if (status != OK && err && !err->field[0])
		snprintf(err->field, sizeof err->field, "%s", field);
	return status;
}

static enum status refuse_twice(const char *field, struct span text, struct error *err)
{
	return error_set_field(
		err, ERR_SEMANTIC, field, "'%.*s' is named twice", (int)(text.len < 200 ? text.len : 200), text.ptr);
}

/* A row has one member of each name. */
static enum status check_twice(const struct asking *a, struct error *err)
{
	for (size_t i = 0; i < a->ask.name_count; i++)
		for (size_t j = 0; j < i; j++)
			if (span_equal(a->names[i].text, a->names[j].text))
				return refuse_twice("by", a->names[i].text, err);
	for (size_t i = 0; i < a->ask.figure_count; i++) {
		for (size_t j = 0; j < i; j++)
			if (span_equal(a->figures[i].text, a->figures[j].text))
				return refuse_twice("of", a->figures[i].text, err);
		for (size_t j = 0; j < a->ask.name_count; j++)
			if (span_equal(a->figures[i].text, a->names[j].text))
				return refuse_twice("of", a->figures[i].text, err);
	}
	return OK;
}

static bool is_of(const struct aggregate_figure *figure, struct span quantity)
{
	const struct query_term *term = &figure->quantity.term;

	return !figure->counts_jobs && term->family == QUERY_PROPERTY && span_equal(term->key, quantity);
}

static enum status read_ask(struct asking *a, const struct api *api, const struct http_request *request,
	struct arena *arena, struct error *err)
{
	struct span by = SPAN(""), of = SPAN("count");
	struct query_node *query = NULL;

	http_request_query(request, "by", &by);
	http_request_query(request, "of", &of);
	TRY(api_zone(api, request, &a->own_zone, &a->ask.zone, err));
	TRY(api_parse_query(api, request, arena, &query, err));
	TRY(in_field(query_parse_names(a->names, &a->ask.name_count, by, arena, err), "by", err));
	TRY(in_field(query_parse_figures(a->figures, &a->ask.figure_count, of, arena, err), "of", err));
	if (!a->ask.figure_count)
		return error_set_field(
			err, ERR_SEMANTIC, "of", "'of' names no figure, such as count or sum:node_hours");
	a->ask.query = query;
	a->ask.names = a->names;
	a->ask.figures = a->figures;
	a->ask.now_ms = http_request_arrival_ms(request);
	for (size_t i = 0; i < a->ask.figure_count; i++) {
		const struct aggregate_figure *figure = &a->figures[i];
		a->ask.wants_unpriced |= is_of(figure, SPAN("cost")) || is_of(figure, SPAN("lost_cost"));
		a->ask.wants_losses |= is_of(figure, SPAN("lost_steps"));
	}
	return check_twice(a, err);
}

/* What sums of costs are in, and what sums leave out. */
static void write_gaps(const struct asking *a, const struct job_group *group, struct json_writer *w)
{
	if (a->ask.wants_losses)
		json_put_i64(w, "lost_steps_unknown", (int64_t)group->unknown_losses);
	if (!a->ask.wants_unpriced)
		return;
	json_put_span(w, "currency", a->currency);
	json_put_i64(w, "unpriced_jobs", (int64_t)group->unpriced_jobs);
	json_key(w, "unpriced_types");
	json_array(w);
	for (size_t i = 0; i < group->unpriced_type_count; i++)
		json_span(w, group->unpriced_types[i]);
	json_array_end(w);
	json_put_i64(w, "estimated_jobs", (int64_t)group->estimated_jobs);
}

static void write_json(const struct asking *a, struct json_writer *w)
{
	json_object(w);
	json_put_text(w, "as_of_seq", a->seq);
	json_key(w, "groups");
	json_array(w);
	for (size_t i = 0; i < a->count; i++) {
		const struct job_group *group = &a->groups[i];
		json_object(w);
		for (size_t j = 0; j < a->ask.name_count; j++) {
			json_key_span(w, a->names[j].text);
			if (group->keys[j].ptr)
				json_span(w, group->keys[j]);
			else
				json_null(w);
		}
		for (size_t j = 0; j < a->ask.figure_count; j++) {
			json_key_span(w, a->figures[j].text);
			if (isnan(group->figures[j]))
				json_null(w);
			else
				json_double(w, group->figures[j]);
		}
		write_gaps(a, group, w);
		json_object_end(w);
	}
	json_array_end(w);
	if (a->too_long_jobs)
		json_put_i64(w, "too_long_jobs", (int64_t)a->too_long_jobs);
	json_object_end(w);
}

static void write_csv_head(const struct asking *a, struct buf *out)
{
	for (size_t j = 0; j < a->ask.name_count + a->ask.figure_count; j++) {
		buf_append_text(out, j ? "," : "");
		csv_put_cell(out, j < a->ask.name_count ? a->names[j].text : a->figures[j - a->ask.name_count].text);
	}
	buf_append_text(out, a->ask.wants_losses ? ",lost_steps_unknown" : "");
	buf_append_text(out, a->ask.wants_unpriced ? ",currency,unpriced_jobs,unpriced_types,estimated_jobs\n" : "\n");
}

static void write_csv_gaps(const struct asking *a, const struct job_group *group, struct buf *out)
{
	if (a->ask.wants_losses)
		buf_printf(out, ",%llu", (unsigned long long)group->unknown_losses);
	if (!a->ask.wants_unpriced)
		return;
	buf_append_char(out, ',');
	csv_put_cell(out, a->currency);
	buf_printf(out, ",%llu,", (unsigned long long)group->unpriced_jobs);
	for (size_t j = 0; j < group->unpriced_type_count; j++) {
		buf_append_text(out, j ? " " : "");
		csv_put_cell(out, group->unpriced_types[j]);
	}
	buf_printf(out, ",%llu", (unsigned long long)group->estimated_jobs);
}

static void write_csv_group(const struct asking *a, const struct job_group *group, struct buf *out)
{
	for (size_t j = 0; j < a->ask.name_count; j++) {
		buf_append_text(out, j ? "," : "");
		if (group->keys[j].ptr)
			csv_put_cell(out, group->keys[j]);
	}
	for (size_t j = 0; j < a->ask.figure_count; j++) {
		buf_append_text(out, j || a->ask.name_count ? "," : "");
		if (!isnan(group->figures[j]))
			api_csv_double(out, group->figures[j]);
	}
	write_csv_gaps(a, group, out);
	buf_append_char(out, '\n');
}

static void write_csv(const struct asking *a, struct buf *out)
{
	write_csv_head(a, out);
	for (size_t i = 0; i < a->count; i++)
		write_csv_group(a, &a->groups[i], out);
}

static enum status answer(struct asking *a, const struct http_request *request, struct api_worker *worker,
	struct arena *arena, struct error *err)
{
	const struct job_log_search_options options = {.pipeline = worker->api->options.pipeline,
		.reader = worker->reader,
		.query = a->ask.query,
		.time_ms = worker->api->options.search_ms,
		.asker = api_asker(worker->api, request)};
	AUTO(job_log_search) logs = NULL;
	uint64_t total;

	if (job_log_search_is_needed(a->ask.query)) {
		TRY(job_log_search_new(&logs, &options, err));
		TRY(job_log_search_all(logs, &total, &a->is_partial, err));
		a->ask.logs = job_log_search_answers(logs);
	}
	return store_aggregate_jobs(worker->reader, arena, &a->ask, &a->groups, &a->count, err);
}

static enum status read_currency(struct asking *a, struct api_worker *worker, struct arena *arena, struct error *err)
{
	struct price_list prices;

	TRY(goodput_read_prices(worker->api->options.pipeline, worker->reader, arena, &prices, err));
	a->currency = prices.currency;
	return OK;
}

enum status api_aggregate(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct span format = SPAN("json");
	AUTO(arena) arena = NULL;
	AUTO(asking) a = mem_zeroed(sizeof *a);

	TRY(api_arena(&arena, err));
	if (!a)
		return error_no_memory(err);
	http_request_query(request, "format", &format);
	bool is_csv = span_equal(format, SPAN("csv"));
	if (!is_csv && !span_equal(format, SPAN("json")))
		return error_set_field(
			err, ERR_INVALID, "format", "format '%.*s' is none of json, csv", SPAN_ARGS(format));
	TRY(read_ask(a, api, request, arena, err));
	a->ask.max_groups = api->options.max_groups;
	a->ask.max_periods = api->options.max_group_periods;
	a->ask.too_long_jobs = &a->too_long_jobs;
	a->ask.max_values = api->options.max_group_values;
	a->ask.time_ms = api->options.search_ms;
	api_print_index_seq(api, a->seq);
	if (a->ask.wants_unpriced)
		TRY(read_currency(a, worker, arena, err));
	TRY(answer(a, request, worker, arena, err));
	if (a->is_partial)
		return error_set_field(err, ERR_UNAVAILABLE, "q",
			"to look through the logs of all these jobs takes longer than %lld ms (--search-ms): ask for fewer",
			(long long)api->options.search_ms);
	struct json_writer w = api_reply(response);
	if (is_csv) {
		response->content_type = "text/csv; charset=utf-8";
		write_csv(a, &response->body);
		if (a->too_long_jobs) /* rows are of groups: there is no place among them */
			http_response_header(response, "X-Too-Long-Jobs", "%llu", (unsigned long long)a->too_long_jobs);
	} else {
		write_json(a, &w);
	}
	return buf_status(&response->body, err);
}
