#include "base/json/json_write.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TEST(json_write_nesting_and_commas)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	struct json_writer w = json_writer_on(&out);

	json_object(&w);
	json_put_i64(&w, "a", 1);
	json_key(&w, "b");
	json_array(&w);
	json_array(&w);
	json_array_end(&w);
	json_object(&w);
	json_object_end(&w);
	json_null(&w);
	json_bool(&w, true);
	json_raw(&w, SPAN("{\"x\":[]}"));
	json_array_end(&w);
	json_put_text(&w, "c", "x");
	json_put_span(&w, "d", SPAN(""));
	json_put_double(&w, "e", 0.5);
	json_put_bool(&w, "f", false);
	json_object_end(&w);
	CHECK_SPAN(buf_span(&out), SPAN("{\"a\":1,\"b\":[[],{},null,true,{\"x\":[]}],\"c\":\"x\",\"d\":\"\",\"e\":0.5,"
					"\"f\":false}"));
	CHECK_INT(w.depth, 0);
}

TEST(json_write_depth_limit)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	struct json_writer w = json_writer_on(&out);

	for (int i = 0; i < JSON_MAX_DEPTH; i++)
		json_array(&w);
	CHECK_OK(buf_status(&out, &err));
	json_array(&w);
	CHECK_FAILS(buf_status(&out, &err), ERR_TOO_LARGE, "");
}

static void check_string(struct span text, struct span want)
{
	AUTO_DONE(buf) out = BUF_INIT(10000);
	struct json_writer w = json_writer_on(&out);

	json_span(&w, text);
	CHECK_SPAN(buf_span(&out), want);
}

TEST(json_write_escapes)
{
	check_string(SPAN("a\"b\\c/"), SPAN("\"a\\\"b\\\\c/\""));
	check_string(SPAN("\b\t\n\f\r\0\x1f\x7f"), SPAN("\"\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\""));
	check_string((struct span){NULL, 0}, SPAN("\"\""));
	check_string(SPAN("0123456789abcdef\n0123456789abcde\"f"), SPAN("\"0123456789abcdef\\n0123456789abcde\\\"f\""));
	check_string(SPAN("!\x7f ~!\x7f ~"), SPAN("\"!\x7f ~!\x7f ~\""));
}

/* Each byte at each place of the eight that are looked at together. */
TEST(json_write_escapes_wherever_they_are)
{
	for (int c = 0; c < 128; c++)
		for (size_t at = 0; at < 16; at++) {
			char text[] = "aaaaaaaaaaaaaaaa";
			AUTO_DONE(buf) out = BUF_INIT(100);
			struct json_writer w = json_writer_on(&out);
			text[at] = (char)c;
			json_span(&w, span_of(text, 16));
			bool is_plain = c >= ' ' && c != '"' && c != '\\';
			CHECK_INT(out.len == 18, is_plain);
		}
}

TEST(json_write_utf8)
{
	check_string(SPAN("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
		SPAN("\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""));
	check_string(SPAN("a\xff"
			  "b"),
		SPAN("\"a\xef\xbf\xbd"
		     "b\""));
	check_string(SPAN("\xc3"), SPAN("\"\xef\xbf\xbd\""));
	check_string(SPAN("\xe2\x82"
			  "a"),
		SPAN("\"\xef\xbf\xbd\xef\xbf\xbd"
		     "a\""));
	check_string(SPAN("\xed\xa0\x80"), SPAN("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
}

TEST(json_write_keys)
{
	AUTO_DONE(buf) out = BUF_INIT(100);
	struct json_writer w = json_writer_on(&out);

	json_object(&w);
	json_key_span(&w, SPAN("a\n"));
	json_i64(&w, 1);
	json_key(&w, "b");
	json_i64(&w, 2);
	json_object_end(&w);
	CHECK_SPAN(buf_span(&out), SPAN("{\"a\\n\":1,\"b\":2}"));
}

TEST(json_write_integers)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	struct json_writer w = json_writer_on(&out);

	json_array(&w);
	json_i64(&w, 0);
	json_i64(&w, -7);
	json_i64(&w, 10);
	json_i64(&w, 99);
	json_i64(&w, 100);
	json_i64(&w, INT64_MAX);
	json_i64(&w, INT64_MIN);
	json_u64(&w, UINT64_MAX);
	json_array_end(&w);
	CHECK_SPAN(
		buf_span(&out), SPAN("[0,-7,10,99,100,9223372036854775807,-9223372036854775808,18446744073709551615]"));
}

TEST(json_write_seconds)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {{0, "0.000"}, {1700000000123, "1700000000.123"}, {5, "0.005"}, {-1, "-0.001"}, {-1500, "-1.500"},
		{INT64_MIN, "-9223372036854775.808"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO_DONE(buf) out = BUF_INIT(100);
		struct json_writer w = json_writer_on(&out);
		json_seconds(&w, cases[i].ms);
		CHECK_SPAN(buf_span(&out), span_from(cases[i].text));
	}
}

TEST(json_write_doubles)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"}, {-0.0, "-0"}, {1, "1"}, {-17.25, "-17.25"}, {3.4231, "3.4231"}, {0.1, "0.1"},
		{0.1 + 0.2, "0.30000000000000004"}, {1e-5, "0.00001"}, {1e-7, "0.0000001"}, {1e-8, "1e-8"},
		{1.5e-8, "1.5e-8"}, {1e15, "1000000000000000"}, {9007199254740992.0, "9007199254740992"},
		{9007199254740994.0, "9007199254740994"}, {1e20, "100000000000000000000"}, {1e21, "1e+21"},
		{123456789012345680000.0, "123456789012345680000"}, {1.25e300, "1.25e+300"}, {5e-324, "5e-324"},
		{-DBL_MAX, "-1.7976931348623157e+308"}, {DBL_MIN, "2.2250738585072014e-308"}, {100.5, "100.5"},
		{0.0000012345678901234567, "0.0000012345678901234567"}, {NAN, "NaN"}, {INFINITY, "Infinity"},
		{-INFINITY, "-Infinity"}};
	char text[33];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t len = json_format_double(cases[i].value, text);
		CHECK_INT(len, strlen(text));
		CHECK_TEXT(text, cases[i].text);
	}
}

TEST(json_write_doubles_that_are_not_finite)
{
	AUTO_DONE(buf) out = BUF_INIT(100);
	struct json_writer w = json_writer_on(&out);

	json_array(&w);
	json_double(&w, NAN);
	json_double(&w, -INFINITY);
	json_double(&w, 2.5);
	json_array_end(&w);
	CHECK_SPAN(buf_span(&out), SPAN("[\"NaN\",\"-Infinity\",2.5]"));
}

TEST(json_write_doubles_read_back_the_same)
{
	uint64_t bits = 88172645463325252u; /* xorshift: the same numbers in every run */
	char text[33];

	for (int i = 0; i < 300000; i++) {
		double value, back;
		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&value, &bits, sizeof value);
		if (i % 3 == 1)
			value = (double)(int64_t)(bits % 2000000) / 10000;
		else if (i % 3 == 2)
			value = (double)(bits >> 11) / 9007199254740992.0;
		if (!isfinite(value))
			continue;
		size_t len = json_format_double(value, text);
		CHECK(len <= 32);
		CHECK_DOUBLE(strtod(text, NULL), value);
		CHECK(span_parse_double(span_of(text, len), &back));
		CHECK_DOUBLE(back, value);
	}
}

TEST(json_write_out_of_memory)
{
	for (long nth = 1;; nth++) {
		AUTO_DONE(buf) out = BUF_INIT(10000);
		struct json_writer w = json_writer_on(&out);
		mem_fail_at(nth);
		json_array(&w);
		for (int i = 0; i < 100; i++) {
			json_double(&w, i / 8.0);
			json_text(&w, "a\nb");
		}
		json_array_end(&w);
		mem_fail_at(0);
		if (buf_status(&out, NULL) == OK)
			break;
		CHECK_FAILS(buf_status(&out, &err), ERR_MEMORY, "memory");
		CHECK(nth < 50);
	}
}

static uint64_t next_of(uint64_t *chance)
{
	*chance ^= *chance << 13;
	*chance ^= *chance >> 7;
	*chance ^= *chance << 17;
	return *chance;
}

/* Of up to 15 digits the decimal itself, without the zeros at its end. */
TEST(json_write_decimals_as_they_were_printed)
{
	uint64_t chance = 88172645463325252u;
	char text[33], want[64];

	for (int i = 0; i < 300000; i++) {
		int places = (int)(next_of(&chance) % 8) + 1;
		uint64_t digits = next_of(&chance) % (i % 4 ? 100000000u : 1000000000000000u), one = 1;
		for (int place = 0; place < places; place++)
			one *= 10;
		if (digits % one == 0 || (double)digits / (double)one < 1e-7)
			continue;
		int len = snprintf(want, sizeof want, "%llu.%0*llu", (unsigned long long)(digits / one), places,
			(unsigned long long)(digits % one));
		while (want[len - 1] == '0')
			want[--len] = 0;
		json_format_double((double)digits / (double)one, text);
		CHECK_TEXT(text, want);
	}
}

TEST(json_write_integers_of_each_length)
{
	uint64_t value = 1;

	for (int digits = 1; digits <= 20; digits++, value *= 10)
		for (int less = 0; less < 2; less++) {
			AUTO_DONE(buf) out = BUF_INIT(100);
			struct json_writer w = json_writer_on(&out);
			char want[24];
			snprintf(want, sizeof want, "%llu", (unsigned long long)(value - (uint64_t)less));
			json_u64(&w, value - (uint64_t)less);
			CHECK_SPAN(buf_span(&out), span_from(want));
		}
}

enum { MANY = 1000 };

/* What is written together is as each would be, also where the buf ends in the middle of it. */
static void check_many(const int64_t *integers, const double *doubles, size_t count, size_t limit)
{
	AUTO_DONE(buf) one = BUF_INIT(limit);
	AUTO_DONE(buf) all = BUF_INIT(limit);
	struct json_writer by_one = json_writer_on(&one), at_once = json_writer_on(&all);

	json_array(&by_one);
	json_array(&at_once);
	for (size_t i = 0; i < count; i++)
		json_i64(&by_one, integers[i]);
	json_i64s(&at_once, integers, count);
	for (size_t i = 0; i < count; i++)
		json_double(&by_one, doubles[i]);
	json_doubles(&at_once, doubles, count);
	json_array_end(&by_one);
	json_array_end(&at_once);
	CHECK_INT(all.failure, one.failure);
	CHECK_SPAN(buf_span(&all), buf_span(&one));
}

TEST(json_write_many_numbers_as_each)
{
	static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 5e-324, -DBL_MAX, 1e21, 0.1 + 0.2};
	uint64_t chance = 88172645463325252u;
	int64_t integers[MANY];
	double doubles[MANY];

	for (size_t i = 0; i < MANY; i++) {
		bool is_same = i && next_of(&chance) % 3;
		integers[i] = is_same ? integers[i - 1] : (int64_t)next_of(&chance) >> next_of(&chance) % 64;
		doubles[i] = is_same ? doubles[i - 1] : (double)(int64_t)(next_of(&chance) % 2000000) / 1000;
		if (i % 17 == 0)
			doubles[i] = odd[i / 17 % (sizeof odd / sizeof *odd)];
	}
	for (size_t count = 0; count < 200; count++)
		check_many(integers + count, doubles + count, count, 100000);
	check_many(integers, doubles, MANY, 100000);
	for (size_t limit = 1; limit < 20000; limit += 37)
		check_many(integers, doubles, MANY, limit);
}
