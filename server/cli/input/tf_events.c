#include "cli/input/tf_events.h"

#include <math.h>
#include <string.h>

enum { HEAD_BYTES = 12, TAIL_BYTES = 4, MAX_TENSOR_DIMS = 16 };

static const double EARLIEST_S = 631152000, LATEST_S = 7258118400; /* 1990 to 2200, as the server takes times */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum dtype { DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_INT64 = 9 };

uint32_t tf_crc32c(struct span data)
{
	static const uint32_t nibbles[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab,
		0xe330a81a, 0xf36e6f75};
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < data.len; i++) {
		crc ^= (unsigned char)data.ptr[i];
		crc = crc >> 4 ^ nibbles[crc & 15];
		crc = crc >> 4 ^ nibbles[crc & 15];
	}
	return ~crc;
}

static uint64_t little(const char *at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = bytes; i > 0; i--)
		value = value << 8 | (unsigned char)at[i - 1];
	return value;
}

static bool fits(struct span data, const char *stored)
{
	uint32_t crc = tf_crc32c(data), rotated = crc >> 15 | crc << 17;

	return rotated + 0xa282ead8U == (uint32_t)little(stored, 4);
}

/* ---- protobuf ---- */

struct field {
	unsigned number;
	enum wire wire;
	uint64_t value; /* of numbers */
	struct span bytes;
};

static bool take_varint(struct span *rest, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && rest->len; shift += 7) {
		unsigned char byte = (unsigned char)rest->ptr[0];
		*rest = span_skip(*rest, 1);
		*value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

static bool take_bytes(struct span *rest, uint64_t len, struct span *bytes)
{
	if (len > rest->len)
		return false;
	*bytes = span_of(rest->ptr, (size_t)len);
	*rest = span_skip(*rest, (size_t)len);
	return true;
}

/* False: the message ends, or is malformed from here on. */
static bool next_field(struct span *rest, struct field *field)
{
	uint64_t key, len;

	if (!take_varint(rest, &key) || key >> 3 > UINT32_MAX)
		return false;
	*field = (struct field){.number = (unsigned)(key >> 3), .wire = (enum wire)(key & 7)};
	switch (field->wire) {
	case WIRE_VARINT:
		return take_varint(rest, &field->value);
	case WIRE_64:
	case WIRE_32:
		len = field->wire == WIRE_64 ? 8 : 4;
		if (!take_bytes(rest, len, &field->bytes))
			return false;
		field->value = little(field->bytes.ptr, (size_t)len);
		return true;
	case WIRE_BYTES:
		return take_varint(rest, &len) && take_bytes(rest, len, &field->bytes);
	}
	return false;
}

static double as_float(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof value);
	return (double)value;
}

static double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* ---- messages ---- */

/* A shape without dimensions, or with dimensions of 1. */
static bool is_one_value(struct span shape)
{
	struct field dim, size;

	while (next_field(&shape, &dim)) {
		uint64_t count = 0;
		if (dim.number != 2 || dim.wire != WIRE_BYTES)
			continue;
		while (next_field(&dim.bytes, &size))
			if (size.number == 1 && size.wire == WIRE_VARINT)
				count = size.value;
		if (count != 1)
			return false;
	}
	return true;
}

/* The first value of a repeated field, packed or not. */
static uint64_t first_value(const struct field *field, size_t bytes)
{
	struct span rest = field->bytes;
	uint64_t value;

	if (field->wire != WIRE_BYTES)
		return field->value;
	if (bytes)
		return rest.len >= bytes ? little(rest.ptr, bytes) : 0;
	return take_varint(&rest, &value) ? value : 0;
}

static bool is_number_type(uint64_t dtype)
{
	return dtype == DT_FLOAT || dtype == DT_DOUBLE || dtype == DT_INT32 || dtype == DT_INT64;
}

/* tensor_content: the bytes of one value of the tensor's type. */
static bool raw_value(struct span bytes, uint64_t dtype, double *value)
{
	size_t size = dtype == DT_DOUBLE || dtype == DT_INT64 ? 8 : 4;

	if (bytes.len != size)
		return false;
	uint64_t bits = little(bytes.ptr, size);
	*value = dtype == DT_FLOAT    ? as_float(bits)
		 : dtype == DT_DOUBLE ? as_double(bits)
		 : dtype == DT_INT32  ? (double)(int32_t)bits
				      : (double)(int64_t)bits;
	return true;
}

/* float_val, double_val, int_val, int64_val; false: the field is none of these. */
static bool typed_value(const struct field *field, double *value)
{
	switch (field->number) {
	case 5:
		*value = as_float(first_value(field, 4));
		return true;
	case 6:
		*value = as_double(first_value(field, 8));
		return true;
	case 7:
	case 10:
		*value = (double)(int64_t)first_value(field, 0);
		return true;
	default:
		return false;
	}
}

static bool read_tensor(struct span tensor, double *value)
{
	struct field field;
	uint64_t dtype = 0;
	bool has_value = false;

	while (next_field(&tensor, &field)) {
		bool is_bytes = field.wire == WIRE_BYTES;
		if (field.number == 1 && field.wire == WIRE_VARINT)
			dtype = field.value;
		else if (field.number == 2 && is_bytes && !is_one_value(field.bytes))
			return false;
		else if (field.number == 4 && is_bytes)
			has_value = raw_value(field.bytes, dtype, value) || has_value;
		else
			has_value = typed_value(&field, value) || has_value;
	}
	return has_value && is_number_type(dtype);
}

/* The field of that number, the last one as protobuf has it; empty where there is none. */
static struct span bytes_field(struct span message, unsigned number)
{
	struct span found = SPAN("");
	struct field field;

	while (next_field(&message, &field))
		if (field.number == number && field.wire == WIRE_BYTES)
			found = field.bytes;
	return found;
}

static void read_setting_value(struct span value, struct tf_setting *setting)
{
	struct field field;

	while (next_field(&value, &field)) {
		if (field.number == 2 && field.wire == WIRE_64) {
			setting->kind = TF_SETTING_NUMBER;
			setting->number = as_double(field.value);
		} else if (field.number == 3 && field.wire == WIRE_BYTES && span_is_utf8(field.bytes)) {
			setting->kind = TF_SETTING_TEXT;
			setting->text = field.bytes;
		} else if (field.number == 4 && field.wire == WIRE_VARINT) {
			setting->kind = TF_SETTING_BOOL;
			setting->number = field.value != 0;
		}
	}
}

/* SummaryMetadata.plugin_data(1): plugin_name(1) "hparams", content(2) a HParamsPluginData with session_start_info(3).hparams(1). */
static void read_metadata(struct span metadata, const struct tf_events_taker *taker)
{
	struct span plugin = bytes_field(metadata, 1);
	struct field entry;

	if (!span_equal(bytes_field(plugin, 1), SPAN("hparams")))
		return;
	struct span start = bytes_field(bytes_field(plugin, 2), 3);
	while (next_field(&start, &entry)) {
		if (entry.number != 1 || entry.wire != WIRE_BYTES)
			continue;
		struct tf_setting setting = {.key = bytes_field(entry.bytes, 1)};
		read_setting_value(bytes_field(entry.bytes, 2), &setting);
		if (setting.key.len && span_is_utf8(setting.key))
			taker->take_setting(taker->context, &setting);
	}
}

static bool read_value(struct span message, const struct tf_events_taker *taker, struct tf_scalar *scalar)
{
	struct field field;
	bool has_value = false;

	scalar->tag = SPAN("");
	while (next_field(&message, &field)) {
		if (field.number == 1 && field.wire == WIRE_BYTES) {
			scalar->tag = field.bytes;
		} else if (field.number == 2 && field.wire == WIRE_32) {
			scalar->value = as_float(field.value);
			has_value = true;
		} else if (field.number == 8 && field.wire == WIRE_BYTES) {
			has_value = read_tensor(field.bytes, &scalar->value);
		} else if (field.number == 9 && field.wire == WIRE_BYTES) {
			read_metadata(field.bytes, taker);
		}
	}
	return has_value && scalar->tag.len && span_is_utf8(scalar->tag);
}

static void read_event(struct span event, const struct tf_events_taker *taker)
{
	struct span rest = event, summary = SPAN("");
	struct tf_scalar scalar = {0};
	struct field field;

	while (next_field(&rest, &field)) {
		if (field.number == 1 && field.wire == WIRE_64) {
			double seconds = as_double(field.value);
			bool is_time = seconds >= EARLIEST_S && seconds < LATEST_S;
			scalar.ts_ms = is_time ? (int64_t)(seconds * 1000) : 0;
		} else if (field.number == 2 && field.wire == WIRE_VARINT) {
			scalar.step = (int64_t)field.value;
		} else if (field.number == 5 && field.wire == WIRE_BYTES) {
			summary = field.bytes;
		}
	}
	while (next_field(&summary, &field))
		if (field.number == 1 && field.wire == WIRE_BYTES && read_value(field.bytes, taker, &scalar))
			taker->take_scalar(taker->context, &scalar);
}

enum status tf_events_read(
	struct span data, const struct tf_events_taker *taker, struct tf_events_progress *progress, struct error *err)
{
	*progress = (struct tf_events_progress){0};
	while (data.len >= HEAD_BYTES) {
		uint64_t len = little(data.ptr, 8);
		if (!fits(span_of(data.ptr, 8), data.ptr + 8) || len > INT64_MAX / 2)
			return error_set(err, ERR_INVALID, "no record of TensorBoard's begins %llu bytes further on",
				(unsigned long long)progress->used_bytes);
		uint64_t whole = HEAD_BYTES + len + TAIL_BYTES;
		if (len > TF_EVENTS_MAX_RECORD_BYTES) {
			progress->used_bytes += whole;
			return OK;
		}
		if (data.len < whole)
			return OK;
		struct span event = span_of(data.ptr + HEAD_BYTES, (size_t)len);
		if (fits(event, event.ptr + event.len))
			read_event(event, taker);
		else
			progress->damaged_records++;
		progress->used_bytes += whole;
		data = span_skip(data, (size_t)whole);
	}
	return OK;
}

enum tf_events_sniffed tf_events_sniff(struct span start)
{
	struct field field;

	if (start.len < HEAD_BYTES || !fits(span_of(start.ptr, 8), start.ptr + 8))
		return TF_EVENTS_NO_RECORD;
	uint64_t len = little(start.ptr, 8);
	struct span event = span_skip(start, HEAD_BYTES);
	if (len < event.len)
		event.len = (size_t)len;
	while (next_field(&event, &field))
		if (field.number == 3 && field.wire == WIRE_BYTES)
			return span_starts_with(field.bytes, SPAN("brain.Event:")) ? TF_EVENTS_VERSION
										   : TF_EVENTS_RECORD;
	return TF_EVENTS_RECORD;
}
