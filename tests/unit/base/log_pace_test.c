#include "base/log_pace.h"
#include "test.h"

TEST(what_fails_again_and_again_is_said_more_and_more_seldom)
{
	struct log_pace pace = {0};
	int said = 0;

	for (int64_t ms = 0; ms < 600 * 1000; ms += 250)
		said += log_pace_is_due(&pace, "disk full", ms);
	CHECK_INT(said, 15); /* at 0, 1, 3, 7, 15, 31 and 63 seconds, and then each minute */
	CHECK(log_pace_take_left_out(&pace) > 0 && log_pace_take_left_out(&pace) == 0);
}

TEST(what_is_new_is_said_at_once)
{
	struct log_pace pace = {0};

	CHECK(log_pace_is_due(&pace, "disk full", 0) && !log_pace_is_due(&pace, "disk full", 10));
	CHECK(log_pace_is_due(&pace, "I/O error", 20) && !log_pace_is_due(&pace, "I/O error", 30));
	CHECK(log_pace_is_due(&pace, "I/O error", 10 * 60 * 1000)); /* it was not there for long */
	CHECK(!log_pace_is_due(&pace, "I/O error", 10 * 60 * 1000 + 999));
	CHECK(log_pace_is_due(&pace, "I/O error", 10 * 60 * 1000 + 1000));
}
