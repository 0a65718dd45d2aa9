#include "base/codec/zstd.h"
#include "test.h"

static void fill(char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i % 251 * (i / 997));
}

TEST(zstd_round_trip)
{
	static char text[300000];
	AUTO(zstd) zstd = zstd_new();

	fill(text, sizeof text);
	for (size_t len = 0; len <= sizeof text; len = len * 7 + 1) {
		AUTO_DONE(buf) frame = BUF_INIT(1 << 20), plain = BUF_INIT(len);
		CHECK_OK(zstd_pack(zstd, span_of(text, len), 3, &frame, &err));
		CHECK_OK(zstd_unpack(zstd, buf_span(&frame), len, &plain, &err));
		CHECK_SPAN(buf_span(&plain), span_of(text, len));
	}
}

TEST(zstd_appends)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) frame = BUF_INIT(1000), plain = BUF_INIT(1000);

	buf_append_text(&frame, "head");
	buf_append_text(&plain, "before ");
	CHECK_OK(zstd_pack(zstd, SPAN("abc"), 1, &frame, &err));
	CHECK_OK(zstd_unpack(zstd, span_skip(buf_span(&frame), 4), 3, &plain, &err));
	CHECK_SPAN(buf_span(&plain), SPAN("before abc"));
	CHECK_OK(zstd_pack(zstd, (struct span){NULL, 0}, 1, &frame, &err));
}

TEST(zstd_limits)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) frame = BUF_INIT(1000), plain = BUF_INIT(1000), small = BUF_INIT(5);

	CHECK_OK(zstd_pack(zstd, SPAN("0123456789"), 3, &frame, &err));
	CHECK_FAILS(zstd_unpack(zstd, buf_span(&frame), 9, &plain, &err), ERR_TOO_LARGE, "more than 9 bytes");
	CHECK_INT(plain.len, 0);
	CHECK_OK(zstd_unpack(zstd, buf_span(&frame), 10, &plain, &err));
	CHECK_FAILS(zstd_unpack(zstd, buf_span(&frame), 10, &small, &err), ERR_TOO_LARGE, "5 bytes");
	AUTO_DONE(buf) exact = BUF_INIT(frame.len), narrow = BUF_INIT(frame.len - 1);
	CHECK_OK(zstd_pack(zstd, SPAN("0123456789"), 3, &exact, &err));
	CHECK_FAILS(zstd_pack(zstd, SPAN("0123456789"), 3, &narrow, &err), ERR_TOO_LARGE, "bytes");
	CHECK_INT(narrow.len, 0);
}

TEST(zstd_damage_is_found)
{
	static char text[2000];
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) frame = BUF_INIT(10000), plain = BUF_INIT(10000);

	fill(text, sizeof text);
	CHECK_OK(zstd_pack(zstd, span_of(text, sizeof text), 3, &frame, &err));
	for (size_t len = 0; len < frame.len; len++)
		CHECK_INT(zstd_unpack(zstd, span_of(frame.ptr, len), 10000, &plain, NULL), ERR_INVALID);
	for (size_t i = 0; i < frame.len; i++) {
		frame.ptr[i] ^= 0x10;
		enum status status = zstd_unpack(zstd, buf_span(&frame), 10000, &plain, NULL);
		CHECK(status == ERR_INVALID || status == ERR_TOO_LARGE ||
			(status == OK && i == 4)); /* 4: a spare bit of the header */
		frame.ptr[i] ^= 0x10;
		buf_reset(&plain);
	}
	CHECK_INT(plain.len, 0);
	buf_append_char(&frame, 'x');
	CHECK_FAILS(zstd_unpack(zstd, buf_span(&frame), 10000, &plain, &err), ERR_INVALID, "1 bytes behind");
	CHECK_FAILS(zstd_unpack(zstd, SPAN("not a frame at all"), 10000, &plain, &err), ERR_INVALID, "zstd frame");
}

/* "hello\n" as a stream writes it: without its size. */
static const struct span unsized = SPAN("\x28\xb5\x2f\xfd\x04\x58\x31\x00\x00hello\n\x53\x88\xbd\x91");

TEST(zstd_frames_that_do_not_say_their_size)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) plain = BUF_INIT(1 << 20);

	CHECK_OK(zstd_unpack(zstd, unsized, 6, &plain, &err));
	CHECK_SPAN(buf_span(&plain), SPAN("hello\n"));
	CHECK_FAILS(zstd_unpack(zstd, unsized, 5, &plain, &err), ERR_TOO_LARGE, "more than 5 bytes");
	for (size_t len = 0; len < unsized.len; len++)
		CHECK_INT(zstd_unpack(zstd, span_of(unsized.ptr, len), 100, &plain, NULL), ERR_INVALID);
	CHECK_SPAN(buf_span(&plain), SPAN("hello\n"));
}

TEST(zstd_formats_before_the_standard)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) plain = BUF_INIT(100);
	struct span input = SPAN("\x27\xb5\x2f\xfd\0\4\0\0\0"), skippable = SPAN("\x5a\x2a\x4d\x18\2\0\0\0xx");
	struct zstd_stream *stream = zstd_stream_new();
	size_t written;
	bool is_at_end;
	char room[10];

	CHECK_FAILS(zstd_unpack(zstd, input, 100, &plain, &err), ERR_INVALID, "begins with byte 0x27");
	CHECK_FAILS(zstd_unpack(zstd, span_of(NULL, 0), 100, &plain, &err), ERR_INVALID, "no bytes");
	CHECK_FAILS(zstd_stream_step(stream, &input, room, 10, &written, &is_at_end, &err), ERR_INVALID, "0x27");
	CHECK_OK(zstd_unpack(zstd, skippable, 100, &plain, &err));
	CHECK_INT(plain.len, 0);
	CHECK_OK(zstd_stream_step(stream, &skippable, room, 10, &written, &is_at_end, &err));
	CHECK(written == 0 && is_at_end);
	zstd_stream_free(stream);
}

TEST(zstd_stream_in_small_pieces)
{
	static char text[50000], got[50001];
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) frame = BUF_INIT(1 << 20);

	fill(text, sizeof text);
	CHECK_OK(zstd_pack(zstd, span_of(text, sizeof text), 3, &frame, &err));
	struct zstd_stream *stream = zstd_stream_new();
	size_t len = 0;
	bool is_at_end = false;
	for (size_t i = 0; i < frame.len; i++) {
		struct span piece = span_of(frame.ptr + i, 1);
		while (piece.len) {
			size_t written = 0;
			CHECK(!is_at_end);
			CHECK_OK(zstd_stream_step(
				stream, &piece, got + len, sizeof got - len, &written, &is_at_end, &err));
			len += written;
		}
	}
	zstd_stream_free(stream);
	zstd_stream_free(NULL);
	CHECK(is_at_end);
	CHECK_SPAN(span_of(got, len), span_of(text, sizeof text));
}

TEST(zstd_out_of_memory)
{
	mem_fail_at(1);
	CHECK(!zstd_new());
	mem_fail_at(1);
	CHECK(!zstd_stream_new());
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) frame = BUF_INIT(1000), plain = BUF_INIT(1000);
	mem_fail_at(1);
	CHECK_FAILS(zstd_pack(zstd, SPAN("abc"), 3, &frame, &err), ERR_MEMORY, "memory");
	buf_reset(&frame);
	CHECK_OK(zstd_pack(zstd, SPAN("abc"), 3, &frame, &err));
	mem_fail_at(1);
	CHECK_FAILS(zstd_unpack(zstd, buf_span(&frame), 10, &plain, &err), ERR_MEMORY, "memory");
	zstd_free(NULL);
}
