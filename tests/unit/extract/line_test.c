#include "base/clock.h"
#include "base/text/line_time.h"
#include "extract/line/number.h"
#include "helper.h"

TEST(the_value_is_the_named_group_or_the_first)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"a\",\"Regex\":\"a=(\\\\S+)\"},"
		      "{\"Name\":\"b\",\"Regex\":\"(\\\\w+)=b(?<value>\\\\d+)\"},"
		      "{\"Name\":\"c\",\"Regex\":\"step (?<step>\\\\d+)/(?<total>\\\\d+) c=(\\\\S+)\"}]");

	CHECK_INT(feed(&s, "a=1.5 x=b7"), 2);
	CHECK_DOUBLE(point_at(&s, 0)->value, 1.5);
	CHECK_DOUBLE(point_at(&s, 1)->value, 7);
	CHECK_INT(feed(&s, "step 12/100 c=0.25"), 1);
	CHECK_DOUBLE(newest(&s)->value, 0.25);
	CHECK_INT(newest(&s)->step, 12);
	CHECK_INT(s.points.items[2].definition, 2);
	CHECK_INT(newest(&s)->line, 1);
	CHECK_INT(newest(&s)->attempt, 1);
}

TEST(flags_in_front_hide_no_value_that_an_expression_does_not_foresee)
{
	static const char *const flags[] = {"", "(?i)", "(?-x)", "(?i-s)"};
	char definitions[128];

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		snprintf(definitions, sizeof definitions, "[{\"Name\":\"v\",\"Regex\":\"%sloss: ([0-9.]+)\"}]",
			flags[i]);
		AUTO_DONE(stream) s = stream_of(definitions);
		CHECK_INT(feed(&s, "loss: 2.5"), 1);
		CHECK_INT(feed(&s, "loss: nan"), 1);
		CHECK(isnan(newest(&s)->value));
	}
}

/* What an expression for digits finds of "1.#QNAN" is its 1. */
TEST(no_expression_cuts_a_value_that_is_not_finite)
{
	static const char *const regexes[] = {"loss: ([0-9.]+)", "loss: (-?\\\\d+)", "loss: (-?\\\\d+\\\\.?\\\\d*)",
		"loss: (-?\\\\d+\\\\.\\\\d+)", "loss: (\\\\S+),", "loss: ([^,]+),", "loss: ([0-9.]+), lr"};
	static const char *const values[] = {
		"1.#QNAN", "1.#QNAN0", "-1.#IND", "-1.#IND00", "1.#SNAN", "1.#QNB", "-nan(ind)", "nan(snan)"};
	char text[128];

	for (size_t i = 0; i < sizeof regexes / sizeof *regexes; i++) {
		snprintf(text, sizeof text, "[{\"Name\":\"v\",\"Regex\":\"%s\"}]", regexes[i]);
		AUTO_DONE(stream) s = stream_of(text);
		CHECK_INT(feed(&s, "loss: 2.5, lr 1"), 1);
		for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
			snprintf(text, sizeof text, "loss: %s, lr 1", values[j]);
			if (feed(&s, text) != 1 || !isnan(newest(&s)->value))
				test_fail(__FILE__, __LINE__, "%s: %s is %g", regexes[i], values[j], newest(&s)->value);
		}
		CHECK_INT(feed(&s, "loss: 1.#INF, lr 1"), 1);
		CHECK(isinf(newest(&s)->value));
	}
}

TEST(numbers_as_trainers_print_them)
{
	AUTO_DONE(stream) s = stream_of("[{\"Name\":\"v\",\"Regex\":\"v=([^;]*);\"}]");
	static const struct {
		const char *text;
		double value;
	} cases[] = {{"v=1;", 1}, {"v= -2.5e-3 ;", -2.5e-3}, {"v=4,376;", 4376}, {"v=1,234,567.5;", 1234567.5},
		{"v=nan;", NAN}, {"v=NaN;", NAN}, {"v=inf;", INFINITY}, {"v=-inf;", -INFINITY}, {"v=.5;", .5}};
	static const char *const wrong[] = {
		"v=;", "v=abc;", "v=1,23;", "v=1234,567;", "v=,123;", "v=1.5,000;", "v=0x10;", "v=1 2;", "v=,;"};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		CHECK_INT(feed(&s, cases[i].text), 1);
		CHECK_DOUBLE(newest(&s)->value, cases[i].value);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		CHECK_INT(feed(&s, wrong[i]), 0);
	struct definition_health health = extractor_health(s.extractor, 0);
	CHECK_INT(health.tried, 18);
	CHECK_INT(health.matched, 18);
	CHECK_INT(health.not_numeric, 9);
	CHECK_INT(extractor_health(s.extractor, 7).tried, 0);
}

TEST(values_come_with_units)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"t\",\"Regex\":\"t=([^;]*);\",\"Unit\":\"ms\"},"
		      "{\"Name\":\"v\",\"Regex\":\"v=([^;]*);\"},"
		      "{\"Name\":\"u\",\"Regex\":\"u=(\\\\d+) (?<unit>\\\\w+);\",\"Unit\":\"s\"}]");
	static const struct {
		const char *text;
		double value;
	} cases[] = {{"t=350ms;", 350}, {"t=1.5s;", 1500}, {"t=0:00:02;", 2000}, {"t=7;", 7}, {"v=1h02m;", 3720},
		{"v=8m 56s;", 536}, {"v=1.2k;", 1200}, {"v=122.0K;", 122000}, {"v=51.5%;", 51.5}, {"v=\"0.5\";", .5},
		{"v='3';", 3}, {"v=2M;", 2e6}, {"v=350us;", 350e-6}, {"v=350\xc2\xb5s;", 350e-6},
		{"v=350\xce\xbcs;", 350e-6}, {"t=350\xc2\xb5s;", .35}, {"t=1.001s;", 1001}, {"v=1.001k;", 1001},
		{"v=4.35M;", 4350000}, {"u=250 ms;", .25}, {"u=2 min;", 120}, {"u=3 apples;", 3}, {"t=350 ms;", 350},
		{"t=0.35 s;", 350}, {"v=0.35 s;", .35}, {"v=350 \xc2\xb5s;", 350e-6}, {"v=-350ms;", -.35},
		{"t=-350ms;", -350}, {"t=-350 ms;", -350}, {"v=+2s;", 2}, {"v=-1h02m;", -3720}, {"v=3.5e-2 s;", .035},
		{"v=1,200 ms;", 1.2}, {"v=1 h 2 min;", 3720}, {"t=-0:00:02;", -2000}, {"v=1,200 tok/s;", 1200},
		{"v=1.2 ktok/s;", 1200}, {"v= 3.5 it/s ;", 3.5}, {"v=0.25 s/it;", .25}};
	static const char *const wrong[] = {"v=-;", "v=n/a;", "v=--;", "v=5:7x;", "v=k;", "v=%;", "v=\";", "v=1h2;",
		"v=1:99;", "v=1:2:3:4;", "v=-ms;", "v=- 5s;", "v=--5s;", "v=3 apples;", "v=3 of 4;", "v=2 s of 3;",
		"v=fast tok/s;"};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (feed(&s, cases[i].text) != 1)
			test_fail(__FILE__, __LINE__, "'%s'", cases[i].text);
		CHECK_DOUBLE(newest(&s)->value, cases[i].value);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (feed(&s, wrong[i]) != 0)
			test_fail(__FILE__, __LINE__, "'%s'", wrong[i]);
}

TEST(a_unit_beside_a_value_counts_its_thousands)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"a\",\"Regex\":\"a=(\\\\d+) (?<unit>[^;]+)\",\"Unit\":\"tok/s\"},"
		      "{\"Name\":\"b\",\"Regex\":\"b=(\\\\d+) (?<unit>[^;]+)\",\"Unit\":\"ktok/s\"},"
		      "{\"Name\":\"c\",\"Regex\":\"c=(\\\\d+) (?<unit>[^;]+)\"}]");
	static const struct {
		const char *text;
		double value;
		const char *unit;
	} cases[] = {{"a=2 tok/s;", 2, ""}, {"a=2 ktok/s;", 2000, ""}, {"b=2 ktok/s;", 2, ""},
		{"b=57 tok/s;", .057, ""}, {"b=2 Mtok/s;", 2000, ""}, {"c=2 ktok/s;", 2000, "tok/s"},
		{"c=2 K;", 2000, ""}, {"c=2 T;", 2e12, ""}, {"c=2 GiB/s;", 2, "GiB/s"}, {"c=2 min;", 120, "s"},
		{"c=2 m;", 2, "m"}, {"c=2 ns;", .002, "us"}, {"c=2 \xff;", 2, ""}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (feed(&s, cases[i].text) != 1)
			test_fail(__FILE__, __LINE__, "'%s'", cases[i].text);
		CHECK_DOUBLE(newest(&s)->value, cases[i].value);
		CHECK_SPAN(s.points.items[s.points.count - 1].unit, span_from(cases[i].unit));
	}
}

/* As often as a decimal number is shifted, no digit comes to it that nobody printed. */
TEST(a_unit_of_time_is_shifted_exactly)
{
	static const struct {
		const char *printed, *expected;
		double unit_s;
	} forms[] = {{"%d.%03ds", "%d%03d", 1e-3}, {"%d.%03dms", "%d%03d", 1e-6}, {"%d%03dms", "%d.%03d", 1},
		{"0.%04d%03ds", "%d.%03d", 1e-4 /* no unit: of whole tenths of a ms */}, {"%d%03dus", "%d.%03de-3", 1}};
	char text[64];
	double got;

	for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
		for (int i = 0; i < 20000; i += 1 + (form == 3)) {
			snprintf(text, sizeof text, forms[form].printed, i / 1000, i % 1000);
			CHECK(number_parse_value(span_from(text), forms[form].unit_s, &got));
			snprintf(text, sizeof text, forms[form].expected, i / 1000, i % 1000);
			CHECK_DOUBLE(got, strtod(text, NULL));
		}
	}
	CHECK(number_parse_value(SPAN("0.123456789012345678s"), 1e-3, &got));
	CHECK(fabs(got - 123.456789012345678) < 1e-12);
}

TEST(several_matches_on_a_line_are_several_points)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"*\",\"Regex\":\"(?<name>\\\\w+)=(?<value>[\\\\d.]+)\"},"
		      "{\"Name\":\"l\",\"Regex\":\"<(?<step>\\\\d+)> (?<value>\\\\d+)\"},"
		      "{\"Name\":\"m\",\"Regex\":\"<(?<step>\\\\d+)> (?<value>\\\\d+)\"}]");

	CHECK_INT(feed(&s, "a=1 b=2.5 c=3"), 3);
	CHECK_INT(extractor_series(s.extractor, s.points.items[1].series).name.len, 1);
	CHECK_INT(feed(&s, "<5> 1 <6> 2"), 4); /* of two with the same Regex */
	CHECK_INT(newest(&s)->step, 6);
	CHECK_INT(extractor_health(s.extractor, 2).matched, 1);
}

TEST(every_segment_of_a_progress_bar_counts)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	CHECK_INT(feed(&s, "step 1 loss 3.0\rstep 2 loss 2.0\r\rstep 3 loss 1.0\r"), 3);
	CHECK_INT(newest(&s)->step, 3);
	CHECK_INT(point_at(&s, 0)->line, 0);
	CHECK_INT(extractor_health(s.extractor, 0).tried, 3);
}

TEST(escapes_are_not_text)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"^step: (?<step>\\\\d+) loss: (?<value>\\\\S+)$\"}]");

	CHECK_INT(feed(&s, "\x1b[31mstep: 4 \x1b[32mloss: 2.5\x1b[0m"), 1);
	CHECK_DOUBLE(newest(&s)->value, 2.5);
	CHECK_INT(feed(&s, "\x1b]0;title\x07step: 5 loss: 2.25"), 1);
	CHECK_INT(feed(&s, "\x1b]8;;http://x\x1b\\step: 6 loss: 2\x1b[K\x1b"), 1);
	CHECK_INT(feed(&s, "\x1b(step: 7 loss: 2"), 1);
	CHECK_INT(newest(&s)->step, 7);
}

TEST(a_step_comes_from_the_group_the_line_the_stream_or_the_count)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"lone\",\"Regex\":\"lone (\\\\S+)\"},"
		      "{\"Name\":\"loss\",\"Regex\":\"loss (\\\\S+)\",\"Step\":\"it (\\\\d+)\"}]");

	CHECK_INT(feed(&s, "lone 1"), 1);
	CHECK_INT(newest(&s)->step, 0);
	CHECK_INT(feed(&s, "lone 1"), 1);
	CHECK_INT(newest(&s)->step, 1);
	CHECK_INT(feed(&s, "loss 1"), 1);
	CHECK_INT(newest(&s)->step, 0);
	CHECK_INT(feed(&s, "lone 1 loss 2 it 40"), 2);
	CHECK_INT(point_at(&s, 3)->step, 40); /* a neighbour's step, further right */
	CHECK_INT(newest(&s)->step, 40);
	CHECK_INT(feed(&s, "loss 3"), 1);
	CHECK_INT(newest(&s)->step, 40);
}

TEST(steps_that_are_no_whole_numbers_are_refused)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\S+) loss (?<value>\\\\S+)\"}]");

	feed(&s, "step 7 loss 1");
	feed(&s, "step nan loss 1");
	CHECK_INT(newest(&s)->step, 7);
	feed(&s, "step 9007199254740993 loss 1"); /* 2^53 + 1 */
	CHECK_INT(newest(&s)->step, 7);
	feed(&s, "step 99999999999999999999 loss 1");
	CHECK_INT(newest(&s)->step, 7);
	feed(&s, "step 1.5 loss 1");
	CHECK_INT(newest(&s)->step, 7);
	feed(&s, "step 1,000 loss 1");
	CHECK_INT(newest(&s)->step, 1000);
	feed(&s, "step 2e3 loss 1");
	CHECK_INT(newest(&s)->step, 2000);
	feed(&s, "step 9007199254740992 loss 1");
	CHECK_INT(newest(&s)->step, INT64_C(9007199254740992));
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

TEST(log_time_is_stated_shown_or_that_of_the_arrival)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	feed(&s, "step 1 loss 1");
	CHECK_INT(newest(&s)->ts_ms, noon_ms);
	feed(&s, "2025-01-02 03:04:05,678 step 2 loss 1");
	CHECK_INT(newest(&s)->ts_ms, INT64_C(1735787045678));
	feed_at(&s, SPAN("2025-01-02 03:04:05 step 3 loss 1"), 1234);
	CHECK_INT(newest(&s)->ts_ms, 1234);
}

TEST(a_record_of_several_lines_has_the_step_and_time_of_its_header)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"epoch\",\"Regex\":\"step=(?<step>\\\\d+),epoch=(?<value>\\\\d+)\"},"
		      "{\"Name\":\"loss\",\"Regex\":\"^\\\\s+loss=(\\\\S+)\"}]");

	feed(&s, "2025-12-27 00:58:00.517\t[step=10,epoch=0]");
	feed(&s, "    loss=9.362");
	CHECK_INT(newest(&s)->step, 10);
	CHECK_INT(newest(&s)->ts_ms, INT64_C(1766797080517));
	for (int i = 0; i < 100; i++)
		feed(&s, "chatter");
	feed(&s, "    loss=9.362");
	CHECK_INT(newest(&s)->ts_ms, s.now_ms - 1000);
}

TEST(a_runaway_expression_is_switched_off)
{
	AUTO_DONE(stream) s = stream_of("[{\"Name\":\"x\",\"Regex\":\"(a+)+$\"}]");

	regex_scratch_limit(s.scratch, 100);
	for (int i = 0; i < 150; i++)
		feed(&s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	CHECK_INT(extractor_health(s.extractor, 0).limited, 150); /* and goes on to say so */
	CHECK_INT(extractor_health(s.extractor, 0).tried, 101);
	extractor_reset_definitions(s.extractor);
	CHECK_INT(extractor_health(s.extractor, 0).limited, 0);
	feed(&s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	CHECK_INT(extractor_health(s.extractor, 0).limited, 1);
}

TEST(a_runaway_step_is_switched_off)
{
	AUTO_DONE(stream) s = stream_of("[{\"Name\":\"x\",\"Regex\":\"loss=(\\\\d+)\",\"Step\":\"(a+)+$\"}]");

	regex_scratch_limit(s.scratch, 100);
	for (int i = 0; i < 150; i++) {
		feed(&s, "loss=1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
		feed(&s, "something else");
	}
	CHECK_INT(extractor_health(s.extractor, 0).tried, 201);
	CHECK_INT(extractor_health(s.extractor, 0).limited, 101 + 99);
}

/* Two that share an expression share what it costs; a restored stream goes on to leave them out. */
TEST(a_runaway_step_of_the_second_is_switched_off)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"x\",\"Regex\":\"loss=(\\\\d+)\"},"
		      "{\"Name\":\"y\",\"Regex\":\"loss=(\\\\d+)\",\"Step\":\"(a+)+$\"}]");
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	regex_scratch_limit(s.scratch, 100);
	for (int i = 0; i < 150; i++)
		feed(&s, "loss=1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	CHECK_INT(extractor_health(s.extractor, 1).tried, 101);
	CHECK_INT(extractor_health(s.extractor, 1).limited, 150);
	CHECK_INT(extractor_health(s.extractor, 0).tried, 101);
	extractor_pack(s.extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(s.extractor);
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
	feed(&s, "loss=1");
	CHECK_INT(extractor_health(s.extractor, 0).tried, 101);
	CHECK_INT(extractor_health(s.extractor, 0).limited, 50);
	CHECK_INT(extractor_health(s.extractor, 1).limited, 151);
}

/* Now and then is enough when it is often, and so is just short of the limit; what is quick, or seldom, is not charged. */
TEST(an_expression_that_is_slow_at_times_is_switched_off)
{
	AUTO_DONE(stream)
	s = stream_of("[{\"Name\":\"half\",\"Regex\":\"(?:x+x+)+[yz](\\\\d)\"},"
		      "{\"Name\":\"seldom\",\"Regex\":\"(?:q+q+)+[yz](\\\\d)\"},"
		      "{\"Name\":\"quick\",\"Regex\":\"v=(\\\\d+)\"}]");
	static const char often[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx v=1";

	regex_scratch_limit(s.scratch, 1000);
	for (int i = 0; i < 5000; i++)
		feed(&s, i % 200 == 0 ? "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq v=1"
			 : i % 2      ? often
				      : "v=1");
	CHECK(extractor_health(s.extractor, 0).tried < 300);
	CHECK_INT(extractor_health(s.extractor, 1).tried, 5000);
	CHECK_INT(extractor_health(s.extractor, 1).limited, 25);
	CHECK_INT(extractor_health(s.extractor, 2).matched, 5000);
	CHECK_INT(extractor_health(s.extractor, 2).limited, 0);
}

static void check_time(const char *text, int64_t arrival_ms, int64_t expected_ms)
{
	int64_t ts_ms = -1;

	CHECK(line_time_parse(span_from(text), arrival_ms, &ts_ms));
	CHECK_INT(ts_ms, expected_ms);
}

TEST(times_in_lines)
{
	int64_t second = INT64_C(1735787045000); /* 2025-01-02T03:04:05Z */

	check_time("2025-01-02T03:04:05Z step 1", noon_ms, second);
	check_time("2025-01-02 03:04:05 step 1", noon_ms, second);
	check_time("2025-01-02T03:04:05.123456Z x", noon_ms, second + 123);
	check_time("[2025-01-02 03:04:05,967] [INFO]", noon_ms, second + 967);
	check_time("INFO 2025/01/02 03:04:05 x", noon_ms, second);
	check_time("01/02/2025 03:04:05 - INFO", noon_ms, second);
	check_time("[INFO|trainer.py:912] 2025-01-02 03:04:05,5 >> x", noon_ms, second + 500);
	check_time("2025-01-02T05:04:05+02:00", noon_ms, second);
	check_time("2025-01-02T01:34:05-0130 x", noon_ms, second);
	check_time("2025-01-02 05:04:05 +0200", noon_ms, second);
	check_time("2025-01-02 03:04:05 -12 x", noon_ms, second);
	check_time("2024-02-29 00:00:00", noon_ms, INT64_C(1709164800000));
	check_time("[01/02 03:04:05] detectron2 INFO: x", second + 1000, second);
	check_time("[12/31 23:59:59] x", second, INT64_C(1735689599000)); /* last year's */
	check_time("[02/29 00:00:00] x", second, INT64_C(1709164800000));
	check_time("W0102 03:04:05.123456 140 torch/run.py:779]", second + 1000, second + 123);
	check_time("[W102 03:04:05.123456789 socket.cpp:601]", second + 1000, second + 123);
	check_time("[rank3]:[W102 03:04:05.123456789 x", second + 1000, second + 123);
	check_time("E1231 23:59:59 x", second, INT64_C(1735689599000));
	check_time("Jan  2 03:04:05 node-7 kernel: NVRM: Xid", second + 1000, second);
	check_time("Dec 31 23:59:59 node-7 x", second, INT64_C(1735689599000));
	check_time("Thu Jan  2 03:04:05 2025", noon_ms, second);
	check_time("Thu 2025-01-02 03:04:05 UTC gpu01 train[12]: x", noon_ms, second);
	check_time("[01/02/25 03:04:05] INFO     x", noon_ms, second);
	check_time("I20250102 03:04:05.123456 12 a.cc:1] x", noon_ms, second + 123);
	check_time("INFO 01-02 03:04:05 [a.py:1] x", second + 1000, second);
	check_time("2025-01-02,03:04:05 | INFO | x", noon_ms, second);
	check_time("<14>1 2025-01-02T03:04:05.123456Z gpu01 train 1 - - x", noon_ms, second + 123);
	check_time("[pod/a-name-of-a-pod-that-is-rather-long-0123456789-abcdef/container] 2025-01-02T03:04:05Z x",
		noon_ms, second);
	check_time("{\"log\":\"x\\n\",\"stream\":\"stdout\",\"time\":\"2025-01-02T03:04:05.123456789Z\"}", noon_ms,
		second + 123);
	check_time("{\"ts\": 1735787045.5, \"msg\": \"x\"}", noon_ms, second + 500);
	check_time("{\"asctime\": \"2025-01-02 03:04:05,500\", \"message\": \"x\"}", noon_ms, second + 500);
	check_time("Thu Jan  2 03:04:05 UTC 2025", noon_ms, second);
	check_time("1735787045.5 step 1", noon_ms, second + 500);
	check_time("[1735787045.123456] step 1", noon_ms, second + 123);
	check_time("1735787045007 step 1", noon_ms, second + 7);
	check_time(":::MLLOG {\"namespace\": \"\", \"time_ms\": 1735787045007, \"x\": 1}", noon_ms, second + 7);
	check_time("2025-01-02T03:04:05.123456789Z stdout F step 1", noon_ms, second + 123); /* CRI */
	check_time("[2025-01-02 03:04:05] node-1:42:99 [0] NCCL INFO x", noon_ms, second);
}

TEST(a_time_without_a_zone_is_of_the_one_that_is_said)
{
	static const struct {
		const char *text;
		int64_t behind_ms;
	} times[] = {{"2025-01-02 05:04:05 x", 0}, {"W0102 05:04:05.000 x", 0}, {"Thu Jan  2 05:04:05 2025", 0},
		{"2025-01-02T03:04:05Z", 0}, {"2025-01-02 03:04:05 UTC x", 0}, {"2025-01-02 04:04:05+01:00 x", 0},
		{"1735787045.0 x", 0}, {"2025-01-02 03:04:05 x", 7200000}};
	int64_t ts_ms, second = INT64_C(1735787045000);

	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		CHECK(line_time_parse_in(span_from(times[i].text), second + 1000, 7200000, &ts_ms));
		CHECK_INT(ts_ms, second - times[i].behind_ms);
	}
}

TEST(what_is_no_time)
{
	static const char *const none[] = {"", "x", "INFO:root:08:01:48 start", "08:01:48 2025-01-02",
		"2025-13-02 03:04:05", "2025-02-29 03:04:05", "2025-01-02 24:00:00", "2025-01-02 03:60:00",
		"2025-01-02 03:04", "2025-01-0203:04:05", "1980-01-02 03:04:05", "2201-01-02 03:04:05",
		"2099-01-02 03:04:05", "12025-01-02 03:04:05", "[13/02 03:04:05] x", "a:b:c:d:e:f:g:h",
		"::::::::::::::::::::::::::::", "2025-01-02 03:04:0", "1735787045 step", "17357870451 step",
		"1735787045007x", "1735787045007.5 x", "9999999999.5 x", "1135787045.5 x", "XW0102 03:04:05 x",
		"W1302 03:04:05 x", "W12 03:04:05 x", "Mayo  1 03:04:05 x", "Foo  1 03:04:05 x", "Jan 32 03:04:05 x",
		"12:00:00 Jan  2", "Thu 2025-01-02 03:04:05 CEST gpu01 x", "[25/06/24 03:04:05] x",
		"info 01-02 03:04:05 x", "{\"time\":\"2025-01-02\"}", "{\"ts\":17}", "{\"time_ms\": 17}",
		"{\"xtime_ms\": 1735787045007}",
		"                                                                    2025-01-02 03:04:05"};
	int64_t ts_ms;

	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		CHECK(!line_time_parse(span_from(none[i]), noon_ms, &ts_ms));
	CHECK(!line_time_parse(SPAN("[01/02 03:04:05] x"), INT64_MAX, &ts_ms));
	CHECK(!line_time_parse(SPAN("[01/02 03:04:05] x"), NO_TIME, &ts_ms));
}

TEST(a_restored_stream_goes_on_as_if_it_had_never_stopped)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	AUTO_DONE(buf) first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
	struct extractor *restored = NULL;

	feed_steps(&s, 0, 100, 10);
	feed_steps(&s, 40, 60, 10); /* undecided */
	extractor_pack(s.extractor, &first);
	struct unpacker in = unpacker_on(buf_span(&first));
	CHECK_OK(extractor_unpack(&restored, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
	extractor_pack(restored, &second);
	CHECK_SPAN(buf_span(&second), buf_span(&first));
	CHECK(extractor_is_undecided(restored));
	extractor_free(s.extractor);
	s.extractor = restored;
	feed_steps(&s, 70, 90, 10);
	CHECK(!extractor_is_undecided(s.extractor));
	CHECK_INT(newest(&s)->attempt, 2);
}

TEST(damaged_states_are_refused)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	feed_steps(&s, 0, 100, 10);
	feed_steps(&s, 40, 60, 10);
	extractor_pack(s.extractor, &state);
	for (size_t len = 0; len < state.len; len++) {
		AUTO(extractor) restored = NULL;
		struct unpacker in = unpacker_on(span_of(state.ptr, len));
		CHECK_FAILS(extractor_unpack(&restored, &in, &err), ERR_INVALID, "damaged");
	}
}
