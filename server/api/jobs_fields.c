/* Rows of a table of jobs: the figures that every row has, its open incidents, and the columns that were asked for. */
#include "alert/rule.h"
#include "api/internal.h"
#include "query/query.h"

enum { FIELD_MAX_BYTES = 255, INCIDENTS_SHOWN = 3 };

/* loss.final, metric."a.b".max, train:loss.last */
static bool read_figure(struct span name, struct job_field *field)
{
	bool is_metric = span_starts_with(name, SPAN("metric."));
	struct span metric = span_skip(name, is_metric ? 7 : 0);
	enum query_aggregate aggregate = AGGREGATE_LAST;
	bool has_aggregate = query_take_aggregate(&metric, &aggregate);

	if (metric.len >= 2 && metric.ptr[0] == '"' && metric.ptr[metric.len - 1] == '"')
		metric = span_of(metric.ptr + 1, metric.len - 2);
	bool is_role = !is_metric && role_parse(metric, &field->role) && field->role != ROLE_OTHER;
	field->is_figure = true;
	field->role = is_role ? field->role : ROLE_OTHER;
	field->metric = is_role ? SPAN("") : metric;
	field->aggregate = aggregate;
	return metric.len && (is_metric || is_role || has_aggregate);
}

bool api_is_property(struct span name)
{
	static const char *const families[] = {"hp.", "tag.", "env.", "label."};

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (span_starts_with(name, span_from(families[i])))
			return name.len > strlen(families[i]);
	return name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z';
}

static enum status add_field(struct job_fields *out, struct span name, struct error *err)
{
	struct job_field field = {.name = name};

	if (out->count == JOB_FIELDS_MAX || name.len > FIELD_MAX_BYTES)
		return error_set_field(err, ERR_INVALID, "fields", "at most %d fields of at most %d bytes each",
			JOB_FIELDS_MAX, FIELD_MAX_BYTES);
	if (!api_is_property(name) && !read_figure(name, &field))
		return error_set_field(err, ERR_INVALID, "fields",
			"'%.*s' is no column: fields are hp.KEY, tag.KEY, env.KEY, label.KEY, a property as "
			"ResourceConfig.InstanceCount, and of a metric or a role NAME.last, min, max, mean, count, step, "
			"best, best_step, final",
			SPAN_ARGS(name));
	out->list[out->count++] = field;
	return OK;
}

enum status api_parse_fields(const struct http_request *request, struct job_fields *out, struct error *err)
{
	struct span text, part;

	out->count = 0;
	out->are_asked = http_request_query(request, "fields", &text);
	while (out->are_asked && text.len && span_next(&text, ',', &part))
		if (span_trim(part).len)
			TRY(add_field(out, span_trim(part), err));
	return OK;
}

/* ---- values ---- */

static void write_aggregate(const struct job_field *field, const struct summary_row *row,
	const struct ranking_row *rankings, size_t ranking_count, struct json_writer *w)
{
	const struct summary *summary = &row->summary;
	const struct ranking_row *ranking = NULL;

	for (size_t i = 0; i < ranking_count && !ranking; i++)
		if (span_equal(rankings[i].metric, row->metric))
			ranking = &rankings[i];
	json_key_span(w, field->name);
	switch ((enum query_aggregate)field->aggregate) {
	case AGGREGATE_LAST:
		json_double(w, summary->last);
		return;
	case AGGREGATE_MIN:
		json_double(w, summary->min);
		return;
	case AGGREGATE_MAX:
		json_double(w, summary->max);
		return;
	case AGGREGATE_MEAN:
		json_double(w, summary_mean(summary));
		return;
	case AGGREGATE_COUNT:
		json_i64(w, (int64_t)summary->count);
		return;
	case AGGREGATE_STEP:
		json_i64(w, summary->last_step);
		return;
	case AGGREGATE_BEST:
	case AGGREGATE_BEST_STEP:
	case AGGREGATE_FINAL:
	case AGGREGATE_NUMBER:
		break;
	}
	if (!ranking)
		json_null(w);
	else if (field->aggregate == AGGREGATE_BEST_STEP)
		json_i64(w, ranking->best_step);
	else
		json_double(w, field->aggregate == AGGREGATE_BEST ? ranking->best : ranking->final);
}

static bool is_meant(const struct job_field *field, const struct summary_row *row)
{
	return field->role != ROLE_OTHER ? row->main_role == field->role : span_equal(row->metric, field->metric);
}

static enum status write_asked_figures(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	struct job_counts counts;
	struct summary_row *rows;
	struct ranking_row *rankings;
	size_t count, ranking_count;

	TRY(store_read_summaries(reader, arena, job_id, &counts, &rows, &count, err));
	TRY(store_read_rankings(reader, arena, job_id, &rankings, &ranking_count, err));
	for (size_t i = 0; i < fields->count; i++)
		for (size_t k = 0; fields->list[i].is_figure && k < count; k++)
			if (is_meant(&fields->list[i], &rows[k])) {
				write_aggregate(&fields->list[i], &rows[k], rankings, ranking_count, w);
				break;
			}
	return OK;
}

/* Of several elements of a list the first one, as the order goes by it. */
static enum status write_properties(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	struct attribute_row *rows;
	size_t count;

	TRY(store_read_attributes(reader, arena, job_id, &rows, &count, err));
	for (size_t i = 0; i < fields->count; i++)
		for (size_t k = 0; !fields->list[i].is_figure && k < count; k++)
			if (span_equal(rows[k].key, fields->list[i].name)) {
				json_key_span(w, fields->list[i].name);
				json_span(w, rows[k].text);
				break;
			}
	return OK;
}

static enum status write_fields(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	size_t figures = 0;

	for (size_t i = 0; i < fields->count; i++)
		figures += fields->list[i].is_figure;
	json_key(w, "fields");
	json_object(w);
	if (figures < fields->count)
		TRY(write_properties(reader, arena, job_id, fields, w, err));
	if (figures)
		TRY(write_asked_figures(reader, arena, job_id, fields, w, err));
	json_object_end(w);
	return OK;
}

/* The newest ones; how many there are in all is in open_incidents. */
static enum status write_incidents(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct json_writer *w, struct error *err)
{
	struct incident_filter filter = {
		.job_id = job_id, .state = INCIDENT_OPEN, .kind = -1, .cursor = SPAN(""), .limit = INCIDENTS_SHOWN};
	struct incident_row *rows;
	struct span next_cursor;
	uint64_t open;
	size_t count;

	TRY(store_count_open_incidents(reader, job_id, &open, err));
	if (!open)
		return OK;
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &next_cursor, err));
	json_key(w, "incidents");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		incident_write_json(&rows[i], w);
	json_array_end(w);
	return OK;
}

enum status api_write_fields_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	json_object(w);
	TRY(pipeline_write_slim_row(worker->api->options.pipeline, worker->reader, arena, row, w, err));
	TRY(write_incidents(worker->reader, arena, row->job_id, w, err));
	TRY(write_fields(worker->reader, arena, row->job_id, fields, w, err));
	json_object_end(w);
	return OK;
}
