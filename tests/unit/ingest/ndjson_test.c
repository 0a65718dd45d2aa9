#include "harness.h"
#include "ingest/ndjson_scan.h"

TEST(ndjson_fields)
{
	check_body(&ingest_ndjson,
		SPAN("{\"line\":\"a\",\"ts\":1700000000}\n{\"message\":\"b\",\"time\":\"2023-11-14T22:13:20.5Z\"}\n"
		     "{\"log\":\"c\\n\",\"stream\":\"stdout\",\"date\":1700000000.25}\n{\"line\":\"d\",\"stream\":\"algo-2\"}\n"
		     "{\"line\":\"e\",\"job\":\"K\"}"),
		SPAN("J/algo-1:|a@1700000000000#2|b@1700000000500#2|c@1700000000250#2\nJ/algo-2:|d#2\nK/algo-1:|e#2\n"),
		0, NULL);
}

TEST(ndjson_times_by_their_names)
{
	/* Vector, Logstash, journald; a duration or nothing beside a time is none */
	check_body(&ingest_ndjson,
		SPAN("{\"message\":\"a\",\"timestamp\":\"2023-11-14T22:13:20.123456789Z\"}\n"
		     "{\"message\":\"b\",\"@timestamp\":\"2023-11-15T00:13:20+02:00\"}\n"
		     "{\"message\":\"c\",\"timestamp\":1700000000123456789}\n{\"message\":\"d\",\"@timestamp\":1700000000123}\n"
		     "{\"message\":\"e\",\"__REALTIME_TIMESTAMP\":\"1700000000123456\"}\n"
		     "{\"message\":\"f\",\"time\":12.5,\"timestamp\":1700000000.5}\n"
		     "{\"message\":\"g\",\"ts\":null,\"date\":\"2023-11-14T22:13:20Z\"}\n"
		     "{\"message\":\"h\",\"timestamp\":1700000001,\"time\":1700000000}\n"),
		SPAN("J/algo-1:|a@1700000000123#2|b@1700000000000#2|c@1700000000123#2|d@1700000000123#2|e@1700000000123#2|"
		     "f@1700000000500#2|g@1700000000000#2|h@1700000000000#2\n"),
		0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\",\"timestamp\":\"soon\",\"time\":3}\n"),
		SPAN("J/algo-1:|a#2\n"), 0, "'3' is no time between");
}

static const struct ingest_options long_options = {
	.max_line_bytes = 4096,
	.job = {"J", 1},
	.stream = {"algo-1", 6},
	.max_name_bytes = 255,
	.max_parts = 3,
};

/* What is kept of the only line of a body. */
static void check_kept(struct span body, const char *stream, const char *want, uint64_t bytes)
{
	struct ingest_options options = long_options;
	struct ingest_parser *parser;
	AUTO(batch) batch = batch_new(1);

	options.stream = span_from(stream);
	CHECK_OK(ingest_ndjson.open(&parser, &options, &err));
	CHECK_OK(feed_all(&ingest_ndjson, parser, batch, body, 99, &err));
	CHECK_INT(batch->parts[0].count, 1);
	CHECK_SPAN(batch->parts[0].lines[0].text, span_from(want));
	CHECK_INT(batch->parts[0].lines[0].sent_bytes, bytes);
	ingest_ndjson.free(parser);
}

#define XID "NVRM: Xid (PCI:0000:53:00): 79, \\\"x\\\""
#define XID_BYTES (sizeof "NVRM: Xid (PCI:0000:53:00): 79, \"x\"")

TEST(ndjson_a_kernels_line_keeps_its_machine)
{
	check_kept(SPAN("{\"host\":\"gpu07\",\"message\":\"" XID "\\n\",\"stream\":\"kernel\"}"), "algo-1",
		"{\"message\":\"" XID "\",\"host\":\"gpu07\"}", XID_BYTES);
	check_kept(SPAN("{\"SYSLOG_IDENTIFIER\":\"kernel\",\"_HOSTNAME\":\"gpu07\",\"message\":\"EDAC MC0: 1 UE\"}"),
		"kernel", "{\"message\":\"EDAC MC0: 1 UE\",\"host\":\"gpu07\",\"program\":\"kernel\"}",
		sizeof "EDAC MC0: 1 UE");
	check_kept(SPAN(" {\"log\":\"" XID "\",\"kubernetes\":{\"host\":\"a\"},\"host\":\"b\"} "), "kernel",
		"{\"log\":\"" XID "\",\"kubernetes\":{\"host\":\"a\"},\"host\":\"b\"}", XID_BYTES);
	/* the text says it, nothing does, the stream is the machine's, and it is no kernel's line */
	check_kept(SPAN("{\"host\":\"loghost\",\"message\":\"Nov 30 01:10:00 gpu07 kernel: NVRM: Xid\"}"), "kernel",
		"Nov 30 01:10:00 gpu07 kernel: NVRM: Xid", sizeof "Nov 30 01:10:00 gpu07 kernel: NVRM: Xid");
	check_kept(
		SPAN("{\"message\":\"NVRM: Xid\",\"program\":\"kernel\"}"), "kernel", "NVRM: Xid", sizeof "NVRM: Xid");
	check_kept(SPAN("{\"host\":\"gpu07\",\"message\":\"NVRM: Xid\"}"), "system/gpu08", "NVRM: Xid",
		sizeof "NVRM: Xid");
	check_kept(SPAN("{\"host\":\"gpu07\",\"message\":\"step: 1 loss: 2.0\",\"name\":\"kernel\"}"), "algo-1",
		"step: 1 loss: 2.0", sizeof "step: 1 loss: 2.0");
}

TEST(ndjson_order_of_fields)
{
	/* `line` as a number is a line number, no text; of texts line goes before log before message. */
	check_body(&ingest_ndjson, SPAN("{\"line\":42,\"message\":\"m\",\"x\":{\"line\":\"no\"}}\n"),
		SPAN("J/algo-1:|m#2\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"message\":\"m\",\"log\":\"l\"}\n"), SPAN("J/algo-1:|l#2\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"line\":\"1\",\"line\":\"2\",\"ts\":null}\n"), SPAN("J/algo-1:|1#2\n"), 0,
		NULL);
}

TEST(ndjson_escapes)
{
	check_body(&ingest_ndjson, SPAN("{\"line\":\"\\\"\\\\\\/\\t\\u00e9\"}\n"),
		SPAN("J/algo-1:|\"\\/\t\xc3\xa9#7\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"line\":\"\\ud83d\\ude00 \\uD83d.\"}\n"),
		SPAN("J/algo-1:|\xf0\x9f\x98\x80 \xef\xbf\xbd.#10\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"line\":\"x\\\\\"}\n"), SPAN("J/algo-1:|x\\#3\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"line\":\"\\q\"}\n"), SPAN(""), 1, "line 1, column 10: unknown escape");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"\\u12g4\"}\n"), SPAN(""), 1, "line 1, column 10: unknown escape");
}

TEST(ndjson_a_text_of_several_lines)
{
	check_body(
		&ingest_ndjson, SPAN("{\"line\":\"a\\nb\\n\\nc\\n\"}\n"), SPAN("J/algo-1:|a#2|b#2|#1|c#2\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"log\":\"\\n\"}\n{\"log\":\"\"}\n"), SPAN("J/algo-1:|#1|#1\n"), 0, NULL);
}

TEST(ndjson_long_texts_are_cut)
{
	check_body(&ingest_ndjson, SPAN("{\"line\":\"0123456789abcdefG\"}\n"),
		SPAN("J/algo-1:|0123456789abcdef^1#18\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"line\":\"\\u00300123456789abcdefG\"}\n"),
		SPAN("J/algo-1:|00123456789abcde^1#19\n"), 0, NULL);
}

TEST(ndjson_bad_objects_harm_themselves)
{
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\"}\n{\"line\":}\n\n{\"line\":\"b\"}\n"),
		SPAN("J/algo-1:|a#2|b#2\n"), 1, "line 2, column 9: expected a value");
	check_body(
		&ingest_ndjson, SPAN("{\"line\":\"a\"} x\n"), SPAN(""), 1, "column 14: expected the end of the line");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\n"), SPAN(""), 1,
		"line 1, column 11: expected the end of a string");
	check_body(&ingest_ndjson, SPAN("{\"line\" \"a\"}\n"), SPAN(""), 1, "column 9: expected ':'");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\";}\n"), SPAN(""), 1, "column 12: expected ',' or '}'");
	check_body(&ingest_ndjson, SPAN("[1]\n"), SPAN(""), 1, "column 1: expected '{'");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\",\"job\":[]}\n"), SPAN(""), 1, "'job' is not a text");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\",\"job\":\"\\u0007\"}\n"), SPAN(""), 1,
		"job has a control character");
	check_body(&ingest_ndjson, SPAN("1\n2\n3\n4\n5"), SPAN(""), 5, "5 objects were not stored in all");
}

TEST(ndjson_an_object_without_a_text_is_the_line)
{
	check_body(&ingest_ndjson, SPAN(" {\"loss\":2}\r\n{\"message\":1}\n"),
		SPAN("J/algo-1:|{\"loss\":2}#11|{\"message\":1}#14\n"), 0, NULL);
}

TEST(ndjson_other_fields_are_skipped)
{
	check_body(&ingest_ndjson,
		SPAN(" { \"a\" : [1, -2.5e+3, {\"b\":[]}, {}, true , false,null,NaN,-Infinity,\"\\\"]\"] , \"line\" : \"x\" } \r\n"),
		SPAN("J/algo-1:|x#2\n"), 0, NULL);
	check_body(&ingest_ndjson, SPAN("{\"a\":[1,],\"line\":\"x\"}\n"), SPAN(""), 1, "column 9: expected a value");
	check_body(&ingest_ndjson, SPAN("{\"a\":[1}\n"), SPAN(""), 1, "column 8: expected ',' or ']'");
	check_body(&ingest_ndjson, SPAN("{\"a\":1.,\"line\":\"x\"}\n"), SPAN(""), 1, "column 8: expected a digit");
}

TEST(ndjson_nesting_is_limited)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct ndjson_mistake mistake;
	struct ndjson_object object;

	buf_append_text(&text, "{\"a\":");
	for (int i = 0; i < 100000; i++)
		buf_append_char(&text, '[');
	CHECK(!ndjson_scan(buf_span(&text), &object, &mistake));
	CHECK(strstr(mistake.expected, "nesting"));
}

TEST(array_of_objects)
{
	check_body(&ingest_json_array,
		SPAN(" [{\"line\":\"a\",\"ts\":1700000000},\n {\n \"message\" : \"]},[\\\"\"\n} , {\"log\":\"c\\nd\",\"stream\":3}]\r\n"),
		SPAN("J/algo-1:|a@1700000000000#2|]},[\"#6\nJ/3:|c#2|d#2\n"), 0, NULL);
	check_body(&ingest_json_array, SPAN("[]"), SPAN(""), 0, NULL);
	check_body(&ingest_json_array, SPAN("[ {\"loss\":[1,{\"a\":\"]\"}]} ]"),
		SPAN("J/algo-1:|{\"loss\":[1,{\"a\":^1#23\n"), 0, NULL);
}

TEST(array_bad_objects_harm_themselves)
{
	check_body(&ingest_json_array, SPAN("[{\"line\":\"a\"},{\"line\":},7,\"x\",[],{\"line\":\"b\"}]"),
		SPAN("J/algo-1:|a#2|b#2\n"), 4,
		"element 2, column 9: expected a value; element 3, column 1: expected '{'");
}

static void check_array_mistake(struct span body, const char *want, int64_t element, uint64_t lines)
{
	for (size_t piece = 1; piece <= body.len + 1; piece++) {
		AUTO(batch) batch = batch_new(1);
		struct ingest_parser *parser;
		struct error mistake = {0};
		CHECK_OK(ingest_json_array.open(&parser, &test_options, &err));
		CHECK_INT(feed_all(&ingest_json_array, parser, batch, body, piece, &mistake), ERR_INVALID);
		CHECK_SPAN(span_from(mistake.text), span_from(want));
		CHECK_INT(mistake.line, element);
		CHECK_INT(batch->line_count, lines);
		ingest_json_array.free(parser);
	}
}

TEST(array_mistakes_have_their_element)
{
	check_array_mistake(
		SPAN("{\"line\":\"a\"}"), "element 1 of the array: expected '[', an array of objects", 1, 0);
	check_array_mistake(SPAN(""), "element 1 of the array: expected '[', an array of objects", 1, 0);
	check_array_mistake(SPAN("[{\"line\":\"a\"},"), "element 2 of the array: expected '{'", 2, 1);
	check_array_mistake(SPAN("[{\"line\":\"a\"},]"), "element 2 of the array: expected '{'", 2, 1);
	check_array_mistake(
		SPAN("[{\"line\":\"a\"},{\"line\":\"b\"}"), "element 2 of the array: expected ',' or ']'", 2, 1);
	check_array_mistake(SPAN("[{\"line\":\"a\"}]x"), "element 2 of the array: expected nothing behind ']'", 2, 1);
	check_array_mistake(SPAN("[,]"), "element 1 of the array: expected '{' or ']'", 1, 0);
}

TEST(ndjson_times_that_are_none)
{
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\",\"ts\":12}\n"), SPAN("J/algo-1:|a#2\n"), 0,
		"'12' is no time between");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\",\"ts\":\"x\"}\n"), SPAN("J/algo-1:|a#2\n"), 0,
		"line 1, column 19: 'x' is no time");
	check_body(&ingest_ndjson, SPAN("{\"line\":\"a\",\"ts\":{}}\n"), SPAN("J/algo-1:|a#2\n"), 0,
		"neither text nor number");
}

TEST(ndjson_job_missing_everywhere)
{
	struct ingest_options options = test_options;
	struct ingest_parser *parser;
	AUTO(batch) batch = batch_new(1);

	options.job = SPAN("");
	CHECK_OK(ingest_ndjson.open(&parser, &options, &err));
	CHECK_OK(feed_all(
		&ingest_ndjson, parser, batch, SPAN("{\"line\":\"a\"}\n{\"line\":\"b\",\"job\":\"K\"}\n"), 99, &err));
	CHECK_INT(batch->rejected, 1);
	CHECK_INT(batch->line_count, 1);
	CHECK(span_find(ingest_ndjson.warning(parser), SPAN("no job")) >= 0);
	ingest_ndjson.free(parser);
}

TEST(ndjson_streams_in_a_slice_are_limited)
{
	struct ingest_parser *parser;
	AUTO(batch) batch = batch_new(1);

	CHECK_OK(ingest_ndjson.open(&parser, &test_options, &err));
	CHECK_FAILS(
		feed_all(&ingest_ndjson, parser, batch,
			SPAN("{\"line\":\"\",\"stream\":1}\n{\"line\":\"\",\"stream\":2}\n{\"line\":\"\",\"stream\":3}\n"
			     "{\"line\":\"\",\"stream\":1}\n{\"line\":\"\",\"stream\":4}\n"),
			99, &err),
		ERR_TOO_LARGE, "line 5: more than 3 streams");
	CHECK_INT(batch->line_count, 4);
	ingest_ndjson.free(parser);
}

TEST(ndjson_an_endless_object_needs_constant_memory)
{
	static char block[1 << 16];
	AUTO(batch) batch = batch_new(1);
	struct ingest_parser *parser;

	memset(block, 'x', sizeof block);
	CHECK_OK(ingest_ndjson.open(&parser, &test_options, &err));
	for (int i = 0; i < 1024; i++)
		CHECK_OK(ingest_ndjson.feed(parser, batch, span_of(block, sizeof block), &err));
	CHECK_OK(ingest_ndjson.feed(parser, batch, SPAN("\n{\"line\":\"next\"}\n"), &err));
	CHECK_INT(batch->rejected, 1);
	CHECK_SPAN(batch->parts[0].lines[0].text, SPAN("next"));
	CHECK(span_find(ingest_ndjson.warning(parser), SPAN("longer than")) >= 0);
	ingest_ndjson.free(parser);
}

TEST(ndjson_survives_every_failing_allocation)
{
	for (long nth = 1; nth < 60; nth++) {
		struct ingest_parser *parser = NULL;
		struct error err;
		AUTO(batch) batch = batch_new(1);
		mem_fail_at(nth);
		if (ingest_ndjson.open(&parser, &test_options, &err) == OK) {
			enum status status = feed_all(&ingest_ndjson, parser, batch,
				SPAN("{\"host\":\"a\",\"log\":\"NVRM: \\t\"}\n{\"line\":\"\\t\",\"job\":\"\\u0041\",\"stream\":\"\\u0041\"}\n{\nx"),
				7, &err);
			CHECK(status == OK || status == ERR_MEMORY);
			ingest_ndjson.free(parser);
		}
		mem_fail_at(0);
	}
}
