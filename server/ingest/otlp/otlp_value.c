/* AnyValue{string=1, bool=2, int=3, double=4, array=5{values=1}, kvlist=6{values=1}, bytes=7}; KeyValue{key=1, value=2}. */
#include "ingest/otlp/otlp.h"

#include <math.h>

static enum status too_deep(struct error *err)
{
	return error_set(err, ERR_INVALID, "a value is nested deeper than %d", OTLP_DEPTH);
}

/* ---- protobuf ---- */

static void write_bytes(struct json_writer *w, struct span bytes)
{
	static const char digits[] = "0123456789abcdef";
	AUTO_DONE(buf) text = BUF_INIT(2 * bytes.len + 1);

	for (size_t i = 0; i < bytes.len; i++) {
		buf_append_char(&text, digits[(unsigned char)bytes.ptr[i] >> 4]);
		buf_append_char(&text, digits[bytes.ptr[i] & 15]);
	}
	json_span(w, buf_span(&text));
}

static enum status write_value(
	struct span message, struct span body, struct json_writer *w, unsigned depth, struct error *err);

static enum status write_member(
	struct span message, struct span body, struct json_writer *w, unsigned depth, struct error *err)
{
	struct protobuf_field field;
	struct span key = SPAN(""), value = SPAN("");

	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			key = field.bytes;
		else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			value = field.bytes;
	}
	TRY(protobuf_end(message, body, "KeyValue", err));
	json_key_span(w, key);
	return write_value(value, body, w, depth, err);
}

static enum status write_list(
	struct span message, struct span body, struct json_writer *w, bool is_object, unsigned depth, struct error *err)
{
	struct protobuf_field field;

	if (depth > OTLP_DEPTH)
		return too_deep(err);
	if (is_object)
		json_object(w);
	else
		json_array(w);
	while (protobuf_next(&message, &field)) {
		if (!protobuf_is(&field, 1, PROTOBUF_BYTES))
			continue;
		if (is_object)
			TRY(write_member(field.bytes, body, w, depth, err));
		else
			TRY(write_value(field.bytes, body, w, depth, err));
	}
	if (is_object)
		json_object_end(w);
	else
		json_array_end(w);
	return protobuf_end(message, body, "AnyValue", err);
}

static enum status write_value(
	struct span message, struct span body, struct json_writer *w, unsigned depth, struct error *err)
{
	struct protobuf_field field = {0};

	if (!protobuf_next(&message, &field)) {
		json_null(w);
		return protobuf_end(message, body, "AnyValue", err);
	}
	if (protobuf_is(&field, 1, PROTOBUF_BYTES))
		json_span(w, field.bytes);
	else if (protobuf_is(&field, 2, PROTOBUF_VARINT))
		json_bool(w, field.value != 0);
	else if (protobuf_is(&field, 3, PROTOBUF_VARINT))
		json_i64(w, (int64_t)field.value);
	else if (protobuf_is(&field, 4, PROTOBUF_FIXED64))
		json_double(w, protobuf_double(field.value));
	else if (protobuf_is(&field, 5, PROTOBUF_BYTES) || protobuf_is(&field, 6, PROTOBUF_BYTES))
		return write_list(field.bytes, body, w, field.number == 6, depth + 1, err);
	else if (protobuf_is(&field, 7, PROTOBUF_BYTES))
		write_bytes(w, field.bytes);
	else
		json_null(w);
	return OK;
}

enum status otlp_value(struct span message, struct span body, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	struct span rest = message;
	struct protobuf_field field;

	if (!message.len)
		return OK;
	if (protobuf_next(&rest, &field) && protobuf_is(&field, 1, PROTOBUF_BYTES))
		buf_append_span(out, field.bytes);
	else
		TRY(write_value(message, body, &w, 0, err));
	return buf_status(out, err);
}

enum status otlp_attribute(struct span message, struct span body, struct span *key, struct buf *out, struct error *err)
{
	struct protobuf_field field;

	*key = SPAN("");
	buf_reset(out);
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			*key = field.bytes;
		else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			TRY(otlp_value(field.bytes, body, out, err));
	}
	return protobuf_end(message, body, "KeyValue", err);
}

enum status otlp_resource(struct ingest_parser *parser, struct span message, struct span body, struct error *err)
{
	struct protobuf_field field;
	struct span key;

	label_set_reset(&parser->labels);
	while (protobuf_next(&message, &field)) {
		if (!protobuf_is(&field, 1, PROTOBUF_BYTES))
			continue;
		TRY(otlp_attribute(field.bytes, body, &key, &parser->text, err));
		label_set_add(&parser->labels, key, buf_span(&parser->text));
	}
	TRY(label_set_finish(&parser->labels, err));
	return protobuf_end(message, body, "Resource", err);
}

enum status otlp_resource_of(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct span resource = SPAN("");
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			resource = field.bytes;
	TRY(protobuf_end(message, body, "of a resource", err));
	TRY(otlp_resource(parser, resource, body, err));
	TRY(push_begin_stream(parser, batch, err));
	push_identify(parser, batch, resource);
	return OK;
}

/* ---- JSON: {"stringValue":"x"}, {"intValue":"5"}, … ---- */

static enum status append_text(struct json_scan *s, struct buf *scratch, struct buf *out, struct error *err)
{
	struct ndjson_value raw;
	struct span text;

	TRY(json_scan_text(s, &raw, err));
	TRY(json_scan_decode(s, &raw, scratch, &text, err));
	buf_append_span(out, text);
	return OK;
}

/* Into the plain JSON that the protobuf form becomes, too. */
struct plain {
	struct json_writer w;
	struct buf *scratch;
	unsigned depth;
};

static enum status plain_value(struct plain *plain, struct json_scan *s, struct error *err);

static enum status plain_item(void *context, struct json_scan *s, struct error *err)
{
	return plain_value(context, s, err);
}

/* {"key":"k","value":{…}}; the key comes first, as everybody writes it, or the member has none. */
static enum status plain_member(void *context, struct json_scan *s, struct error *err)
{
	struct plain *plain = context;
	struct ndjson_value field, raw;
	bool is_end, has_key = false, has_value = false;
	struct span key;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &field, &is_end, err));
		if (is_end)
			break;
		if (json_scan_is(&field, "key") && !has_key) {
			TRY(json_scan_text(s, &raw, err));
			TRY(json_scan_decode(s, &raw, plain->scratch, &key, err));
			json_key_span(&plain->w, key);
			has_key = true;
		} else if (json_scan_is(&field, "value") && !has_value) {
			if (!has_key)
				json_key(&plain->w, "");
			has_key = has_value = true;
			TRY(plain_value(plain, s, err));
		} else {
			TRY(json_scan_skip(s, err));
		}
	}
	if (has_key && !has_value)
		json_null(&plain->w);
	return OK;
}

/* {"values":[…]} */
static enum status plain_list(struct plain *plain, struct json_scan *s, bool is_object, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	if (++plain->depth > OTLP_DEPTH)
		return too_deep(err);
	if (is_object)
		json_object(&plain->w);
	else
		json_array(&plain->w);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		if (!json_scan_is(&key, "values"))
			TRY(json_scan_skip(s, err));
		else if (!json_scan_null(s))
			TRY(json_scan_each(s, is_object ? plain_member : plain_item, plain, err));
	}
	if (is_object)
		json_object_end(&plain->w);
	else
		json_array_end(&plain->w);
	plain->depth--;
	return OK;
}

static enum status plain_number(struct plain *plain, struct json_scan *s, struct error *err)
{
	struct span number;
	double value;

	TRY(json_scan_number(s, &number, err));
	if (span_parse_double(number, &value) && isfinite(value))
		json_raw(&plain->w, number);
	else
		json_span(&plain->w, number);
	return OK;
}

static enum status plain_text(struct plain *plain, struct json_scan *s, struct error *err)
{
	struct ndjson_value raw;
	struct span text;

	TRY(json_scan_text(s, &raw, err));
	TRY(json_scan_decode(s, &raw, plain->scratch, &text, err));
	json_span(&plain->w, text);
	return OK;
}

/* One of the members says the value. */
static enum status plain_value(struct plain *plain, struct json_scan *s, struct error *err)
{
	bool is_end, is_true, has_value = false;
	struct ndjson_value key;

	if (json_scan_null(s)) {
		json_null(&plain->w);
		return OK;
	}
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		bool is_list = json_scan_is(&key, "arrayValue"), is_map = json_scan_is(&key, "kvlistValue");
		if (has_value) {
			TRY(json_scan_skip(s, err));
		} else if (is_list || is_map) {
			TRY(plain_list(plain, s, is_map, err));
		} else if (json_scan_is(&key, "stringValue") || json_scan_is(&key, "bytesValue")) {
			TRY(plain_text(plain, s, err));
		} else if (json_scan_is(&key, "intValue") || json_scan_is(&key, "doubleValue")) {
			TRY(plain_number(plain, s, err));
		} else if (json_scan_is(&key, "boolValue")) {
			TRY(json_scan_bool(s, &is_true, err));
			json_bool(&plain->w, is_true);
		} else {
			TRY(json_scan_skip(s, err));
			continue;
		}
		has_value = true;
	}
	if (!has_value)
		json_null(&plain->w);
	return OK;
}

/* A text as it is, all else as JSON. */
enum status otlp_value_json(struct json_scan *s, struct buf *scratch, struct buf *out, struct error *err)
{
	struct plain plain = {.w = json_writer_on(out), .scratch = scratch};
	struct json_scan ahead;
	struct ndjson_value key;
	bool is_end;

	if (json_scan_null(s))
		return OK;
	ahead = *s;
	TRY(json_scan_open(&ahead, '{', err));
	TRY(json_scan_key(&ahead, &key, &is_end, err));
	if (is_end) {
		*s = ahead;
		return OK;
	}
	if (!json_scan_is(&key, "stringValue")) {
		TRY(plain_value(&plain, s, err));
		return buf_status(out, err);
	}
	*s = ahead;
	TRY(append_text(s, scratch, out, err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return buf_status(out, err);
		TRY(json_scan_skip(s, err));
	}
}

enum status otlp_attribute_json(
	struct ingest_parser *parser, struct json_scan *s, struct buf *key, struct buf *out, struct error *err)
{
	struct ndjson_value field;
	bool is_end;

	buf_reset(key);
	buf_reset(out);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &field, &is_end, err));
		if (is_end)
			return buf_status(key, err);
		if (json_scan_is(&field, "key"))
			TRY(append_text(s, &parser->scratch, key, err));
		else if (json_scan_is(&field, "value"))
			TRY(otlp_value_json(s, &parser->scratch, out, err));
		else
			TRY(json_scan_skip(s, err));
	}
}

static enum status read_attributes(struct ingest_parser *parser, struct json_scan *s, struct error *err)
{
	bool is_end;

	TRY(json_scan_open(s, '[', err));
	for (;;) {
		TRY(json_scan_item(s, &is_end, err));
		if (is_end)
			return OK;
		TRY(otlp_attribute_json(parser, s, &parser->key, &parser->text, err));
		label_set_add(&parser->labels, buf_span(&parser->key), buf_span(&parser->text));
	}
}

enum status otlp_resource_json(struct ingest_parser *parser, struct json_scan *s, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	label_set_reset(&parser->labels);
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		if (json_scan_is(&key, "attributes"))
			TRY(read_attributes(parser, s, err));
		else
			TRY(json_scan_skip(s, err));
	}
	return label_set_finish(&parser->labels, err);
}
