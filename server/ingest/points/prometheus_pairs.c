#include "ingest/points/prometheus_pairs.h"

#include "base/map.h"
#include "model/metrics/metric.h"

enum { PAIRS_MAX = 4096, NAME_BYTES = 2048 };

struct pair {
	struct span metric;
	bool has[PART_CREATED + 1];
	double values[PART_CREATED + 1];
	int64_t step, ts_ms;
};

struct prometheus_pairs {
	struct arena *arena;
	struct map *by_key;
	struct pair *items;
	size_t count, cap;
};

void prometheus_pairs_free(struct prometheus_pairs *pairs)
{
	if (!pairs)
		return;
	arena_free(pairs->arena);
	map_free(pairs->by_key);
	mem_free(pairs->items);
	mem_free(pairs);
}

struct prometheus_pairs *prometheus_pairs_new(void)
{
	struct prometheus_pairs *pairs = mem_zeroed(sizeof *pairs);

	if (pairs && (pairs->arena = arena_new()) && (pairs->by_key = map_new()))
		return pairs;
	prometheus_pairs_free(pairs);
	return NULL;
}

enum status prometheus_part_add(struct ingest_parser *parser, struct batch *batch, struct span metric, int64_t step,
	int64_t ts_ms, double value, struct error *err)
{
	struct batch_part *part;

	TRY(points_text_part(parser, batch, SPAN(""), &part, err));
	struct batch_series *series = batch_series(batch, part, metric);
	if (!series)
		return error_no_memory(err);
	series->role = ROLE_OTHER;
	ts_ms = ts_ms == NO_TIME ? batch->arrival_ms : ts_ms;
	return batch_add_points(batch, part, series, &step, &ts_ms, &value, 1) ? OK : error_no_memory(err);
}

/* name{labels} -> name_sum{labels} */
static enum status add_lone(struct ingest_parser *parser, struct batch *batch, const struct pair *pair,
	enum prometheus_part part, struct error *err)
{
	static const char *const endings[] = {"_sum", "_count", "_created"};
	AUTO_DONE(buf) name = BUF_INIT(NAME_BYTES);
	ptrdiff_t labels = span_find_char(pair->metric, '{');
	size_t bare = labels < 0 ? pair->metric.len : (size_t)labels;

	if (!pair->has[part])
		return OK;
	buf_append(&name, pair->metric.ptr, bare);
	buf_append_text(&name, endings[part]);
	buf_append_span(&name, span_skip(pair->metric, bare));
	TRY(buf_status(&name, err));
	return prometheus_part_add(parser, batch, buf_span(&name), pair->step, pair->ts_ms, pair->values[part], err);
}

/* Seconds of Unix time, which `_created` is in; else nobody knows. */
static int64_t start_of(const struct pair *pair)
{
	double ms = pair->values[PART_CREATED] * 1000;

	return pair->has[PART_CREATED] && ms > 0 && ms < 1e15 ? (int64_t)ms : NO_TIME;
}

static enum status add_pair(
	struct ingest_parser *parser, struct batch *batch, const struct pair *pair, struct error *err)
{
	TRY(add_lone(parser, batch, pair, PART_CREATED, err));
	if (!pair->has[PART_SUM] || !pair->has[PART_COUNT]) {
		TRY(add_lone(parser, batch, pair, PART_SUM, err));
		return add_lone(parser, batch, pair, PART_COUNT, err);
	}
	struct batch_part *part;
	TRY(points_text_part(parser, batch, SPAN(""), &part, err));
	struct batch_series *series = batch_distribution(batch, part, pair->metric, SERIES_TOTALS_PROMETHEUS);
	struct batch_total total = {.step = pair->step,
		.ts_ms = pair->ts_ms == NO_TIME ? batch->arrival_ms : pair->ts_ms,
		.start_ms = start_of(pair),
		.sum = pair->values[PART_SUM],
		.count = pair->values[PART_COUNT]};
	return series && batch_add_total(batch, part, series, &total) ? OK : error_no_memory(err);
}

enum status prometheus_pairs_end(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct prometheus_pairs *pairs = parser->pairs;

	for (size_t i = 0; i < pairs->count; i++)
		TRY(add_pair(parser, batch, &pairs->items[i], err));
	pairs->count = 0;
	map_free(pairs->by_key);
	arena_free(pairs->arena);
	pairs->arena = NULL;
	return (pairs->by_key = map_new()) && (pairs->arena = arena_new()) ? OK : error_no_memory(err);
}

static enum status make_pair(struct prometheus_pairs *pairs, struct span key, size_t metric_bytes, struct error *err)
{
	struct span kept = arena_copy(pairs->arena, key);

	if (!kept.ptr || !mem_grow((void **)&pairs->items, pairs->count, &pairs->cap, sizeof *pairs->items) ||
		!map_put(pairs->by_key, kept, (void *)(uintptr_t)(pairs->count + 1)))
		return error_no_memory(err);
	pairs->items[pairs->count++] = (struct pair){.metric = span_of(kept.ptr, metric_bytes)};
	return OK;
}

enum status prometheus_pairs_put(struct ingest_parser *parser, struct batch *batch, struct span metric,
	enum prometheus_part part, int64_t step, int64_t ts_ms, double value, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(NAME_BYTES);

	if (parser->pairs->count >= PAIRS_MAX)
		TRY(prometheus_pairs_end(parser, batch, err));
	buf_append_span(&key, metric);
	buf_append(&key, (const char *)&step, sizeof step);
	buf_append(&key, (const char *)&ts_ms, sizeof ts_ms);
	TRY(buf_status(&key, err));
	size_t number = (uintptr_t)map_get(parser->pairs->by_key, buf_span(&key));
	if (!number || parser->pairs->items[number - 1].has[part]) { /* the same once more is another reading */
		TRY(make_pair(parser->pairs, buf_span(&key), metric.len, err));
		number = parser->pairs->count;
	}
	struct pair *pair = &parser->pairs->items[number - 1];
	pair->step = step;
	pair->ts_ms = ts_ms;
	pair->has[part] = true;
	pair->values[part] = value;
	return OK;
}
