/*
 * Job: runs of nccl-tests in a job's log: which machines took part, and bandwidth by size.
 * Ownership: results live in the caller's arena. Threads: workers.
 */
#pragma once

#include "fleet/nccl_line.h"
#include "read/logs/log_search.h"

enum { NCCL_HOSTS_MAX = 64, NCCL_ROWS_MAX = 64, NCCL_RUNS_MAX = 200 };

struct nccl_run {
	struct span job, stream;
	uint32_t stream_id;
	uint64_t line; /* its first */
	int64_t ts_ms;
	struct span test; /* "all_reduce"; "": no line says it */
	struct span hosts[NCCL_HOSTS_MAX]; /* different ones, in order of their ranks */
	size_t host_count; /* 0: not known */
	size_t ranks;
	struct nccl_line *rows; /* by size, as printed */
	size_t row_count;
	double average, wrong; /* NaN: not printed */
	bool is_over;
};

struct nccl_runs {
	struct nccl_run *runs; /* oldest first */
	size_t count;
	bool is_partial; /* out of time, or there are more */
};

/* Appends those of the job; time_ms, asker: as log_search has them. out->runs: room for NCCL_RUNS_MAX. */
enum status nccl_runs_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	int64_t time_ms, const struct log_asker *asker, struct nccl_runs *out, struct error *err) MUST_CHECK;
