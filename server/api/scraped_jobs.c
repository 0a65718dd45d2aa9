#include "api/scraped_jobs.h"

#include "api/core/request.h"
#include "base/alloc.h"
#include "read/view.h"

#include <math.h>

struct scraped {
	const struct api *api;
	struct store_reader *reader;
	struct span *names;
	size_t count, cap;
	struct buf *values; /* of series, behind the states of all jobs: a family is in one piece */
	size_t left, left_out; /* series */
};

void scraped_label_write(struct buf *out, const char *name, struct span value)
{
	buf_printf(out, "%s=\"", name);
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		if (c == '"' || c == '\\')
			buf_append_char(out, '\\');
		if (c == '\n')
			buf_append_text(out, "\\n");
		else
			buf_append_char(out, c);
	}
	buf_append_char(out, '"');
}

static enum status add_name(struct scraped *scraped, struct arena *arena, struct span text, struct error *err)
{
	struct span name;

	TRY(api_decode_name(arena, text, &name, err));
	if (!span_is_utf8(name) || span_find_char(name, 0) >= 0)
		return error_set_field(
			err, ERR_INVALID, "jobs", "name %zu is not UTF-8 without NUL", scraped->count + 1);
	for (size_t i = 0; i < scraped->count; i++)
		if (span_equal(scraped->names[i], name))
			return error_set_field(
				err, ERR_SEMANTIC, "jobs", "job '%.*s' is named twice", SPAN_ARGS(span_cut(name, 255)));
	if (!mem_grow((void **)&scraped->names, scraped->count, &scraped->cap, sizeof *scraped->names))
		return error_no_memory(err);
	scraped->names[scraped->count++] = name;
	return OK;
}

static enum status read_names(struct scraped *scraped, struct arena *arena, struct span list, struct error *err)
{
	struct span part;
	size_t most = scraped->api->options.max_compare_jobs;

	while (span_next(&list, ',', &part)) {
		if (!part.len)
			continue;
		if (scraped->count == most)
			return error_set_field(err, ERR_TOO_LARGE, "jobs",
				"at most %zu jobs are named at once (--max-compare-jobs)", most);
		TRY(add_name(scraped, arena, part, err));
	}
	return scraped->count
		       ? OK
		       : error_set_field(err, ERR_INVALID, "jobs", "'jobs' is empty: names of jobs, parted by commas");
}

static void write_value(struct buf *out, double value)
{
	char digits[33];

	if (isnan(value))
		buf_append_text(out, "NaN");
	else if (isinf(value))
		buf_append_text(out, value > 0 ? "+Inf" : "-Inf");
	else
		buf_append(out, digits, json_format_double(value, digits));
	buf_append_char(out, '\n');
}

static void write_series(
	struct scraped *scraped, const struct job_view *view, const struct stream_view *stream, size_t index)
{
	const struct series_view *series = &stream->series[index];
	struct buf *out = scraped->values;

	if (!series->summary.count)
		return;
	if (!scraped->left) {
		scraped->left_out++;
		return;
	}
	scraped->left--;
	buf_append_text(out, "smfleet_job_metric{");
	scraped_label_write(out, "training", view->row.name);
	buf_append_char(out, ',');
	scraped_label_write(out, "stream", stream->name);
	buf_append_char(out, ',');
	scraped_label_write(out, "metric", series->metric);
	buf_append_text(out, "} ");
	write_value(out, series->summary.last);
}

/* One that is not there, or not yet, is said to be so: a scrape goes on when a job begins or is deleted. */
static enum status write_job(struct scraped *scraped, struct span name, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_view view = {0};

	if (!arena)
		return error_no_memory(err);
	enum status status = view_read_job(scraped->api->options.pipeline, scraped->reader, arena, name, SPAN(""),
		SPAN(""), VIEW_SERIES, &view, err);
	if (status != OK && status != ERR_NOT_FOUND)
		return status;
	buf_append_text(out, "smfleet_job_state{");
	scraped_label_write(out, "training", name);
	buf_append_char(out, ',');
	scraped_label_write(out, "state", status == OK ? view.row.status : SPAN("Unknown"));
	buf_append_text(out, "} 1\n");
	for (size_t i = 0; status == OK && i < view.stream_count; i++)
		for (size_t j = 0; j < view.streams[i].series_count; j++)
			write_series(scraped, &view, &view.streams[i], j);
	return buf_status(scraped->values, err);
}

static enum status write_jobs(struct scraped *scraped, struct buf *out, struct error *err)
{
	buf_append_text(out,
		"# HELP smfleet_job_state The state of a job that jobs= names; Unknown: there is none of that name.\n"
		"# TYPE smfleet_job_state gauge\n");
	for (size_t i = 0; i < scraped->count; i++)
		TRY(write_job(scraped, scraped->names[i], out, err));
	buf_append_text(out, "# HELP smfleet_job_metric The newest value of a metric of a job that jobs= names.\n"
			     "# TYPE smfleet_job_metric gauge\n");
	buf_append_span(out, buf_span(scraped->values));
	buf_printf(out,
		"# HELP smfleet_job_metrics_left_out Series of these jobs beyond --max-scraped-series.\n"
		"# TYPE smfleet_job_metrics_left_out gauge\nsmfleet_job_metrics_left_out %zu\n",
		scraped->left_out);
	return OK;
}

enum status scraped_jobs_write(const struct api *api, struct store_reader *reader, const struct http_request *request,
	struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) values = BUF_INIT(out->max_bytes);
	struct scraped scraped = {
		.api = api, .reader = reader, .values = &values, .left = api->options.max_scraped_series};
	struct span list;

	if (!arena)
		return error_no_memory(err);
	if (!http_request_query(request, "jobs", &list))
		return OK;
	enum status status = read_names(&scraped, arena, list, err);
	if (status == OK)
		status = write_jobs(&scraped, out, err);
	mem_free(scraped.names);
	return status;
}
