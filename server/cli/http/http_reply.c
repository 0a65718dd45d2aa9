#include "cli/http/http_reply.h"

enum { MAX_LINE_BYTES = 16 << 10, MAX_HEAD_BYTES = 64 << 10 };

void http_reply_init(struct http_reply *reply, size_t max_body_bytes)
{
	*reply = (struct http_reply){.body = BUF_INIT(max_body_bytes), .line = BUF_INIT(MAX_LINE_BYTES)};
}

void http_reply_done(struct http_reply *reply)
{
	buf_done(&reply->body);
	buf_done(&reply->line);
}

bool http_reply_is_complete(const struct http_reply *reply)
{
	return reply->state == HTTP_REPLY_COMPLETE;
}

static bool is_status_line(struct span line, int *code, bool *is_version_1_0)
{
	uint64_t number;

	if (line.len < 12 || !span_starts_with(line, SPAN("HTTP/1.")) || line.ptr[8] != ' ' ||
		(line.len > 12 && line.ptr[12] != ' '))
		return false;
	if (!span_parse_u64(span_of(line.ptr + 9, 3), &number) || number < 100)
		return false;
	*code = (int)number;
	*is_version_1_0 = line.ptr[7] == '0';
	return true;
}

static enum status read_status_line(struct http_reply *reply, struct span line, struct error *err)
{
	bool is_version_1_0;

	if (!is_status_line(line, &reply->status_code, &is_version_1_0)) {
		size_t shown = line.len < 60 ? line.len : 60;
		return error_set(
			err, ERR_INVALID, "the reply is not HTTP: it begins with '%.*s'", (int)shown, line.ptr);
	}
	reply->closes = is_version_1_0;
	return OK;
}

static enum status read_length(struct http_reply *reply, struct span value, struct error *err)
{
	uint64_t length;

	if (!span_parse_u64(value, &length) || (reply->has_length && length != reply->rest_bytes))
		return error_set(err, ERR_INVALID, "the reply's Content-Length '%.*s' is no length", SPAN_ARGS(value));
	if (length > reply->body.max_bytes)
		return error_set(err, ERR_TOO_LARGE, "the reply is larger than %zu bytes", reply->body.max_bytes);
	reply->has_length = true;
	reply->rest_bytes = length;
	return OK;
}

static void read_content_type(struct http_reply *reply, struct span value)
{
	struct span type;

	span_next(&value, ';', &type);
	type = span_trim(type);
	reply->is_problem = span_equal_fold(type, SPAN("application/problem+json"));
	reply->is_json = reply->is_problem || span_equal_fold(type, SPAN("application/json"));
}

static enum status read_header(struct http_reply *reply, struct span line, struct error *err)
{
	ptrdiff_t colon = span_find_char(line, ':');
	int64_t seconds;

	if (colon <= 0)
		return error_set(err, ERR_INVALID, "the reply has a header line without a name");
	struct span name = span_of(line.ptr, (size_t)colon);
	struct span value = span_trim(span_skip(line, (size_t)colon + 1));
	if (span_equal_fold(name, SPAN("content-length")))
		return read_length(reply, value, err);
	if (span_equal_fold(name, SPAN("transfer-encoding"))) {
		if (!span_equal_fold(value, SPAN("chunked")))
			return error_set(err, ERR_UNSUPPORTED, "the reply's transfer encoding '%.*s' is not known",
				SPAN_ARGS(value));
		reply->is_chunked = true;
	} else if (span_equal_fold(name, SPAN("connection"))) {
		reply->closes = reply->closes ? !span_equal_fold(value, SPAN("keep-alive"))
					      : span_equal_fold(value, SPAN("close"));
	} else if (span_equal_fold(name, SPAN("retry-after"))) {
		if (span_parse_i64(value, &seconds) && seconds > 0)
			reply->retry_after_s = seconds > 3600 ? 3600 : (int)seconds;
	} else if (span_equal_fold(name, SPAN("www-authenticate"))) {
		reply->lacks_scope = span_find(value, SPAN("insufficient_scope")) >= 0;
	} else if (span_equal_fold(name, SPAN("content-type"))) {
		read_content_type(reply, value);
	}
	return OK;
}

/* The empty line: what kind of body follows? */
static void end_head(struct http_reply *reply)
{
	int code = reply->status_code;

	if (code < 200) { /* 100 Continue and the like announce the real reply */
		struct buf body = reply->body, line = reply->line;
		size_t head_bytes = reply->head_bytes;
		*reply = (struct http_reply){.body = body, .line = line, .has_bytes = true, .head_bytes = head_bytes};
	} else if (code == 204 || code == 304) {
		reply->state = HTTP_REPLY_COMPLETE;
	} else if (reply->is_chunked) {
		reply->state = HTTP_REPLY_CHUNK_SIZE;
	} else if (reply->has_length) {
		reply->state = reply->rest_bytes ? HTTP_REPLY_BODY_SIZED : HTTP_REPLY_COMPLETE;
	} else {
		reply->state = HTTP_REPLY_BODY_TO_END;
		reply->closes = true;
	}
}

static enum status read_chunk_size(struct http_reply *reply, struct span line, struct error *err)
{
	struct span digits;
	uint64_t size = 0;

	span_next(&line, ';', &digits); /* extensions are ignored */
	digits = span_trim(digits);
	bool is_good = digits.len > 0 && digits.len <= 15;
	for (size_t i = 0; is_good && i < digits.len; i++) {
		int digit = span_hex_digit(digits.ptr[i]);
		is_good = digit >= 0;
		size = size * 16 + (uint64_t)(digit < 0 ? 0 : digit);
	}
	if (!is_good)
		return error_set(
			err, ERR_INVALID, "the reply has a chunk whose size '%.*s' is no number", SPAN_ARGS(digits));
	if (size > reply->body.max_bytes - reply->body.len)
		return error_set(err, ERR_TOO_LARGE, "the reply is larger than %zu bytes", reply->body.max_bytes);
	reply->rest_bytes = size;
	reply->state = size ? HTTP_REPLY_CHUNK_DATA : HTTP_REPLY_TRAILER;
	return OK;
}

/* A whole line without its line end, in one of the states that read lines. */
static enum status read_line(struct http_reply *reply, struct span line, struct error *err)
{
	switch (reply->state) {
	case HTTP_REPLY_HEAD:
		if (reply->status_code == 0)
			return read_status_line(reply, line, err);
		if (line.len)
			return read_header(reply, line, err);
		end_head(reply);
		return OK;
	case HTTP_REPLY_CHUNK_SIZE:
		return read_chunk_size(reply, line, err);
	case HTTP_REPLY_CHUNK_END:
		reply->state = HTTP_REPLY_CHUNK_SIZE;
		return line.len ? error_set(err, ERR_INVALID, "the reply has a chunk longer than its size says") : OK;
	default: /* HTTP_REPLY_TRAILER */
		if (line.len == 0)
			reply->state = HTTP_REPLY_COMPLETE;
		return OK;
	}
}

static enum status feed_line(struct http_reply *reply, struct span *bytes, struct error *err)
{
	ptrdiff_t end = span_find_char(*bytes, '\n');
	size_t taken = end < 0 ? bytes->len : (size_t)end + 1;

	buf_append(&reply->line, bytes->ptr, taken);
	*bytes = span_skip(*bytes, taken);
	bool is_head = reply->state == HTTP_REPLY_HEAD || reply->state == HTTP_REPLY_TRAILER;
	reply->head_bytes += is_head ? taken : 0;
	if (reply->line.failure || reply->head_bytes > MAX_HEAD_BYTES)
		return error_set(err, ERR_TOO_LARGE, "the reply's head is larger than %d bytes", MAX_HEAD_BYTES);
	if (end < 0)
		return OK;
	struct span line = span_of(reply->line.ptr, reply->line.len - 1);
	if (span_ends_with(line, SPAN("\r")))
		line.len--;
	enum status status = read_line(reply, line, err);
	buf_reset(&reply->line);
	return status;
}

static enum status feed_body(struct http_reply *reply, struct span *bytes, struct error *err)
{
	bool is_open = reply->state == HTTP_REPLY_BODY_TO_END;
	size_t taken = is_open || bytes->len < reply->rest_bytes ? bytes->len : (size_t)reply->rest_bytes;

	buf_append(&reply->body, bytes->ptr, taken);
	if (reply->body.failure == ERR_TOO_LARGE)
		return error_set(err, ERR_TOO_LARGE, "the reply is larger than %zu bytes", reply->body.max_bytes);
	TRY(buf_status(&reply->body, err));
	*bytes = span_skip(*bytes, taken);
	if (is_open)
		return OK;
	reply->rest_bytes -= taken;
	if (reply->rest_bytes == 0)
		reply->state = reply->state == HTTP_REPLY_BODY_SIZED ? HTTP_REPLY_COMPLETE : HTTP_REPLY_CHUNK_END;
	return OK;
}

enum status http_reply_feed(struct http_reply *reply, struct span bytes, struct error *err)
{
	reply->has_bytes |= bytes.len > 0;
	while (bytes.len) {
		switch (reply->state) {
		case HTTP_REPLY_BODY_SIZED:
		case HTTP_REPLY_BODY_TO_END:
		case HTTP_REPLY_CHUNK_DATA:
			TRY(feed_body(reply, &bytes, err));
			break;
		case HTTP_REPLY_COMPLETE:
			return error_set(err, ERR_INVALID, "more bytes came than the reply's length says");
		default:
			TRY(feed_line(reply, &bytes, err));
		}
	}
	return OK;
}

enum status http_reply_end(struct http_reply *reply, struct error *err)
{
	if (reply->state == HTTP_REPLY_BODY_TO_END)
		reply->state = HTTP_REPLY_COMPLETE;
	if (reply->state != HTTP_REPLY_COMPLETE)
		return error_set(err, ERR_UNAVAILABLE, "the connection ended in the middle of the reply");
	return OK;
}
