/* Small files of a job: listed, stored, handed out so that no browser executes them. docs/attachments.md. */
#include "api/jobs/attachments.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/codec/zstd.h"
#include "model/jobs/attachment_path.h"
#include "pipeline/carry/carry_attachment.h"
#include "pipeline/jobs/attachments.h"
#include "store/jobs.h"

enum {
	LIMIT_DEFAULT = 1000,
	LIMIT_MAX = 10000,
	FILE_NAME_BYTES = 200,
	ENCODED_NAME_BYTES = 240 /* both fit into a header */
};

static void write_attachment(const struct attachment_row *row, struct json_writer *w)
{
	json_object(w);
	carry_write_attachment(row, w);
	json_object_end(w);
}

enum status api_attachments_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct attachment_row *rows;
	struct span after;
	struct job_row job;
	size_t limit, count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	if (!http_request_query(request, "after", &after))
		after = SPAN("");
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_attachments(reader, arena, job.job_id, after, limit + 1, &rows, &count, err));
	json_object(&w);
	json_key(&w, "attachments");
	json_array(&w);
	for (size_t i = 0; i < count && i < limit; i++)
		write_attachment(&rows[i], &w);
	json_array_end(&w);
	if (count > limit)
		json_put_span(&w, "next_after", rows[limit - 1].path);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- one is handed out ---- */

/* Of one moment: who replaces it meanwhile takes no part away. A file is small, and its length is told before it. */
static enum status read_content(struct store_reader *reader, struct zstd *zstd, const struct attachment_row *row,
	struct buf *out, struct error *err)
{
	for (uint64_t part = 0; out->len < row->bytes; part++) {
		AUTO(arena) arena = NULL;
		size_t before = out->len;
		struct span packed;

		TRY(api_arena(&arena, err));
		TRY(store_read_attachment_part(reader, arena, row, part, &packed, err));
		TRY(zstd_unpack(zstd, packed, ATTACHMENT_PART_BYTES, out, err));
		if (out->len == before)
			return error_set(err, ERR_INTERNAL, "a part of the attachment '%.*s' is empty",
				SPAN_ARGS(span_cut(row->path, 200)));
	}
	return OK;
}

/* Clients take the second name, which is its own (RFC 6266); old ones know the first alone. */
static void write_name(struct span path, const char *plain, struct http_response *response)
{
	AUTO_DONE(buf) encoded = BUF_INIT(ENCODED_NAME_BYTES);
	struct span name = path;

	for (ptrdiff_t at; (at = span_find_char(name, '/')) >= 0;)
		name = span_skip(name, (size_t)at + 1);
	buf_append_percent_encoded(&encoded, name);
	bool is_plain = span_equal(name, span_from(plain)) || encoded.failure;
	http_response_header(response, "Content-Disposition", "attachment; filename=\"%s\"%s%.*s", plain,
		is_plain ? "" : "; filename*=UTF-8''", SPAN_ARGS(is_plain ? SPAN("") : buf_span(&encoded)));
}

static void write_head(const struct attachment_row *row, struct http_response *response)
{
	char name[FILE_NAME_BYTES + 1];
	size_t used = 0;

	for (size_t i = 0; i < row->path.len; i++) {
		char c = row->path.ptr[i];
		bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
			       c == '-' || (c == '.' && used);
		if (c == '/')
			used = 0; /* its last part */
		else if (used < FILE_NAME_BYTES)
			name[used++] = is_safe ? c : '_';
	}
	name[used] = 0;
	response->content_type = attachment_safe_type(row->content_type);
	write_name(row->path, name, response);
	http_response_header(response, "Content-Security-Policy", "sandbox; default-src 'none'");
	http_response_header(response, "Cache-Control", "no-cache");
	http_response_header(response, "ETag", "\"%.*s\"", SPAN_ARGS(row->sha256));
}

static bool is_current(const struct http_request *request, struct span hash)
{
	struct span known = http_request_header(request, "If-None-Match");

	return span_equal(known, SPAN("*")) || span_find(known, hash) >= 0;
}

static enum status send_found(struct store_reader *reader, const struct http_request *request,
	const struct attachment_row *row, struct http_response *response, struct error *err)
{
	AUTO(zstd) zstd = NULL;

	write_head(row, response);
	if (is_current(request, row->sha256)) {
		response->status = 304;
		return OK;
	}
	if (!(zstd = zstd_new()))
		return error_no_memory(err);
	return read_content(reader, zstd, row, &response->body, err);
}

enum status api_attachment_send(void *worker, const struct http_request *request, int64_t job_id, struct span path,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct attachment_row row;

	TRY(api_arena(&arena, err));
	TRY(store_reader_begin(reader, err));
	enum status status = store_find_attachment(reader, arena, job_id, path, &row, err);
	if (status == OK)
		status = send_found(reader, request, &row, response, err);
	store_reader_end(reader);
	return status;
}

enum status api_attachment_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct span path = http_request_segment(request, 1);
	struct job_row job;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(attachment_check_path(path, err));
	TRY(store_read_job(((struct api_worker *)worker)->reader, arena, http_request_segment(request, 0), &job, err));
	return api_attachment_send(worker, request, job.job_id, path, response, err);
}

/* ---- changes ---- */

static struct attachment_change change_of(struct api *api, const struct http_request *request)
{
	struct span path = http_request_segment(request, 1);
	struct span said = http_request_header(request, "Content-Type");

	return (struct attachment_change){.job = http_request_segment(request, 0),
		.team = api_team(request),
		.row = {.path = path,
			.content_type = attachment_type(path, said),
			.created_ms = http_request_arrival_ms(request),
			.author = span_from(http_request_principal(request)->name)},
		.limits = api->options.attachments};
}

enum status api_attachment_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct attachment_change change = change_of(api, request);
	struct span body = http_request_body(request);
	AUTO(arena) arena = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(pipeline_put_attachment(api->options.pipeline, arena, &change, body, err));
	struct json_writer w = api_reply(response);
	response->status = 201;
	write_attachment(&change.row, &w);
	return buf_status(&response->body, err);
}

enum status api_attachment_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct attachment_change change = change_of(api, request);
	AUTO(arena) arena = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(attachment_check_path(change.row.path, err));
	TRY(pipeline_delete_attachment(api->options.pipeline, arena, &change, err));
	response->status = 204;
	return OK;
}
