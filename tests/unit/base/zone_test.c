#include "base/text/iso8601.h"
#include "base/text/zone.h"
#include "test.h"

static int64_t ms_of(const char *text)
{
	int64_t ms = 0;

	CHECK(iso8601_parse(span_from(text), &ms));
	return ms;
}

/* Local time of the moment, as text. */
static void check_local(const struct zone *zone, const char *utc, const char *local)
{
	char text[ISO8601_BYTES];

	iso8601_format(ms_of(utc) + zone_offset_ms(zone, ms_of(utc)), text);
	CHECK_SPAN(span_of(text, 19), span_from(local));
}

static void check_utc(const struct zone *zone, const char *local, const char *utc)
{
	char text[ISO8601_BYTES];

	iso8601_format(zone_to_utc_ms(zone, ms_of(local)), text);
	CHECK_SPAN(span_of(text, 19), span_from(utc));
}

static void check_berlin(const struct zone *zone)
{
	check_local(zone, "2026-01-15T12:00:00Z", "2026-01-15T13:00:00");
	check_local(zone, "2026-07-15T12:00:00Z", "2026-07-15T14:00:00");
	check_local(zone, "2026-03-29T00:59:59Z", "2026-03-29T01:59:59");
	check_local(zone, "2026-03-29T01:00:00Z", "2026-03-29T03:00:00");
	check_local(zone, "2026-10-25T00:59:59Z", "2026-10-25T02:59:59");
	check_local(zone, "2026-10-25T01:00:00Z", "2026-10-25T02:00:00");
	check_local(zone, "2093-07-01T00:00:00Z", "2093-07-01T02:00:00"); /* behind the file's last change */
	check_utc(zone, "2026-01-15T00:00:00", "2026-01-14T23:00:00");
	check_utc(zone, "2026-10-25T02:30:00", "2026-10-25T00:30:00"); /* twice: the first one */
	check_utc(zone, "2026-03-29T02:30:00", "2026-03-29T01:30:00"); /* never */
}

TEST(rules_say_when_it_is_summer)
{
	AUTO(zone) berlin = NULL;
	AUTO(zone) sydney = NULL;
	AUTO(zone) julian = NULL;
	AUTO(zone) fixed = NULL;

	CHECK_OK(zone_new(&berlin, SPAN("CET-1CEST,M3.5.0,M10.5.0/3"), &err));
	check_berlin(berlin);
	CHECK_OK(zone_new(&sydney, SPAN("AEST-10AEDT,M10.1.0,M4.1.0/3"), &err));
	check_local(sydney, "2026-01-15T12:00:00Z", "2026-01-15T23:00:00");
	check_local(sydney, "2026-07-15T12:00:00Z", "2026-07-15T22:00:00");
	CHECK_OK(zone_new(&julian, SPAN("AAA0BBB-2,J60/0,300/-1:30"), &err));
	check_local(julian, "2024-02-29T23:59:59Z", "2024-02-29T23:59:59"); /* J60 is always the first of March */
	check_local(julian, "2024-03-01T00:00:00Z", "2024-03-01T02:00:00");
	check_local(julian, "2025-10-27T20:29:59Z",
		"2025-10-27T22:29:59"); /* the 300th day from 0, less an hour and a half */
	check_local(julian, "2025-10-27T20:30:00Z", "2025-10-27T20:30:00");
	CHECK_OK(zone_new(&fixed, SPAN("<+0545>-5:45"), &err));
	check_local(fixed, "2026-01-01T00:00:00Z", "2026-01-01T05:45:00");
}

TEST(names_are_files_of_the_system)
{
	AUTO(zone) berlin = NULL;
	AUTO(zone) utc = NULL;

	CHECK_OK(zone_new(&berlin, SPAN("Europe/Berlin"), &err));
	check_berlin(berlin);
	check_local(berlin, "1945-06-01T00:00:00Z", "1945-06-01T03:00:00");
	check_local(berlin, "1800-01-01T00:00:00Z", "1800-01-01T00:53:28");
	CHECK_OK(zone_new(&utc, SPAN("UTC"), &err));
	CHECK(utc == NULL);
	check_utc(NULL, "2026-01-15T00:00:00", "2026-01-15T00:00:00");
}

TEST(what_is_no_zone_is_refused)
{
	static const char *const texts[] = {"Mars/Olympus", "../../../etc/passwd", "/etc/localtime", "CET", "XYZ",
		"CET-1CEST", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0", "CET-1 ", "CET-99999", "<>0", "<AB", "A1",
		" ", "zone.tab", "CET-1CEST,J0,J3", "CET-1CEST,366,3", "Europe"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		AUTO(zone) zone = NULL;
		struct error err = {0};
		enum status status = zone_new(&zone, span_from(texts[i]), &err);
		if (status == OK && strcmp(texts[i], "CET") == 0)
			continue; /* a file, where the system has old names */
		if (status != ERR_SEMANTIC)
			test_fail(__FILE__, __LINE__, "'%s' gave %d", texts[i], (int)status);
	}
}
