#include "model/metrics/batch_points.h"

#include "base/map.h"
#include "model/metrics/metric.h"

/* A body may name a new series in each entry: from FEW on they are looked up, not looked through. */
enum { FEW = 8, FIRST_POINTS = 16, SERIES_BYTES = 128, KEY_BYTES = 4096 };

static struct batch_series *find(struct batch_part *part, struct span key)
{
	/* entries of one step name their series in the same order each time */
	for (size_t i = 0; i < 2 && i < part->series_count; i++) {
		size_t at = (part->last_series + i) % part->series_count;
		if (span_equal(part->series[at].key, key)) {
			part->last_series = at;
			return &part->series[at];
		}
	}
	if (part->series_index) {
		size_t *place = map_get(part->series_index, key);
		part->last_series = place ? *place : 0;
		return place ? &part->series[*place] : NULL;
	}
	for (size_t i = 0; i < part->series_count; i++)
		if (span_equal(part->series[i].key, key)) {
			part->last_series = i;
			return &part->series[i];
		}
	return NULL;
}

static bool index_one(struct batch *batch, struct batch_part *part, size_t at)
{
	size_t *place = arena_alloc(batch->arena, sizeof *place);

	if (!place)
		return false;
	*place = at;
	return map_put(part->series_index, part->series[at].key, place);
}

static bool index_series(struct batch *batch, struct batch_part *part, size_t count)
{
	if (count <= FEW)
		return true;
	if (part->series_index)
		return index_one(batch, part, count - 1);
	if (!(part->series_index = map_new()))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!index_one(batch, part, i)) {
			map_free(part->series_index);
			part->series_index = NULL;
			return false;
		}
	return true;
}

/* key begins with the metric. */
static struct batch_series *find_or_make(
	struct batch *batch, struct batch_part *part, struct span key, size_t metric_bytes, enum series_form form)
{
	struct batch_series *found = find(part, key);

	if (found)
		return found;
	if (!mem_grow((void **)&part->series, part->series_count, &part->series_cap, sizeof *part->series))
		return NULL;
	struct batch_series series = {
		.key = arena_copy(batch->arena, key), .form = form, .unit = SPAN(""), .role = ROLE_COUNT};
	if (!series.key.ptr)
		return NULL;
	series.metric = span_of(series.key.ptr, metric_bytes);
	part->series[part->series_count] = series;
	if (!index_series(batch, part, part->series_count + 1))
		return NULL;
	batch->text_bytes += SERIES_BYTES + key.len;
	part->last_series = part->series_count;
	return &part->series[part->series_count++];
}

struct batch_series *batch_series(struct batch *batch, struct batch_part *part, struct span metric)
{
	return find_or_make(batch, part, metric, metric.len, SERIES_VALUES);
}

struct batch_series *batch_samples(struct batch *batch, struct batch_part *part, struct span metric)
{
	return batch_distribution(batch, part, metric, SERIES_SAMPLES);
}

bool batch_has_series(struct batch_part *part, struct span metric)
{
	return find(part, metric) != NULL;
}

struct batch_series *batch_distribution(
	struct batch *batch, struct batch_part *part, struct span metric, enum series_form form)
{
	AUTO_DONE(buf) key = BUF_INIT(KEY_BYTES);

	buf_append_span(&key, metric);
	buf_append_char(&key, (char)form); /* no name has such a character */
	return key.failure ? NULL : find_or_make(batch, part, buf_span(&key), metric.len, form);
}

static bool reserve_totals(struct batch_series *series, size_t cap)
{
	double *counts = mem_resize(series->counts, cap, sizeof *counts);
	series->counts = counts ? counts : series->counts;
	int64_t *starts_ms = mem_resize(series->starts_ms, cap, sizeof *starts_ms);
	series->starts_ms = starts_ms ? starts_ms : series->starts_ms;
	return counts && starts_ms;
}

static bool reserve(struct batch_series *series, size_t more)
{
	size_t cap = series->cap ? series->cap : FIRST_POINTS;

	if (more <= series->cap - series->count)
		return true;
	while (cap - series->count < more)
		cap *= 2;
	int64_t *steps = mem_resize(series->steps, cap, sizeof *steps);
	series->steps = steps ? steps : series->steps;
	int64_t *ts_ms = mem_resize(series->ts_ms, cap, sizeof *ts_ms);
	series->ts_ms = ts_ms ? ts_ms : series->ts_ms;
	double *values = mem_resize(series->values, cap, sizeof *values);
	series->values = values ? values : series->values;
	if (!steps || !ts_ms || !values || (series_form_is_distribution(series->form) && !reserve_totals(series, cap)))
		return false;
	series->cap = cap;
	return true;
}

bool batch_add_points(struct batch *batch, struct batch_part *part, struct batch_series *series, const int64_t *steps,
	const int64_t *ts_ms, const double *values, size_t count)
{
	if (!count)
		return true;
	if (!reserve(series, count))
		return false;
	memcpy(series->steps + series->count, steps, count * sizeof *steps);
	memcpy(series->ts_ms + series->count, ts_ms, count * sizeof *ts_ms);
	memcpy(series->values + series->count, values, count * sizeof *values);
	series->count += count;
	part->point_count += count;
	batch->point_count += count;
	batch->text_bytes += count * SERIES_POINT_BYTES;
	return true;
}

bool batch_add_total(
	struct batch *batch, struct batch_part *part, struct batch_series *series, const struct batch_total *total)
{
	if (!reserve(series, 1))
		return false;
	series->steps[series->count] = total->step;
	series->ts_ms[series->count] = total->ts_ms;
	series->values[series->count] = total->sum;
	series->counts[series->count] = total->count;
	series->starts_ms[series->count++] = total->start_ms;
	part->point_count += 2;
	batch->point_count += 2;
	batch->text_bytes += SERIES_TOTAL_BYTES;
	return true;
}

bool batch_add_begin(struct batch *batch, struct batch_part *part, int64_t ts_ms)
{
	struct batch_series *series = batch_distribution(batch, part, SPAN("begin"), SERIES_BEGIN);
	const int64_t step = NO_STEP;
	const double nothing = 0;

	return series && batch_add_points(batch, part, series, &step, &ts_ms, &nothing, 1);
}
