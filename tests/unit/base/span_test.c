#include "test.h"

#include <math.h>
#include <stdlib.h>

static const struct span nothing; /* NULL, 0 */

TEST(span_equal_by_bytes)
{
	CHECK(span_equal(SPAN("ab"), SPAN("ab")));
	CHECK(!span_equal(SPAN("ab"), SPAN("aB")));
	CHECK(!span_equal(SPAN("ab"), SPAN("abc")));
	CHECK(span_equal(nothing, SPAN("")));
	CHECK(span_equal(SPAN("a\0b"), SPAN("a\0b")));
	CHECK(span_equal_fold(SPAN("Content-TYPE"), SPAN("content-type")));
	CHECK(!span_equal_fold(SPAN("a["), SPAN("a{")));
	CHECK(!span_equal_fold(SPAN("a"), SPAN("ab")));
}

TEST(span_skip_stops_at_the_end)
{
	CHECK_SPAN(span_skip(SPAN("abc"), 1), SPAN("bc"));
	CHECK_SPAN(span_skip(SPAN("abc"), 3), SPAN(""));
	CHECK_SPAN(span_skip(SPAN("abc"), 4), SPAN(""));
	CHECK_SPAN(span_skip(nothing, 4), SPAN(""));
	CHECK_SPAN(span_from(NULL), SPAN(""));
}

TEST(span_starts_and_ends)
{
	CHECK(span_starts_with(SPAN("abc"), SPAN("ab")) && span_starts_with(SPAN("abc"), SPAN("")));
	CHECK(!span_starts_with(SPAN("ab"), SPAN("abc")) && !span_starts_with(SPAN("abc"), SPAN("b")));
	CHECK(span_ends_with(SPAN("abc"), SPAN("bc")) && span_ends_with(SPAN("abc"), SPAN("")));
	CHECK(!span_ends_with(SPAN("bc"), SPAN("abc")) && !span_ends_with(SPAN("abc"), SPAN("b")));
	CHECK(span_starts_with(nothing, nothing) && span_ends_with(nothing, nothing));
}

TEST(span_find_places)
{
	CHECK_INT(span_find(SPAN("abcabc"), SPAN("ca")), 2);
	CHECK_INT(span_find(SPAN("abc"), SPAN("abcd")), -1);
	CHECK_INT(span_find(SPAN("abc"), SPAN("x")), -1);
	CHECK_INT(span_find(SPAN("abc"), SPAN("")), 0);
	CHECK_INT(span_find(nothing, SPAN("x")), -1);
	CHECK_INT(span_find_char(SPAN("abc"), 'c'), 2);
	CHECK_INT(span_find_char(SPAN("abc"), 'd'), -1);
	CHECK_INT(span_find_char(nothing, 'd'), -1);
}

static ptrdiff_t find_plainly(struct span s, struct span needle)
{
	for (size_t at = 0; at + needle.len <= s.len; at++)
		if (memcmp(s.ptr + at, needle.ptr, needle.len) == 0)
			return (ptrdiff_t)at;
	return -1;
}

/* Of two letters, so that much of the needle is nearly everywhere; each in a block of its own, so that a byte too far is seen. */
static char *text_of_two_letters(unsigned *seed, size_t len)
{
	char *text = malloc(len ? len : 1);

	for (size_t i = 0; i < len; i++) {
		*seed = *seed * 1103515245 + 12345;
		text[i] = "aaab"[*seed >> 16 & 3];
	}
	return text;
}

TEST(span_find_is_the_first_place_at_every_length)
{
	unsigned seed = 1;

	for (size_t len = 0; len < 100; len++)
		for (size_t needle_len = 1; needle_len <= 40; needle_len++) {
			char *text = text_of_two_letters(&seed, len);
			char *wanted = text_of_two_letters(&seed, needle_len);
			if (len > needle_len && seed >> 20 & 1)
				memcpy(text + (seed >> 21) % (len - needle_len), wanted, needle_len);
			struct span s = span_of(text, len), needle = span_of(wanted, needle_len);
			CHECK_INT(span_find(s, needle), find_plainly(s, needle));
			free(text);
			free(wanted);
		}
}

TEST(span_count_char_at_every_length)
{
	unsigned seed = 1;

	for (size_t len = 0; len < 9000; len += len < 200 ? 1 : 977) {
		char *text = text_of_two_letters(&seed, len);
		size_t want = 0;
		for (size_t i = 0; i < len; i++)
			want += text[i] == 'a';
		CHECK_INT(span_count_char(span_of(text, len), 'a'), want);
		CHECK_INT(span_count_char(span_of(text, len), '\n'), 0);
		free(text);
	}
}

TEST(span_trim_both_sides)
{
	CHECK_SPAN(span_trim(SPAN(" \t\r\n a b \n")), SPAN("a b"));
	CHECK_SPAN(span_trim(SPAN(" \t ")), SPAN(""));
	CHECK_SPAN(span_trim(nothing), SPAN(""));
	CHECK_SPAN(span_trim(SPAN("\va")), SPAN("\va"));
}

TEST(span_next_cuts_at_separators)
{
	struct span rest = SPAN("a,,b,"), part;

	CHECK(span_next(&rest, ',', &part));
	CHECK_SPAN(part, SPAN("a"));
	CHECK(span_next(&rest, ',', &part));
	CHECK_SPAN(part, SPAN(""));
	CHECK(span_next(&rest, ',', &part));
	CHECK_SPAN(part, SPAN("b"));
	CHECK(span_next(&rest, ',', &part));
	CHECK_SPAN(part, SPAN(""));
	CHECK(!span_next(&rest, ',', &part));
	rest = SPAN("");
	CHECK(span_next(&rest, ',', &part) && part.len == 0 && !span_next(&rest, ',', &part));
}

TEST(span_parse_u64_limits)
{
	uint64_t value = 5;

	CHECK(span_parse_u64(SPAN("18446744073709551615"), &value) && value == UINT64_MAX);
	value = 5;
	CHECK(!span_parse_u64(SPAN("18446744073709551616"), &value));
	CHECK(!span_parse_u64(SPAN("99999999999999999999"), &value));
	CHECK(!span_parse_u64(SPAN(""), &value) && !span_parse_u64(nothing, &value));
	CHECK(!span_parse_u64(SPAN("-1"), &value) && !span_parse_u64(SPAN("+1"), &value));
	CHECK(!span_parse_u64(SPAN("1 "), &value) && !span_parse_u64(SPAN("0x1"), &value));
	CHECK_INT(value, 5);
	CHECK(span_parse_u64(SPAN("00012"), &value) && value == 12);
}

TEST(span_parse_i64_limits)
{
	int64_t value = 5;

	CHECK(span_parse_i64(SPAN("9223372036854775807"), &value) && value == INT64_MAX);
	CHECK(span_parse_i64(SPAN("-9223372036854775808"), &value) && value == INT64_MIN);
	CHECK(span_parse_i64(SPAN("+7"), &value) && value == 7);
	CHECK(!span_parse_i64(SPAN("9223372036854775808"), &value));
	CHECK(!span_parse_i64(SPAN("-9223372036854775809"), &value));
	CHECK(!span_parse_i64(SPAN("-"), &value) && !span_parse_i64(SPAN("+-1"), &value) &&
		!span_parse_i64(SPAN(""), &value));
	CHECK_INT(value, 7);
}

TEST(span_parse_double_as_strtod_does)
{
	static const char *const texts[] = {"0", "-0", "1", "3.4231", "-17.25", ".5", "5.", "+2", "1e5", "1E5", "1e+5",
		"1e-05", "6.02e23", "9007199254740992", "9007199254740993", "0.6931471805599453", "0.30000000000000004",
		"1e22", "1e23", "1e-22", "1e-23", "123456789012345678901234567890", "1.7976931348623157e308", "1e400",
		"-1e400", "5e-324", "1e-400", "0.1000000000000000055511151231257827021181583404541015625",
		"000000000000000000000000000000000000000000001", "1.0e10", "0e0", "0.000001e10", "4503599627370497.5",
		"18446744073709551615", "1844674407370955161e1", "1e0005"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		double value = 77;
		if (!span_parse_double(span_from(texts[i]), &value))
			test_fail(__FILE__, __LINE__, "'%s' is refused", texts[i]);
		CHECK_DOUBLE(value, strtod(texts[i], NULL));
	}
}

TEST(span_parse_double_words)
{
	double value;

	CHECK(span_parse_double(SPAN("NaN"), &value) && isnan(value));
	CHECK(span_parse_double(SPAN("-nan"), &value) && isnan(value));
	CHECK(span_parse_double(SPAN("inf"), &value) && value > 0 && isinf(value));
	CHECK(span_parse_double(SPAN("-Infinity"), &value) && value < 0 && isinf(value));
	CHECK(span_parse_double(SPAN("+INF"), &value) && value > 0 && isinf(value));
}

/* As printf has them elsewhere: of C99, and of Microsoft's old runtime, which rounds the word as if its letters were digits. */
TEST(span_parse_double_reads_what_other_runtimes_print)
{
	static const char *const nans[] = {"nan(ind)", "-nan(ind)", "nan(snan)", "-nan(0x7ff8000000000000)", "NaN(1)",
		"1.#QNAN", "-1.#QNAN", "1.#QNAN0", "1.#SNAN", "1.#IND", "-1.#IND", "-1.#IND00", "1.#qnan", "1.#QNB",
		"1.#QO", "1.#R", "-1.#IO", "-1.#J"};
	static const struct span refused[] = {SPAN("nan("), SPAN("nan()"), SPAN("nan(1"), SPAN("nan(a b)"),
		SPAN("nan(1)x"), SPAN("inf(1)"), SPAN("1.#"), SPAN("1.#Q"), SPAN("1.#INFx"), SPAN("1.#INF1"),
		SPAN("2.#INF"), SPAN("1#INF"), SPAN("11.#INF"), SPAN("1.#12"), SPAN("#QNAN"), SPAN("1.# INF")};
	double value = 5;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (span_parse_double(refused[i], &value))
			test_fail(__FILE__, __LINE__, "'%.*s' is taken", SPAN_ARGS(refused[i]));
	CHECK_DOUBLE(value, 5);
	for (size_t i = 0; i < sizeof nans / sizeof *nans; i++)
		if (!span_parse_double(span_from(nans[i]), &value) || !isnan(value))
			test_fail(__FILE__, __LINE__, "'%s' is %g", nans[i], value);
	CHECK(span_parse_double(SPAN("1.#INF"), &value) && isinf(value) && value > 0);
	CHECK(span_parse_double(SPAN("-1.#INF00"), &value) && isinf(value) && value < 0);
}

TEST(span_parse_double_refuses_and_leaves_the_value)
{
	static const struct span texts[] = {{"", 0}, {NULL, 0}, SPAN("."), SPAN("-"), SPAN("+"), SPAN("-."), SPAN("e5"),
		SPAN("1e"), SPAN("1e+"), SPAN("1.2.3"), SPAN("--1"), SPAN("0x10"), SPAN("1 "), SPAN(" 1"), SPAN("1\0"),
		SPAN("\0001"), SPAN("infin"), SPAN("1,5"), SPAN("1f"), SPAN("1e5e5"), SPAN("1e5.5"), SPAN("-+1"),
		SPAN("1_0")};
	double value = 5;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (span_parse_double(texts[i], &value))
			test_fail(__FILE__, __LINE__, "'%.*s' is taken", SPAN_ARGS(texts[i]));
	CHECK_DOUBLE(value, 5);
}

TEST(span_parse_double_length_limit)
{
	char text[600];
	double value;

	memset(text, '0', sizeof text);
	text[0] = '1';
	CHECK(span_parse_double(span_of(text, 300), &value));
	CHECK_DOUBLE(value, 1e299);
	text[1] = '.';
	CHECK(span_parse_double(span_of(text, 511), &value));
	CHECK_DOUBLE(value, 1);
	CHECK(!span_parse_double(span_of(text, 512), &value));
}

TEST(span_compare_orders_bytes)
{
	CHECK(span_compare(SPAN("a"), SPAN("b")) < 0);
	CHECK(span_compare(SPAN("b"), SPAN("a")) > 0);
	CHECK(span_compare(SPAN("a"), SPAN("ab")) < 0);
	CHECK(span_compare(SPAN("ab"), SPAN("a")) > 0);
	CHECK(span_compare(SPAN("\xff"), SPAN("a")) > 0);
	CHECK_INT(span_compare(nothing, SPAN("")), 0);
}

TEST(span_hash_differs)
{
	CHECK(span_hash(SPAN("a")) != span_hash(SPAN("b")));
	CHECK(span_hash(SPAN("abc")) == span_hash(span_of("abcd", 3)));
}

/* Eight bytes are looked at together: what is no ASCII may stand at each of their places, and at the end of a text. */
TEST(utf8_is_told_wherever_it_stands)
{
	char text[40];

	for (size_t len = 2; len <= sizeof text; len++)
		for (size_t at = 0; at + 1 < len; at++) {
			memset(text, 'x', sizeof text);
			memcpy(text + at, "\xc3\xbc", 2);
			CHECK(span_is_utf8(span_of(text, len)));
			CHECK(!span_is_utf8(span_of(text, at + 1))); /* its second byte is missing */
			text[at + 1] = 'x';
			CHECK(!span_is_utf8(span_of(text, len)));
		}
}

TEST(ascii_is_told_wherever_another_byte_stands)
{
	char text[40];

	memset(text, 'a', sizeof text);
	for (size_t len = 0; len <= sizeof text; len++)
		CHECK(span_is_ascii(span_of(text, len)));
	for (size_t at = 0; at < sizeof text; at++) {
		text[at] = '\x80';
		CHECK(!span_is_ascii(span_of(text, sizeof text)));
		CHECK(span_is_ascii(span_of(text, at)));
		text[at] = 'a';
	}
}

TEST(span_utf8_lengths)
{
	static const struct {
		struct span text;
		size_t length;
	} cases[] = {{SPAN("a"), 1}, {SPAN("\0"), 1}, {SPAN("\x7f"), 1}, {SPAN("\xc2\x80"), 2}, {SPAN("\xdf\xbf"), 2},
		{SPAN("\xe0\xa0\x80"), 3}, {SPAN("\xed\x9f\xbf"), 3}, {SPAN("\xee\x80\x80"), 3},
		{SPAN("\xef\xbf\xbf"), 3}, {SPAN("\xf0\x90\x80\x80"), 4}, {SPAN("\xf4\x8f\xbf\xbf"), 4},
		{SPAN("\x80"), 0}, {SPAN("\xc0\x80"), 0}, {SPAN("\xc1\xbf"), 0}, {SPAN("\xe0\x9f\xbf"), 0},
		{SPAN("\xed\xa0\x80"), 0}, {SPAN("\xf0\x8f\xbf\xbf"), 0}, {SPAN("\xf4\x90\x80\x80"), 0},
		{SPAN("\xf5\x80\x80\x80"), 0}, {SPAN("\xff"), 0}, {SPAN("\xc3"), 0}, {SPAN("\xe2\x82"), 0},
		{SPAN("\xf0\x9f\x98"), 0},
		{SPAN("\xc3"
		      "a"),
			0},
		{SPAN("\xe2\x82"
		      "a"),
			0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_INT(span_utf8_length(cases[i].text), cases[i].length);
	CHECK(span_is_utf8(SPAN("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80")));
	CHECK(!span_is_utf8(SPAN("a\xc3")) && !span_is_utf8(SPAN("\xff"
								 "a")));
	CHECK(span_is_utf8(nothing));
}
