/* libcbor's stream decoder calls back for each header, and never allocates; nesting is kept here. */
#include "aws/protocol/cbor.h"

#include "base/json/json_write.h"

#include <cbor.h>
#include <math.h>

enum { TAG_EPOCH_TIME = 1, HEADER_BYTES = 9 };
static const double largest_exact = 9007199254740992.0; /* 2^53 */

enum frame_kind { FRAME_MAP, FRAME_ARRAY, FRAME_TEXT };

struct frame {
	enum frame_kind kind;
	bool is_endless; /* until its break */
	uint64_t left; /* values to come, of the others */
	bool wants_key; /* of a map */
};

struct reader {
	struct json_writer json;
	struct frame frames[CBOR_MAX_DEPTH];
	unsigned depth;
	struct buf text; /* of a text that comes in pieces */
	bool is_tagged; /* a value must follow */
	bool is_time; /* of that value */
	bool is_done;
	const char *mistake; /* static; NULL: none so far */
};

static void fail(struct reader *r, const char *mistake)
{
	if (!r->mistake)
		r->mistake = mistake;
}

static struct frame *top(struct reader *r)
{
	return r->depth ? &r->frames[r->depth - 1] : NULL;
}

/* A value that is not a text begins. */
static bool begin(struct reader *r, bool is_number)
{
	const struct frame *frame = top(r);

	if (!frame)
		fail(r, "a request is one map");
	else if (frame->kind == FRAME_TEXT)
		fail(r, "a text in pieces holds something else");
	else if (frame->kind == FRAME_MAP && frame->wants_key)
		fail(r, "a key of a map is no text");
	else if (r->is_time && !is_number)
		fail(r, "a time (tag 1) is no number");
	return !r->mistake;
}

static void close_frame(struct reader *r)
{
	if (r->frames[--r->depth].kind == FRAME_MAP)
		json_object_end(&r->json);
	else
		json_array_end(&r->json);
}

/* A value is whole; so may be what it is in. */
static void end(struct reader *r)
{
	r->is_tagged = r->is_time = false;
	for (struct frame *frame; (frame = top(r)) != NULL; close_frame(r)) {
		frame->wants_key = frame->kind == FRAME_MAP;
		if (frame->is_endless || --frame->left)
			return;
	}
	r->is_done = true;
}

/* ---- texts ---- */

static void take_whole_text(struct reader *r, struct span text)
{
	struct frame *frame = top(r);

	if (!frame) {
		fail(r, "a request is one map");
	} else if (r->is_time) {
		fail(r, "a time (tag 1) is no number");
	} else if (frame->kind == FRAME_MAP && frame->wants_key) {
		json_key_span(&r->json, text);
		frame->wants_key = r->is_tagged = false;
	} else {
		json_span(&r->json, text);
		end(r);
	}
}

static void take_text(void *context, cbor_data data, size_t length)
{
	struct reader *r = context;
	struct span text = span_of((const char *)data, length);

	if (!span_is_utf8(text))
		fail(r, "a text is not UTF-8");
	else if (length && memchr(data, 0, length))
		fail(r, "a text has a NUL");
	else if (top(r) && top(r)->kind == FRAME_TEXT)
		buf_append_span(&r->text, text);
	else
		take_whole_text(r, text);
}

static void open_frame(struct reader *r, enum frame_kind kind, bool is_endless, uint64_t left)
{
	if (r->depth == CBOR_MAX_DEPTH) {
		fail(r, "more than 16 values in each other");
		return;
	}
	r->frames[r->depth++] = (struct frame){kind, is_endless, left, kind == FRAME_MAP};
	r->is_tagged = false;
}

static void take_text_start(void *context)
{
	struct reader *r = context;

	if (top(r) && top(r)->kind == FRAME_TEXT)
		fail(r, "a text in pieces in another");
	else
		open_frame(r, FRAME_TEXT, true, 0);
	buf_reset(&r->text);
}

static void end_text(struct reader *r)
{
	r->depth--;
	take_whole_text(r, buf_span(&r->text));
}

/* ---- maps and arrays ---- */

static void open_collection(struct reader *r, enum frame_kind kind, bool is_endless, uint64_t left)
{
	bool is_request = !r->depth && kind == FRAME_MAP;

	if (!is_request && !begin(r, false))
		return;
	if (kind == FRAME_MAP)
		json_object(&r->json);
	else
		json_array(&r->json);
	open_frame(r, kind, is_endless, left);
	if (r->mistake || is_endless || left)
		return;
	close_frame(r);
	end(r);
}

static void take_array(void *context, size_t length)
{
	open_collection(context, FRAME_ARRAY, false, length);
}

static void take_endless_array(void *context)
{
	open_collection(context, FRAME_ARRAY, true, 0);
}

static void take_map(void *context, size_t length)
{
	open_collection(context, FRAME_MAP, false, length);
}

static void take_endless_map(void *context)
{
	open_collection(context, FRAME_MAP, true, 0);
}

static void take_break(void *context)
{
	struct reader *r = context;
	const struct frame *frame = top(r);

	if (!frame || !frame->is_endless) {
		fail(r, "a break without a beginning");
	} else if (r->is_tagged) {
		fail(r, "a tag without a value");
	} else if (frame->kind == FRAME_TEXT) {
		end_text(r);
	} else if (frame->kind == FRAME_MAP && !frame->wants_key) {
		fail(r, "a key of a map without a value");
	} else {
		close_frame(r);
		end(r);
	}
}

/* ---- numbers and the rest ---- */

static void take_unsigned(struct reader *r, uint64_t value)
{
	if (!begin(r, true))
		return;
	json_u64(&r->json, value);
	end(r);
}

/* The value is -1 - below. */
static void take_negative(struct reader *r, uint64_t below)
{
	if (!begin(r, true))
		return;
	if (below <= INT64_MAX)
		json_i64(&r->json, -1 - (int64_t)below);
	else
		json_double(&r->json, -1 - (double)below);
	end(r);
}

static void take_double(void *context, double value)
{
	struct reader *r = context;

	if (!begin(r, true))
		return;
	if (r->is_time && !isfinite(value)) {
		fail(r, "a time (tag 1) is not finite");
		return;
	}
	json_double(&r->json, value);
	end(r);
}

static void take_float(void *context, float value)
{
	take_double(context, value);
}

#define TAKE_INTEGER(name, type, take)                                                                                 \
	static void name(void *context, type value)                                                                    \
	{                                                                                                              \
		take(context, value);                                                                                  \
	}
TAKE_INTEGER(take_u8, uint8_t, take_unsigned)
TAKE_INTEGER(take_u16, uint16_t, take_unsigned)
TAKE_INTEGER(take_u32, uint32_t, take_unsigned)
TAKE_INTEGER(take_u64, uint64_t, take_unsigned)
TAKE_INTEGER(take_n8, uint8_t, take_negative)
TAKE_INTEGER(take_n16, uint16_t, take_negative)
TAKE_INTEGER(take_n32, uint32_t, take_negative)
TAKE_INTEGER(take_n64, uint64_t, take_negative)

static void take_bool(void *context, bool value)
{
	struct reader *r = context;

	if (!begin(r, false))
		return;
	json_bool(&r->json, value);
	end(r);
}

static void take_null(void *context)
{
	struct reader *r = context;

	if (!begin(r, false))
		return;
	json_null(&r->json);
	end(r);
}

static void take_tag(void *context, uint64_t tag)
{
	struct reader *r = context;

	if (top(r) && top(r)->kind == FRAME_TEXT)
		fail(r, "a text in pieces holds something else");
	r->is_tagged = true;
	r->is_time = r->is_time || tag == TAG_EPOCH_TIME;
}

static void refuse_bytes(void *context, cbor_data data, size_t length)
{
	(void)data;
	(void)length;
	fail(context, "a byte string: no member is one");
}

static void refuse_bytes_start(void *context)
{
	fail(context, "a byte string: no member is one");
}

static const struct cbor_callbacks callbacks = {.uint8 = take_u8,
	.uint16 = take_u16,
	.uint32 = take_u32,
	.uint64 = take_u64,
	.negint8 = take_n8,
	.negint16 = take_n16,
	.negint32 = take_n32,
	.negint64 = take_n64,
	.byte_string_start = refuse_bytes_start,
	.byte_string = refuse_bytes,
	.string = take_text,
	.string_start = take_text_start,
	.indef_array_start = take_endless_array,
	.array_start = take_array,
	.indef_map_start = take_endless_map,
	.map_start = take_map,
	.tag = take_tag,
	.float2 = take_float,
	.float4 = take_float,
	.float8 = take_double,
	.undefined = take_null,
	.null = take_null,
	.boolean = take_bool,
	.indef_break = take_break};

static enum status malformed(size_t at, const char *mistake, struct error *err)
{
	return error_set(err, ERR_INVALID, "CBOR: %s at byte %zu", mistake, at + 1);
}

static enum status read_items(struct reader *r, struct span bytes, struct error *err)
{
	size_t at = 0;

	while (!r->is_done) {
		struct cbor_decoder_result result =
			cbor_stream_decode((cbor_data)bytes.ptr + at, bytes.len - at, &callbacks, r);
		if (result.status == CBOR_DECODER_NEDATA)
			return malformed(bytes.len, "the end comes too early", err);
		if (result.status != CBOR_DECODER_FINISHED || !result.read)
			return malformed(at, "there is no such header", err);
		if (r->mistake)
			return malformed(at, r->mistake, err);
		at += result.read;
	}
	return at == bytes.len ? OK : malformed(at, "something follows the request", err);
}

enum status cbor_to_json(struct span bytes, struct buf *json, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(bytes.len);
	struct reader reader = {.json = json_writer_on(json), .text = text};

	if (!bytes.len) {
		buf_append_text(json, "{}");
		return buf_status(json, err);
	}
	enum status status = read_items(&reader, bytes, err);
	text = reader.text;
	TRY(status);
	TRY(buf_status(&text, err));
	return buf_status(json, err);
}

/* ---- writing ---- */

static void put_header(struct buf *out, uint64_t value, size_t (*encode)(size_t, unsigned char *, size_t))
{
	char *room = buf_reserve(out, HEADER_BYTES);

	if (room)
		buf_advance(out, encode(value, (unsigned char *)room, HEADER_BYTES));
}

static void put_text(struct buf *out, struct span text)
{
	put_header(out, text.len, cbor_encode_string_start);
	buf_append_span(out, text);
}

static void put_double(struct buf *out, double value)
{
	char *room = buf_reserve(out, HEADER_BYTES);

	if (room)
		buf_advance(out, cbor_encode_double(value, (unsigned char *)room, HEADER_BYTES));
}

static void put_time(struct buf *out, double seconds)
{
	put_header(out, TAG_EPOCH_TIME, cbor_encode_tag);
	if (fabs(seconds) > largest_exact || seconds != trunc(seconds))
		put_double(out, seconds);
	else if (seconds >= 0)
		put_header(out, (uint64_t)seconds, cbor_encode_uint);
	else
		put_header(out, (uint64_t)(-seconds - 1), cbor_encode_negint);
}

static void put_simple(struct buf *out, unsigned char value)
{
	buf_append_char(out, (char)(0xe0 | value));
}

static bool is_among(struct span name, const char *const *names)
{
	for (; *names; names++)
		if (span_equal(name, span_from(*names)))
			return true;
	return false;
}

static void put_node(const struct json *node, bool is_time, const char *const *times, struct buf *out)
{
	enum json_kind kind = json_kind(node);
	double number = 0;

	switch (kind) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		put_header(
			out, json_count(node), kind == JSON_OBJECT ? cbor_encode_map_start : cbor_encode_array_start);
		for (const struct json *item = json_first(node); item; item = json_next(item)) {
			if (kind == JSON_OBJECT)
				put_text(out, json_key_of(item));
			put_node(item, kind == JSON_OBJECT ? is_among(json_key_of(item), times) : is_time, times, out);
		}
		break;
	case JSON_STRING:
		put_text(out, json_string_of(node));
		break;
	case JSON_NUMBER:
		json_number_of(node, &number);
		if (is_time)
			put_time(out, number);
		else
			put_double(out, number);
		break;
	case JSON_BOOL:
		put_simple(out, json_is_true(node) ? CBOR_CTRL_TRUE : CBOR_CTRL_FALSE);
		break;
	case JSON_NULL:
		put_simple(out, CBOR_CTRL_NULL);
		break;
	}
}

void cbor_from_json(const struct json *node, const char *const *times, struct buf *out)
{
	put_node(node, false, times, out);
}
