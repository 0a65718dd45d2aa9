/*
 * Job: the ledger of machines, over all jobs: what faults they had, what these broke off, where they were slow; whether they are to be
 *      drained, and why.
 * Ownership: in the arena. Threads: any.
 */
#pragma once

#include "base/json/json_write.h"
#include "store/faults.h"
#include "store/nodes.h"

struct pipeline;

enum { NODE_SIGNATURES_SHOWN = 16, NODE_WHY_MAX = 4, NODE_WHY_MAX_BYTES = 160 };

struct node_job {
	int64_t job_id;
	struct node_break *breaks;
	size_t count;
	bool is_read; /* when it is first asked for */
};

struct node_place { /* of a fault or a straggler: which one of the list it is */
	struct span host;
	size_t at;
};

struct node_ledger {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	int64_t now_ms, window_ms;
	int64_t from_ms; /* the faults' */
	struct node_fault_row *faults;
	size_t fault_count;
	struct node_place *faults_by_host; /* and in their order */
	struct break_fault *told; /* in the log of another job than they broke off; by host and job */
	size_t told_count;
	struct node_job *jobs; /* of both, by number */
	size_t job_count;
	struct node_straggler *stragglers; /* by job and time */
	size_t straggler_count;
	struct node_place *stragglers_by_host; /* and in their order */
};

struct node_signature {
	struct span name;
	uint64_t count; /* lines */
	uint64_t recent; /* stretches in the time for which a machine is drained */
	int64_t last_ms;
	bool is_drain;
};

struct node_sum {
	struct span host;
	struct node_signature signatures[NODE_SIGNATURES_SHOWN];
	size_t signature_count;
	uint64_t fault_lines;
	uint64_t recent; /* restarts since window_ms */
	uint64_t restarts, lost_steps, unknown_steps; /* breaks whose lost steps are not known */
	int64_t lost_node_ms;
	uint64_t slow, slow_steps, slow_jobs;
	int64_t last_fault_ms;
	char why[NODE_WHY_MAX][NODE_WHY_MAX_BYTES];
	size_t why_count;
};

/* host "": of all. Of one alone those of others do not count against the most that is read. */
enum status node_ledger_read(struct node_ledger *out, struct pipeline *pipeline, struct store_reader *reader,
	struct arena *arena, struct span host, int64_t now_ms, struct error *err) MUST_CHECK;
enum status node_ledger_sum(
	const struct node_ledger *ledger, struct span host, struct node_sum *out, struct error *err) MUST_CHECK;
/* Hosts that had a fault or were slow, each once, the newest fault's first. */
enum { NODES_WITH_FAULTS = 1, NODES_SLOW = 2 };
enum status node_ledger_list_hosts(const struct node_ledger *ledger, unsigned which, struct span **out, size_t *count,
	struct error *err) MUST_CHECK;
/* So long ago a fault says that its machine should be drained. */
int64_t node_ledger_drain_ms(void);

/* "why": […], a member */
void node_write_why(const struct node_sum *node, struct json_writer *w);
/* {"host","why"}; nothing where it is not to be drained. */
enum status node_write_if_drained(
	const struct node_ledger *ledger, struct span host, struct json_writer *w, struct error *err) MUST_CHECK;
