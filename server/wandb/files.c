/* Files of runs: with --wandb-files attachments of the run's job, else none is taken. docs/wandb.md, "Files". */
#include "model/jobs/attachment_path.h"
#include "pipeline/jobs/attachments.h"
#include "store/jobs.h"
#include "wandb/internal.h"

enum { PAGE_FILES_MAX = 1000, NAMES_MAX_BYTES = 256, NAME_SHOWN_BYTES = 80 };

/* ---- which of them ---- */

/* What the SDK sends of its own accord. Who trains does not miss it: it is not told of. */
static bool is_own(struct span name)
{
	static const char *const names[] = {
		"requirements.txt", "wandb-metadata.json", "diff.patch", "conda-environment.yaml"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i])))
			return true;
	return wandb_file_is_elsewhere(name);
}

/* ---- what is not kept ---- */

struct asked {
	struct wandb_run run;
	struct span first_lost; /* "": none */
	size_t lost;
};

static void lose(struct asked *asked, struct span name)
{
	if (is_own(name) || !span_is_utf8(name))
		return;
	if (!asked->lost++)
		asked->first_lost = name;
}

/* "media/a.png and 3 more" */
static enum status tell_lost(struct wandb_call *call, const struct asked *asked, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(NAMES_MAX_BYTES);
	struct tracked_run_row row;

	if (!asked->lost)
		return OK;
	buf_append_span(&names, span_cut(asked->first_lost, NAME_SHOWN_BYTES));
	if (asked->lost > 1)
		buf_printf(&names, " and %zu more", asked->lost - 1);
	TRY(buf_status(&names, err));
	TRY(wandb_find_run(call, &asked->run, &row, err));
	return wandb_tell_loss(call, &row, buf_span(&names),
		call->options->keeps_files
			? SPAN("a path that no attachment may have, or one file more than --max-attachments")
			: SPAN("this server keeps no files of W&B's runs (--wandb-files)"),
		err);
}

/* ---- a client asks where to send some ---- */

/* A client that is given fewer than it asked for sends none of them. */
static enum status write_address(
	struct wandb_call *call, struct asked *asked, struct span name, bool has_room, struct error *err)
{
	bool is_taken = has_room && !wandb_file_is_elsewhere(name) && span_is_utf8(name) &&
			attachment_check_path(name, NULL) == OK;

	json_object(&call->w);
	json_put_span(&call->w, "name", name);
	if (is_taken) {
		TRY(wandb_write_address(call, "uploadUrl", &asked->run, name, true, err));
	} else {
		json_key(&call->w, "uploadUrl");
		json_null(&call->w);
		lose(asked, name);
	}
	json_object_end(&call->w);
	return OK;
}

static enum status write_addresses(
	struct wandb_call *call, struct asked *asked, const struct json *files, struct error *err)
{
	uint64_t count = 0;

	json_key(&call->w, "files");
	json_array(&call->w);
	for (const struct json *at = json_first(files); at; at = json_next(at)) {
		struct span name = json_string_of(at);
		if (!name.len)
			continue;
		if (call->options->keeps_files)
			TRY(write_address(call, asked, name, count++ < call->options->attachments.files, err));
		else
			lose(asked, name);
	}
	json_array_end(&call->w);
	return OK;
}

enum status wandb_create_files(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	const struct json *files = request->variables ? json_get(request->variables, "files") : NULL;
	struct asked asked = {.first_lost = SPAN("")};
	struct tracked_run_row row;
	struct span project, id;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "run", WANDB_ID_MAX_BYTES, &id, err));
	TRY(wandb_identify(call, project, id, &asked.run, err));
	if (files && json_kind(files) != JSON_NULL && json_kind(files) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "files", "'files' must be a list of names");
	if (call->options->keeps_files)
		TRY(wandb_find_run(call, &asked.run, &row, err));
	json_key(&call->w, "createRunFiles");
	json_object(&call->w);
	json_put_span(&call->w, "runID", id);
	json_key(&call->w, "uploadHeaders");
	json_array(&call->w);
	json_array_end(&call->w);
	TRY(write_addresses(call, &asked, files, err));
	json_object_end(&call->w);
	return tell_lost(call, &asked, err);
}

/* ---- one comes, and goes ---- */

static enum status find_file(
	struct wandb_call *call, struct tracked_run_row *run, struct job_row *job, struct error *err)
{
	struct wandb_run asked;

	TRY(wandb_identify(
		call, http_request_segment(call->request, 1), http_request_segment(call->request, 2), &asked, err));
	TRY(wandb_find_run(call, &asked, run, err));
	return store_read_job_by_id(call->reader, call->arena, run->job_id, job, err);
}

/* What has no room is refused, which ends no training, and told at the run. */
enum status wandb_put_file(struct wandb_call *call, struct error *err)
{
	struct span path = http_request_segment(call->request, 3);
	struct tracked_run_row run;
	struct job_row job;

	TRY(find_file(call, &run, &job, err));
	if (!call->options->keeps_files)
		return error_set(err, ERR_NOT_FOUND, "this server keeps no files of W&B's runs (--wandb-files)");
	if (wandb_file_is_elsewhere(path)) /* nobody was given this address, and its secrets would be there to read */
		return error_set(err, ERR_NOT_FOUND,
			"'%.*s' is not kept as a file: what it says is in the log, with the run, or in HyperParameters",
			SPAN_ARGS(path));
	struct attachment_change change = {.job = job.name,
		.team = call->team,
		.row = {.path = path,
			.content_type = attachment_type(path, http_request_header(call->request, "Content-Type")),
			.created_ms = call->now_ms,
			.author = span_from(http_request_principal(call->request)->name)},
		.limits = call->options->attachments};
	enum status status =
		pipeline_put_attachment(call->pipeline, call->arena, &change, http_request_body(call->request), err);
	if (status == ERR_TOO_LARGE) {
		struct error why = *err;
		TRY(wandb_tell_loss(call, &run, path, span_from(why.text), err));
		*err = why;
	}
	return status;
}

enum status wandb_get_file(struct wandb_call *call, struct error *err)
{
	struct span path = http_request_segment(call->request, 3);
	struct tracked_run_row run;
	struct job_row job;

	TRY(find_file(call, &run, &job, err));
	TRY(attachment_check_path(path, err));
	call->has_own_reply = true;
	buf_reset(&call->response->body);
	return call->options->send_attachment(call->worker, call->request, job.job_id, path, call->response, err);
}

/* ---- they are listed ---- */

static enum status write_file(
	struct wandb_call *call, const struct wandb_run *run, const struct attachment_row *row, struct error *err)
{
	struct json_writer *w = &call->w;

	json_object(w);
	json_key(w, "node");
	json_object(w);
	json_put_span(w, "id", row->path);
	json_put_span(w, "name", row->path);
	TRY(wandb_write_address(call, "url", run, row->path, false, err));
	TRY(wandb_write_address(call, "directUrl", run, row->path, false, err));
	json_put_i64(w, "sizeBytes", (int64_t)row->bytes);
	json_put_span(w, "mimetype", row->content_type);
	wandb_write_time(w, "updatedAt", row->created_ms);
	json_key(w, "md5");
	json_null(w);
	json_object_end(w);
	json_put_span(w, "cursor", row->path);
	json_object_end(w);
	return OK;
}

struct file_page {
	struct span after, last;
	size_t most;
	bool has_more;
};

static enum status write_page(
	struct wandb_call *call, const struct wandb_run *run, int64_t job_id, struct file_page *page, struct error *err)
{
	struct attachment_row *rows;
	size_t count;

	page->last = page->after;
	TRY(store_read_attachments(call->reader, call->arena, job_id, page->after, page->most + 1, &rows, &count, err));
	page->has_more = count > page->most;
	for (size_t i = 0; i < count && i < page->most; i++) {
		TRY(write_file(call, run, &rows[i], err));
		page->last = rows[i].path;
	}
	return OK;
}

static enum status write_named(struct wandb_call *call, const struct wandb_run *run, int64_t job_id,
	const struct json *names, struct error *err)
{
	struct attachment_row row;

	for (const struct json *at = json_first(names); at; at = json_next(at)) {
		struct span name = json_string_of(at);
		enum status status = span_is_utf8(name)
					     ? store_find_attachment(call->reader, call->arena, job_id, name, &row, err)
					     : ERR_NOT_FOUND;
		if (status == OK)
			status = write_file(call, run, &row, err);
		if (status != OK && status != ERR_NOT_FOUND)
			return status;
	}
	return OK;
}

static enum status count_files(struct wandb_call *call, int64_t job_id, int64_t *count, struct error *err)
{
	struct span after = SPAN("");
	size_t found = PAGE_FILES_MAX;

	for (*count = 0; found == PAGE_FILES_MAX; *count += (int64_t)found) {
		AUTO(arena) arena = arena_new();
		struct attachment_row *rows;
		if (!arena)
			return error_no_memory(err);
		TRY(store_read_attachments(call->reader, arena, job_id, after, PAGE_FILES_MAX, &rows, &found, err));
		if (found && !(after = arena_copy(call->arena, rows[found - 1].path)).ptr)
			return error_no_memory(err);
	}
	return OK;
}

static enum status read_page(
	const struct graphql_request *request, struct file_page *page, const struct json **names, struct error *err)
{
	int64_t most = 50;
	struct span pattern;

	TRY(graphql_text(request, "fileCursor", ATTACHMENT_PATH_MAX_BYTES, &page->after, err));
	TRY(graphql_text(request, "pattern", ATTACHMENT_PATH_MAX_BYTES, &pattern, err));
	if (pattern.len)
		return error_set_field(
			err, ERR_SEMANTIC, "pattern", "files are found by their names here, not by a pattern");
	TRY(graphql_integer(request->variables, "fileLimit", 1, PAGE_FILES_MAX, &most, err));
	page->most = (size_t)most;
	*names = request->variables ? json_get(request->variables, "fileNames") : NULL;
	if (*names && json_kind(*names) == JSON_ARRAY && json_count(*names) <= PAGE_FILES_MAX)
		return OK;
	if (*names && json_kind(*names) != JSON_NULL)
		return error_set_field(err, ERR_SEMANTIC, "fileNames", "'fileNames' must be a list of at most %d names",
			PAGE_FILES_MAX);
	*names = NULL;
	return OK;
}

enum status wandb_write_files(struct wandb_call *call, const struct graphql_request *request,
	const struct wandb_run *run, const struct tracked_run_row *row, struct error *err)
{
	struct json_writer *w = &call->w;
	struct file_page page = {.after = SPAN(""), .last = SPAN("")};
	const struct json *names;
	int64_t count;

	TRY(read_page(request, &page, &names, err));
	TRY(count_files(call, row->job_id, &count, err));
	json_object(w);
	json_put_i64(w, "fileCount", count);
	json_key(w, "files");
	json_object(w);
	json_key(w, "edges");
	json_array(w);
	TRY(json_first(names) ? write_named(call, run, row->job_id, names, err)
			      : write_page(call, run, row->job_id, &page, err));
	json_array_end(w);
	json_key(w, "pageInfo");
	json_object(w);
	json_put_span(w, "endCursor", page.last);
	json_put_bool(w, "hasNextPage", page.has_more);
	json_object_end(w);
	json_object_end(w);
	json_object_end(w);
	return OK;
}
