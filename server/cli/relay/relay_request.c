#include "cli/relay/relay_request.h"

#include "tracker/wandb_replies.h"

enum { LENGTH_MAX_DIGITS = 15 };
static const struct span head_end = {"\r\n\r\n", 4};

static bool next_line(struct span *rest, struct span *line)
{
	return span_next(rest, '\n', line) && ((void)(*line = span_trim(*line)), true);
}

static enum status read_start(struct span line, struct relay_request *out, struct error *err)
{
	struct span target, rest = line;

	if (!span_next(&rest, ' ', &out->method) || !span_next(&rest, ' ', &target) || !out->method.len ||
		!span_starts_with(rest, SPAN("HTTP/1.")) || !span_starts_with(target, SPAN("/")))
		return error_set(err, ERR_INVALID, "no request of HTTP/1.1");
	out->closes = span_equal(rest, SPAN("HTTP/1.0"));
	if (!span_next(&target, '?', &out->path))
		out->path = SPAN("/");
	out->query = target;
	return OK;
}

static enum status read_length(struct span value, size_t max_bytes, uint64_t *out, struct error *err)
{
	bool is_number = value.len > 0 && value.len <= LENGTH_MAX_DIGITS;

	for (size_t i = 0; i < value.len; i++)
		is_number = is_number && value.ptr[i] >= '0' && value.ptr[i] <= '9';
	if (!is_number || !span_parse_u64(value, out))
		return error_set(err, ERR_INVALID, "Content-Length is no number");
	return *out <= max_bytes
		       ? OK
		       : error_set(err, ERR_TOO_LARGE, "the body has %llu bytes; the relay takes %zu (--relay-bytes)",
				 (unsigned long long)*out, max_bytes);
}

static enum status read_header(
	struct span line, size_t max_body_bytes, struct relay_request *out, uint64_t *length, struct error *err)
{
	struct span name, value = line;

	if (!span_next(&value, ':', &name) || !name.len || !value.ptr)
		return error_set(err, ERR_INVALID, "a line of the head is no header");
	value = span_trim(value);
	if (span_equal_fold(name, SPAN("content-length")))
		return read_length(value, max_body_bytes, length, err);
	if (span_equal_fold(name, SPAN("transfer-encoding")) || span_equal_fold(name, SPAN("content-encoding")))
		return error_set(err, ERR_UNSUPPORTED, "the relay takes bodies as they are, with their length");
	if (span_equal_fold(name, SPAN("connection")))
		out->closes = out->closes ? !span_equal_fold(value, SPAN("keep-alive"))
					  : span_equal_fold(value, SPAN("close"));
	else if (span_equal_fold(name, SPAN("authorization")))
		out->authorization = value;
	else if (span_equal_fold(name, SPAN("content-type")))
		out->content_type = value;
	else if (span_equal_fold(name, SPAN(WANDB_WRITER_HEADER)))
		out->writer = value;
	return OK;
}

enum status relay_request_read(
	struct span bytes, size_t max_body_bytes, struct relay_request *out, bool *is_whole, struct error *err)
{
	struct span head = span_of(bytes.ptr, bytes.len < RELAY_HEAD_MAX_BYTES ? bytes.len : RELAY_HEAD_MAX_BYTES),
		    line;
	uint64_t length = 0;
	ptrdiff_t at = span_find(head, head_end);

	*out = (struct relay_request){.query = SPAN(""),
		.authorization = SPAN(""),
		.content_type = SPAN(""),
		.writer = SPAN(""),
		.body = SPAN("")};
	*is_whole = false;
	if (at < 0)
		return bytes.len < RELAY_HEAD_MAX_BYTES
			       ? OK
			       : error_set(
					 err, ERR_TOO_LARGE, "the head is longer than %d bytes", RELAY_HEAD_MAX_BYTES);
	head = span_of(bytes.ptr, (size_t)at);
	if (!next_line(&head, &line))
		return error_set(err, ERR_INVALID, "no request of HTTP/1.1");
	TRY(read_start(line, out, err));
	while (next_line(&head, &line))
		TRY(read_header(line, max_body_bytes, out, &length, err));
	out->whole_bytes = (size_t)at + head_end.len + (size_t)length;
	*is_whole = bytes.len >= out->whole_bytes;
	if (*is_whole)
		out->body = span_of(bytes.ptr + at + head_end.len, (size_t)length);
	return OK;
}

/* plus: what '+' stands for. */
static bool decode(struct span text, char plus, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < text.len; i++) {
		int high = -1, low = -1;
		if (text.ptr[i] == '%' && i + 2 < text.len) {
			high = span_hex_digit(text.ptr[i + 1]);
			low = span_hex_digit(text.ptr[i + 2]);
		}
		bool is_code = high >= 0 && low >= 0;
		buf_append_char(out, is_code ? (char)(high * 16 + low) : text.ptr[i] == '+' ? plus : text.ptr[i]);
		i += is_code ? 2 : 0;
	}
	return out->failure == OK;
}

bool relay_request_decode(struct span part, struct buf *out)
{
	return decode(part, '+', out);
}

bool relay_request_query(const struct relay_request *request, const char *name, struct buf *out)
{
	struct span rest = request->query, part, key;

	buf_reset(out);
	while (span_next(&rest, '&', &part)) {
		if (!span_next(&part, '=', &key) || !span_equal(key, span_from(name)))
			continue;
		return decode(part, ' ', out);
	}
	return false;
}
