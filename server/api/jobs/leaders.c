/* The best checkpoints of many jobs: GET /api/v1/evaluations?q=&metric=mmlu/acc&by=job. docs/evaluations.md, "Many jobs". */
#include "api/core/api_state.h"
#include "api/core/csv.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/jobs/references.h"
#include "base/map.h"
#include "read/leaders.h"

#include <inttypes.h>
#include <math.h>

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 10000 };

static const char *const by_names[] = {
	[LEADERS_BY_JOB] = "job", [LEADERS_BY_RUN] = "run", [LEADERS_BY_CHECKPOINT] = "checkpoint"};

struct asked {
	struct evaluation_weight *weights;
	size_t weight_count; /* 0: the server chooses */
	enum leaders_by by;
	size_t limit;
	bool is_csv;
};

/* ---- what is asked ---- */

static enum status read_rule(
	const struct http_request *request, struct arena *arena, struct asked *out, struct error *err)
{
	struct span metric, weights;
	bool has_metric = http_request_query(request, "metric", &metric),
	     has_weights = http_request_query(request, "weights", &weights);

	if (has_metric && has_weights)
		return error_set_field(
			err, ERR_INVALID, "metric", "metric= is one score, weights= several: one of the two");
	if (has_weights)
		return evaluation_read_weights(weights, arena, &out->weights, &out->weight_count, err);
	if (!has_metric)
		return OK;
	out->weight_count = 1;
	return evaluation_read_weights_of(metric, arena, &out->weights, err);
}

static enum status read_asked(
	const struct http_request *request, struct arena *arena, struct asked *out, struct error *err)
{
	struct span by = SPAN("job"), format = SPAN("json");
	size_t at = 0, count = sizeof by_names / sizeof *by_names;

	http_request_query(request, "by", &by);
	http_request_query(request, "format", &format);
	while (at < count && !span_equal(by, span_from(by_names[at])))
		at++;
	if (at == count)
		return error_set_field(err, ERR_INVALID, "by", "by '%.*s' is none of job, run, checkpoint",
			SPAN_ARGS(span_cut(by, 60)));
	out->by = (enum leaders_by)at;
	out->is_csv = span_equal(format, SPAN("csv"));
	if (!out->is_csv && !span_equal(format, SPAN("json")))
		return error_set_field(err, ERR_INVALID, "format", "format '%.*s' is none of json, csv",
			SPAN_ARGS(span_cut(format, 60)));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &out->limit, err));
	return read_rule(request, arena, out, err);
}

/* ---- JSON ---- */

static void put_name(struct buf *out, const struct evaluation_weight *weight)
{
	buf_append_span(out, weight->task);
	buf_append_char(out, '/');
	buf_append_span(out, weight->metric);
}

static void write_weighted(struct json_writer *w, const char *key, const struct leaders *leaders, const double *values)
{
	AUTO_DONE(buf) name = BUF_INIT(2 * EVALUATION_NAME_BYTES + 2);

	json_key(w, key);
	json_object(w);
	for (size_t i = 0; i < leaders->weight_count; i++) {
		buf_reset(&name);
		put_name(&name, &leaders->weights[i]);
		json_key_span(w, buf_span(&name));
		json_double(w, values ? values[i] : leaders->weights[i].weight);
	}
	json_object_end(w);
}

static void write_row(struct json_writer *w, const struct leaders *leaders, const struct asked *asked, size_t at)
{
	const struct leader *row = &leaders->rows[at];

	json_object(w);
	json_put_i64(w, "rank", (int64_t)at + 1);
	json_put_span(w, "job", row->job);
	if (asked->by == LEADERS_BY_RUN) {
		json_put_span(w, "run", row->run);
		json_put_i64(w, "jobs", (int64_t)row->jobs);
	}
	api_put_known(w, "step", row->has_step ? (double)row->step : NAN);
	json_key(w, "path");
	if (row->path.len)
		json_span(w, row->path);
	else
		json_null(w);
	json_put_double(w, "value", row->value);
	write_weighted(w, "scores", leaders, row->scores);
	if (leaders->weight_count == 1)
		api_put_known(w, "stderr", row->error < 0 ? NAN : row->error);
	if (asked->by != LEADERS_BY_CHECKPOINT)
		json_put_i64(w, "compared", (int64_t)row->compared);
	api_put_known(w, "evaluated_ms", row->evaluated_ms ? (double)row->evaluated_ms : NAN);
	json_object_end(w);
}

static void write_known(struct json_writer *w, const struct leaders *leaders)
{
	json_key(w, "metrics");
	json_array(w);
	for (size_t i = 0; i < leaders->known_count; i++) {
		json_object(w);
		json_put_span(w, "metric", leaders->known[i].name);
		json_put_i64(w, "jobs", (int64_t)leaders->known[i].jobs);
		json_object_end(w);
	}
	json_array_end(w);
}

/* Named models that have one of the scores. */
static enum status write_references(struct api *api, struct store_reader *reader, struct arena *arena,
	struct json_writer *w, const struct leaders *leaders, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(2 * EVALUATION_NAME_BYTES + 2);
	AUTO(map) names = map_new();

	if (!names)
		return error_no_memory(err);
	for (size_t i = 0; i < leaders->weight_count; i++) {
		buf_reset(&name);
		put_name(&name, &leaders->weights[i]);
		TRY(buf_status(&name, err));
		if (!map_put(names, buf_span(&name), (void *)&leaders->weights[i]))
			return error_no_memory(err);
	}
	return api_put_references(api, reader, arena, names, w, err);
}

static enum status write_json(struct api *api, struct store_reader *reader, struct arena *arena, struct json_writer *w,
	const struct leaders *leaders, const struct asked *asked, struct error *err)
{
	json_object(w);
	json_put_text(w, "by", by_names[asked->by]);
	write_weighted(w, "weights", leaders, NULL);
	json_key(w, "leaders");
	json_array(w);
	for (size_t i = 0; i < leaders->count && i < asked->limit; i++)
		write_row(w, leaders, asked, i);
	json_array_end(w);
	json_put_i64(w, "total", (int64_t)leaders->count);
	write_known(w, leaders);
	TRY(write_references(api, reader, arena, w, leaders, err));
	json_put_bool(w, "partial", leaders->is_partial);
	json_object_end(w);
	return OK;
}

/* ---- CSV ---- */

static void csv_head(struct buf *out, const struct leaders *leaders)
{
	AUTO_DONE(buf) name = BUF_INIT(2 * EVALUATION_NAME_BYTES + 2);

	buf_append_text(out, "rank,job,run,jobs,step,path,value");
	for (size_t i = 0; i < leaders->weight_count; i++) {
		buf_reset(&name);
		put_name(&name, &leaders->weights[i]);
		buf_append_char(out, ',');
		csv_put_cell(out, buf_span(&name));
	}
	buf_append_text(out, ",stderr,compared,evaluated_ms\n");
}

static void csv_row(struct buf *out, const struct leaders *leaders, enum leaders_by by, size_t at)
{
	const struct leader *row = &leaders->rows[at];

	buf_printf(out, "%zu,", at + 1);
	csv_put_cell(out, row->job);
	buf_append_char(out, ',');
	csv_put_cell(out, row->run);
	buf_append_char(out, ',');
	if (by == LEADERS_BY_RUN)
		buf_printf(out, "%zu", row->jobs);
	buf_append_char(out, ',');
	if (row->has_step)
		buf_printf(out, "%" PRId64, row->step);
	buf_append_char(out, ',');
	csv_put_cell(out, row->path);
	buf_append_char(out, ',');
	api_csv_double(out, row->value);
	for (size_t i = 0; i < leaders->weight_count; i++) {
		buf_append_char(out, ',');
		api_csv_double(out, row->scores[i]);
	}
	buf_append_char(out, ',');
	if (row->error >= 0)
		api_csv_double(out, row->error);
	buf_append_char(out, ',');
	if (by != LEADERS_BY_CHECKPOINT)
		buf_printf(out, "%zu", row->compared);
	buf_append_char(out, ',');
	if (row->evaluated_ms)
		buf_printf(out, "%" PRId64, row->evaluated_ms);
	buf_append_char(out, '\n');
}

enum status api_leaders(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct asked asked = {.limit = 0};
	struct query_node *query = NULL;
	struct leaders leaders;

	TRY(api_arena(&arena, err));
	TRY(read_asked(request, arena, &asked, err));
	TRY(api_parse_query(context, request, arena, &query, err));
	TRY(leaders_read(reader, arena, query, asked.weights, asked.weight_count, asked.by, &leaders, err));
	struct json_writer w = api_reply(response);
	if (!asked.is_csv) {
		TRY(write_json(context, reader, arena, &w, &leaders, &asked, err));
		return buf_status(&response->body, err);
	}
	response->content_type = "text/csv; charset=utf-8";
	csv_head(&response->body, &leaders);
	for (size_t i = 0; i < leaders.count && i < asked.limit; i++)
		csv_row(&response->body, &leaders, asked.by, i);
	return buf_status(&response->body, err);
}
