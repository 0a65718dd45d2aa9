#include "base/clock.h"

static int64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_wall_ms(void)
{
	return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t clock_mono_ms(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_thread_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_deadline(int64_t from_now_ms)
{
	return clock_deadline_ns(from_now_ms * 1000000);
}

struct timespec clock_deadline_ns(int64_t from_now_ns)
{
	int64_t at_ns = clock_mono_ns() + from_now_ns;

	return (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000)};
}
