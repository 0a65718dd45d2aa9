/* One call from its body to its reply, and what went wrong in Trackio's form. */
#include "base/log.h"
#include "http/guard.h"
#include "trackio/internal.h"

/* TRACKIO_WRITE_TOKEN, or write_token= of the server's address, comes in a header of its own. */
enum status trackio_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	const struct trackio *trackio = context;
	struct span token = http_request_header(request, "X-Trackio-Write-Token");

	if (!token.len)
		token = guard_bearer(http_request_header(request, "Authorization"));
	return trackio->options.authenticate(trackio->options.context, token, out, err);
}

/* ---- faults ---- */

static void put_fault(const struct error *err, struct http_response *response)
{
	struct json_writer w;

	response->status = err->status == ERR_UNSUPPORTED ? 501 : http_status_of(err->status);
	response->content_type = "application/json";
	buf_reset(&response->body);
	w = json_writer_on(&response->body);
	json_object(&w);
	json_put_text(&w, "error", err->text);
	json_object_end(&w);
	if (response->status == 429 || response->status == 503)
		http_response_header(response, "Retry-After", "%d", err->retry_after_s > 0 ? err->retry_after_s : 1);
}

void trackio_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	const struct trackio *trackio = context;
	struct error said = *err;

	(void)request;
	if (err->status == ERR_TOO_LARGE) /* the transport knows no option's name */
		error_set(&said, ERR_TOO_LARGE, "the body is larger than %zu bytes (--max-push-bytes)",
			trackio->options.max_body_bytes);
	put_fault(&said, response);
}

/* ---- a call ---- */

static enum status check_use(const struct http_request *request, enum trackio_use use, struct error *err)
{
	const struct principal *principal = http_request_principal(request);

	if (use == TRACKIO_BY_SENDERS && http_may(principal, SCOPE_READ))
		return OK;
	return http_check_scope(principal, SCOPE_WRITE, err);
}

static enum status answer(struct trackio_call *call, trackio_handler *handler, struct error *err)
{
	json_object(&call->w);
	json_key(&call->w, "data");
	TRY(handler(call, err));
	json_object_end(&call->w);
	return buf_status(call->w.out, err);
}

enum status trackio_run_call(struct trackio *trackio, void *worker, const struct http_request *request,
	struct http_response *response, enum trackio_use use, trackio_handler *handler, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct trackio_call call = {.options = &trackio->options,
		.pipeline = trackio->options.pipeline,
		.reader = trackio->options.reader_of(worker),
		.body = http_request_body(request),
		.team = span_from(http_request_principal(request)->team),
		.now_ms = http_request_arrival_ms(request),
		.arena = arena,
		.w = json_writer_on(&response->body)};

	if (!arena)
		return error_no_memory(err);
	response->content_type = "application/json";
	enum status status = check_use(request, use, err);
	if (status == OK)
		status = answer(&call, handler, err);
	if (status == OK)
		return OK;
	err->status = status;
	if (status == ERR_INTERNAL || status == ERR_IO)
		log_line(LOG_ERROR, "trackio_failed", "path=%.*s error=\"%s\"", SPAN_ARGS(http_request_path(request)),
			err->text);
	put_fault(err, response);
	return OK;
}
