/*
 * Job: the vendors' own monitors, nvidia-smi and neuron-monitor, run as children that print as long as we read: their lines
 *      become points. Not NVML: a static program cannot load it, one way for both builds is enough, and a driver
 *      that hangs (which is what Xid 79 looks like) holds a child and not us. Xid events are in the kernel's lines.
 * Ownership: new/free; free ends the children. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "cli/host/host_points.h"

#include <poll.h>

struct host_programs;

enum { HOST_PROGRAM_COUNT = 2 };

/* Starts those that there are. say_as: for messages on standard error. */
enum status host_programs_new(
	struct host_programs **out, const char *say_as, int64_t interval_ms, struct error *err) MUST_CHECK;
void host_programs_free(struct host_programs *programs);
/* One for each program; fd -1: it does not run. */
void host_programs_poll(const struct host_programs *programs, struct pollfd items[HOST_PROGRAM_COUNT]);
/* Takes what they have printed; starts again what has ended a while ago. */
void host_programs_read(struct host_programs *programs, int64_t mono_ms, const struct host_points *points);

/* A line of each, for tests. False: it is none. */
bool nvidia_smi_read(struct span line, const struct host_points *points);
bool neuron_monitor_read(struct span line, const struct host_points *points);

AUTO_TYPE(host_programs)
