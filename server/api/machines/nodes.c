/* The ledger of machines, over all jobs: faults, what they broke off, where they were slow, utilisation; which to drain, and why. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/machines/node_drain.h"
#include "api/machines/node_history.h"
#include "base/json/json_write.h"
#include "read/view.h"
#include "state/known_fault.h"
#include "store/faults.h"
#include "store/carry.h"
#include "store/streams.h"
#include "store/jobs.h"
#include "store/nodes.h"

#include <stdio.h>

enum {
	LIMIT_DEFAULT = 50,
	LIMIT_MAX = 1000,
	FAULTS_MAX = 5000, /* of all machines, the newest */
	STRAGGLERS_MAX = 5000,
	STREAMS_SHOWN = 20,
	STREAMS_MAX = 1000,
	SYSTEM_STREAMS = 10,
	SIGNATURES_SHOWN = 16,
	WHY_MAX = 4,
	WHY_MAX_BYTES = 160
};

/* What happened longer ago says little about a machine, which may be another one by now. */
static const int64_t memory_ms = 30LL * 24 * 3600 * 1000;
static const int64_t drain_ms = 7LL * 24 * 3600 * 1000;
/* A fault broke a job off when that happened so soon after it. */
static const int64_t before_ms = 60LL * 1000, after_ms = 30LL * 60 * 1000;

struct ledger {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	int64_t now_ms, window_ms;
	struct node_fault_row *faults;
	size_t fault_count;
	struct node_straggler *stragglers;
	size_t straggler_count;
};

struct signature_sum {
	struct span name;
	uint64_t count; /* lines */
	int64_t last_ms;
	bool is_drain;
};

struct node {
	struct span host;
	struct signature_sum signatures[SIGNATURES_SHOWN];
	size_t signature_count;
	uint64_t fault_lines;
	uint64_t recent; /* restarts since window_ms */
	uint64_t restarts, lost_steps, unknown_steps; /* breaks whose lost steps are not known */
	int64_t lost_node_ms;
	uint64_t slow, slow_steps, slow_jobs;
	int64_t last_fault_ms;
	char why[WHY_MAX][WHY_MAX_BYTES];
	size_t why_count;
};

/* host "": of all. Of one alone those of others do not count against the most that is read. */
static enum status ledger_read(struct ledger *out, const struct api *api, struct store_reader *reader,
	struct arena *arena, struct span host, int64_t now_ms, struct error *err)
{
	*out = (struct ledger){.pipeline = api->options.pipeline, .reader = reader, .arena = arena, .now_ms = now_ms};
	out->window_ms = node_window_ms(now_ms);
	TRY(store_read_node_faults(
		reader, arena, host, now_ms - memory_ms, FAULTS_MAX, &out->faults, &out->fault_count, err));
	return store_read_node_stragglers(
		reader, arena, now_ms - memory_ms, STRAGGLERS_MAX, &out->stragglers, &out->straggler_count, err);
}

/* ---- what is known of one ---- */

static void add_signature(struct node *node, const struct node_fault_row *fault)
{
	struct signature_sum *sum = node->signatures;
	size_t i = 0;

	while (i < node->signature_count && !span_equal(sum[i].name, fault->signature))
		i++;
	if (i == SIGNATURES_SHOWN)
		return;
	if (i == node->signature_count)
		sum[node->signature_count++] = (struct signature_sum){.name = fault->signature};
	sum[i].count += fault->count;
	sum[i].last_ms = fault->last_ms > sum[i].last_ms ? fault->last_ms : sum[i].last_ms;
	sum[i].is_drain |= fault->is_drain;
}

static bool is_before(const struct ledger *ledger, const struct node_fault_row *fault, int64_t break_ms)
{
	return break_ms >= fault->ts_ms - before_ms && break_ms <= fault->last_ms + after_ms &&
	       !known_fault_is_nonfatal(ledger->pipeline, fault->signature);
}

/* The job went on behind the fault's last line, and broke off again: that was something else. */
static bool is_outlived(
	const struct ledger *ledger, const struct node_fault_row *fault, const struct node_break *breaks, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (breaks[i].to_ms > fault->last_ms && breaks[i].to_ms <= breaks[at].from_ms &&
			is_before(ledger, fault, breaks[i].from_ms))
			return true;
	return false;
}

/* Each break of a job counts once a machine, whichever of its faults came before it. */
static enum status add_breaks(const struct ledger *ledger, struct node *node, int64_t job_id, struct error *err)
{
	struct node_break *breaks;
	size_t count;

	TRY(store_read_breaks(ledger->reader, ledger->arena, job_id, &breaks, &count, err));
	for (size_t b = 0; b < count; b++)
		for (size_t i = 0; i < ledger->fault_count; i++) {
			const struct node_fault_row *fault = &ledger->faults[i];
			if (fault->job_id != job_id || !span_equal(fault->host, node->host) ||
				!is_before(ledger, fault, breaks[b].from_ms) || is_outlived(ledger, fault, breaks, b))
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

static bool is_first_of_job(const struct ledger *ledger, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (ledger->faults[i].job_id == ledger->faults[at].job_id &&
			span_equal(ledger->faults[i].host, ledger->faults[at].host))
			return false;
	return true;
}

static void add_stragglers(const struct ledger *ledger, struct node *node)
{
	int64_t last_job = 0;

	for (size_t i = 0; i < ledger->straggler_count; i++) { /* in order of the jobs */
		const struct node_straggler *straggler = &ledger->stragglers[i];
		if (!span_equal(straggler->host, node->host))
			continue;
		node->slow++;
		node->slow_steps += straggler->steps > 0 ? (uint64_t)straggler->steps : 0;
		node->slow_jobs += straggler->job_id != last_job;
		last_job = straggler->job_id;
	}
}

static char *add_why(struct node *node)
{
	return node->why_count < WHY_MAX ? node->why[node->why_count++] : NULL;
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
static void judge(const struct ledger *ledger, struct node *node)
{
	char *why;

	for (size_t i = 0; i < node->signature_count; i++) {
		const struct signature_sum *sum = &node->signatures[i];
		if (!sum->is_drain || sum->last_ms < ledger->now_ms - drain_ms || !(why = add_why(node)))
			continue;
		snprintf(why, WHY_MAX_BYTES, "%.*s %s in the last week", SPAN_ARGS(sum->name), times(sum->count).text);
	}
	if (node->restarts >= 2 && (why = add_why(node)))
		snprintf(why, WHY_MAX_BYTES, "broke jobs off %s in 30 days, %.1f node-hours",
			times(node->restarts).text, (double)node->lost_node_ms / 3600000);
	if (node->slow_jobs >= 3 && (why = add_why(node)))
		snprintf(
			why, WHY_MAX_BYTES, "the slowest of %llu jobs in 30 days", (unsigned long long)node->slow_jobs);
}

static enum status sum_up(const struct ledger *ledger, struct span host, struct node *node, struct error *err)
{
	*node = (struct node){.host = host};
	for (size_t i = 0; i < ledger->fault_count; i++) {
		const struct node_fault_row *fault = &ledger->faults[i];
		if (!span_equal(fault->host, host))
			continue;
		add_signature(node, fault);
		node->fault_lines += fault->count;
		node->last_fault_ms = fault->last_ms > node->last_fault_ms ? fault->last_ms : node->last_fault_ms;
		if (is_first_of_job(ledger, i))
			TRY(add_breaks(ledger, node, fault->job_id, err));
	}
	add_stragglers(ledger, node);
	judge(ledger, node);
	return OK;
}

/* ---- writing ---- */

static void write_why(const struct node *node, struct json_writer *w)
{
	json_key(w, "why");
	json_array(w);
	for (size_t i = 0; i < node->why_count; i++)
		json_span(w, span_from(node->why[i]));
	json_array_end(w);
}

static void write_sums(const struct node *node, struct json_writer *w)
{
	json_put_span(w, "host", node->host);
	json_put_bool(w, "drain", node->why_count > 0);
	write_why(node, w);
	json_key(w, "faults");
	json_array(w);
	for (size_t i = 0; i < node->signature_count; i++) {
		const struct signature_sum *sum = &node->signatures[i];
		json_object(w);
		json_put_span(w, "signature", sum->name);
		json_put_i64(w, "lines", (int64_t)sum->count);
		json_put_i64(w, "last_ms", sum->last_ms);
		json_put_bool(w, "drain", sum->is_drain);
		json_object_end(w);
	}
	json_array_end(w);
	json_put_i64(w, "restarts", (int64_t)node->restarts);
	api_put_lost_steps(w, (int64_t)node->lost_steps, node->unknown_steps, node->restarts);
	json_put_double(w, "lost_node_hours", (double)node->lost_node_ms / 3600000);
	json_put_i64(w, "stragglers", (int64_t)node->slow);
	json_put_i64(w, "slow_steps", (int64_t)node->slow_steps);
}

/* When its last line came. Of one that is not in memory any more its log says it, or else its job, which was heard of then at the latest. */
static int64_t seen_ms(const struct ledger *ledger, const struct node_stream *stream)
{
	int64_t heard_ms;

	if (stream->until_ms)
		return stream->until_ms;
	if ((heard_ms = view_stream_heard_ms(ledger->pipeline, stream->job, stream->stream)))
		return heard_ms;
	if (stream->last_ms > stream->begun_ms)
		return stream->last_ms;
	return stream->job_heard_ms > stream->begun_ms ? stream->job_heard_ms : stream->begun_ms;
}

static void write_streams(const struct ledger *ledger, const struct node *node, const struct node_stream *streams,
	size_t count, size_t shown, struct json_writer *w)
{
	int64_t last_ms = node->last_fault_ms;
	size_t jobs = 0, shared = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_new = true;
		for (size_t k = 0; k < i && is_new; k++)
			is_new = streams[k].job_id != streams[i].job_id;
		jobs += is_new;
		shared += streams[i].is_shared;
		int64_t its_ms = seen_ms(ledger, &streams[i]);
		last_ms = its_ms > last_ms ? its_ms : last_ms;
	}
	json_put_i64(w, "last_seen_ms", last_ms);
	json_put_i64(w, "job_count", (int64_t)jobs);
	if (shared)
		json_put_i64(w, "shared_streams", (int64_t)shared);
	if (count == STREAMS_MAX)
		json_put_bool(w, "partial", true); /* there may be more jobs */
	json_key(w, "jobs");
	json_array(w);
	for (size_t i = 0; i < count && i < shown; i++) {
		json_object(w);
		json_put_span(w, "job", streams[i].job);
		json_put_span(w, "stream", streams[i].stream);
		json_put_span(w, "status", streams[i].status);
		json_put_i64(w, "last_ms", seen_ms(ledger, &streams[i]));
		if (streams[i].is_shared)
			json_put_bool(w, "shared", true);
		json_object_end(w);
	}
	json_array_end(w);
}

static enum status write_figures(
	const struct ledger *ledger, struct span host, struct json_writer *w, struct error *err)
{
	struct node_figure *figures;
	size_t count;

	TRY(store_read_node_figures(ledger->reader, ledger->arena, host, SYSTEM_STREAMS, &figures, &count, err));
	json_key(w, "utilisation");
	json_object(w);
	for (size_t i = 0; i < count; i++) {
		json_key_span(w, figures[i].metric);
		json_double(w, figures[i].mean);
	}
	json_object_end(w);
	return OK;
}

static enum status write_node(
	const struct ledger *ledger, struct span host, size_t shown, struct json_writer *w, struct error *err)
{
	struct node *node = arena_alloc(ledger->arena, sizeof *node);
	struct node_stream *streams;
	size_t count;

	if (!node)
		return error_no_memory(err);
	TRY(sum_up(ledger, host, node, err));
	TRY(store_read_node_streams(ledger->reader, ledger->arena, host, STREAMS_MAX, &streams, &count, err));
	if (!count && !node->fault_lines)
		return error_set_field(err, ERR_NOT_FOUND, "host", "there is no node '%.*s'", SPAN_ARGS(host));
	write_sums(node, w);
	write_streams(ledger, node, streams, count, shown, w);
	return write_figures(ledger, host, w, err);
}

static bool has_host(const struct span *hosts, size_t count, struct span host)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(hosts[i], host))
			return true;
	return false;
}

static enum status write_if_drained(
	const struct ledger *ledger, struct span host, struct json_writer *w, struct error *err)
{
	struct node node;

	TRY(sum_up(ledger, host, &node, err));
	if (!node.why_count)
		return OK;
	json_object(w);
	json_put_span(w, "host", host);
	write_why(&node, w);
	json_object_end(w);
	return OK;
}

enum status node_write_drain(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct span *hosts, size_t count, int64_t now_ms, struct json_writer *w, struct error *err)
{
	struct ledger ledger;

	TRY(ledger_read(&ledger, api, reader, arena, SPAN(""), now_ms, err));
	json_array(w);
	for (size_t i = 0; i < count; i++)
		TRY(write_if_drained(&ledger, hosts[i], w, err));
	json_array_end(w);
	return OK;
}

/* Of all that had a fault or were slow, each once. */
static enum status write_drain(const struct ledger *ledger, struct json_writer *w, struct error *err)
{
	size_t all = ledger->fault_count + ledger->straggler_count, count = 0;
	struct span *hosts = arena_alloc(ledger->arena, (all + 1) * sizeof *hosts);

	if (!hosts)
		return error_no_memory(err);
	json_key(w, "drain");
	json_array(w);
	for (size_t i = 0; i < all; i++) {
		struct span host = i < ledger->fault_count ? ledger->faults[i].host
							   : ledger->stragglers[i - ledger->fault_count].host;
		if (has_host(hosts, count, host))
			continue;
		hosts[count++] = host;
		TRY(write_if_drained(ledger, host, w, err));
	}
	json_array_end(w);
	return OK;
}

static enum status write_list(const struct ledger *ledger, struct span part, struct span after, size_t limit,
	struct json_writer *w, struct error *err)
{
	struct span *hosts;
	size_t count;

	TRY(store_read_hosts(ledger->reader, ledger->arena, part, after, limit + 1, &hosts, &count, err));
	json_object(w);
	json_key(w, "nodes");
	json_array(w);
	for (size_t i = 0; i < count && i < limit; i++) {
		json_object(w);
		TRY(write_node(ledger, hosts[i], 1, w, err));
		json_object_end(w);
	}
	json_array_end(w);
	if (!after.len)
		TRY(write_drain(ledger, w, err));
	if (count > limit)
		json_put_span(w, "next_cursor", hosts[limit - 1]);
	json_object_end(w);
	return OK;
}

enum status api_nodes(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span part = SPAN(""), after = SPAN("");
	struct ledger ledger;
	size_t limit;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	http_request_query(request, "q", &part);
	http_request_query(request, "cursor", &after);
	TRY(store_reader_begin(own->reader, err));
	enum status status =
		ledger_read(&ledger, context, own->reader, arena, SPAN(""), http_request_arrival_ms(request), err);
	if (status == OK)
		status = write_list(&ledger, part, after, limit, &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}

/* A break near faults of two machines is one of each. */
static enum status count_charged(const struct ledger *all, struct span host, struct node_past *past, struct error *err)
{
	struct span *hosts = arena_alloc(all->arena, (all->fault_count + 1) * sizeof *hosts);
	struct node node;
	size_t count = 0;

	if (!hosts)
		return error_no_memory(err);
	for (size_t i = 0; i < all->fault_count; i++) {
		if (has_host(hosts, count, all->faults[i].host))
			continue;
		hosts[count++] = all->faults[i].host;
		TRY(sum_up(all, all->faults[i].host, &node, err));
		past->charged += node.recent;
		if (span_equal(node.host, host))
			past->own = node.recent;
	}
	return OK;
}

static enum status write_history(
	const struct api *api, const struct ledger *ledger, struct span host, struct json_writer *w, struct error *err)
{
	struct node_past past = {.reader = ledger->reader,
		.arena = ledger->arena,
		.host = host,
		.faults = ledger->faults,
		.fault_count = ledger->fault_count,
		.now_ms = ledger->now_ms,
		.window_ms = ledger->window_ms,
		.drain_ms = drain_ms};
	struct ledger all;

	TRY(ledger_read(&all, api, ledger->reader, ledger->arena, SPAN(""), ledger->now_ms, err));
	TRY(count_charged(&all, host, &past, err));
	return node_history_write(api, &past, w, err);
}

static enum status put_stream(
	const struct ledger *ledger, const struct node_fault_row *fault, struct json_writer *w, struct error *err)
{
	AUTO(arena) own = arena_new();
	struct stream_row stream;

	if (!own)
		return error_no_memory(err);
	TRY(store_read_stream_after(ledger->reader, own, fault->job_id, fault->stream_id - 1, &stream, err));
	if (stream.stream_id == fault->stream_id)
		json_put_span(w, "stream", stream.name);
	return OK;
}

static enum status write_one(
	const struct api *api, const struct ledger *ledger, struct span host, struct json_writer *w, struct error *err)
{
	json_object(w);
	TRY(write_node(ledger, host, STREAMS_SHOWN, w, err));
	TRY(write_history(api, ledger, host, w, err));
	json_key(w, "fault_list");
	json_array(w);
	for (size_t i = 0; i < ledger->fault_count; i++) {
		const struct node_fault_row *fault = &ledger->faults[i];
		struct job_row job = {.name = SPAN("")};
		if (!span_equal(fault->host, host))
			continue;
		if (store_read_job_by_id(ledger->reader, ledger->arena, fault->job_id, &job, NULL) != OK)
			job.name = SPAN(""); /* it was deleted since */
		json_object(w);
		json_put_span(w, "signature", fault->signature);
		json_put_i64(w, "ts_ms", fault->ts_ms);
		json_put_i64(w, "last_ms", fault->last_ms);
		json_put_i64(w, "lines", (int64_t)fault->count);
		json_put_span(w, "job", job.name);
		TRY(put_stream(ledger, fault, w, err));
		json_put_i64(w, "line", (int64_t)fault->line);
		json_put_span(w, "text", fault->text);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
	return OK;
}

enum status api_node(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span host = http_request_segment(request, 0);
	struct ledger ledger;

	TRY(api_arena(&arena, err));
	TRY(store_reader_begin(own->reader, err));
	enum status status =
		ledger_read(&ledger, context, own->reader, arena, host, http_request_arrival_ms(request), err);
	if (status == OK)
		status = write_one(context, &ledger, host, &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}
