#include "pipeline/jobs/log_streams.h"

#include "base/clock.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "read/view.h"
#include "state/jobs/default_definitions.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/streams.h"

#include <stdlib.h>

struct making {
	struct pipeline *pipeline;
	const struct log_stream_making *asked;
	int64_t now_ms;
	uint64_t first_line; /* of a deleted one */
};

/* ---- groups ---- */

/* As a job that its first line makes, but for that line. */
static enum status make_job(const struct making *making, struct store_tx *tx, struct job_row *row, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(8192);
	struct json_writer w = json_writer_on(&document);

	json_object(&w);
	json_put_span(&w, "TrainingJobName", making->asked->job);
	json_object_end(&w);
	TRY(buf_status(&document, err));
	*row = (struct job_row){.name = making->asked->job,
		.team = making->asked->team,
		.document = buf_span(&document),
		.status = SPAN("InProgress"),
		.secondary = SPAN("Starting"),
		.failure_reason = SPAN(""),
		.created_ms = making->now_ms,
		.modified_ms = making->now_ms,
		.generation = 1,
		.is_implicit = true};
	TRY(pools_put_job(tx, row, err));
	TRY(definitions_put_default(tx, row->job_id, row->generation, err));
	row->document = SPAN("");
	return life_begin(tx, row, SPAN("made for its log"), err);
}

static enum status write_group(void *context, struct store_tx *tx, struct error *err)
{
	struct making *making = context;
	AUTO(arena) arena = arena_new();
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_job(store_tx_reader(tx), arena, making->asked->job, &row, err);
	if (status == OK)
		return error_set(err, ERR_CONFLICT, "there is a job '%.*s' already", SPAN_ARGS(making->asked->job));
	if (status != ERR_NOT_FOUND)
		return status;
	TRY(make_job(making, tx, &row, err));
	return store_put_log_group(tx, &(struct log_group_row){row.job_id, SPAN(""), making->now_ms}, err);
}

enum status pipeline_create_log_group(struct pipeline *pipeline, struct span group, struct span team, struct error *err)
{
	struct log_stream_making asked = {.job = group, .team = team};
	struct making making = {.pipeline = pipeline, .asked = &asked, .now_ms = clock_wall_ms()};

	return writer_execute(pipeline, write_group, &making, err);
}

/* ---- streams, on the writer thread ---- */

struct found {
	bool has_row; /* in log_streams */
	struct log_stream_row row;
	uint64_t lines;
	int64_t created_ms; /* of its first line; 0: it has none */
};

static enum status find(const struct making *making, struct store_tx *tx, struct arena *arena, int64_t job_id,
	struct found *out, struct error *err)
{
	struct job_state *job = directory_peek_id(making->pipeline->directory, job_id);
	struct stream_state *stream = job ? job_find_stream(job, making->asked->stream) : NULL;
	struct log_stream_row *rows;
	struct stream_row *streams;
	size_t count;

	*out = (struct found){.row = {job_id, making->asked->stream, SPAN(""), 0, 0}};
	TRY(store_read_log_streams(store_tx_reader(tx), arena, job_id, making->asked->stream, &rows, &count, err));
	out->has_row = count > 0;
	if (count)
		out->row = rows[0];
	TRY(store_read_streams(store_tx_reader(tx), arena, job_id, making->asked->stream, &streams, &count, err));
	if (!count)
		return OK;
	out->created_ms = streams[0].created_ms;
	out->lines = stream ? stream->planned_line : streams[0].sealed_lines;
	return OK;
}

static bool is_there(const struct found *found)
{
	return found->row.created_ms || found->lines > found->row.first_line;
}

static enum status write_stream(void *context, struct store_tx *tx, struct error *err)
{
	struct making *making = context;
	const struct log_stream_making *asked = making->asked;
	AUTO(arena) arena = arena_new();
	struct found found;
	struct job_row job;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_job(store_tx_reader(tx), arena, asked->job, &job, err);
	if (status == ERR_NOT_FOUND && asked->makes_job)
		TRY(make_job(making, tx, &job, err));
	else
		TRY(status);
	TRY(check_team(job.team, asked->job, asked->team, err));
	TRY(find(making, tx, arena, job.job_id, &found, err));
	if (is_there(&found) && (span_equal(found.row.suffix, asked->suffix) || !asked->suffix.len))
		return error_set(err, ERR_CONFLICT, "job '%.*s' has a stream '%.*s' already", SPAN_ARGS(asked->job),
			SPAN_ARGS(asked->stream));
	found.row.suffix = asked->suffix;
	if (!found.row.created_ms)
		found.row.created_ms = is_there(&found) ? found.created_ms : making->now_ms;
	return store_put_log_stream(tx, &found.row, err);
}

enum status pipeline_create_log_stream(
	struct pipeline *pipeline, const struct log_stream_making *asked, struct error *err)
{
	struct making making = {.pipeline = pipeline, .asked = asked, .now_ms = clock_wall_ms()};

	return writer_execute(pipeline, write_stream, &making, err);
}

static enum status write_deletion(void *context, struct store_tx *tx, struct error *err)
{
	struct making *making = context;
	const struct log_stream_making *asked = making->asked;
	AUTO(arena) arena = arena_new();
	struct found found;
	struct job_row job;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, asked->job, &job, err));
	TRY(check_team(job.team, asked->job, asked->team, err));
	TRY(find(making, tx, arena, job.job_id, &found, err));
	if (!is_there(&found))
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'",
			SPAN_ARGS(asked->job), SPAN_ARGS(asked->stream));
	found.row.created_ms = 0;
	found.row.suffix = SPAN("");
	found.row.first_line = making->first_line = found.lines;
	return store_put_log_stream(tx, &found.row, err);
}

enum status pipeline_delete_log_stream(
	struct pipeline *pipeline, struct span job, struct span stream, struct span team, struct error *err)
{
	struct log_stream_making asked = {.job = job, .stream = stream, .team = team};
	struct making making = {.pipeline = pipeline, .asked = &asked, .now_ms = clock_wall_ms()};

	return writer_execute(pipeline, write_deletion, &making, err);
}

/* ---- readers ---- */

static int by_name(const void *a, const void *b)
{
	return span_compare(((const struct log_stream_view *)a)->stream, ((const struct log_stream_view *)b)->stream);
}

static void note_row(struct log_stream_view *view, const struct log_stream_row *row)
{
	view->suffix = row->suffix;
	view->has_suffix_said = row->created_ms != 0;
	view->created_ms = row->created_ms;
	view->first_line = row->first_line;
}

static struct log_stream_view view_of(const struct stream_view *stream)
{
	return (struct log_stream_view){.stream_id = stream->stream_id,
		.stream = stream->name,
		.suffix = SPAN(""),
		.lines = stream->lines,
		.first_ms = stream->first_ms,
		.last_ms = stream->last_ms,
		.last_arrival_ms = stream->last_arrival_ms};
}

/* Both are in order. */
static size_t join(struct log_stream_view *views, size_t count, const struct log_stream_row *rows, size_t row_count)
{
	size_t all = count, kept = 0;

	for (size_t i = 0; i < row_count; i++) {
		struct log_stream_view key = {.stream = rows[i].stream};
		struct log_stream_view *view = count ? bsearch(&key, views, count, sizeof *views, by_name) : NULL;
		if (!view) {
			view = &views[all++];
			*view = key;
		}
		note_row(view, &rows[i]);
	}
	for (size_t i = 0; i < all; i++)
		if (views[i].created_ms || views[i].lines > views[i].first_line)
			views[kept++] = views[i];
	return kept;
}

enum status pipeline_view_log_streams(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct log_stream_view **out, size_t *count, struct error *err)
{
	struct log_stream_row *rows;
	struct job_view view;
	size_t row_count;

	enum status status = view_read_job(pipeline, reader, arena, job, stream, SPAN(""), 0, &view, err);
	if (status == ERR_NOT_FOUND && view.row.job_id)
		view.stream_count = 0; /* the job is there */
	else
		TRY(status);
	TRY(store_read_log_streams(reader, arena, view.row.job_id, stream, &rows, &row_count, err));
	*out = arena_alloc(arena, (view.stream_count + row_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < view.stream_count; i++)
		(*out)[i] = view_of(&view.streams[i]);
	if (view.stream_count)
		qsort(*out, view.stream_count, sizeof **out, by_name);
	*count = join(*out, view.stream_count, rows, row_count);
	if (*count)
		qsort(*out, *count, sizeof **out, by_name);
	return OK;
}

size_t pipeline_keep_heard_jobs(struct pipeline *pipeline, struct log_job_row *rows, size_t count, int64_t since_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct job_state *job = NULL;
		if (rows[i].last_line_ms < since_ms && !(job = directory_find(pipeline->directory, rows[i].name)))
			continue;
		job_unref(job);
		rows[kept++] = rows[i];
	}
	return kept;
}
