/*
 * Job: points that files of the user hold, on their way into the spool: one a line, "N TAB object", as job_calls.h has them.
 *      N numbers the points of a metric in its stream; the sender passes over what the server has. While the spool is
 *      full they wait here, and their files are not read on: nothing is lost.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "cli/spool/spool.h"

struct point_spool;

enum status point_spool_new(struct point_spool **out, const char *program, struct spool *spool,
	const char *spool_folder, struct error *err) MUST_CHECK;
void point_spool_free(struct point_spool *points);
/* All points of a stream, in the order in which they are put, are one run. */
enum status point_spool_open(struct point_spool *points, unsigned stream, size_t *run, struct error *err) MUST_CHECK;

struct spool_point {
	struct span metric;
	int64_t step;
	int64_t ts_ms; /* 0: not known */
	bool is_time_assumed; /* its file says none */
	double value;
};
/* False: out of memory; it is not in. */
bool point_spool_put(struct point_spool *points, size_t run, const struct spool_point *point);
/* A setting of the job: a text, or as JSON has it. */
void point_spool_put_setting(struct point_spool *points, size_t run, struct span key, struct span json);
/* What was put and is not in the spool yet. */
size_t point_spool_waiting_bytes(const struct point_spool *points);
/* Into the spool, as far as it has room; false: not all of it. Before anything of another run is put. */
bool point_spool_flush(struct point_spool *points);

AUTO_TYPE(point_spool)
