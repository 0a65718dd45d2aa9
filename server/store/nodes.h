/*
 * Job: machines over all jobs: which there were, which streams they sent, what they measured, where they were the slowest. Their
 *      faults: store/faults.h.
 * Ownership: spans in the arena that the caller gives. Threads: as store_reader.
 */
#pragma once

#include "store/store.h"

/*
 * Hosts whose name holds `part` ("": all) in any case of letters, by name, above `after`: those that sent a stream, and those that lines have
 * charged with a fault from faults_ms on.
 */
enum status store_read_hosts(struct store_reader *reader, struct arena *arena, struct span part, struct span after,
	int64_t faults_ms, size_t limit, struct span **out, size_t *count, struct error *err) MUST_CHECK;

/* Of these those that lines have charged, and the slow ones, which the caller knows. */
enum status store_read_troubled_hosts(struct store_reader *reader, struct arena *arena, struct span part,
	struct span after, int64_t faults_ms, const struct span *slow, size_t slow_count, size_t limit,
	struct span **out, size_t *count, struct error *err) MUST_CHECK;

struct node_stream {
	struct span job;
	struct span stream;
	struct span status; /* of the job */
	int64_t job_id;
	int64_t begun_ms; /* its first line of that host came */
	int64_t last_ms; /* of its sealed lines; 0: none */
	int64_t job_ended_ms; /* 0: it runs */
	int64_t job_heard_ms;
	int64_t until_ms; /* another machine sends it since then; 0: none does */
	bool is_shared; /* beside others, some of the time */
};
/* Streams of a host, the one that began last first; of jobs that are there. */
enum status store_read_node_streams(struct store_reader *reader, struct arena *arena, struct span host, size_t limit,
	struct node_stream **out, size_t *count, struct error *err) MUST_CHECK;

/* Its turns in streams, those that began to arrive last first. Log times. */
struct node_turn {
	struct span job, stream;
	int64_t from_ms; /* of its first line; 0: the stream's */
	int64_t to_ms; /* of the next machine's first line; 0: none came */
	int64_t first_ms, last_ms; /* of the stream's sealed lines; 0: none are */
	int64_t until_ms; /* when its last line came; 0: it still sends */
	uint64_t next_line; /* the next machine's first */
};
enum status store_read_node_turns(struct store_reader *reader, struct arena *arena, struct span host, size_t limit,
	struct node_turn **out, size_t *count, struct error *err) MUST_CHECK;

struct node_figure { /* a metric of the host's own streams, over their sealed points */
	struct span metric;
	double mean;
	uint64_t points;
};
/* Of its last `limit` streams system/HOST. */
enum status store_read_node_figures(struct store_reader *reader, struct arena *arena, struct span host, size_t limit,
	struct node_figure **out, size_t *count, struct error *err) MUST_CHECK;

struct node_straggler {
	struct span host;
	int64_t job_id;
	int64_t opened_ms, closed_ms; /* closed_ms 0: it has not caught up */
	int64_t first_step, last_step; /* that were slow; the job's newest while it is open */
};
enum status store_read_node_stragglers(struct store_reader *reader, struct arena *arena, struct span host,
	int64_t from_ms, size_t limit, struct node_straggler **out, size_t *count, struct error *err) MUST_CHECK;

struct node_break { /* something that broke a job off */
	int64_t from_ms;
	int64_t to_ms; /* 0: not over yet */
	int64_t ended_ms; /* when its job did; 0: it goes on */
	int64_t lost_steps; /* -1: not known */
	int64_t lost_node_ms; /* redone and restarted, of all nodes */
};
/* In the order in which they were. */
enum status store_read_breaks(struct store_reader *reader, struct arena *arena, int64_t job_id, struct node_break **out,
	size_t *count, struct error *err) MUST_CHECK;
/* unknown: those of which nobody knows how many steps they lost. */
enum status store_count_breaks(
	struct store_reader *reader, int64_t job_id, uint64_t *count, uint64_t *unknown, struct error *err) MUST_CHECK;
