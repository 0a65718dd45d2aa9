#include "read/node_ledger.h"

#include "extract/line/kernel_event.h"
#include "state/known_fault.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_ends.h"
#include "store/jobs.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	FAULTS_MAX = 5000, /* of all machines, the newest */
	TOLD_MAX = 20000, /* and those near breaks of other jobs, each once a job */
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

static int by_host_and_job(const void *a, const void *b)
{
	const struct break_fault *x = a, *y = b;
	int order = span_compare(x->host, y->host);

	return order ? order : (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static int by_id(const void *a, const void *b)
{
	const struct node_job *x = a, *y = b;

	return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static int by_host_and_place(const void *a, const void *b)
{
	const struct node_place *x = a, *y = b;
	int order = span_compare(x->host, y->host);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static enum status place_hosts(struct node_ledger *out, struct error *err)
{
	out->faults_by_host = arena_alloc(out->arena, (out->fault_count + 1) * sizeof *out->faults_by_host);
	out->stragglers_by_host = arena_alloc(out->arena, (out->straggler_count + 1) * sizeof *out->stragglers_by_host);
	if (!out->faults_by_host || !out->stragglers_by_host)
		return error_no_memory(err);
	for (size_t i = 0; i < out->fault_count; i++)
		out->faults_by_host[i] = (struct node_place){out->faults[i].host, i};
	for (size_t i = 0; i < out->straggler_count; i++)
		out->stragglers_by_host[i] = (struct node_place){out->stragglers[i].host, i};
	if (out->fault_count)
		qsort(out->faults_by_host, out->fault_count, sizeof *out->faults_by_host, by_host_and_place);
	if (out->straggler_count)
		qsort(out->stragglers_by_host, out->straggler_count, sizeof *out->stragglers_by_host,
			by_host_and_place);
	return OK;
}

/* Of every fault, whoever told of it: the breaks of a job are read once, if they are asked for, however many machines it had. */
static enum status list_jobs(struct node_ledger *out, struct error *err)
{
	size_t all = 0;

	out->jobs = arena_alloc(out->arena, (out->fault_count + out->told_count + 1) * sizeof *out->jobs);
	if (!out->jobs)
		return error_no_memory(err);
	for (size_t i = 0; i < out->fault_count; i++)
		out->jobs[all++] = (struct node_job){.job_id = out->faults[i].job_id};
	for (size_t i = 0; i < out->told_count; i++)
		out->jobs[all++] = (struct node_job){.job_id = out->told[i].job_id};
	if (all)
		qsort(out->jobs, all, sizeof *out->jobs, by_id);
	for (size_t i = 0; i < all; i++)
		if (!out->job_count || out->jobs[out->job_count - 1].job_id != out->jobs[i].job_id)
			out->jobs[out->job_count++] = out->jobs[i];
	return OK;
}

/* By one of several channels: a shipper's time may be some seconds behind the kernel's. Of one stream a later stretch is another event, but
 * what a machine's uptime dates may be printed at any time. */
static bool is_same_event(const struct node_fault_row *a, const struct kernel_event *of_a,
	const struct node_fault_row *b, const struct kernel_event *of_b)
{
	bool is_one_stream = a->job_id == b->job_id && a->stream_id == b->stream_id;

	if (!span_equal(a->host, b->host) || !span_equal(a->signature, b->signature))
		return false;
	return kernel_event_is_same(of_a, of_b) ||
	       (!is_one_stream && a->ts_ms - b->ts_ms <= FAULT_CHANNEL_MS && span_equal(of_a->words, of_b->words));
}

/* rows: the newest first. The oldest of an event stands for it. */
static enum status mark_told_again(struct node_fault_row *rows, size_t count, struct arena *arena, struct error *err)
{
	enum { LOOKED_AT = 200 }; /* rows of any machine */
	struct kernel_event *events = arena_alloc(arena, (count + 1) * sizeof *events);

	if (!events)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		events[i] = kernel_event_of(rows[i].text);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count && j <= i + LOOKED_AT && !rows[i].is_told_again; j++)
			rows[i].is_told_again = is_same_event(&rows[i], &events[i], &rows[j], &events[j]);
	return OK;
}

enum status node_ledger_read(struct node_ledger *out, struct pipeline *pipeline, struct store_reader *reader,
	struct arena *arena, struct span host, int64_t now_ms, struct error *err)
{
	const struct stream_ends ends = stream_ends_of(pipeline->directory, FAULT_BROKE_OFF_MS);

	*out = (struct node_ledger){.pipeline = pipeline, .reader = reader, .arena = arena, .now_ms = now_ms};
	out->window_ms = window_of(now_ms);
	out->from_ms = now_ms - memory_ms;
	TRY(store_read_node_faults(
		reader, arena, host, out->from_ms, FAULTS_MAX, &out->faults, &out->fault_count, err));
	TRY(mark_told_again(out->faults, out->fault_count, arena, err));
	const struct break_fault_wish wish = {host, out->from_ms, FAULT_BROKE_OFF_MS, FAULT_AFTER_MS, TOLD_MAX};
	TRY(store_read_break_faults(reader, arena, &ends, &wish, &out->told, &out->told_count, err));
	if (out->told_count)
		qsort(out->told, out->told_count, sizeof *out->told, by_host_and_job);
	TRY(list_jobs(out, err));
	TRY(store_read_node_stragglers(
		reader, arena, host, out->from_ms, STRAGGLERS_MAX, &out->stragglers, &out->straggler_count, err));
	if (out->straggler_count)
		qsort(out->stragglers, out->straggler_count, sizeof *out->stragglers, by_job_and_time);
	return place_hosts(out, err);
}

/* NULL: it has none. */
static const struct node_place *find_first(const struct node_place *places, size_t all, struct span host)
{
	size_t low = 0;

	for (size_t high = all; low < high;) {
		size_t middle = (low + high) / 2;
		if (span_compare(places[middle].host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < all && span_equal(places[low].host, host) ? places + low : NULL;
}

/* Those of the host, one behind the other. */
static const struct node_place *find_places(
	const struct node_place *places, size_t all, struct span host, size_t *count)
{
	const struct node_place *first = find_first(places, all, host);

	for (*count = 0; first && first + *count < places + all && span_equal(first[*count].host, host);)
		++*count;
	return first;
}

enum status node_ledger_list_hosts(
	const struct node_ledger *ledger, unsigned which, struct span **out, size_t *count, struct error *err)
{
	const struct node_place *faults = ledger->faults_by_host, *slow = ledger->stragglers_by_host;
	size_t fault_count = which & NODES_WITH_FAULTS ? ledger->fault_count : 0;
	size_t slow_count = which & NODES_SLOW ? ledger->straggler_count : 0;

	*count = 0;
	*out = arena_alloc(ledger->arena, (fault_count + slow_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < fault_count; i++)
		if (find_first(faults, fault_count, ledger->faults[i].host)->at == i)
			(*out)[(*count)++] = ledger->faults[i].host;
	for (size_t i = 0; i < slow_count; i++) {
		struct span host = ledger->stragglers[i].host;
		if (find_first(slow, slow_count, host)->at == i && !find_first(faults, fault_count, host))
			(*out)[(*count)++] = host;
	}
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
	sum[i].recent += !fault->is_told_again && fault->last_ms >= ledger->now_ms - drain_ms;
	sum[i].last_ms = fault->last_ms > sum[i].last_ms ? fault->last_ms : sum[i].last_ms;
	sum[i].is_drain |= fault->is_drain;
}

/* By the rule that names a break's cause: so the two never differ in which machine it was. */
static bool is_cause(
	const struct node_ledger *ledger, const struct break_fault *fault, const struct node_break *breaks, size_t at)
{
	const struct node_break *broken = &breaks[at];
	struct fault_window window = {
		at ? breaks[at - 1].to_ms : INT64_MIN, broken->from_ms, broken->to_ms ? broken->to_ms : ledger->now_ms};

	/* of the end, until whoever goes on with the job made a step */
	if (broken->ended_ms && broken->ended_ms + FAULT_AFTER_MS < window.to_ms)
		window.to_ms = broken->ended_ms + FAULT_AFTER_MS;
	int weight = known_fault_weight(ledger->pipeline, fault->signature, SEVERITY_CRITICAL); /* its own at most */
	const struct fault_said said = {weight, fault->ts_ms, fault->last_ms};

	return fault_rank(&window, broken->from_ms, FAULT_BROKE_OFF_MS, &said) > 0;
}

static enum status find_job(
	const struct node_ledger *ledger, int64_t job_id, const struct node_job **out, struct error *err)
{
	struct node_job *job = bsearch(
		&(struct node_job){.job_id = job_id}, ledger->jobs, ledger->job_count, sizeof *ledger->jobs, by_id);

	*out = job;
	if (job->is_read)
		return OK;
	job->is_read = true;
	return store_read_breaks(ledger->reader, ledger->arena, job_id, &job->breaks, &job->count, err);
}

/* Each break of a job counts once a machine, whichever of its faults came before it. */
static enum status add_breaks(const struct node_ledger *ledger, struct node_sum *node, const struct break_fault *faults,
	size_t fault_count, struct error *err)
{
	const struct node_job *job;

	TRY(find_job(ledger, faults[0].job_id, &job, err));
	for (size_t b = 0; b < job->count; b++)
		for (size_t i = 0; i < fault_count; i++) {
			if (!is_cause(ledger, &faults[i], job->breaks, b))
				continue;
			node->restarts++;
			node->recent += job->breaks[b].from_ms >= ledger->window_ms;
			if (job->breaks[b].lost_steps < 0)
				node->unknown_steps++;
			else
				node->lost_steps += (uint64_t)job->breaks[b].lost_steps;
			node->lost_node_ms += job->breaks[b].lost_node_ms;
			break;
		}
	return OK;
}

/* The host's in told: sorted by it. */
static const struct break_fault *find_told(const struct node_ledger *ledger, struct span host, size_t *count)
{
	size_t low = 0, high = ledger->told_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (span_compare(ledger->told[middle].host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*count = 0; low + *count < ledger->told_count && span_equal(ledger->told[low + *count].host, host);)
		++*count;
	return ledger->told + low;
}

/* Of the machine, by job: those that the job's own log told of, and those that another's, a central one, did while it ran there. */
static enum status read_break_faults(
	const struct node_ledger *ledger, struct span host, struct break_fault **out, size_t *count, struct error *err)
{
	size_t own_count, told_count;
	const struct node_place *own = find_places(ledger->faults_by_host, ledger->fault_count, host, &own_count);
	const struct break_fault *told = find_told(ledger, host, &told_count);

	*count = 0;
	*out = arena_alloc(ledger->arena, (own_count + told_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < own_count; i++) {
		const struct node_fault_row *fault = &ledger->faults[own[i].at];
		(*out)[(*count)++] = (struct break_fault){.host = host,
			.job_id = fault->job_id,
			.ts_ms = fault->ts_ms,
			.last_ms = fault->last_ms,
			.signature = fault->signature};
	}
	for (size_t i = 0; i < told_count; i++)
		(*out)[(*count)++] = told[i];
	if (*count)
		qsort(*out, *count, sizeof **out, by_host_and_job);
	return OK;
}

static enum status add_breaks_of_jobs(const struct node_ledger *ledger, struct node_sum *node, struct error *err)
{
	struct break_fault *faults;
	size_t count, of_job;

	TRY(read_break_faults(ledger, node->host, &faults, &count, err));
	for (size_t i = 0; i < count; i += of_job) {
		for (of_job = 1; i + of_job < count && faults[i + of_job].job_id == faults[i].job_id;)
			of_job++;
		TRY(add_breaks(ledger, node, &faults[i], of_job, err));
	}
	return OK;
}

static void add_stragglers(const struct node_ledger *ledger, struct node_sum *node)
{
	struct node_straggler before = {.job_id = 0};
	size_t count;
	const struct node_place *places =
		find_places(ledger->stragglers_by_host, ledger->straggler_count, node->host, &count);

	for (size_t i = 0; i < count; i++) { /* by job and time */
		struct node_straggler straggler = ledger->stragglers[places[i].at];
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
	size_t count;
	const struct node_place *places = find_places(ledger->faults_by_host, ledger->fault_count, host, &count);

	*node = (struct node_sum){.host = host};
	for (size_t i = 0; i < count; i++) {
		const struct node_fault_row *fault = &ledger->faults[places[i].at];
		add_signature(ledger, node, fault);
		node->fault_lines += fault->count;
		node->last_fault_ms = fault->last_ms > node->last_fault_ms ? fault->last_ms : node->last_fault_ms;
	}
	if (count)
		TRY(add_breaks_of_jobs(ledger, node, err));
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
	if (span_find_char(host, '/') >= 0) /* JOB/STREAM: nobody named it */
		json_put_bool(w, "place", true);
	node_write_why(&node, w);
	json_object_end(w);
	return OK;
}
