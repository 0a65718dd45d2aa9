#include "base/clock.h"
#include "test.h"

TEST(clock_goes_forward)
{
	int64_t before_ns = clock_mono_ns(), before_ms = clock_mono_ms(), run_ns = clock_thread_ns();

	CHECK(clock_mono_ns() >= before_ns && clock_mono_ms() >= before_ms);
	CHECK(run_ns > 0 && clock_thread_ns() >= run_ns);
	CHECK(clock_wall_ms() > 1700000000000); /* after 2023: not seconds, not nanoseconds */
}

TEST(clock_deadline_is_normal)
{
	struct timespec now = clock_deadline(0), later = clock_deadline(1999);
	int64_t between_ms = (later.tv_sec - now.tv_sec) * 1000 + (later.tv_nsec - now.tv_nsec) / 1000000;

	CHECK(between_ms >= 1998 && between_ms < 60000);
	CHECK(later.tv_nsec >= 0 && later.tv_nsec < 1000000000);
}
