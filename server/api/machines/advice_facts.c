#include "api/machines/advice_facts.h"

#include "api/core/api_state.h"
#include "base/json/json_python.h"
#include "base/json/json_read.h"
#include "fleet/advice.h"
#include "fleet/pool_shape.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/setting_name.h"
#include "read/charts/derivation.h"
#include "read/checkpoints.h"
#include "read/logs/log_search.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "store/run.h"
#include "store/streams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	KEY_MAX_BYTES = 512,
	INNER_MAX_BYTES = 64 << 10,
	LIST_MAX_BYTES = 256,
	SHOWN_SETTINGS_MAX = 4000,
	DEPTH_MAX = 8,
	HITS_MAX = 1000,
	SEARCH_MS = 1000,
	INCIDENTS_MAX = 100,
	CHECKPOINTS_MAX = 50,
	RECENT_MAX = 100
};

static const int64_t recent_ms = 3LL * 3600 * 1000;
static const double hour_ms = 3600.0 * 1000;

struct reading {
	struct api *api;
	struct store_reader *reader;
	struct arena *arena;
	const struct job_row *row;
	struct advice_facts *out;
};

/* ---- settings ---- */

static enum status add(struct reading *r, struct span key, struct span text, double number, struct error *err)
{
	struct advice_facts *out = r->out;

	if (out->count == SHOWN_SETTINGS_MAX)
		return OK;
	if (out->count == out->cap) {
		size_t cap = out->cap ? 2 * out->cap : 128;
		struct advice_setting *grown = arena_alloc(r->arena, cap * sizeof *grown);
		if (!grown)
			return error_no_memory(err);
		if (out->count)
			memcpy(grown, out->settings, out->count * sizeof *grown);
		out->settings = grown;
		out->cap = cap;
	}
	struct advice_setting *setting = &out->settings[out->count++];
	*setting = (struct advice_setting){arena_copy(r->arena, key), text, number};
	if (text.len)
		setting->text = arena_copy(r->arena, text);
	if (!setting->key.ptr || (text.len && !setting->text.ptr))
		return error_no_memory(err);
	return OK;
}

static enum status measure(struct reading *r, const char *name, double value, struct error *err)
{
	return isnan(value) ? OK : add(r, span_from(name), SPAN(""), value, err);
}

/*
 * A hyperparameter's value is text, and that text may be a document, as JSON or as Python prints it: SageMaker's mp_parameters, DeepSpeed's
 * configuration. NULL: it is none.
 */
static struct json *read_document(struct span text)
{
	AUTO_DONE(buf) converted = BUF_INIT(2 * INNER_MAX_BYTES);
	struct json *inner = NULL;
	struct error ignored;

	if (text.len <= 2 || text.ptr[0] != '{' || text.len >= INNER_MAX_BYTES)
		return NULL;
	if (json_parse(&inner, text, &ignored) == OK)
		return inner;
	json_from_python(text, &converted);
	return !converted.failure && json_parse(&inner, buf_span(&converted), &ignored) == OK ? inner : NULL;
}

static enum status add_leaves(
	struct reading *r, const char *prefix, const struct json *node, int depth, struct error *err);

/* Parts of DeepSpeed's configuration: what is in them is named with them. */
static bool is_part(struct span key)
{
	static const char *const parts[] = {"zero_optimization", "bf16", "fp16", "optimizer"};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (setting_name_is(key, span_from(parts[i])))
			return true;
	return false;
}

/* key: the last part of the path, behind the prefix. */
static enum status add_text(struct reading *r, const char *path, const char *prefix, struct span key, struct span text,
	int depth, struct error *err)
{
	AUTO(json) inner = read_document(text);
	char within[KEY_MAX_BYTES + 1];

	if (!inner)
		return add(r, span_from(path), text, NAN, err);
	snprintf(within, sizeof within, "%s.", path);
	return add_leaves(r, is_part(key) ? within : prefix, inner, depth + 1, err);
}

static enum status add_leaf(
	struct reading *r, const char *path, const char *prefix, const struct json *node, int depth, struct error *err)
{
	struct span text = json_string_of(node);
	double number;

	if (text.len)
		return add_text(r, path, prefix, json_key_of(node), text, depth, err);
	if (json_number_of(node, &number))
		return add(r, span_from(path), SPAN(""), number, err);
	if (json_kind(node) == JSON_BOOL)
		return add(r, span_from(path), SPAN(""), json_is_true(node), err);
	return OK;
}

/* A short list is its text: ["full_shard", "auto_wrap"]. */
static enum status add_list(struct reading *r, const char *path, const struct json *node, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LIST_MAX_BYTES);

	json_print(node, &text);
	return text.failure ? OK : add(r, span_from(path), buf_span(&text), NAN, err);
}

static enum status add_leaves(
	struct reading *r, const char *prefix, const struct json *node, int depth, struct error *err)
{
	char path[KEY_MAX_BYTES];

	for (const struct json *at = json_first(node); at && depth < DEPTH_MAX; at = json_next(at)) {
		int len = snprintf(path, sizeof path, "%s%.*s", prefix, SPAN_ARGS(json_key_of(at)));
		if (len < 0 || (size_t)len + 2 > sizeof path)
			continue;
		if (json_kind(at) == JSON_ARRAY) {
			TRY(add_list(r, path, at, err));
			continue;
		}
		if (json_kind(at) != JSON_OBJECT) {
			TRY(add_leaf(r, path, prefix, at, depth, err));
			continue;
		}
		memcpy(path + len, ".", 2);
		TRY(add_leaves(r, path, at, depth + 1, err));
	}
	return OK;
}

static enum status add_document(struct reading *r, const struct json *document, struct error *err)
{
	static const char *const fields[] = {"ResourceConfig", "RetryStrategy", "StoppingCondition"};
	char prefix[64];

	TRY(add_leaves(r, "hp.", json_get(document, "HyperParameters"), 0, err));
	TRY(add_leaves(r, "env.", json_get(document, "Environment"), 0, err));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		snprintf(prefix, sizeof prefix, "%s.", fields[i]);
		TRY(add_leaves(r, prefix, json_get(document, fields[i]), 0, err));
	}
	return OK;
}

static enum status add_found(struct reading *r, struct error *err)
{
	struct setting_row *rows;
	char key[KEY_MAX_BYTES];
	size_t count;

	TRY(store_read_settings(r->reader, r->arena, r->row->job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		snprintf(key, sizeof key, "hp.%.*s", SPAN_ARGS(rows[i].key));
		TRY(add_text(r, key, "hp.", rows[i].key, rows[i].value, 0, err));
	}
	return OK;
}

/* ---- machines ---- */

static bool has_family(const struct json *groups, const struct json *until, struct span family)
{
	for (const struct json *group = json_first(groups); group && group != until; group = json_next(group)) {
		struct span rest = json_string_of(json_get(group, "InstanceType")), part, other = SPAN("");
		if (span_next(&rest, '.', &part) && span_next(&rest, '.', &other) && span_equal(other, family))
			return true;
	}
	return false;
}

/* ml.FAMILY.SIZE */
static double count_families(const struct json *groups)
{
	size_t count = 0;

	for (const struct json *group = json_first(groups); group; group = json_next(group)) {
		struct span rest = json_string_of(json_get(group, "InstanceType")), part, family = SPAN("");
		if (span_next(&rest, '.', &part) && span_next(&rest, '.', &family))
			count += !has_family(groups, group, family);
	}
	return count ? (double)count : 1;
}

static double count_nodes(const struct json *document)
{
	const struct json *groups = json_get_path(document, "ResourceConfig.InstanceGroups");
	double sum = 0, count;

	for (const struct json *group = json_first(groups); group; group = json_next(group))
		sum += json_number_of(json_get(group, "InstanceCount"), &count) ? count : 0;
	if (sum > 0 || json_number_of(json_get_path(document, "ResourceConfig.InstanceCount"), &sum))
		return sum;
	return NAN;
}

static enum status add_machines(struct reading *r, const struct json *document, struct error *err)
{
	const struct json *subnets = json_get_path(document, "VpcConfig.Subnets");
	double nodes = count_nodes(document), each = derivation_each_device(r->api->options.pipeline, document);
	double ranks = derivation_each_rank(r->api->options.pipeline, document);
	struct pool_shape shape;

	TRY(measure(r, "nodes", nodes, err));
	TRY(measure(r, "devices_per_node", each, err));
	TRY(measure(r, "devices", nodes * each, err));
	TRY(measure(r, "ranks_per_node", ranks, err));
	TRY(measure(r, "ranks", nodes * ranks, err));
	TRY(measure(r, "families", count_families(json_get_path(document, "ResourceConfig.InstanceGroups")), err));
	TRY(measure(r, "subnets", subnets ? (double)json_count(subnets) : NAN, err));
	TRY(measure(r, "has_checkpoint_config",
		json_string_of(json_get_path(document, "CheckpointConfig.S3Uri")).len > 0, err));
	TRY(pool_shape_read(&shape, document, r->arena, err));
	if (!shape.is_whole)
		return OK;
	return measure(r, "keep_alive_seconds", (double)shape.keep_alive_ms / 1000, err);
}

static enum status add_recent(struct reading *r, const struct json *document, int64_t now_ms, struct error *err)
{
	int64_t begun_ms = r->row->job_id ? r->row->created_ms : now_ms;
	struct pool_job_row *rows;
	struct pool_shape shape;
	size_t count, recent = 0;

	TRY(pool_shape_read(&shape, document, r->arena, err));
	if (!shape.is_whole)
		return OK;
	TRY(store_read_pool_group(
		r->reader, r->arena, shape.hash, begun_ms - recent_ms, RECENT_MAX, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		recent += rows[i].job_id != r->row->job_id && rows[i].begun_ms <= begun_ms;
	return measure(r, "recent_jobs", (double)recent, err);
}

/* ---- what was measured of a job that is there ---- */

static enum status add_checkpoints(struct reading *r, struct error *err)
{
	struct checkpoint_row *rows;
	double gaps[CHECKPOINTS_MAX];
	size_t count, gap_count = 0;

	TRY(checkpoints_read_all(r->reader, r->arena, r->row->job_id, INT64_MAX, CHECKPOINTS_MAX, &rows, &count, err));
	for (size_t i = 0; i + 1 < count; i++) { /* the newest first */
		double gap = (double)(rows[i].ts_ms - rows[i + 1].ts_ms);
		size_t at = gap_count;
		if (rows[i].attempt != rows[i + 1].attempt || gap <= 0)
			continue;
		for (; at && gaps[at - 1] > gap; at--)
			gaps[at] = gaps[at - 1];
		gaps[at] = gap;
		gap_count++;
	}
	if (!gap_count)
		return OK;
	return measure(r, "checkpoint_hours", (gaps[(gap_count - 1) / 2] + gaps[gap_count / 2]) / 2 / hour_ms, err);
}

static enum status add_incidents(struct reading *r, struct error *err)
{
	struct incident_filter filter = {.job_id = r->row->job_id,
		.state = -1,
		.kind = INCIDENT_LOSS_SPIKE,
		.cursor = SPAN(""),
		.limit = INCIDENTS_MAX};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	TRY(store_read_incidents(r->reader, r->arena, &filter, &rows, &count, &cursor, err));
	return measure(r, "loss_spikes", (double)count, err);
}

static enum status add_before(struct reading *r, struct error *err)
{
	AUTO(json) document = NULL;
	struct run_link *links;
	struct job_row before;
	size_t count, at;

	TRY(store_read_run(r->reader, r->arena, r->row->name, &links, &count, &at, err));
	if (!at)
		return OK;
	TRY(store_read_job_by_id(r->reader, r->arena, links[at - 1].job_id, &before, err));
	TRY(json_parse(&document, before.document, err));
	TRY(by_hand_settle(document, err));
	return measure(r, "nodes_before", count_nodes(document), err);
}

static enum status add_utilisation(struct reading *r, struct error *err)
{
	static const char *const metrics[] = {"gpu_utilization_percent", "neuron_core_utilization_percent"};
	double sum = 0, points = 0;
	struct job_view view;

	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		TRY(view_read_job(r->api->options.pipeline, r->reader, r->arena, r->row->name, SPAN(""),
			span_from(metrics[m]), VIEW_SERIES, &view, err));
		for (size_t i = 0; i < view.stream_count; i++)
			for (size_t k = 0; k < view.streams[i].series_count; k++) {
				const struct summary *summary = &view.streams[i].series[k].summary;
				if (!summary_has_finite(summary))
					continue;
				sum += summary_mean(summary) * (double)summary->count;
				points += (double)summary->count;
			}
	}
	return points > 0 ? measure(r, "utilisation_percent", floor(sum / points * 10 + 0.5) / 10, err) : OK;
}

static enum status search(struct reading *r, const char *pattern, struct log_search_result *out, struct error *err)
{
	struct log_search search = {.job = r->row->name,
		.stream = SPAN(""),
		.text = span_from(pattern),
		.is_regex = true,
		.oldest_first = true,
		.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.limit = HITS_MAX,
		.text_bytes = 200,
		.time_ms = SEARCH_MS};

	return log_search_run(r->api->options.pipeline, r->reader, r->arena, &search, out, err);
}

static bool is_noted(const struct advice_facts *facts, struct span stream)
{
	for (size_t i = 0; i < facts->network_count; i++)
		if (span_equal(facts->networks[i].stream, stream))
			return true;
	return false;
}

/* "… NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)"; of "tcp;ofi_rxm" the transport. */
static struct span provider_of(struct span text)
{
	static const struct span marks[] = {{"elected provider is ", 20}, {"elected Provider is ", 20}};
	size_t len = 0;

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		ptrdiff_t at = span_find(text, marks[i]);
		if (at < 0)
			continue;
		text = span_skip(text, (size_t)at + marks[i].len);
		while (len < text.len && (unsigned char)text.ptr[len] > ' ' && !strchr(",;(", text.ptr[len]))
			len++;
		return span_of(text.ptr, len);
	}
	return SPAN("");
}

/* Each stream once, by what it said first. name: where the line has none of its own. */
static void note_networks(struct advice_facts *facts, const struct log_search_result *found, struct span name)
{
	for (size_t i = 0; i < found->count && facts->network_count < ADVICE_STREAMS_MAX; i++) {
		struct span its = name.len ? name : provider_of(found->hits[i].text);
		if (its.len && !is_noted(facts, found->hits[i].stream))
			facts->networks[facts->network_count++] = (struct network){found->hits[i].stream, its};
	}
}

/* What NCCL says of its network: aws-ofi-nccl's and its own lines. */
static enum status add_networks(struct reading *r, struct error *err)
{
	struct log_search_result providers, sockets;
	struct stream_row *streams;
	size_t efa_count = 0, count, ranks = 0;

	TRY(search(r, "NET/OFI Selected [Pp]rovider is ", &providers, err));
	note_networks(r->out, &providers, SPAN(""));
	TRY(search(r, "NCCL INFO Using network Socket", &sockets, err));
	note_networks(r->out, &sockets, SPAN("socket"));
	for (size_t i = 0; i < r->out->network_count; i++)
		efa_count += span_equal(r->out->networks[i].name, SPAN("efa"));
	TRY(store_read_streams(r->reader, r->arena, r->row->job_id, SPAN(""), &streams, &count, err));
	for (size_t i = 0; i < count; i++)
		ranks += !span_starts_with(streams[i].name, SPAN("system/"));
	TRY(measure(r, "efa_nodes", (double)efa_count, err));
	TRY(measure(r, "socket_nodes", (double)(r->out->network_count - efa_count), err));
	return measure(r, "log_streams", (double)ranks, err);
}

static enum status add_slow_downs(struct reading *r, struct error *err)
{
	struct log_search_result found;

	TRY(search(r, "SlowDown|Please reduce your request rate|AWS_ERROR_S3_SLOW_DOWN|\\(503\\) when calling", &found,
		err));
	return measure(r, "slow_downs", (double)found.count, err);
}

static enum status add_measured(struct reading *r, struct error *err)
{
	TRY(add_checkpoints(r, err));
	TRY(add_incidents(r, err));
	TRY(add_before(r, err));
	TRY(add_utilisation(r, err));
	TRY(add_networks(r, err));
	return add_slow_downs(r, err);
}

static enum status add_settings(struct reading *r, const struct json *document, struct error *err)
{
	*r->out = (struct advice_facts){0};
	TRY(derivation_read_parameters(
		r->api->options.pipeline, r->reader, r->arena, r->row, &r->out->parameters, err));
	TRY(add_document(r, document, err));
	if (r->row->job_id)
		TRY(add_found(r, err));
	return add_machines(r, document, err);
}

enum status advice_facts_read_settings(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, struct advice_facts *out, struct error *err)
{
	struct reading r = {api, reader, arena, row, out};

	return add_settings(&r, document, err);
}

enum status advice_facts_read(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, int64_t now_ms, struct advice_facts *out,
	struct error *err)
{
	struct reading r = {api, reader, arena, row, out};

	TRY(add_settings(&r, document, err));
	TRY(add_recent(&r, document, now_ms, err));
	return row->job_id ? add_measured(&r, err) : OK;
}
