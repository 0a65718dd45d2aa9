/*
 * POST /api/v1/import: whole jobs, as GET /api/v1/export writes them, taken as they arrive. A job is seen once it is whole; one
 * whose name is taken, or that is past a quota, is left out. When the body breaks, or has a mistake, the jobs before stay, so that it can be sent again.
 */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "pipeline/carry/carry.h"
#include "pipeline/pipeline.h"

enum { DISK_RETRY_S = 30 };

struct importing {
	struct api *api;
	struct http_upload *handle;
	pthread_mutex_t mutex; /* of everything below */
	unsigned refs; /* the connection, and what is at the writer */
	struct carry_import *import;
	struct buf line; /* the beginning of one */
	int64_t line_number; /* of the last whole one */
	size_t noted_bytes;
	bool is_in_flight;
	bool is_waiting; /* the connection is suspended for us */
	bool is_gone;
	bool has_ended;
	enum status status; /* of what the writer refused */
	struct error err;
};

static void importing_free(struct importing *importing)
{
	if (importing->noted_bytes)
		pipeline_note_open(importing->api->options.pipeline, importing->noted_bytes, 0);
	carry_import_free(importing->import);
	buf_done(&importing->line);
	pthread_mutex_destroy(&importing->mutex);
	mem_free(importing);
}

/* With the mutex held; releases it. */
static void release(struct importing *importing)
{
	bool is_last = --importing->refs == 0;

	pthread_mutex_unlock(&importing->mutex);
	if (is_last)
		importing_free(importing);
}

static void batch_done(void *context, enum status status, const struct error *err)
{
	struct importing *importing = context;

	pthread_mutex_lock(&importing->mutex);
	importing->is_in_flight = false;
	if (status != OK) {
		importing->status = status;
		importing->err = *err;
	}
	bool wakes = importing->is_waiting && !importing->is_gone;

	importing->is_waiting = importing->is_waiting && !wakes;
	pthread_mutex_unlock(&importing->mutex);
	/* Not under the mutex: of a connection that was detached at a stop this is the last owner, and the abort locks. */
	if (wakes)
		http_upload_resume(importing->handle);
	pthread_mutex_lock(&importing->mutex);
	release(importing);
}

static enum status check_disk(const struct api *api, struct error *err)
{
	if (!atomic_load(&pipeline_figures(api->options.pipeline)->is_disk_low))
		return OK;
	error_set(err, ERR_UNAVAILABLE, "the disk has less room left than --min-free-bytes: nothing is imported");
	if (err)
		err->retry_after_s = DISK_RETRY_S;
	return ERR_UNAVAILABLE;
}

/* With the mutex held and nothing in flight. */
static enum status push(struct importing *importing, struct error *err)
{
	TRY(check_disk(importing->api, err));
	importing->refs++;
	importing->is_in_flight = true;
	enum status status = carry_import_push(importing->import, batch_done, importing, err);
	if (status != OK) {
		importing->refs--;
		importing->is_in_flight = false;
	}
	return status;
}

static enum status refused(const struct importing *importing, struct error *err)
{
	if (importing->status != OK && err)
		*err = importing->err;
	return importing->status;
}

/* ---- lines of the body ---- */

static enum status take_line(struct importing *importing, struct span line, struct error *err)
{
	importing->line_number++;
	if (!span_trim(line).len)
		return OK;
	enum status status = carry_import_take(importing->import, line, err);
	if (status == OK)
		return OK;
	error_prefix(err, "line %lld", (long long)importing->line_number);
	if (err)
		err->line = importing->line_number;
	return status;
}

static enum status too_long(const struct importing *importing, struct error *err)
{
	error_set(err, ERR_TOO_LARGE, "line %lld is longer than %zu bytes (--max-record-bytes)",
		(long long)importing->line_number + 1, importing->line.max_bytes);
	if (err)
		err->line = importing->line_number + 1;
	return ERR_TOO_LARGE;
}

static enum status keep(struct importing *importing, struct span bytes, struct error *err)
{
	if (bytes.len > importing->line.max_bytes - importing->line.len)
		return too_long(importing, err);
	buf_append_span(&importing->line, bytes);
	return buf_status(&importing->line, err);
}

static enum status take_bytes(struct importing *importing, struct span bytes, struct error *err)
{
	ptrdiff_t end;

	while ((end = span_find_char(bytes, '\n')) >= 0) {
		struct span piece = span_of(bytes.ptr, (size_t)end);
		bytes = span_skip(bytes, (size_t)end + 1);
		if (importing->line.len) {
			TRY(keep(importing, piece, err));
			piece = buf_span(&importing->line);
		} else if (piece.len > importing->line.max_bytes) {
			return too_long(importing, err);
		}
		TRY(take_line(importing, piece, err));
		importing->line.len = 0;
	}
	return keep(importing, bytes, err);
}

/* True: all bodies that are coming hold so much together that what is here should go to the writer. */
static bool note_held(struct importing *importing)
{
	size_t bytes = importing->line.cap + carry_import_bytes(importing->import);
	bool must_hurry = pipeline_note_open(importing->api->options.pipeline, importing->noted_bytes, bytes);

	importing->noted_bytes = bytes;
	return must_hurry;
}

/* ---- the upload ---- */

static enum status import_begin(
	void *context, const struct http_request *request, struct http_upload *handle, void **upload, struct error *err)
{
	struct importing *importing = mem_zeroed(sizeof *importing);

	if (!importing)
		return error_no_memory(err);
	importing->api = context;
	importing->handle = handle;
	importing->refs = 1;
	importing->line = BUF_INIT(importing->api->options.max_record_bytes);
	pthread_mutex_init(&importing->mutex, NULL);
	enum status status = carry_import_new(&importing->import, importing->api->options.pipeline, api_team(request),
		&importing->api->options.attachments, err);
	if (status != OK) {
		importing_free(importing);
		return status;
	}
	*upload = importing;
	return OK;
}

static enum status import_feed(void *context, struct span bytes, bool *must_wait, struct error *err)
{
	struct importing *importing = context;

	*must_wait = false;
	pthread_mutex_lock(&importing->mutex);
	enum status status = refused(importing, err);
	if (status == OK)
		status = take_bytes(importing, bytes, err);
	bool is_full = note_held(importing) ? carry_import_has_work(importing->import)
					    : carry_import_is_full(importing->import);
	if (status == OK && is_full && !importing->is_in_flight) {
		status = push(importing, err);
		is_full = false;
	}
	importing->is_waiting = *must_wait = status == OK && is_full;
	importing->is_gone = status != OK;
	pthread_mutex_unlock(&importing->mutex);
	return status;
}

static enum status end_body(struct importing *importing, struct error *err)
{
	if (importing->has_ended)
		return OK;
	importing->has_ended = true;
	if (importing->line.len)
		TRY(take_line(importing, buf_span(&importing->line), err));
	return carry_import_end(importing->import, err);
}

static void write_reply(const struct importing *importing, struct http_response *response)
{
	struct json_writer w = api_reply(response);
	struct carry_result result;

	carry_import_result(importing->import, &result);
	json_object(&w);
	json_put_i64(&w, "imported", (int64_t)result.imported);
	json_put_i64(&w, "skipped", (int64_t)result.skipped);
	json_key(&w, "exist_already");
	json_array(&w);
	if (result.skipped_names.len)
		json_raw(&w, result.skipped_names);
	json_array_end(&w);
	json_key(&w, "left_out");
	json_array(&w);
	if (result.left_out_jobs.len)
		json_raw(&w, result.left_out_jobs);
	json_array_end(&w);
	json_object_end(&w);
}

static enum status import_finish(void *context, struct http_response *response, bool *must_wait, struct error *err)
{
	struct importing *importing = context;

	*must_wait = false;
	pthread_mutex_lock(&importing->mutex);
	enum status status = refused(importing, err);
	if (status == OK)
		status = end_body(importing, err);
	if (status == OK && !importing->is_in_flight && carry_import_has_work(importing->import))
		status = push(importing, err);
	importing->is_waiting = *must_wait = status == OK && importing->is_in_flight;
	importing->is_gone = status != OK;
	if (*must_wait || status != OK) {
		pthread_mutex_unlock(&importing->mutex);
		return status;
	}
	write_reply(importing, response);
	importing->is_gone = true;
	release(importing);
	return OK;
}

static void import_abort(void *context)
{
	struct importing *importing = context;

	pthread_mutex_lock(&importing->mutex);
	importing->is_gone = true;
	release(importing);
}

const struct http_upload_ops api_import = {import_begin, import_feed, import_finish, import_abort};
