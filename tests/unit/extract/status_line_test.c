#include "extract/line/status_line.h"
#include "helper.h"

static void check_status(const char *text, const char *status, const char *message, int64_t ts_ms)
{
	struct status_line line;

	CHECK(status_line_read(span_from(text), noon_ms, &line));
	CHECK_SPAN(line.status, span_from(status));
	CHECK_SPAN(line.message, span_from(message));
	if (ts_ms)
		CHECK_INT(line.ts_ms, ts_ms);
}

TEST(lines_of_the_sdk_say_the_status)
{
	struct status_line line;

	check_status("2020-01-28 08:57:36 Starting - Launching requested ML instances......", "Starting",
		"Launching requested ML instances", INT64_C(1580201856000));
	check_status(
		"2020-01-28 09:01:01 Training - Training image download completed. Training in progress.\x1b[34mbash: x",
		"Training", "Training image download completed. Training in progress", 0);
	check_status(
		"2020-01-28 09:01:19 Completed - Training job completed", "Completed", "Training job completed", 0);
	check_status("2020-01-28 09:01:19 Failed - Training job failed\r", "Failed", "Training job failed", 0);
	CHECK(status_line_read(SPAN("Training seconds: 76"), noon_ms, &line));
	CHECK(!line.status.len && !line.is_billable);
	CHECK_INT(line.seconds, 76);
	CHECK(status_line_read(SPAN("Billable seconds: 255 "), noon_ms, &line));
	CHECK(line.is_billable);
	CHECK_INT(line.seconds, 255);
}

TEST(chatter_says_no_status)
{
	static const char *const none[] = {"", "2", "2020-01-28 09:01:19", "2020-01-28 09:01:19 ",
		"2020-01-28 09:01:19 Completed - epoch 3", "2020-01-28 09:01:19 Completed",
		"2020-01-28 09:01:19 Completed: Training job completed", "2020-01-28 09:01:19 Failed - to open",
		"2020-01-28 09:01:19,5 Completed - Training job completed",
		" 2020-01-28 09:01:19 Completed - Training job completed",
		"[2020-01-28 09:01:19] Completed - Training job completed",
		"INFO 2020-01-28 09:01:19 Completed - Training job completed",
		"2020-01-28T09:01:19 Completed - Training job completed",
		"2020-13-28 09:01:19 Completed - Training job completed",
		"2262-01-28 09:01:19 Completed - Training job completed",
		"1970-01-28 09:01:19 Completed - Training job completed",
		"2020-01-28 09:01:19 completed - Training job completed", "2020-01-28 09:01:19 Evaluating - x",
		"2020-01-28 09:01:19 Starting - ...", "Training seconds: ", "Training seconds: -1",
		"Training seconds: 7s", "Billable seconds: 1e9", "Billable seconds: 1234567890123",
		"Training secondly: 76"};
	struct status_line line;

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		CHECK(!status_line_read(span_from(none[i]), noon_ms, &line));
}
