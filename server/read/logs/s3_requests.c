#include "read/logs/s3_requests.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 2048, SECOND_BITS = 40, KIND_BITS = 2 };

struct counting {
	struct arena *arena;
	const struct s3_asking *asking;
	struct map *by_name;
	struct s3_requests *out;
	uint64_t *samples; /* prefix, second and kind of each request of an access log */
	size_t sample_count, sample_cap;
	bool is_short_of_memory;
};

static void begin(void *context)
{
	struct counting *counting = context;

	map_free(counting->by_name);
	counting->by_name = map_new();
	counting->is_short_of_memory = !counting->by_name;
	counting->sample_count = 0;
	counting->out->count = 0;
	counting->out->left_out = 0;
	counting->out->has_all_peaks = true;
}

/* NULL: there are too many, or no memory. */
static struct s3_prefix *find_prefix(struct counting *counting, const struct s3_line *line)
{
	struct span prefix = s3_line_prefix(line->key, counting->asking->depth);
	char name[NAME_BYTES];
	int len = snprintf(name, sizeof name, "%.*s/%.*s", SPAN_ARGS(line->bucket), SPAN_ARGS(prefix));
	struct span key = span_of(name, len > 0 && len < NAME_BYTES ? (size_t)len : 0);
	struct s3_prefix *found = map_get(counting->by_name, key);

	if (found || counting->out->count == S3_PREFIXES_MAX)
		return found;
	found = &counting->out->prefixes[counting->out->count];
	*found = (struct s3_prefix){
		.bucket = arena_copy(counting->arena, line->bucket), .prefix = arena_copy(counting->arena, prefix)};
	if (!found->bucket.ptr || !found->prefix.ptr || !map_put(counting->by_name, key, found)) {
		counting->is_short_of_memory = true;
		return NULL;
	}
	counting->out->count++;
	return found;
}

static void add_sample(struct counting *counting, size_t prefix, enum s3_kind kind, int64_t ts_ms)
{
	if (counting->sample_count == S3_SAMPLES_MAX || !mem_grow((void **)&counting->samples, counting->sample_count,
								&counting->sample_cap, sizeof *counting->samples)) {
		counting->out->has_all_peaks = false;
		return;
	}
	counting->samples[counting->sample_count++] =
		(uint64_t)prefix << (SECOND_BITS + KIND_BITS) | (uint64_t)(ts_ms / 1000) << KIND_BITS | (uint64_t)kind;
}

static void take(void *context, uint32_t stream_id, uint64_t number, const struct line *line)
{
	struct counting *counting = context;
	struct s3_line told;

	(void)stream_id;
	(void)number;
	if (counting->is_short_of_memory || !s3_line_read(line->text, &told))
		return;
	int64_t ts_ms = told.ts_ms ? told.ts_ms : line->ts_ms;
	if (ts_ms < counting->asking->from_ms || ts_ms > counting->asking->to_ms)
		return;
	struct s3_prefix *prefix = find_prefix(counting, &told);
	if (!prefix) {
		counting->out->left_out++;
		return;
	}
	prefix->requests[told.kind]++;
	prefix->slow_downs += told.is_slow_down;
	prefix->first_ms = !prefix->first_ms || ts_ms < prefix->first_ms ? ts_ms : prefix->first_ms;
	prefix->last_ms = ts_ms > prefix->last_ms ? ts_ms : prefix->last_ms;
	if (told.is_slow_down && ts_ms > prefix->last_slow_down_ms)
		prefix->last_slow_down_ms = ts_ms;
	if (told.ts_ms > 0)
		add_sample(counting, (size_t)(prefix - counting->out->prefixes), told.kind, ts_ms);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Those of one prefix in one second. */
static void take_second(struct s3_prefix *prefix, const uint64_t *samples, size_t count, const double most[3])
{
	uint64_t requests[3] = {0};
	double load = 0;

	for (size_t i = 0; i < count; i++)
		requests[samples[i] & ((1 << KIND_BITS) - 1)]++;
	for (int kind = 0; kind < 3; kind++) {
		prefix->peaks[kind] = requests[kind] > prefix->peaks[kind] ? requests[kind] : prefix->peaks[kind];
		load += (double)requests[kind] / most[kind];
	}
	prefix->peak_load = load > prefix->peak_load ? load : prefix->peak_load;
}

static void find_peaks(struct counting *counting, const double most[3])
{
	const uint64_t *samples = counting->samples;

	if (counting->sample_count)
		qsort(counting->samples, counting->sample_count, sizeof *samples, by_value);
	for (size_t i = 0, end; i < counting->sample_count; i = end) {
		for (end = i + 1; end < counting->sample_count && samples[end] >> KIND_BITS == samples[i] >> KIND_BITS;
			end++)
			;
		take_second(
			&counting->out->prefixes[samples[i] >> (SECOND_BITS + KIND_BITS)], &samples[i], end - i, most);
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct s3_prefix *x = a, *y = b;
	uint64_t of_x = x->requests[0] + x->requests[1] + x->requests[2];
	uint64_t of_y = y->requests[0] + y->requests[1] + y->requests[2];

	if (x->slow_downs != y->slow_downs)
		return x->slow_downs > y->slow_downs ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	int order = span_compare(x->bucket, y->bucket);
	return order ? order : span_compare(x->prefix, y->prefix);
}

static enum status count(struct counting *counting, struct pipeline *pipeline, struct store_reader *reader,
	const struct s3_asking *asking, struct error *err)
{
	struct log_counter counter = {.begin = begin, .take = take, .context = counting};
	struct log_search_result result;
	struct log_search search = {.job = asking->job,
		.stream = asking->stream,
		.text = span_from(s3_line_pattern),
		.is_regex = true,
		.ticks = SPAN(""),
		.from_ms = asking->from_ms,
		.to_ms =
			INT64_MAX, /* S3 delivers an access log's lines later than their requests, and people import last month's */
		.oldest_first = asking->to_ms < INT64_MAX, /* those of the window before those behind it */
		.time_ms = asking->time_ms,
		.asker = asking->asker,
		.counter = &counter};

	begin(counting);
	TRY(log_search_run(pipeline, reader, counting->arena, &search, &result, err));
	counting->out->is_partial = result.is_partial;
	counting->out->lines = result.lines;
	counting->out->lines_left = result.lines_left;
	return counting->is_short_of_memory ? error_no_memory(err) : OK;
}

enum status s3_requests_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct s3_asking *asking, struct s3_requests *out, struct error *err)
{
	struct counting counting = {.arena = arena, .asking = asking, .out = out};

	*out = (struct s3_requests){.prefixes = arena_alloc(arena, S3_PREFIXES_MAX * sizeof *out->prefixes)};
	if (!out->prefixes)
		return error_no_memory(err);
	enum status status = count(&counting, pipeline, reader, asking, err);
	if (status == OK) {
		find_peaks(&counting, asking->most);
		if (out->count)
			qsort(out->prefixes, out->count, sizeof *out->prefixes, by_weight);
	}
	map_free(counting.by_name);
	mem_free(counting.samples);
	return status;
}
