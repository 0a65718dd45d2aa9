#include "base/codec/inflate.h"
#include "base/codec/zstd.h"
#include "test.h"

#include <stdlib.h>

static const struct span zlib_hello = SPAN("\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15");
static const struct span raw_hello = SPAN("\xcb\x48\xcd\xc9\xc9\x07\x00");

/* Decodes everything, offered `step` bytes at a time, into out. */
static enum status decode(
	enum encoding encoding, uint64_t max_bytes, struct span input, size_t step, struct buf *out, struct error *err)
{
	AUTO(inflater) inflater = NULL;

	TRY(inflater_new(&inflater, encoding, max_bytes, err));
	while (input.len) {
		struct span piece = span_of(input.ptr, input.len < step ? input.len : step), output = SPAN("x");
		input = span_skip(input, piece.len);
		while (output.len) {
			TRY(inflater_step(inflater, &piece, &output, err));
			buf_append_span(out, output);
		}
		CHECK_INT(piece.len, 0);
	}
	return inflater_end(inflater, err);
}

static void fill(char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i % 251 * (i / 997));
}

static void encode(enum encoding encoding, struct span plain, struct buf *out)
{
	if (encoding == ENCODING_GZIP) {
		CHECK_OK(deflate_gzip(plain, 6, out, &err));
	} else if (encoding == ENCODING_ZSTD) {
		AUTO(zstd) zstd = zstd_new();
		CHECK_OK(zstd_pack(zstd, plain, 3, out, &err));
	} else {
		buf_append_span(out, plain);
	}
}

TEST(inflate_names)
{
	enum encoding encoding = ENCODING_ZSTD;

	CHECK(encoding_parse(SPAN(""), &encoding) && encoding == ENCODING_IDENTITY);
	CHECK(encoding_parse(SPAN("GZip"), &encoding) && encoding == ENCODING_GZIP);
	CHECK(encoding_parse(SPAN("identity"), &encoding) && encoding == ENCODING_IDENTITY);
	CHECK(encoding_parse(SPAN("x-gzip"), &encoding) && encoding == ENCODING_GZIP);
	CHECK(encoding_parse(SPAN(" deflate "), &encoding) && encoding == ENCODING_DEFLATE);
	CHECK(encoding_parse(SPAN("zstd"), &encoding) && encoding == ENCODING_ZSTD);
	CHECK(!encoding_parse(SPAN("br"), &encoding) && !encoding_parse(SPAN("gzip, gzip"), &encoding));
	CHECK(encoding == ENCODING_ZSTD);
}

TEST(inflate_round_trip_in_any_pieces)
{
	static const enum encoding encodings[] = {ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_ZSTD};
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000}, steps[] = {1, 7, 1000, 1 << 20};
	static char text[200000];

	fill(text, sizeof text);
	for (size_t e = 0; e < 3; e++)
		for (size_t s = 0; s < 6; s++)
			for (size_t k = 0; k < 4; k++) {
				AUTO_DONE(buf) coded = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
				encode(encodings[e], span_of(text, sizes[s]), &coded);
				CHECK_OK(decode(encodings[e], 0, buf_span(&coded), steps[k], &out, &err));
				CHECK_SPAN(buf_span(&out), span_of(text, sizes[s]));
			}
}

TEST(inflate_limit_exactly)
{
	static const enum encoding encodings[] = {ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_ZSTD};
	static const size_t sizes[] = {1, 1000, 65536, 65537, 131072};
	static char text[131072];

	for (size_t e = 0; e < 3; e++)
		for (size_t s = 0; s < 5; s++) {
			AUTO_DONE(buf) coded = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20), over = BUF_INIT(1 << 20);
			encode(encodings[e], span_of(text, sizes[s]), &coded);
			CHECK_OK(decode(encodings[e], sizes[s], buf_span(&coded), 1 << 20, &out, &err));
			CHECK_INT(out.len, sizes[s]);
			if (sizes[s] == 1)
				continue; /* a limit of 0 is none */
			CHECK_FAILS(decode(encodings[e], sizes[s] - 1, buf_span(&coded), 1 << 20, &over, &err),
				ERR_TOO_LARGE, "larger than");
			CHECK(over.len < sizes[s]);
		}
}

TEST(inflate_over_the_limit_stays_over)
{
	AUTO(inflater) inflater = NULL;
	AUTO_DONE(buf) coded = BUF_INIT(1000);
	struct span input, output;

	CHECK_OK(deflate_gzip(SPAN("0123456789"), 6, &coded, &err));
	CHECK_OK(inflater_new(&inflater, ENCODING_GZIP, 9, &err));
	input = buf_span(&coded);
	CHECK_FAILS(inflater_step(inflater, &input, &output, &err), ERR_TOO_LARGE, "9 bytes (gzip)");
	CHECK_FAILS(inflater_step(inflater, &input, &output, &err), ERR_TOO_LARGE, "9 bytes (gzip)");
}

TEST(inflate_deflate_with_and_without_header)
{
	for (size_t step = 1; step < 20; step++) {
		AUTO_DONE(buf) zlib = BUF_INIT(100), raw = BUF_INIT(100), more = BUF_INIT(200);
		CHECK_OK(decode(ENCODING_DEFLATE, 0, zlib_hello, step, &zlib, &err));
		CHECK_SPAN(buf_span(&zlib), SPAN("hello"));
		CHECK_OK(decode(ENCODING_DEFLATE, 0, raw_hello, step, &raw, &err));
		CHECK_SPAN(buf_span(&raw), SPAN("hello"));
		buf_append_span(&more, zlib_hello);
		buf_append_span(&more, zlib_hello);
		CHECK_FAILS(
			decode(ENCODING_DEFLATE, 0, buf_span(&more), step, &zlib, &err), ERR_INVALID, "behind its end");
	}
}

TEST(inflate_several_members)
{
	static const enum encoding encodings[] = {ENCODING_GZIP, ENCODING_ZSTD};

	for (size_t e = 0; e < 2; e++)
		for (size_t step = 1; step < 30; step++) {
			AUTO_DONE(buf) coded = BUF_INIT(1000), out = BUF_INIT(1000);
			encode(encodings[e], SPAN("one "), &coded);
			encode(encodings[e], SPAN(""), &coded);
			encode(encodings[e], SPAN("two"), &coded);
			CHECK_OK(decode(encodings[e], 7, buf_span(&coded), step, &out, &err));
			CHECK_SPAN(buf_span(&out), SPAN("one two"));
		}
}

TEST(inflate_cut_off)
{
	static const enum encoding encodings[] = {ENCODING_GZIP, ENCODING_ZSTD, ENCODING_DEFLATE};

	for (size_t e = 0; e < 3; e++) {
		AUTO_DONE(buf) coded = BUF_INIT(1000);
		AUTO_DONE(buf) out = BUF_INIT(10000);
		if (encodings[e] == ENCODING_DEFLATE)
			buf_append_span(&coded, zlib_hello);
		else
			encode(encodings[e], SPAN("some text some text"), &coded);
		for (size_t len = 0; len < coded.len; len++)
			CHECK_FAILS(decode(encodings[e], 0, span_of(coded.ptr, len), 1000, &out, &err), ERR_INVALID,
				"cut off");
	}
	AUTO_DONE(buf) twice = BUF_INIT(1000), out = BUF_INIT(1000);
	encode(ENCODING_GZIP, SPAN("one"), &twice);
	buf_append(&twice, "\x1f\x8b", 2);
	CHECK_FAILS(decode(ENCODING_GZIP, 0, buf_span(&twice), 1000, &out, &err), ERR_INVALID, "cut off");
}

TEST(inflate_damage)
{
	AUTO_DONE(buf) out = BUF_INIT(1000), coded = BUF_INIT(1000);

	CHECK_FAILS(decode(ENCODING_GZIP, 0, SPAN("plain text"), 100, &out, &err), ERR_INVALID, "not gzip as it says");
	CHECK_FAILS(decode(ENCODING_DEFLATE, 0, SPAN("plain text"), 100, &out, &err), ERR_INVALID,
		"not deflate as it says");
	CHECK_FAILS(decode(ENCODING_ZSTD, 0, SPAN("plain text"), 100, &out, &err), ERR_INVALID, "zstd");
	CHECK_FAILS(
		decode(ENCODING_DEFLATE, 0, SPAN("\x78\xbb\0\0\0\1xxxx"), 100, &out, &err), ERR_INVALID, "dictionary");
	encode(ENCODING_GZIP, SPAN("abc"), &coded);
	buf_append_text(&coded, "garbage");
	CHECK_FAILS(decode(ENCODING_GZIP, 0, buf_span(&coded), 100, &out, &err), ERR_INVALID, "incorrect header");
	coded.len -= 7;
	coded.ptr[coded.len - 8] ^= 1; /* the checksum */
	CHECK_FAILS(decode(ENCODING_GZIP, 0, buf_span(&coded), 100, &out, &err), ERR_INVALID, "incorrect data check");
}

/* A frame that asks for a window of 128 MiB. */
TEST(inflate_zstd_window_limit)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);

	CHECK_FAILS(decode(ENCODING_ZSTD, 0, SPAN("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00"), 100, &out, &err),
		ERR_TOO_LARGE, "8 MiB");
}

TEST(inflate_bomb_is_stopped)
{
	enum { BOMB_BYTES = 20 << 20 };
	AUTO_MEM char *zeros = mem_zeroed(BOMB_BYTES);
	AUTO_DONE(buf) coded = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);

	CHECK_OK(deflate_gzip(span_of(zeros, BOMB_BYTES), 9, &coded, &err));
	CHECK_FAILS(decode(ENCODING_GZIP, 100000, buf_span(&coded), 1 << 20, &out, &err), ERR_TOO_LARGE, "100000");
	CHECK(out.len <= 100000);
}

TEST(inflate_deflate_gzip_limits)
{
	AUTO_DONE(buf) coded = BUF_INIT(1000);

	CHECK_OK(deflate_gzip(SPAN("abcabcabc"), 6, &coded, &err));
	AUTO_DONE(buf) exact = BUF_INIT(coded.len), narrow = BUF_INIT(coded.len - 1);
	CHECK_OK(deflate_gzip(SPAN("abcabcabc"), 6, &exact, &err));
	CHECK_SPAN(buf_span(&exact), buf_span(&coded));
	CHECK_FAILS(deflate_gzip(SPAN("abcabcabc"), 6, &narrow, &err), ERR_TOO_LARGE, "bytes");
	CHECK_INT(narrow.len, 0);
	CHECK_FAILS(deflate_gzip(SPAN("abc"), 11, &coded, &err), ERR_INTERNAL, "level 11");
	buf_reset(&coded);
	CHECK_OK(deflate_gzip((struct span){NULL, 0}, 6, &coded, &err));
}

TEST(inflate_out_of_memory)
{
	static const enum encoding encodings[] = {ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_ZSTD};

	for (size_t e = 0; e < 3; e++) {
		AUTO_DONE(buf) coded = BUF_INIT(1000);
		encode(encodings[e], SPAN("abc"), &coded);
		for (long nth = 1;; nth++) {
			AUTO_DONE(buf) out = BUF_INIT(1000);
			struct error failure;
			mem_fail_at(nth);
			enum status status = decode(encodings[e], 0, buf_span(&coded), 100, &out, &failure);
			mem_fail_at(0);
			if (status == OK && buf_status(&out, NULL) == OK)
				break;
			CHECK(status == OK || status == ERR_MEMORY);
			CHECK(nth < 20);
		}
	}
	for (long nth = 1;; nth++) {
		AUTO_DONE(buf) out = BUF_INIT(1000);
		mem_fail_at(nth);
		enum status status = deflate_gzip(SPAN("abc"), 6, &out, NULL);
		mem_fail_at(0);
		if (status == OK)
			break;
		CHECK_INT(status, ERR_MEMORY);
		CHECK(nth < 20);
	}
}

static void check_packed_as_it_is_made(enum encoding encoding)
{
	AUTO(deflater) deflater = NULL;
	AUTO_DONE(buf) packed = BUF_INIT(1 << 20);
	AUTO_DONE(buf) half = BUF_INIT(1 << 20);
	AUTO_DONE(buf) whole = BUF_INIT(1 << 20);
	AUTO(inflater) inflater = NULL;
	struct span input, output = SPAN("x");

	CHECK_OK(deflater_new(&deflater, encoding, 1, &err));
	CHECK_OK(deflater_step(deflater, SPAN("hello "), false, &packed, &err));
	input = buf_span(&packed);
	CHECK_OK(inflater_new(&inflater, encoding, 0, &err));
	while (output.len) { /* what is there so far can be read */
		CHECK_OK(inflater_step(inflater, &input, &output, &err));
		buf_append_span(&half, output);
	}
	CHECK_SPAN(buf_span(&half), SPAN("hello "));
	CHECK_OK(deflater_step(deflater, SPAN(""), false, &packed, &err));
	CHECK_OK(deflater_step(deflater, SPAN("world"), false, &packed, &err));
	CHECK_OK(deflater_step(deflater, SPAN(""), true, &packed, &err));
	CHECK_OK(decode(encoding, 0, buf_span(&packed), 3, &whole, &err));
	CHECK_SPAN(buf_span(&whole), SPAN("hello world"));
}

TEST(a_body_is_packed_as_it_is_made)
{
	check_packed_as_it_is_made(ENCODING_GZIP);
	check_packed_as_it_is_made(ENCODING_ZSTD);
}
