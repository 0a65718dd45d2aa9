#include "aws/protocol/cbor.h"
#include "test.h"

static enum status read(struct span bytes, struct buf *out, struct error *err)
{
	buf_reset(out);
	return cbor_to_json(bytes, out, err);
}

static const struct {
	const char *bytes;
	size_t len;
	const char *json;
} readings[] = {
#define ROW(bytes, json)                                                                                               \
	{                                                                                                              \
		bytes, sizeof bytes - 1, json                                                                          \
	}
	ROW("", "{}"),
	ROW("\xa0", "{}"),
	ROW("\xbf\xff", "{}"),
	ROW("\xa1\x61N\x61v", "{\"N\":\"v\"}"),
	ROW("\xd9\xd9\xf7\xa1\x61N\x01", "{\"N\":1}"), /* that it is CBOR */
	/* integers of all widths */
	ROW("\xa1\x61N\x17", "{\"N\":23}"),
	ROW("\xa1\x61N\x18\xff", "{\"N\":255}"),
	ROW("\xa1\x61N\x19\x01\x00", "{\"N\":256}"),
	ROW("\xa1\x61N\x1a\x00\x01\x00\x00", "{\"N\":65536}"),
	ROW("\xa1\x61N\x1b\xff\xff\xff\xff\xff\xff\xff\xff", "{\"N\":18446744073709551615}"),
	ROW("\xa1\x61N\x20", "{\"N\":-1}"),
	ROW("\xa1\x61N\x38\xff", "{\"N\":-256}"),
	ROW("\xa1\x61N\x39\x01\x00", "{\"N\":-257}"),
	ROW("\xa1\x61N\x3a\x00\x01\x00\x00", "{\"N\":-65537}"),
	ROW("\xa1\x61N\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", "{\"N\":-9223372036854775808}"),
	ROW("\xa1\x61N\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "{\"N\":-18446744073709552000}"),
	/* half, float, double */
	ROW("\xa1\x61N\xf9\x3e\x00", "{\"N\":1.5}"),
	ROW("\xa1\x61N\xf9\x00\x01", "{\"N\":5.960464477539063e-8}"),
	ROW("\xa1\x61N\xf9\x7e\x00", "{\"N\":\"NaN\"}"),
	ROW("\xa1\x61N\xf9\xfc\x00", "{\"N\":\"-Infinity\"}"),
	ROW("\xa1\x61N\xfa\x47\xc3\x50\x00", "{\"N\":100000}"),
	ROW("\xa1\x61N\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a", "{\"N\":1.1}"),
	ROW("\xa1\x61N\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", "{\"N\":\"Infinity\"}"),
	/* times are numbers of seconds; other tags are passed over */
	ROW("\xa1\x61T\xc1\x1a\x65\x53\xf1\x00", "{\"T\":1700000000}"),
	ROW("\xa1\x61T\xc1\xfb\x41\xd9\x54\xfc\x40\x20\x00\x00", "{\"T\":1700000000.5}"),
	ROW("\xa1\x61T\xc1\x20", "{\"T\":-1}"),
	ROW("\xa1\x61T\xc4\x82\x01\x02", "{\"T\":[1,2]}"),
	ROW("\xa1\x61T\xd9\xd9\xf7\xc1\x01", "{\"T\":1}"),
	/* the rest */
	ROW("\xa2\x61"
	    "a\xf5\x61"
	    "b\xf4",
		"{\"a\":true,\"b\":false}"),
	ROW("\xa2\x61"
	    "a\xf6\x61"
	    "b\xf7",
		"{\"a\":null,\"b\":null}"),
	ROW("\xa1\x61L\x83\x01\x80\x81\xa0", "{\"L\":[1,[],[{}]]}"),
	ROW("\xbf\x61L\x9f\x01\x9f\xff\xbf\xff\xff\x61M\x02\xff", "{\"L\":[1,[],{}],\"M\":2}"),
	/* texts in pieces, as a key and as a value */
	ROW("\xa1\x7f\x61N\x62"
	    "am\xff\x7f\x61v\xff",
		"{\"Nam\":\"v\"}"),
	ROW("\xa1\x61N\x7f\xff", "{\"N\":\"\"}"),
	ROW("\xa1\x61N\x64\"\\\n\x01", "{\"N\":\"\\\"\\\\\\n\\u0001\"}"),
#undef ROW
};

TEST(cbor_becomes_json)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
		CHECK_OK(read(span_of(readings[i].bytes, readings[i].len), &out, &err));
		CHECK_SPAN(buf_span(&out), span_from(readings[i].json));
	}
}

static const struct {
	const char *bytes;
	size_t len;
	const char *words;
} mistakes[] = {
#define ROW(bytes, words)                                                                                              \
	{                                                                                                              \
		bytes, sizeof bytes - 1, words                                                                         \
	}
	ROW("\xa1", "the end comes too early at byte 2"),
	ROW("\xa1\x61N", "the end comes too early"),
	ROW("\xa1\x62N", "the end comes too early"),
	ROW("\xbf\x61N\x01", "the end comes too early"),
	/* what is announced is not made room for */
	ROW("\xbb\x10\x00\x00\x00\x00\x00\x00\x00", "the end comes too early"),
	ROW("\xa1\x61N\x9b\x10\x00\x00\x00\x00\x00\x00\x00\x01", "the end comes too early"),
	ROW("\xa1\x61N\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "the end comes too early"),
	ROW("\xa1\x61N\x7b\xff\xff\xff\xff\xff\xff\xff\xff\x61", "the end comes too early"),
	ROW("\x7b\xff\xff\xff\xff\xff\xff\xff\xf7", "the end comes too early"),
	ROW("\x01", "a request is one map at byte 1"),
	ROW("\x80", "a request is one map"),
	ROW("\x61N", "a request is one map"),
	ROW("\x7f\x61N\xff", "a request is one map"),
	ROW("\xf6", "a request is one map"),
	ROW("\xff", "a break without a beginning"),
	ROW("\xa1\x61N\xff", "a break without a beginning"),
	ROW("\xa1\x61N\x81\xff", "a break without a beginning"),
	ROW("\xbf\x61N\xff", "a key of a map without a value"),
	ROW("\xa1\x01\x01", "a key of a map is no text"),
	ROW("\xa1\x80\x01", "a key of a map is no text"),
	ROW("\xa1\xf6\x01", "a key of a map is no text"),
	ROW("\xa1\x61N\x41v", "a byte string"),
	ROW("\xa1\x61N\x5f\x41v\xff", "a byte string"),
	ROW("\xa1\x61N\x62v\0", "a text has a NUL"),
	ROW("\xa1\x61N\x61\xff", "a text is not UTF-8"),
	ROW("\xa1\x61N\x7f\x61\xc3\x61\xa9\xff", "a text is not UTF-8"), /* cut between two pieces */
	ROW("\xa1\x61N\x7f\x01\xff", "a text in pieces holds something else"),
	ROW("\xa1\x61N\x7f\xc1\x61v\xff", "a text in pieces holds something else"),
	ROW("\xa1\x61N\x7f\x7f\xff\xff", "a text in pieces in another"),
	ROW("\xa1\x61T\xc1\x61v", "a time (tag 1) is no number"),
	ROW("\xa1\x61T\xc1\x7f\xff", "a time (tag 1) is no number"),
	ROW("\xa1\x61T\xc1\xa0", "a time (tag 1) is no number"),
	ROW("\xa1\x61T\xc1\xf6", "a time (tag 1) is no number"),
	ROW("\xa1\x61T\xc1\xf9\x7e\x00", "a time (tag 1) is not finite"),
	ROW("\xbf\xc4\xff", "a tag without a value"),
	ROW("\xa1\x61N\x9f\xc1\xff", "a tag without a value"),
	ROW("\xa1\x61N\x1c", "no such header at byte 4"),
	ROW("\xa1\x61N\xf8\x20", "no such header"),
	ROW("\xa1\x61N\x01\x02", "something follows the request at byte 5"),
	ROW("\xa0\xa0", "something follows the request at byte 2"),
#undef ROW
};

TEST(malformed_cbor_is_refused_with_its_place)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
		CHECK_FAILS(
			read(span_of(mistakes[i].bytes, mistakes[i].len), &out, &err), ERR_INVALID, mistakes[i].words);
}

static enum status read_nested(unsigned depth, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) bytes = BUF_INIT(1 << 10);

	for (unsigned i = 1; i < depth; i++)
		buf_append(&bytes, "\xa1\x61N", 3);
	buf_append_char(&bytes, '\xa0');
	return read(buf_span(&bytes), out, err);
}

TEST(cbor_nests_sixteen_deep_and_no_deeper)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	CHECK_OK(read_nested(CBOR_MAX_DEPTH, &out, &err));
	CHECK_FAILS(read_nested(CBOR_MAX_DEPTH + 1, &out, &err), ERR_INVALID, "more than 16 values in each other");
}

TEST(cbor_larger_than_its_room_is_refused)
{
	AUTO_DONE(buf) out = BUF_INIT(8);

	CHECK_OK(read(SPAN("\xa1\x61N\x18\x40"), &out, &err)); /* {"N":64} */
	CHECK_FAILS(read(SPAN("\xa1\x61N\x19\x01\x00"), &out, &err), ERR_TOO_LARGE, "");
}

static void write(const char *text, struct buf *out)
{
	static const char *const times[] = {"Timestamp", "Timestamps", NULL};
	AUTO(json) json = NULL;

	CHECK_OK(json_parse(&json, span_from(text), &err));
	cbor_from_json(json, times, out);
	CHECK_OK(buf_status(out, &err));
}

TEST(json_becomes_cbor)
{
	static const struct {
		const char *json;
		const char *bytes;
		size_t len;
	} rows[] = {
#define ROW(json, bytes) {json, bytes, sizeof bytes - 1}
		ROW("{}", "\xa0"),
		ROW("{\"a\":\"b\",\"c\":[]}", "\xa2\x61"
					      "a\x61"
					      "b\x61"
					      "c\x80"),
		ROW("{\"a\":[true,false,null]}", "\xa1\x61"
						 "a\x83\xf5\xf4\xf6"),
		/* a whole number is a double all the same */
		ROW("{\"a\":1}", "\xa1\x61"
				 "a\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00"),
		ROW("{\"Timestamp\":1700000000}", "\xa1\x69Timestamp\xc1\x1a\x65\x53\xf1\x00"),
		ROW("{\"Timestamp\":-1}", "\xa1\x69Timestamp\xc1\x20"),
		ROW("{\"Timestamp\":1700000000.5}", "\xa1\x69Timestamp\xc1\xfb\x41\xd9\x54\xfc\x40\x20\x00\x00"),
		ROW("{\"Timestamps\":[0,1]}", "\xa1\x6aTimestamps\x82\xc1\x00\xc1\x01"),
#undef ROW
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_DONE(buf) out = BUF_INIT(1 << 10);
		write(rows[i].json, &out);
		CHECK_SPAN(buf_span(&out), span_of(rows[i].bytes, rows[i].len));
	}
}

TEST(cbor_of_long_texts_and_lists_reads_back)
{
	AUTO_DONE(buf) json = BUF_INIT(1 << 20);
	AUTO_DONE(buf) bytes = BUF_INIT(1 << 20);
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);

	buf_append_text(&json, "{\"L\":[\"");
	for (unsigned i = 0; i < 70000; i++)
		buf_append_char(&json, (char)('a' + i % 26));
	buf_append_char(&json, '"');
	for (unsigned i = 0; i < 300; i++)
		buf_printf(&json, ",%u.5", i);
	buf_append(&json, "]}", 3); /* with its NUL */
	json.len--;
	write(json.ptr, &bytes);
	CHECK_OK(read(buf_span(&bytes), &out, &err));
	CHECK_SPAN(buf_span(&out), buf_span(&json));
}
