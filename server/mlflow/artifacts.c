/* Files of runs whose place is mlflow-artifacts: they are attachments of the run's job. docs/mlflow.md, "Files and models". */
#include "base/log.h"
#include "mlflow/internal.h"
#include "model/jobs/attachment_path.h"
#include "pipeline/jobs/attachments.h"

enum { PAGE_FILES = 1000, REASON_BYTES = 1000 };

static const struct span not_kept_tag = SPAN("smfleet.not_kept");

struct place {
	struct tracked_run_row run;
	struct job_row job;
	struct span path; /* below the run's; "": all of it */
};

/* ---- which run, and what of it ---- */

static struct span part_of(struct span *rest)
{
	size_t len = 0;

	while (len < rest->len && rest->ptr[len] != '/')
		len++;
	struct span part = {rest->ptr, len};
	*rest = span_skip(*rest, len < rest->len ? len + 1 : len);
	return part;
}

bool mlflow_keeps_files(struct span location)
{
	return span_starts_with(location, SPAN(MLFLOW_KEPT_HERE));
}

static enum status open_run(struct mlflow_call *call, struct span run_id, struct place *place, struct error *err)
{
	enum status status = store_read_tracked_run(call->reader, call->arena, run_id, &place->run, err);

	if (status == ERR_NOT_FOUND && !mlflow_keeps_files(span_from(call->options->artifact_root)))
		return mlflow_say_no_artifacts(call->options, err);
	TRY(status);
	if (!mlflow_keeps_files(place->run.artifacts))
		return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
			"the files of this run are at '%.*s', where clients put them themselves",
			SPAN_ARGS(span_cut(place->run.artifacts, 300)));
	status = store_read_job_by_id(call->reader, call->arena, place->run.job_id, &place->job, err);
	return status == ERR_NOT_FOUND ? mlflow_explain_deletion(call, &place->run, err) : status;
}

/* EXPERIMENT/RUN/artifacts[/PATH], as place_run in runs.c makes it. */
static enum status find_place(struct mlflow_call *call, struct span address, struct place *place, struct error *err)
{
	struct span rest = address;

	part_of(&rest);
	struct span run_id = part_of(&rest);
	if (span_equal(run_id, SPAN("models")))
		return mlflow_no_models(call, err);
	if (!span_equal(part_of(&rest), SPAN("artifacts")))
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"files are at EXPERIMENT/RUN/artifacts/PATH, not at '%.*s'", SPAN_ARGS(span_cut(address, 200)));
	place->path = rest;
	return open_run(call, run_id, place, err);
}

/* ---- one comes ---- */

/* A training must not end for a plot; but the loss is told: to the client, at the run, and in the server's log. */
static enum status tell_loss(
	struct mlflow_call *call, const struct place *place, const struct error *why, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 * REASON_BYTES);
	struct tracked_pairs tags = {0};

	log_line(LOG_WARNING, "mlflow_file_not_kept", "job=\"%.*s\" error=\"%s\"", SPAN_ARGS(place->job.name),
		why->text);
	buf_append_span(&text, span_cut(place->path, REASON_BYTES));
	buf_append_text(&text, ": ");
	buf_append_span(&text, span_cut(span_from(why->text), REASON_BYTES));
	TRY(buf_status(&text, err));
	if (!tracked_pairs_add(call->arena, &tags, not_kept_tag, buf_span(&text)))
		return error_no_memory(err);
	TRY(mlflow_state(call, place->run.run_id, NULL, &tags, err));
	call->response->status = 202;
	json_put_text(&call->w, "error_code", "RESOURCE_LIMIT_EXCEEDED");
	json_put_text(&call->w, "message", why->text);
	return OK;
}

enum status mlflow_file_put(struct mlflow_call *call, struct error *err)
{
	struct place place;
	struct error why;

	TRY(find_place(call, http_request_segment(call->request, 0), &place, err));
	struct attachment_change change = {.job = place.job.name,
		.team = call->team,
		.row = {.path = place.path,
			.content_type = attachment_type(place.path, http_request_header(call->request, "Content-Type")),
			.created_ms = call->now_ms,
			.author = span_from(http_request_principal(call->request)->name)},
		.limits = call->options->attachments};
	enum status status =
		pipeline_put_attachment(call->pipeline, call->arena, &change, http_request_body(call->request), &why);
	if (status == ERR_TOO_LARGE)
		return tell_loss(call, &place, &why, err);
	if (status != OK)
		*err = why;
	return status;
}

/* ---- one goes ---- */

enum status mlflow_file_get(struct mlflow_call *call, struct error *err)
{
	struct place place;

	TRY(find_place(call, http_request_segment(call->request, 0), &place, err));
	TRY(attachment_check_path(place.path, err));
	call->has_own_reply = true;
	buf_reset(&call->response->body);
	return call->options->send_attachment(
		call->worker, call->request, place.job.job_id, place.path, call->response, err);
}

/* ---- they are deleted ---- */

static enum status delete_file(struct mlflow_call *call, const struct place *place, struct span path, struct error *err)
{
	struct attachment_change change = {.job = place->job.name,
		.team = call->team,
		.row = {.path = path,
			.created_ms = call->now_ms,
			.author = span_from(http_request_principal(call->request)->name)}};

	return pipeline_delete_attachment(call->pipeline, call->arena, &change, err);
}

/* A page at a time, always the first that is left. */
static enum status delete_folder(
	struct mlflow_call *call, const struct place *place, struct span folder, size_t *deleted, struct error *err)
{
	for (;;) {
		AUTO(arena) arena = arena_new();
		struct attachment_row *rows;
		size_t count;
		if (!arena)
			return error_no_memory(err);
		TRY(store_read_attachments(
			call->reader, arena, place->job.job_id, folder, PAGE_FILES, &rows, &count, err));
		for (size_t i = 0; i < count; i++, ++*deleted) {
			if (!span_starts_with(rows[i].path, folder))
				return OK;
			enum status status = delete_file(call, place, rows[i].path, err);
			if (status != OK && status != ERR_NOT_FOUND) /* somebody else was faster */
				return status;
		}
		if (count < PAGE_FILES)
			return OK;
	}
}

/* A file of that path, or what is in the folder; of no path: all files of the run. */
enum status mlflow_file_delete(struct mlflow_call *call, struct error *err)
{
	AUTO_DONE(buf) folder = BUF_INIT(2 * ATTACHMENT_PATH_MAX_BYTES);
	struct error missing = {0};
	struct place place;
	size_t deleted = 0;

	TRY(find_place(call, http_request_segment(call->request, 0), &place, err));
	if (!place.path.len)
		return delete_folder(call, &place, SPAN(""), &deleted, err);
	TRY(attachment_check_path(place.path, err));
	enum status status = delete_file(call, &place, place.path, &missing);
	if (status != ERR_NOT_FOUND) {
		if (status != OK)
			*err = missing;
		return status;
	}
	buf_append_span(&folder, place.path);
	buf_append_text(&folder, "/");
	TRY(buf_status(&folder, err));
	TRY(delete_folder(call, &place, buf_span(&folder), &deleted, err));
	if (deleted)
		return OK;
	*err = missing;
	return ERR_NOT_FOUND;
}

/* ---- they are listed ---- */

struct listing {
	struct mlflow_call *call;
	struct span folder; /* with its /, or "" */
	bool is_from_root; /* paths are the run's, not the folder's */
	struct span last; /* folder within, told already */
};

static void write_entry(struct listing *l, struct span name, bool is_folder, uint64_t bytes)
{
	struct json_writer *w = &l->call->w;
	struct span from_root = {name.ptr - l->folder.len, name.len + l->folder.len};

	json_object(w);
	json_put_span(w, "path", l->is_from_root ? from_root : name);
	json_put_bool(w, "is_dir", is_folder);
	if (!is_folder)
		json_put_i64(w, "file_size", (int64_t)bytes);
	json_object_end(w);
}

/* Sorted by path, what is in one folder stands together. */
static enum status list_file(struct listing *l, const struct attachment_row *row, struct error *err)
{
	struct span rest = span_skip(row->path, l->folder.len), name = part_of(&rest);

	if (!rest.len) {
		write_entry(l, name, false, row->bytes);
		return OK;
	}
	if (span_equal(name, l->last))
		return OK;
	write_entry(l, name, true, 0);
	l->last = arena_copy(l->call->arena, name);
	return l->last.ptr ? OK : error_no_memory(err);
}

static enum status list_page(struct listing *l, int64_t job_id, struct span *after, bool *is_end, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct attachment_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_attachments(l->call->reader, arena, job_id, *after, PAGE_FILES, &rows, &count, err));
	*is_end = count < PAGE_FILES;
	for (size_t i = 0; i < count; i++) {
		if (!span_starts_with(rows[i].path, l->folder)) {
			*is_end = true;
			return OK;
		}
		TRY(list_file(l, &rows[i], err));
	}
	if (!*is_end && !(*after = arena_copy(l->call->arena, rows[count - 1].path)).ptr)
		return error_no_memory(err);
	return OK;
}

static enum status list_files(
	struct mlflow_call *call, const struct place *place, struct span path, bool is_from_root, struct error *err)
{
	AUTO_DONE(buf) folder = BUF_INIT(2 * ATTACHMENT_PATH_MAX_BYTES);
	struct listing l = {.call = call, .is_from_root = is_from_root, .last = SPAN("")};
	bool is_end = false;

	if (path.len) {
		TRY(attachment_check_path(path, err));
		buf_append_span(&folder, path);
		buf_append_text(&folder, "/");
		TRY(buf_status(&folder, err));
	}
	l.folder = folder.len ? buf_span(&folder) : SPAN("");
	struct span after = l.folder;
	json_key(&call->w, "files");
	json_array(&call->w);
	while (!is_end)
		TRY(list_page(&l, place->job.job_id, &after, &is_end, err));
	json_array_end(&call->w);
	return OK;
}

/* What the client of mlflow-artifacts: asks; its paths are those within the folder. */
enum status mlflow_files_list(struct mlflow_call *call, struct error *err)
{
	struct span address = SPAN("");
	struct place place;

	TRY(mlflow_want_text(call, "path", MLFLOW_PLACE_MAX_BYTES, &address, err));
	TRY(find_place(call, address, &place, err));
	return list_files(call, &place, place.path, false, err);
}

/* The tracking API's. */
enum status mlflow_run_files_list(struct mlflow_call *call, struct error *err)
{
	struct span run_id, path = SPAN("");
	struct place place;

	TRY(mlflow_run_id(call, &run_id, err));
	TRY(mlflow_text(call, "path", MLFLOW_PLACE_MAX_BYTES, &path, err));
	TRY(open_run(call, run_id, &place, err));
	json_put_span(&call->w, "root_uri", place.run.artifacts);
	return list_files(call, &place, path, true, err);
}
