/* The ledger of machines, over all jobs: faults, what they broke off, where they were slow, utilisation; which to drain, and why. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/machines/node_history.h"
#include "base/json/json_write.h"
#include "read/node_ledger.h"
#include "read/view.h"
#include "store/faults.h"
#include "store/carry.h"
#include "store/streams.h"
#include "store/jobs.h"
#include "store/nodes.h"
#include "store/stream_hosts.h"

enum {
	LIMIT_DEFAULT = 50,
	LIMIT_MAX = 1000,
	CLEARED_SHOWN = 100,
	STREAMS_SHOWN = 20,
	STREAMS_MAX = 1000,
	SYSTEM_STREAMS = 10
};

/* ---- writing ---- */

static void write_sums(const struct node_sum *node, struct json_writer *w)
{
	json_put_span(w, "host", node->host);
	json_put_bool(w, "drain", node->why_count > 0);
	node_write_why(node, w);
	json_key(w, "faults");
	json_array(w);
	for (size_t i = 0; i < node->signature_count; i++) {
		const struct node_signature *sum = &node->signatures[i];
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
static int64_t seen_ms(const struct node_ledger *ledger, const struct node_stream *stream)
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

static void write_streams(const struct node_ledger *ledger, const struct node_sum *node,
	const struct node_stream *streams, size_t count, size_t shown, struct json_writer *w)
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
	const struct node_ledger *ledger, struct span host, struct json_writer *w, struct error *err)
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
	const struct node_ledger *ledger, struct span host, size_t shown, struct json_writer *w, struct error *err)
{
	struct node_sum *node = arena_alloc(ledger->arena, sizeof *node);
	struct node_stream *streams;
	size_t count;

	if (!node)
		return error_no_memory(err);
	TRY(node_ledger_sum(ledger, host, node, err));
	TRY(store_read_node_streams(ledger->reader, ledger->arena, host, STREAMS_MAX, &streams, &count, err));
	write_sums(node, w);
	write_streams(ledger, node, streams, count, shown, w);
	return write_figures(ledger, host, w, err);
}

/* Of all that had a fault or were slow, each once. */
static enum status write_drain(const struct node_ledger *ledger, struct json_writer *w, struct error *err)
{
	struct span *hosts;
	size_t count;

	TRY(node_ledger_list_hosts(ledger, NODES_WITH_FAULTS | NODES_SLOW, &hosts, &count, err));
	json_key(w, "drain");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		TRY(node_write_if_drained(ledger, hosts[i], w, err));
	json_array_end(w);
	return OK;
}

struct asked {
	struct span part, after;
	size_t limit;
	bool is_in_trouble;
};

/* A break or a drain is of a fault, or of being slow. */
static enum status read_hosts(const struct node_ledger *ledger, const struct asked *asked, struct span **out,
	size_t *count, struct error *err)
{
	if (!asked->is_in_trouble)
		return store_read_hosts(ledger->reader, ledger->arena, asked->part, asked->after, ledger->from_ms,
			asked->limit + 1, out, count, err);
	struct span *slow;
	size_t slow_count;
	TRY(node_ledger_list_hosts(ledger, NODES_SLOW, &slow, &slow_count, err));
	return store_read_troubled_hosts(ledger->reader, ledger->arena, asked->part, asked->after, ledger->from_ms,
		slow, slow_count, asked->limit + 1, out, count, err);
}

static enum status write_list(
	const struct node_ledger *ledger, const struct asked *asked, struct json_writer *w, struct error *err)
{
	struct span *hosts;
	size_t count, limit = asked->limit;

	TRY(read_hosts(ledger, asked, &hosts, &count, err));
	json_object(w);
	json_key(w, "nodes");
	json_array(w);
	for (size_t i = 0; i < count && i < limit; i++) {
		json_object(w);
		TRY(write_node(ledger, hosts[i], 1, w, err));
		json_object_end(w);
	}
	json_array_end(w);
	if (!asked->after.len)
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
	struct asked asked = {.part = SPAN(""), .after = SPAN("")};
	struct node_ledger ledger;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &asked.limit, err));
	http_request_query(request, "q", &asked.part);
	http_request_query(request, "cursor", &asked.after);
	TRY(http_query_bool(request, "in_trouble", &asked.is_in_trouble, err));
	TRY(store_reader_begin(own->reader, err));
	enum status status = node_ledger_read(&ledger, ((const struct api *)context)->options.pipeline, own->reader,
		arena, SPAN(""), http_request_arrival_ms(request), err);
	if (status == OK)
		status = write_list(&ledger, &asked, &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}

/* A break near faults of two machines is one of each. */
static enum status count_charged(
	const struct node_ledger *all, struct span host, struct node_past *past, struct error *err)
{
	struct node_sum node;
	struct span *hosts;
	size_t count;

	TRY(node_ledger_list_hosts(all, NODES_WITH_FAULTS, &hosts, &count, err));
	for (size_t i = 0; i < count; i++) {
		TRY(node_ledger_sum(all, hosts[i], &node, err));
		past->charged += node.recent;
		if (span_equal(node.host, host))
			past->own = node.recent;
	}
	return OK;
}

static enum status write_history(const struct api *api, const struct node_ledger *ledger, struct span host,
	struct json_writer *w, struct error *err)
{
	struct node_past past = {.reader = ledger->reader,
		.arena = ledger->arena,
		.host = host,
		.faults = ledger->faults,
		.fault_count = ledger->fault_count,
		.told = ledger->told,
		.told_count = ledger->told_count,
		.now_ms = ledger->now_ms,
		.window_ms = ledger->window_ms,
		.drain_ms = node_ledger_drain_ms()};
	struct node_ledger all;
	struct node_stream *streams;

	TRY(store_read_node_streams(
		ledger->reader, ledger->arena, host, STREAMS_MAX, &streams, &past.stream_count, err));
	past.streams = streams;
	TRY(node_ledger_read(
		&all, api->options.pipeline, ledger->reader, ledger->arena, SPAN(""), ledger->now_ms, err));
	TRY(count_charged(&all, host, &past, err));
	return node_history_write(api, &past, w, err);
}

static enum status put_stream(
	const struct node_ledger *ledger, const struct node_fault_row *fault, struct json_writer *w, struct error *err)
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

static enum status write_fault(
	const struct node_ledger *ledger, const struct node_fault_row *fault, struct json_writer *w, struct error *err)
{
	struct job_row job = {.name = SPAN("")};

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
	if (fault->cleared.len)
		json_put_span(w, "why", fault->cleared);
	json_object_end(w);
	return OK;
}

static enum status write_cleared(const struct node_ledger *ledger, const struct node_fault_row *rows, size_t count,
	struct json_writer *w, struct error *err)
{
	json_key(w, "cleared_faults");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		TRY(write_fault(ledger, &rows[i], w, err));
	json_array_end(w);
	return OK;
}

/* One that lines alone have named is there as long as they stand, also if somebody said that they are not its. */
static enum status check_known(
	const struct node_ledger *ledger, struct span host, size_t cleared_count, struct error *err)
{
	struct node_stream *streams;
	size_t count = ledger->fault_count + cleared_count;

	if (!count)
		TRY(store_read_node_streams(ledger->reader, ledger->arena, host, 1, &streams, &count, err));
	return count ? OK : error_set_field(err, ERR_NOT_FOUND, "host", "there is no node '%.*s'", SPAN_ARGS(host));
}

static enum status write_one(const struct api *api, const struct node_ledger *ledger, struct span host,
	struct json_writer *w, struct error *err)
{
	struct node_fault_row *cleared;
	size_t cleared_count;

	TRY(store_read_cleared_faults(
		ledger->reader, ledger->arena, host, ledger->window_ms, CLEARED_SHOWN, &cleared, &cleared_count, err));
	TRY(check_known(ledger, host, cleared_count, err));
	json_object(w);
	TRY(write_node(ledger, host, STREAMS_SHOWN, w, err));
	TRY(write_history(api, ledger, host, w, err));
	json_key(w, "fault_list");
	json_array(w);
	for (size_t i = 0; i < ledger->fault_count; i++)
		if (span_equal(ledger->faults[i].host, host))
			TRY(write_fault(ledger, &ledger->faults[i], w, err));
	json_array_end(w);
	TRY(write_cleared(ledger, cleared, cleared_count, w, err));
	json_object_end(w);
	return OK;
}

/* A short name, or a full one, that is of one machine alone is that one's, as in a line. */
static enum status find_machine(
	struct store_reader *reader, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	TRY(store_find_spelling(reader, arena, name, out, err));
	if (!out->len)
		TRY(store_find_machine(reader, arena, name, SPAN(""), out, err));
	if (!out->len)
		TRY(store_find_charged_form(reader, arena, name, SPAN(""), out, err));
	if (!out->len || span_equal(*out, STORE_SEVERAL_MACHINES))
		*out = name;
	return OK;
}

enum status api_node(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span host;
	struct node_ledger ledger;

	TRY(api_arena(&arena, err));
	TRY(find_machine(own->reader, arena, http_request_segment(request, 0), &host, err));
	TRY(store_reader_begin(own->reader, err));
	enum status status = node_ledger_read(&ledger, ((const struct api *)context)->options.pipeline, own->reader,
		arena, host, http_request_arrival_ms(request), err);
	if (status == OK)
		status = write_one(context, &ledger, host, &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}
