#include "harness.h"
#include "ingest/points/points_entry.h"
#include "model/metrics/batch_points.h"

#include <math.h>
#include <stdio.h>

static const struct ingest_options points_options = {
	.job = {"J", 1}, .stream = {"algo-1", 6}, .max_name_bytes = 255, .max_parts = 3, .max_points_bytes = 200};

/* "stream/metric:" and then "|step@ts=value" a point; steps and times that are not there are left out. */
static void show_points(const struct batch *batch, struct buf *out)
{
	for (size_t i = 0; i < batch->part_count; i++)
		for (size_t j = 0; j < batch->parts[i].series_count; j++) {
			const struct batch_series *series = &batch->parts[i].series[j];
			buf_printf(out, "%.*s/%.*s:", SPAN_ARGS(batch->parts[i].stream), SPAN_ARGS(series->metric));
			for (size_t k = 0; k < series->count; k++) {
				buf_append_char(out, '|');
				if (series->steps[k] != NO_STEP)
					buf_printf(out, "%lld", (long long)series->steps[k]);
				if (series->ts_ms[k] != batch->arrival_ms)
					buf_printf(out, "@%lld", (long long)series->ts_ms[k]);
				buf_printf(out, "=%.17g", series->values[k]);
			}
			buf_append_char(out, '\n');
		}
}

/* The same result or the same mistake however the body is cut. */
static void check_points(const struct ingest_protocol *protocol, struct span body, enum status status, const char *want)
{
	for (size_t piece = 1; piece <= body.len + 1; piece++) {
		AUTO(batch) batch = batch_new(1);
		AUTO_DONE(buf) shown = BUF_INIT(1 << 20);
		struct ingest_parser *parser;
		struct error mistake = {0};
		CHECK_OK(protocol->open(&parser, &points_options, &err));
		CHECK_INT(feed_all(protocol, parser, batch, body, piece, &mistake), status);
		show_points(batch, &shown);
		CHECK_SPAN(status == OK ? buf_span(&shown) : span_from(mistake.text), span_from(want));
		protocol->free(parser);
	}
}

TEST(points_columns)
{
	check_points(&ingest_points,
		SPAN(" {\"series\" : [ {\"metric\":\"a\",\"step\":[1,2],\"ts_ms\":[1700000000000,1700000000001],"
		     "\"value\":[0.5,\"NaN\"]},\n"
		     "{\"value\":[1e22,-12345678901234567890,1.7976931348623157e308,5e-324],\"metric\":\"b\","
		     "\"stream\":\"s\\u0032\"}]}\n"),
		OK,
		"algo-1/a:|1@1700000000000=0.5|2@1700000000001=nan\n"
		"s2/b:|=1e+22|=-1.2345678901234567e+19|=1.7976931348623157e+308|=4.9406564584124654e-324\n");
	check_points(&ingest_points, SPAN("{\"series\":[],\"points\":[]}"), OK, "");
	check_points(&ingest_points, SPAN("{}"), OK, "");
}

TEST(points_objects_and_labels)
{
	check_points(&ingest_points,
		SPAN("{\"points\":[{\"metric\":\"m{b=\\\"}{\\\",a=\\\"1\\\"}\",\"value\":-0.0,\"step\":-3},"
		     "{\"metric\":\"m{ a=\\\"1\\\", b=\\\"}{\\\" }\",\"value\":\"-Infinity\"},"
		     "{\"metric\":\"m{}\",\"value\":1,\"step\":9007199254740992}]}"),
		OK, "algo-1/m{a=\"1\",b=\"}{\"}:|-3=-0|=-inf\nalgo-1/m:|9007199254740992=1\n");
}

TEST(points_numbers_in_any_form)
{
	check_points(&ingest_points,
		SPAN("{\"series\":[{\"metric\":\"a\",\"step\":[0,-0,007,-12345678,123456789012345,1e2],"
		     "\"value\":[1234567.25,-0,0.1e1,12345678.87654321,0.30000000000000004,2.2250738585072014e-308]},"
		     "{\"metric\":\"a\",\"step\":[30 , 2.0],"
		     "\"value\":[123456789012345678901234567890,-17976931348623157e292]}]}"),
		OK,
		"algo-1/a:|0=1234567.25|0=-0|7=1|-12345678=12345678.876543211|123456789012345=0.30000000000000004"
		"|100=2.2250738585072014e-308|30=1.2345678901234568e+29|2=-1.7976931348623157e+308\n");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":1.5.5}]"), ERR_INVALID,
		"line 1, column 27, [0]: expected ',' or '}'");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":12345678x}]"), ERR_INVALID,
		"line 1, column 32, [0]: expected ',' or '}'");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":--1}]"), ERR_INVALID,
		"line 1, column 24, [0].value: expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":1,\"ts_ms\":123456789012}]"), ERR_INVALID,
		"line 1, column 34, [0].ts_ms: '123456789012' is no time in Unix milliseconds between 1990 and 2200");
}

TEST(points_mistakes_have_a_place)
{
	check_points(&ingest_points, SPAN("{\"points\":[{\"metric\":\"m\",\n\"value\":1.}]}"), ERR_INVALID,
		"line 2, column 9, points[0].value: expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
	check_points(&ingest_points, SPAN("{\"series\":[{\"metric\":\"m\",\"value\":[1,2],\"step\":[1]}]}"),
		ERR_INVALID, "line 1, column 51, series[0].step: step has 1 items, value has 2");
	check_points(&ingest_points, SPAN("{\"points\":[{\"metric\":\"m\",\"step\":9007199254740993,\"value\":1}]}"),
		ERR_INVALID, /* also where a double would be its neighbour */
		"line 1, column 33, points[0].step: '9007199254740993' is no integer between -2^53 and 2^53");
	check_points(&ingest_points, SPAN("{\"points\":[{\"metric\":\"m\",\"step\":-9007199254740993.0,\"value\":1}]}"),
		ERR_INVALID,
		"line 1, column 33, points[0].step: '-9007199254740993.0' is no integer between -2^53 and 2^53");
	check_points(&ingest_points,
		SPAN("{\"points\":[{\"metric\":\"m\",\"step\":9007199254740992.50000,\"value\":1}]}"), ERR_INVALID,
		"line 1, column 33, points[0].step: '9007199254740992.50000' is no integer between -2^53 and 2^53");
	check_points(&ingest_points,
		SPAN("{\"points\":[{\"metric\":\"m\",\"step\":9007199254740993.000000000,\"value\":1}]}"), ERR_INVALID,
		"line 1, column 33, points[0].step: '9007199254740993.000000000' is no integer between -2^53 and 2^53");
	check_points(&ingest_points,
		SPAN("[{\"metric\":\"m\",\"step\":900719925474099.2e1,\"value\":1},{\"metric\":\"m\",\"step\":-90071992547409920e-1,\"value\":1},"
		     "{\"metric\":\"m\",\"step\":3.00000000000000000000,\"value\":1},{\"metric\":\"m\",\"step\":0e999,\"value\":1}]"),
		OK, "algo-1/m:|9007199254740992=1|-9007199254740992=1|3=1|0=1\n");
	check_points(&ingest_points, SPAN("{\"points\":[{\"metric\":\"m\",\"step\":9007199254740994,\"value\":1}]}"),
		ERR_INVALID,
		"line 1, column 33, points[0].step: '9007199254740994' is no integer between -2^53 and 2^53");
	check_points(&ingest_points, SPAN("{\"points\":[]"), ERR_INVALID, "line 1, column 13: expected ',' or '}'");
	check_points(&ingest_points, SPAN("{\"points\":[]}x"), ERR_INVALID,
		"line 1, column 14: expected nothing behind the end");
	check_points(&ingest_points, SPAN("{\"points\":[{\"metric\":\"m\",\"metric\":\"m\"}]}"), ERR_INVALID,
		"line 1, column 35, points[0].metric: comes twice");
}

TEST(points_array)
{
	check_points(&ingest_points,
		SPAN(" [ {\"metric\":\"a\",\"value\":1},\n{\"metric\":\"a\",\"step\":2,\"value\":\"NaN\"} ]\n"), OK,
		"algo-1/a:|=1|2=nan\n");
	check_points(&ingest_points, SPAN("[]"), OK, "");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":1},{\"metric\":\"m\",\n\"value\":1.}]"),
		ERR_INVALID, "line 2, column 9, [1].value: expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":1},]"), ERR_INVALID,
		"line 1, column 27: expected '{'");
	check_points(&ingest_points, SPAN("[{\"metric\":\"a\",\"value\":1}"), ERR_INVALID,
		"line 1, column 26: expected ',' or ']'");
	check_points(&ingest_points, SPAN("[]]"), ERR_INVALID, "line 1, column 3: expected nothing behind the end");
	check_points(&ingest_points, SPAN("7"), ERR_INVALID, "line 1, column 1: expected '{' or '['");
}

TEST(points_lines)
{
	check_points(&ingest_points_ndjson,
		SPAN("{\"metric\":\"a\",\"value\":1}\r\n\n{\"metric\":\"a\",\"value\":[1]}\n{\n{\"metric\":\"a\",\"value\":2}"),
		OK, "algo-1/a:|=1|=2\n");
}

TEST(points_blank_lines_are_no_mistakes)
{
	struct span body = SPAN("\r\n{\"metric\":\"a\",\"value\":1}\r\n\r\n \t \n{\"metric\":\"a\",\"value\":2}\n  ");

	for (size_t piece = 1; piece <= body.len; piece++) {
		AUTO(batch) batch = batch_new(1);
		struct ingest_parser *parser;
		CHECK_OK(ingest_points_ndjson.open(&parser, &points_options, &err));
		CHECK_OK(feed_all(&ingest_points_ndjson, parser, batch, body, piece, &err));
		CHECK_INT(batch->point_count, 2);
		CHECK_INT(batch->rejected, 0);
		ingest_points_ndjson.free(parser);
	}
}

TEST(points_streams_and_entries_have_a_limit)
{
	check_points(&ingest_points_ndjson,
		SPAN("{\"metric\":\"a\",\"value\":1,\"stream\":\"1\"}\n{\"metric\":\"a\",\"value\":1,\"stream\":\"2\"}\n"
		     "{\"metric\":\"a\",\"value\":1,\"stream\":\"3\"}\n{\"metric\":\"a\",\"value\":1,\"stream\":\"4\"}\n"),
		ERR_TOO_LARGE, "line 4, column 38: more than 3 streams in one slice");
}

TEST(points_of_a_large_entry_leave_no_memory_behind)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct points_entry entry = {0};
	size_t at;

	for (int round = 0; round < 2; round++) { /* it is as usable as before */
		buf_reset(&text);
		buf_append_text(&text, "{\"metric\":\"a\",\"value\":[1");
		for (int i = 1; i < 1000; i++)
			buf_append_text(&text, ",1");
		buf_append_text(&text, "]}");
		CHECK_OK(points_entry_scan(&entry, buf_span(&text), true, &at, &err));
		CHECK_INT(entry.values.count, 1000);
		points_entry_shrink(&entry, 1024);
		CHECK_INT(entry.values.cap, 1024);
		points_entry_shrink(&entry, 1023);
		CHECK_INT(entry.values.cap, 0);
	}
	points_entry_done(&entry);
}

TEST(points_many_series)
{
	AUTO(batch) batch = batch_new(1);
	struct batch_part *part = batch_part(batch, SPAN("J"), SPAN("s"));
	int64_t number;
	double value;
	char name[16];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 500; i++) {
			snprintf(name, sizeof name, "m%d", i * 7 % 500);
			struct batch_series *series = batch_series(batch, part, span_from(name));
			number = round;
			value = i;
			CHECK(series && batch_add_points(batch, part, series, &number, &number, &value, 1));
		}
	CHECK_INT(part->series_count, 500);
	CHECK_INT(part->point_count, 1500);
	for (size_t i = 0; i < part->series_count; i++)
		CHECK_INT(part->series[i].count, 3);
}
