/*
 * Job: the first time that the lines of an old log show, read by the server's own parser: a header of a thousand lines without
 *      one fills bodies of its own, and the server cannot know what comes behind them. And the last one: does it tell the time as we do?
 * Ownership: nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Looked for in so much of a file. */
enum { FIRST_TIME_SEARCHED_BYTES = 8 << 20 };

/* fd: its own place stays. False, and *ts_ms unchanged: no line there shows one. */
bool first_time_find(int fd, int64_t now_ms, int64_t *ts_ms);
/* The last one in the end of the first `size` bytes. */
bool last_time_find(int fd, uint64_t size, int64_t now_ms, int64_t *ts_ms);
