/*
 * Job: when, by a kernel's line itself, what it tells of happened: so it is one event, whenever and by whomever it is told.
 * Ownership: spans into the line. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* The time that stands nearest to the kernel's words: of a line that is quoted from a file not that of who quotes it. False: it shows none. */
bool kernel_event_time(struct span text, int64_t arrival_ms, int64_t *ts_ms);
/* "[ 5555.123456]" of dmesg, where nothing else says when: it is the machine's time since it started; "": it has none. */
struct span kernel_event_uptime(struct span text);
/* What a line tells of, for whoever compares many of them: its words, and the last uptime in front of them ("": none), whoever hands it on. */
struct kernel_event {
	struct span words, uptime;
};
struct kernel_event kernel_event_of(struct span text);
/* Two lines of one machine, not at all at the same time, tell of one event: the same words at the same uptime. */
bool kernel_event_is_same(const struct kernel_event *a, const struct kernel_event *b);
/* The same words, whoever hands them on. */
bool kernel_event_has_same_words(struct span a, struct span b);
/* "+ dmesg | grep -i xid": a shell says that it prints a kernel's log, which is of the past. */
bool kernel_event_is_dump_begun(struct span text);
