/* How many machines a job has: what its document states, else as many as its streams let be seen. */
#include "model/jobs/by_hand.h"
#include "model/metrics/stream_name.h"
#include "pipeline/goodput/goodput.h"
#include "state/streams/job_view.h"
#include "state/jobs/stated.h"
#include "store/stream_hosts.h"

#include <math.h>
#include <stdlib.h>

/* So long after its last line a machine is still at work: others' may come a moment later. */
enum { STILL_THERE_MS = 10 * 1000 };

/* ---- distinct hosts at the same time: one that took over from another is none more ---- */

struct seen_host {
	struct span host;
	int64_t from_ms, to_ms;
};

static int by_host(const void *a, const void *b)
{
	return span_compare(((const struct seen_host *)a)->host, ((const struct seen_host *)b)->host);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* One that opened its stream and prints nothing is there all the time. */
static struct seen_host see(const struct stream_view *stream, const struct stretches *work)
{
	struct seen_host seen = {.host = stream->host, .from_ms = INT64_MIN, .to_ms = INT64_MAX};

	for (unsigned i = 0; i < stream->stretches.count; i++) {
		const struct time_cluster *item = &stream->stretches.items[i];
		if (!stretches_hold(work, item->first_ms))
			continue;
		seen.from_ms = seen.from_ms == INT64_MIN ? item->first_ms : seen.from_ms;
		seen.to_ms = item->last_ms + STILL_THERE_MS;
	}
	return seen;
}

/*
 * The stream's machines that send it in turns: each from its first line on, until one has it alone. Of lines of the past that say when
 * they were written to none but the extractor that is when they came, behind all of them: such a machine was there all the time.
 */
static size_t see_sharing(const struct stream_view *stream, const struct stretches *work,
	const struct stream_host_row *rows, size_t row_count, struct seen_host *out)
{
	struct seen_host all = see(stream, work);
	size_t used = 0;

	for (size_t i = 0; i < row_count; i++) {
		struct seen_host *seen = &out[used];
		if (rows[i].stream_id != stream->stream_id || !rows[i].is_shared || !rows[i].host.len)
			continue;
		*seen = (struct seen_host){rows[i].host, all.from_ms, all.to_ms};
		if (rows[i].from_ms && rows[i].from_ms <= all.to_ms)
			seen->from_ms = rows[i].from_ms;
		for (size_t j = i + 1; j < row_count && rows[j].stream_id == stream->stream_id; j++)
			if (!rows[j].is_shared && rows[j].from_ms >= seen->from_ms && rows[j].from_ms < seen->to_ms)
				seen->to_ms = rows[j].from_ms;
		used++;
	}
	return used;
}

static size_t join_hosts(struct seen_host *hosts, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(hosts, count, sizeof *hosts, by_host);
	for (size_t i = 0; i < count; i++) {
		struct seen_host *last = kept ? &hosts[kept - 1] : NULL;
		if (!last || !span_equal(last->host, hosts[i].host)) {
			hosts[kept++] = hosts[i];
			continue;
		}
		last->from_ms = hosts[i].from_ms < last->from_ms ? hosts[i].from_ms : last->from_ms;
		last->to_ms = hosts[i].to_ms > last->to_ms ? hosts[i].to_ms : last->to_ms;
	}
	return kept;
}

static enum status see_all(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct stretches *work, struct seen_host **out, size_t *count, struct error *err)
{
	struct stream_host_row *rows;
	size_t row_count;
	bool is_any_shared = false;

	*count = 0;
	TRY(store_read_stream_hosts(reader, arena, view->row.job_id, 0, &rows, &row_count, err));
	struct seen_host *hosts = *out = arena_alloc(arena, (view->stream_count + row_count + 1) * sizeof *hosts);
	if (!hosts)
		return error_no_memory(err);
	for (size_t i = 0; i < row_count; i++)
		is_any_shared |= rows[i].is_shared;
	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		if (stream_is_system(stream->name))
			continue;
		if (stream->host.len)
			hosts[(*count)++] = see(stream, work);
		if (is_any_shared)
			*count += see_sharing(stream, work, rows, row_count, hosts + *count);
	}
	*count = join_hosts(hosts, *count);
	return OK;
}

static enum status count_hosts(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct stretches *work, int64_t *out, struct error *err)
{
	struct seen_host *hosts;
	size_t count, gone = 0;

	*out = 0;
	TRY(see_all(reader, arena, view, work, &hosts, &count, err));
	int64_t *begins = arena_alloc(arena, 2 * (count + 1) * sizeof *begins);
	if (!begins)
		return error_no_memory(err);
	int64_t *ends = begins + count;
	for (size_t i = 0; i < count; i++) {
		begins[i] = hosts[i].from_ms;
		ends[i] = hosts[i].to_ms;
	}
	qsort(begins, count, sizeof *begins, by_number);
	qsort(ends, count, sizeof *ends, by_number);
	for (size_t i = 0; i < count; i++) {
		while (ends[gone] < begins[i])
			gone++;
		*out = (int64_t)(i + 1 - gone) > *out ? (int64_t)(i + 1 - gone) : *out;
	}
	return OK;
}

/* ---- names of streams ---- */

static enum status count_algos(struct arena *arena, const struct job_view *view, int64_t *out, struct error *err)
{
	int64_t *numbers = arena_alloc(arena, (view->stream_count + 1) * sizeof *numbers);
	size_t count = 0;

	*out = 0;
	if (!numbers)
		return error_no_memory(err);
	for (size_t i = 0; i < view->stream_count; i++)
		if ((numbers[count] = stream_algo_number(view->streams[i].name)))
			count++;
	if (count)
		qsort(numbers, count, sizeof *numbers, by_number);
	for (size_t i = 0; i < count; i++)
		*out += !i || numbers[i] != numbers[i - 1];
	return OK;
}

/* ---- the document ---- */

static enum status read_groups(struct arena *arena, const struct json *groups, struct job_facts *out, struct error *err)
{
	for (const struct json *group = groups ? json_first(groups) : NULL; group; group = json_next(group)) {
		int64_t count = job_stated_count(json_get(group, "InstanceCount"));
		struct span instance = arena_copy(arena, json_string_of(json_get(group, "InstanceType")));
		if (!instance.ptr)
			return error_no_memory(err);
		if (!count || out->node_count + count > JOB_NODES_MAX)
			continue;
		out->nodes[out->type_count++] = (struct job_nodes){instance, count};
		out->node_count += count;
	}
	return OK;
}

enum status goodput_read_nodes(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct json *document, struct job_facts *out, struct error *err)
{
	const struct json *resources = json_get(document, "ResourceConfig");
	const struct json *groups = resources ? json_get(resources, "InstanceGroups") : NULL;
	struct by_hand by;

	out->nodes_from = NODES_STATED;
	out->nodes = arena_alloc(arena, (groups ? json_count(groups) + 1 : 1) * sizeof *out->nodes);
	if (!out->nodes)
		return error_no_memory(err);
	by_hand_read(&by, document);
	out->has_price = !isnan(by.price_per_hour);
	out->price_per_hour = by.price_per_hour;
	out->price_currency = arena_copy(arena, by.price_currency);
	if (!out->price_currency.ptr)
		return error_no_memory(err);
	if (!by.nodes && !by.instance_type.len)
		TRY(read_groups(arena, groups, out, err));
	if (out->type_count)
		return OK;
	int64_t count = job_stated_nodes(document);
	struct span instance = resources ? json_string_of(json_get(resources, "InstanceType")) : SPAN("");
	instance = by.instance_type.len ? by.instance_type : instance;
	if (!count) {
		out->nodes_from = NODES_HOSTS;
		TRY(count_hosts(reader, arena, view, &out->work, &count, err));
	}
	if (!count) {
		out->nodes_from = NODES_STREAMS;
		TRY(count_algos(arena, view, &count, err));
	}
	out->node_count = count ? count : 1;
	out->nodes[0] = (struct job_nodes){arena_copy(arena, instance), out->node_count};
	out->type_count = 1;
	return out->nodes[0].instance.ptr ? OK : error_no_memory(err);
}
