/*
 * Job: the only reader of the system's clocks. Wall time is for people and for lines, monotonic time for waiting.
 * Ownership: values. Threads: any.
 */
#pragma once

#include <stdint.h>
#include <time.h>

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_ns(void);
int64_t clock_thread_ns(void); /* that this thread has run: what others do meanwhile does not count */
/* On the monotonic clock, for pthread_cond_timedwait with CLOCK_MONOTONIC. */
struct timespec clock_deadline(int64_t from_now_ms);
struct timespec clock_deadline_ns(int64_t from_now_ns);
