/*
 * Job: what Linux says of a machine in /proc: processor, memory, disks, network; rates between two readings.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "cli/host/host_points.h"

struct host_figures;

/* proc: "/proc", or where a container has its machine's. folder: whose file system's fill is told, beside "/". */
enum status host_figures_new(
	struct host_figures **out, const char *proc, const char *folder, struct error *err) MUST_CHECK;
void host_figures_free(struct host_figures *figures);
/* Rates come from the second reading on. What cannot be read is left out. */
void host_figures_read(struct host_figures *figures, int64_t mono_ms, const struct host_points *points);

/* The parts, for tests: totals out of the text of a file in /proc. False: it does not hold them. */
bool host_read_cpu(struct span stat, uint64_t *busy, uint64_t *total);
bool host_read_memory(struct span meminfo, uint64_t *used_kib, uint64_t *total_kib);
void host_read_disks(struct span diskstats, uint64_t *read_bytes, uint64_t *written_bytes);
void host_read_network(struct span net_dev, uint64_t *received_bytes, uint64_t *sent_bytes);

AUTO_TYPE(host_figures)
