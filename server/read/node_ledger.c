#include "read/node_ledger.h"

#include "state/known_fault.h"
#include "store/jobs.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	FAULTS_MAX = 5000, /* of all machines, the newest */
	STRAGGLERS_MAX = 5000,
	WINDOW_DAYS = 30
};

/* What happened longer ago says little about a machine, which may be another one by now. */
static const int64_t memory_ms = 30LL * 24 * 3600 * 1000;
static const int64_t drain_ms = 7LL * 24 * 3600 * 1000;
static const int64_t day_ms = 24LL * 3600 * 1000;

/* The last thirty days of UTC with today. */
static int64_t window_of(int64_t now_ms)
{
	return (now_ms / day_ms - (WINDOW_DAYS - 1)) * day_ms;
}

int64_t node_ledger_drain_ms(void)
{
	return drain_ms;
}

static int by_job_and_time(const void *a, const void *b)
{
	const struct node_straggler *x = a, *y = b;

	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	if (x->opened_ms != y->opened_ms)
		return x->opened_ms < y->opened_ms ? -1 : 1;
	return (x->first_step > y->first_step) - (x->first_step < y->first_step);
}

enum status node_ledger_read(struct node_ledger *out, struct pipeline *pipeline, struct store_reader *reader,
	struct arena *arena, struct span host, int64_t now_ms, struct error *err)
{
	*out = (struct node_ledger){.pipeline = pipeline, .reader = reader, .arena = arena, .now_ms = now_ms};
	out->window_ms = window_of(now_ms);
	out->from_ms = now_ms - memory_ms;
	TRY(store_read_node_faults(
		reader, arena, host, out->from_ms, FAULTS_MAX, &out->faults, &out->fault_count, err));
	TRY(store_read_node_stragglers(
		reader, arena, out->from_ms, STRAGGLERS_MAX, &out->stragglers, &out->straggler_count, err));
	if (out->straggler_count)
		qsort(out->stragglers, out->straggler_count, sizeof *out->stragglers, by_job_and_time);
	return OK;
}

/* ---- what is known of one ---- */

static void add_signature(const struct node_ledger *ledger, struct node_sum *node, const struct node_fault_row *fault)
{
	struct node_signature *sum = node->signatures;
	size_t i = 0;

	while (i < node->signature_count && !span_equal(sum[i].name, fault->signature))
		i++;
	if (i == NODE_SIGNATURES_SHOWN)
		return;
	if (i == node->signature_count)
		sum[node->signature_count++] = (struct node_signature){.name = fault->signature};
	sum[i].count += fault->count;
	sum[i].recent += fault->last_ms >= ledger->now_ms - drain_ms;
	sum[i].last_ms = fault->last_ms > sum[i].last_ms ? fault->last_ms : sum[i].last_ms;
	sum[i].is_drain |= fault->is_drain;
}

/* By the rule that names a break's cause: so the two never differ in which machine it was. */
static bool is_cause(const struct node_ledger *ledger, const struct node_fault_row *fault,
	const struct node_break *breaks, size_t at)
{
	const struct node_break *broken = &breaks[at];
	const struct fault_window window = {
		at ? breaks[at - 1].to_ms : INT64_MIN, broken->from_ms, broken->to_ms ? broken->to_ms : ledger->now_ms};
	int weight = known_fault_weight(ledger->pipeline, fault->signature, SEVERITY_CRITICAL); /* its own at most */
	const struct fault_said said = {weight, fault->ts_ms, fault->last_ms};

	return fault_rank(&window, broken->from_ms, FAULT_BROKE_OFF_MS, &said) > 0;
}

/* Of the machine, that may have broken the job off: those that its own log told of, and those that others' did while it ran there. */
static enum status read_faults(const struct node_ledger *ledger, const struct node_sum *node, int64_t job_id,
	struct node_fault_row **out, size_t *count, struct error *err)
{
	struct said_hit *others;
	size_t other_count;

	*count = 0;
	TRY(store_read_told_elsewhere(ledger->reader, ledger->arena, job_id, ledger->from_ms, INT64_MAX, FAULTS_MAX,
		&others, &other_count, err));
	*out = arena_alloc(ledger->arena, (ledger->fault_count + other_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < ledger->fault_count; i++)
		if (ledger->faults[i].job_id == job_id && span_equal(ledger->faults[i].host, node->host))
			(*out)[(*count)++] = ledger->faults[i];
	for (size_t i = 0; i < other_count; i++)
		if (span_equal(others[i].row.host, node->host))
			(*out)[(*count)++] = (struct node_fault_row){.ts_ms = others[i].row.first_ms,
				.last_ms = others[i].row.last_ms,
				.signature = others[i].row.signature};
	return OK;
}

/* Each break of a job counts once a machine, whichever of its faults came before it. */
static enum status add_breaks(
	const struct node_ledger *ledger, struct node_sum *node, int64_t job_id, struct error *err)
{
	struct node_break *breaks;
	struct node_fault_row *faults;
	size_t count, fault_count;

	TRY(read_faults(ledger, node, job_id, &faults, &fault_count, err));
	TRY(store_read_breaks(ledger->reader, ledger->arena, job_id, &breaks, &count, err));
	for (size_t b = 0; b < count; b++)
		for (size_t i = 0; i < fault_count; i++) {
			if (!is_cause(ledger, &faults[i], breaks, b))
				continue;
			node->restarts++;
			node->recent += breaks[b].from_ms >= ledger->window_ms;
			if (breaks[b].lost_steps < 0)
				node->unknown_steps++;
			else
				node->lost_steps += (uint64_t)breaks[b].lost_steps;
			node->lost_node_ms += breaks[b].lost_node_ms;
			break;
		}
	return OK;
}

static bool is_first_of_job(const struct node_ledger *ledger, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (ledger->faults[i].job_id == ledger->faults[at].job_id &&
			span_equal(ledger->faults[i].host, ledger->faults[at].host))
			return false;
	return true;
}

static bool has_fault_in(const struct node_ledger *ledger, struct span host, int64_t job_id)
{
	for (size_t i = 0; i < ledger->fault_count; i++)
		if (ledger->faults[i].job_id == job_id && span_equal(ledger->faults[i].host, host))
			return true;
	return false;
}

/* Of jobs that ran on it while another's log, a central one, told of its fault. */
static enum status add_breaks_of_others(const struct node_ledger *ledger, struct node_sum *node, struct error *err)
{
	int64_t *jobs;
	size_t count;

	TRY(store_read_jobs_told_elsewhere(
		ledger->reader, ledger->arena, node->host, ledger->from_ms, &jobs, &count, err));
	for (size_t i = 0; i < count; i++)
		if (!has_fault_in(ledger, node->host, jobs[i]))
			TRY(add_breaks(ledger, node, jobs[i], err));
	return OK;
}

static void add_stragglers(const struct node_ledger *ledger, struct node_sum *node)
{
	struct node_straggler before = {.job_id = 0};

	for (size_t i = 0; i < ledger->straggler_count; i++) { /* by job and time */
		struct node_straggler straggler = ledger->stragglers[i];
		if (!span_equal(straggler.host, node->host))
			continue;
		bool is_same_job = straggler.job_id == before.job_id;
		bool is_beside = is_same_job && (!before.closed_ms || straggler.opened_ms <= before.closed_ms);
		node->slow++;
		node->slow_jobs += !is_same_job;
		/* A machine's ranks are often slow together: their steps are the same ones. */
		if (is_beside && straggler.first_step < before.last_step)
			straggler.first_step = before.last_step;
		if (straggler.last_step > straggler.first_step)
			node->slow_steps += (uint64_t)(straggler.last_step - straggler.first_step);
		if (is_beside && straggler.last_step < before.last_step)
			continue; /* the one before lasts longer */
		before = straggler;
	}
}

static char *add_why(struct node_sum *node)
{
	return node->why_count < NODE_WHY_MAX ? node->why[node->why_count++] : NULL;
}

struct times {
	char text[32];
};

static struct times times(uint64_t count)
{
	struct times times;

	snprintf(times.text, sizeof times.text, count == 1 ? "once" : "%llu times", (unsigned long long)count);
	return times;
}

/* A machine is to be drained for a fault that says so, for breaking jobs off twice, or for being the slowest of three jobs. */
static void judge(struct node_sum *node)
{
	char *why;

	for (size_t i = 0; i < node->signature_count; i++) {
		const struct node_signature *sum = &node->signatures[i];
		if (!sum->is_drain || !sum->recent || !(why = add_why(node)))
			continue;
		snprintf(why, NODE_WHY_MAX_BYTES, "%.*s %s in the last week", SPAN_ARGS(sum->name),
			times(sum->recent).text);
	}
	if (node->restarts >= 2 && (why = add_why(node)))
		snprintf(why, NODE_WHY_MAX_BYTES, "broke jobs off %s in 30 days, %.1f node-hours",
			times(node->restarts).text, (double)node->lost_node_ms / 3600000);
	if (node->slow_jobs >= 3 && (why = add_why(node)))
		snprintf(why, NODE_WHY_MAX_BYTES, "the slowest of %llu jobs in 30 days",
			(unsigned long long)node->slow_jobs);
}

enum status node_ledger_sum(
	const struct node_ledger *ledger, struct span host, struct node_sum *node, struct error *err)
{
	*node = (struct node_sum){.host = host};
	for (size_t i = 0; i < ledger->fault_count; i++) {
		const struct node_fault_row *fault = &ledger->faults[i];
		if (!span_equal(fault->host, host))
			continue;
		add_signature(ledger, node, fault);
		node->fault_lines += fault->count;
		node->last_fault_ms = fault->last_ms > node->last_fault_ms ? fault->last_ms : node->last_fault_ms;
		if (is_first_of_job(ledger, i))
			TRY(add_breaks(ledger, node, fault->job_id, err));
	}
	if (node->signature_count)
		TRY(add_breaks_of_others(ledger, node, err));
	add_stragglers(ledger, node);
	judge(node);
	return OK;
}

void node_write_why(const struct node_sum *node, struct json_writer *w)
{
	json_key(w, "why");
	json_array(w);
	for (size_t i = 0; i < node->why_count; i++)
		json_span(w, span_from(node->why[i]));
	json_array_end(w);
}

enum status node_write_if_drained(
	const struct node_ledger *ledger, struct span host, struct json_writer *w, struct error *err)
{
	struct node_sum node;

	TRY(node_ledger_sum(ledger, host, &node, err));
	if (!node.why_count)
		return OK;
	json_object(w);
	json_put_span(w, "host", host);
	node_write_why(&node, w);
	json_object_end(w);
	return OK;
}
