/* Rows of a table of jobs: the figures that every row has, its open incidents, and the columns that were asked for. */
#include "api/jobs/jobs_fields.h"

#include "alert/rule.h"
#include "api/core/api_state.h"
#include "api/jobs/job_values.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "pipeline/jobs/job_json.h"
#include "store/alerts.h"
#include "store/jobs.h"

enum { INCIDENTS_SHOWN = 3 };

enum status api_parse_fields(
	const struct http_request *request, struct arena *arena, struct job_fields *out, struct error *err)
{
	struct span text = SPAN("");

	out->are_asked = http_request_query(request, "fields", &text);
	return api_read_fields(text, arena, out, err);
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

enum status api_put_fields_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	TRY(pipeline_write_slim_row(worker->api->options.pipeline, worker->reader, arena, row, w, err));
	TRY(write_incidents(worker->reader, arena, row->job_id, w, err));
	json_key(w, "fields");
	return api_write_values(worker, arena, row, fields, w, err);
}

enum status api_write_fields_row(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	json_object(w);
	TRY(api_put_fields_row(worker, arena, row, fields, w, err));
	json_object_end(w);
	return OK;
}
