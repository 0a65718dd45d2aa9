/* What shippers pack their bodies in: snappy blocks, protobuf messages; and the hash by which a body is known again. */
#include "base/hash128.h"
#include "base/codec/protobuf.h"
#include "base/codec/snappy.h"
#include "test.h"

TEST(snappy_blocks)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);

	CHECK_OK(snappy_unpack(SPAN("\x03\x08"
				    "abc"),
		3, &out, &err));
	CHECK_SPAN(buf_span(&out), SPAN("abc"));
	CHECK_OK(snappy_unpack(SPAN("\0"), 3, &out, &err));
	CHECK_INT(out.len, 3);
	CHECK_FAILS(snappy_unpack(SPAN(""), 3, &out, &err), ERR_INVALID, "it is empty");
	CHECK_FAILS(snappy_unpack(SPAN("\x04\x0c"
				       "abcd"),
			    3, &out, &err),
		ERR_TOO_LARGE, "4 bytes when unpacked, more than 3");
	CHECK_FAILS(snappy_unpack(SPAN("\x03\x08"
				       "ab"),
			    3, &out, &err),
		ERR_INVALID, "it is damaged");
	CHECK_FAILS(snappy_unpack(SPAN("\xff\xff\xff\x7f"
				       "ab"),
			    SIZE_MAX, &out, &err),
		ERR_INVALID, "too short for the length");
	CHECK_FAILS(snappy_unpack(SPAN("\xff\xff\xff\xff\xff\xff"), 3, &out, &err), ERR_INVALID, "no length");
	CHECK_INT(out.len, 3);
}

TEST(protobuf_fields)
{
	struct span body = SPAN("\x08\x96\x01\x12\x02hi\x1d\x01\0\0\x80\x21\0\0\0\0\0\0\xf8\x3f\xfa\x01\0"),
		    rest = body;
	struct protobuf_field field;

	CHECK(protobuf_next(&rest, &field) && protobuf_is(&field, 1, PROTOBUF_VARINT));
	CHECK_INT(field.value, 150);
	CHECK(protobuf_next(&rest, &field) && protobuf_is(&field, 2, PROTOBUF_BYTES));
	CHECK_SPAN(field.bytes, SPAN("hi"));
	CHECK(protobuf_next(&rest, &field) && protobuf_is(&field, 3, PROTOBUF_FIXED32));
	CHECK_INT(field.value, 0x80000001);
	CHECK(protobuf_next(&rest, &field) && protobuf_is(&field, 4, PROTOBUF_FIXED64));
	CHECK_DOUBLE(protobuf_double(field.value), 1.5);
	CHECK(protobuf_next(&rest, &field) && protobuf_is(&field, 31, PROTOBUF_BYTES) && !field.bytes.len);
	CHECK(!protobuf_next(&rest, &field));
	CHECK_OK(protobuf_end(rest, body, "M", &err));
}

TEST(protobuf_mistakes)
{
	static const struct span bodies[] = {{"\x08", 1}, {"\x08\x80", 2}, {"\x12\x02h", 3}, {"\x1d\x01\0\0", 4},
		{"\x0b", 1}, {"\x0c", 1}, {"\x0e", 1}, {"\0\0", 2}, {"\x21\0\0\0", 4},
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11},
		{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, {"\x80\x80\x80\x80\x80\x01\0", 7}};
	struct protobuf_field field;

	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		struct span rest = bodies[i];
		CHECK(!protobuf_next(&rest, &field));
		CHECK_FAILS(protobuf_end(rest, bodies[i], "M", &err), ERR_INVALID,
			"byte 1: no field of the protobuf message M");
	}
}

static struct hash128 hash_of(struct span first, struct span second)
{
	struct hash128 hash = {0};

	hash128_add(&hash, first);
	hash128_add(&hash, second);
	return hash;
}

TEST(hashes_tell_apart)
{
	struct hash128 one = hash_of(SPAN("a"), SPAN("bcdefghijklmnopqrstuvw"));
	struct hash128 same = hash_of(SPAN("a"), SPAN("bcdefghijklmnopqrstuvw"));
	static const struct span others[][2] = {{{"ab", 2}, {"cdefghijklmnopqrstuvw", 21}},
		{{"a", 1}, {"bcdefghijklmnopqrstuvx", 22}}, {{"a", 1}, {"bcdefghijklmnopqrstuvw\0", 23}},
		{{"", 0}, {"abcdefghijklmnopqrstuvw", 23}}, {{"bcdefghijklmnopqrstuvw", 22}, {"a", 1}}};

	CHECK(one.low == same.low && one.high == same.high);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct hash128 other = hash_of(others[i][0], others[i][1]);
		CHECK(one.low != other.low && one.high != other.high);
	}
}
