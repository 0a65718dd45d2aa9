#include "base/codec/pack.h"
#include "test.h"

#include <math.h>

static const uint64_t numbers[] = {
	0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};

TEST(pack_bytes_are_as_specified)
{
	AUTO_DONE(buf) out = BUF_INIT(100);

	pack_u64(&out, 300);
	pack_i64(&out, -1);
	pack_i64(&out, 1);
	pack_double(&out, 1.0);
	pack_span(&out, SPAN("ab"));
	CHECK_SPAN(buf_span(&out), SPAN("\xac\x02\x01\x02\0\0\0\0\0\0\xf0\x3f\x02"
					"ab"));
}

TEST(pack_round_trip)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	double nan_with_payload;

	memcpy(&nan_with_payload, "\x01\x02\x03\x04\x05\x06\xf8\xff", 8);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		pack_u64(&out, numbers[i]);
		pack_i64(&out, (int64_t)numbers[i]);
	}
	pack_double(&out, -0.0);
	pack_double(&out, nan_with_payload);
	pack_span(&out, SPAN(""));
	pack_span(&out, SPAN("a\0b"));
	struct unpacker u = unpacker_on(buf_span(&out));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		CHECK_INT(unpack_u64(&u), numbers[i]);
		CHECK_INT(unpack_i64(&u), numbers[i]);
	}
	CHECK_DOUBLE(unpack_double(&u), -0.0);
	double back = unpack_double(&u);
	CHECK(memcmp(&back, &nan_with_payload, 8) == 0);
	CHECK_SPAN(unpack_span(&u), SPAN(""));
	CHECK_SPAN(unpack_span(&u), SPAN("a\0b"));
	CHECK_OK(unpacker_end(&u, "it", &err));
}

TEST(pack_numbers_are_passed_over_as_they_are_read)
{
	AUTO_DONE(buf) out = BUF_INIT(4096);

	for (uint64_t i = 0; i < 200; i++)
		pack_u64(&out, i % 3 ? i : UINT64_MAX >> (i % 64));
	for (size_t count = 0; count <= 200; count++) {
		struct unpacker read = unpacker_on(buf_span(&out)), passed = read;
		for (size_t i = 0; i < count; i++)
			unpack_u64(&read);
		unpack_pass(&passed, count);
		CHECK(!passed.has_failed && passed.rest.ptr == read.rest.ptr && passed.rest.len == read.rest.len);
	}
	struct unpacker beyond = unpacker_on(buf_span(&out));
	unpack_pass(&beyond, 201);
	CHECK(beyond.has_failed && !beyond.rest.len);
}

TEST(pack_cut_off_anywhere_is_damage)
{
	AUTO_DONE(buf) out = BUF_INIT(100);

	pack_u64(&out, 1000);
	pack_double(&out, 2.5);
	pack_span(&out, SPAN("abc"));
	for (size_t len = 0; len < out.len; len++) {
		struct unpacker u = unpacker_on(span_of(out.ptr, len));
		unpack_u64(&u);
		unpack_double(&u);
		unpack_span(&u);
		CHECK_FAILS(unpacker_end(&u, "the block", &err), ERR_INVALID, "the block is damaged");
	}
	struct unpacker u = unpacker_on(buf_span(&out));
	CHECK_INT(unpack_u64(&u), 1000);
	CHECK_FAILS(unpacker_end(&u, "the block", &err), ERR_INVALID, "12 bytes too many");
}

TEST(pack_failure_stays)
{
	struct unpacker u = unpacker_on(SPAN("\xff"));

	CHECK_INT(unpack_u64(&u), 0);
	CHECK(u.has_failed);
	CHECK_INT(unpack_u64(&u), 0);
	CHECK_INT(unpack_i64(&u), 0);
	CHECK_DOUBLE(unpack_double(&u), 0);
	CHECK_SPAN(unpack_span(&u), SPAN(""));
	CHECK_INT(unpack_count(&u, 1), 0);
	u = unpacker_on((struct span){NULL, 0});
	CHECK_SPAN(unpack_span(&u), SPAN(""));
	CHECK(u.has_failed);
}

TEST(pack_numbers_beyond_64_bits)
{
	struct unpacker u = unpacker_on(SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));

	CHECK(unpack_u64(&u) == UINT64_MAX && !u.has_failed);
	u = unpacker_on(SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
	CHECK(unpack_u64(&u) == 0 && u.has_failed);
	u = unpacker_on(SPAN("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
	CHECK(unpack_u64(&u) == 0 && u.has_failed);
}

TEST(pack_lengths_and_counts_that_cannot_be)
{
	struct unpacker u = unpacker_on(SPAN("\x03"
					     "ab"));

	unpack_span(&u);
	CHECK(u.has_failed);
	u = unpacker_on(SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			     "ab"));
	unpack_span(&u);
	CHECK(u.has_failed);
	u = unpacker_on(SPAN("\x02"
			     "0123456789abcdef"));
	CHECK_INT(unpack_count(&u, 8), 2);
	u = unpacker_on(SPAN("\x02"
			     "0123456789abcde"));
	CHECK_INT(unpack_count(&u, 8), 0);
	CHECK(u.has_failed);
	u = unpacker_on(SPAN("\x02"
			     "ab"));
	CHECK_INT(unpack_count(&u, 0), 2);
}

TEST(pack_out_of_room)
{
	AUTO_DONE(buf) out = BUF_INIT(2);

	pack_u64(&out, 300);
	CHECK_OK(buf_status(&out, &err));
	pack_u64(&out, 1);
	CHECK_FAILS(buf_status(&out, &err), ERR_TOO_LARGE, "2");
	AUTO_DONE(buf) other = BUF_INIT(100);
	mem_fail_at(1);
	pack_double(&other, 1);
	CHECK_FAILS(buf_status(&other, &err), ERR_MEMORY, "memory");
}
