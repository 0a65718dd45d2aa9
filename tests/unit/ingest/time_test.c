#include "base/text/iso8601.h"
#include "ingest/ingest.h"
#include "test.h"

TEST(times_by_magnitude_and_iso)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{"1700000000", 1700000000000},
		{"1700000000.123456", 1700000000123},
		{"1700000000.9999", 1700000000999},
		{"1700000000123", 1700000000123},
		{"1700000000123456", 1700000000123},
		{"1700000000123456789", 1700000000123},
		{"1.7e9", 1700000000000},
		{" 1700000000 ", 1700000000000},
		{"2023-11-14T22:13:20Z", 1700000000000},
		{"2023-11-14T22:13:20.123456789Z", 1700000000123},
		{"2023-11-14 22:13:20,5", 1700000000500},
		{"2023-11-15T00:13:20+02:00", 1700000000000},
		{"2023-11-14t14:13:20-0800", 1700000000000},
		{"2023-11-14T14:13:20 -08", 1700000000000},
		{"2023-11-14T22:13", 1699999980000},
		{"2024-02-29", 1709164800000},
		{"631152000", 631152000000},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int64_t ms = 0;
		CHECK(ingest_parse_time(span_from(cases[i].text), &ms));
		CHECK_INT(ms, cases[i].ms);
	}
}

TEST(no_times)
{
	static const char *const cases[] = {"", " ", "abc", "-1", "0", "12", "631151999", "7258118400", "nan", "inf",
		"1e400", "99999999999999999999", "2023-02-29", "2023-13-01", "2023-00-01", "2023-11-14T24:00:00Z",
		"2023-11-14T22", "2023-11-14T22:13:20.", "2023-11-14T22:13:20+", "2023-11-14T22:13:20Zx",
		"1989-12-31T23:59:59Z", "2200-01-01", "1700000000.12x", "1700000000.-1", "20231114T221320Z"};
	int64_t ms = 7;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (ingest_parse_time(span_from(cases[i]), &ms))
			test_fail(__FILE__, __LINE__, "'%s' passed as %lld", cases[i], (long long)ms);
	CHECK_INT(ms, 7);
}

TEST(dates_there_and_back)
{
	for (int64_t ms = -62167219200000; ms < 253402300800000; ms += 86400000LL * 13 + 12345678) {
		char text[ISO8601_BYTES];
		int64_t back;
		iso8601_format(ms, text);
		CHECK(iso8601_parse(span_from(text), &back));
		CHECK_INT(back, ms);
	}
}
