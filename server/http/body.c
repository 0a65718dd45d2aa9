#include "http/server.h"

#include <inttypes.h>

static bool is_upload(const struct exchange *exchange)
{
	return exchange->route->kind == ROUTE_UPLOAD;
}

/* Of the decoded body; 0: none. */
static uint64_t limit_of(const struct exchange *exchange)
{
	return is_upload(exchange) ? exchange->server->options.max_upload_bytes : exchange->route->max_body_bytes;
}

static enum status check_size(const struct exchange *exchange, uint64_t bytes, struct error *err)
{
	uint64_t limit = limit_of(exchange);

	if (is_upload(exchange))
		return limit && bytes > limit
			       ? error_set(err, ERR_TOO_LARGE,
					 "the body is larger than %" PRIu64 " bytes (--max-upload-bytes)", limit)
			       : OK;
	if (bytes && !limit)
		return error_set(err, ERR_TOO_LARGE, "this request takes no body");
	if (bytes > limit)
		return error_set(
			err, ERR_TOO_LARGE, "the body is larger than %" PRIu64 " bytes, the limit of this path", limit);
	return OK;
}

static enum status open_upload(struct exchange *exchange, struct error *err)
{
	TRY(exchange->route->upload->begin(
		exchange_context(exchange), &exchange->request, &exchange->upload, &exchange->object, err));
	exchange->has_object = true;
	server_list(exchange->server, exchange);
	if (exchange->has_unknown_length) { /* a trainer may print nothing for hours */
		mhd_set_timeout(exchange->connection, 0);
		exchange->must_close = true;
	}
	return OK;
}

enum status body_begin(struct exchange *exchange, struct error *err)
{
	struct span name = http_request_header(&exchange->request, "Content-Encoding");
	enum encoding encoding = ENCODING_IDENTITY;
	bool is_snappy = is_upload(exchange) && span_equal_fold(span_trim(name), SPAN("snappy"));
	bool is_raw = exchange->route->is_raw;

	if (!is_snappy && !is_raw && !encoding_parse(name, &encoding))
		return error_set(err, ERR_UNSUPPORTED,
			"unknown Content-Encoding '%.*s'; known are gzip, deflate, zstd%s",
			(int)(name.len > 60 ? 60 : name.len), name.ptr, is_upload(exchange) ? ", snappy" : "");
	if (exchange->has_unknown_length)
		TRY(check_size(exchange, 1, err));
	else if (encoding == ENCODING_IDENTITY)
		TRY(check_size(exchange, exchange->content_length, err));
	else if (exchange->content_length)
		TRY(check_size(exchange, 1, err));
	if (encoding != ENCODING_IDENTITY && (exchange->has_unknown_length || exchange->content_length))
		TRY(inflater_new(
			&exchange->inflater, encoding, 0, err)); /* the limit is checked here, by its option's name */
	exchange->request.body = BUF_INIT(exchange->route->max_body_bytes);
	return is_upload(exchange) ? open_upload(exchange, err) : OK;
}

static enum status deliver(struct exchange *exchange, struct span bytes, bool *must_wait, struct error *err)
{
	exchange->body_bytes += bytes.len;
	TRY(check_size(exchange, exchange->body_bytes, err));
	if (is_upload(exchange))
		return exchange->route->upload->feed(exchange->object, bytes, must_wait, err);
	buf_append_span(&exchange->request.body, bytes);
	return buf_status(&exchange->request.body, err);
}

/* The next decoded bytes; none: all of *piece was taken. */
static enum status decode(struct exchange *exchange, struct span *piece, struct span *decoded, struct error *err)
{
	if (exchange->inflater)
		return inflater_step(exchange->inflater, piece, decoded, err);
	*decoded = *piece;
	*piece = span_skip(*piece, piece->len);
	return OK;
}

enum status body_take(struct exchange *exchange, struct span *piece, bool *is_waiting, struct error *err)
{
	struct span decoded;

	TRY(exchange_check(exchange, err));
	for (;;) {
		bool must_wait = false;
		TRY(decode(exchange, piece, &decoded, err));
		if (!decoded.len)
			return OK;
		TRY(deliver(exchange, decoded, &must_wait, err));
		if (must_wait && exchange_wait(exchange)) {
			*is_waiting = true;
			return OK;
		}
	}
}

enum status body_end(struct exchange *exchange, bool *is_waiting, struct error *err)
{
	struct span nothing = SPAN("");

	if (!exchange->inflater)
		return OK;
	TRY(body_take(exchange, &nothing, is_waiting, err)); /* what the last piece became may be in there still */
	if (*is_waiting)
		return OK;
	TRY(inflater_end(exchange->inflater, err));
	inflater_free(exchange->inflater);
	exchange->inflater = NULL;
	return OK;
}
