/*
 * Job: the kernel's own lines that tell of faults a training dies of: /dev/kmsg, from now on, filtered.
 * Ownership: new/free. Threads: one at a time. Source: Documentation/ABI/testing/dev-kmsg.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

struct kernel_log;

/* What is in it already is passed over. ERR_IO: it cannot be read, with what to do. */
enum status kernel_log_new(struct kernel_log **out, const char *path, struct error *err) MUST_CHECK;
void kernel_log_free(struct kernel_log *log);
/* Appends what is new as lines "kernel: MESSAGE". */
void kernel_log_read(struct kernel_log *log, struct buf *lines);

/* The message of a record "6,1234,5678,-;MESSAGE"; empty: it is none. */
struct span kernel_log_message(struct span record);
/* Does it tell of a fault of GPU, memory, bus, network, storage? */
bool kernel_log_matters(struct span message);

AUTO_TYPE(kernel_log)
