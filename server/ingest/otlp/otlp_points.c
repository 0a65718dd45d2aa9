#include "ingest/otlp/otlp.h"

#include "model/metrics/batch_points.h"
#include "model/metrics/metric.h"

void otlp_metric_begin(struct ingest_parser *parser, struct span name, struct span unit)
{
	struct push_point *point = &parser->point;
	struct error ignored;

	buf_reset(&point->name);
	buf_append_span(&point->name, name);
	point->name_bytes = point->name.len;
	buf_reset(&point->unit);
	/* "1" is OTLP's word for no unit at all */
	if (unit.len && !span_equal(unit, SPAN("1")) &&
		ingest_check_name("unit", unit, METRIC_UNIT_MAX_BYTES, &ignored) == OK)
		buf_append_span(&point->unit, unit);
}

void otlp_point_begin(struct ingest_parser *parser)
{
	struct push_point *point = &parser->point;

	point->name.len = point->name_bytes;
	point->label_count = 0;
	point->step = NO_STEP;
	point->time_ns = 0;
}

bool otlp_is_step(struct span key, struct span value, int64_t *step)
{
	static const char *const names[] = {"step", "global_step", "training.step", "iteration"};
	int64_t number;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, span_from(names[i])))
			return span_parse_i64(value, &number) && number >= 0 && number <= (int64_t)1 << 53 &&
			       ((*step = number), true);
	return false;
}

void otlp_point_label(struct ingest_parser *parser, struct span key, struct span value)
{
	struct push_point *point = &parser->point;

	if (!key.len || otlp_is_step(key, value, &point->step))
		return;
	ingest_metric_label(&point->name, point->label_count++ == 0, key, value);
}

void otlp_point_reject(struct ingest_parser *parser, struct batch *batch, const char *why)
{
	batch->rejected++;
	push_warn(parser, "%s", why);
}

/* name{labels} -> name.sum{labels}, in the form that is stored. */
static enum status name_point(struct push_point *point, const char *suffix, struct error *err)
{
	struct buf *full = &point->full;

	buf_reset(full);
	buf_reset(&point->canonical);
	buf_append(full, point->name.ptr, point->name_bytes);
	buf_append_text(full, suffix);
	buf_append_span(full, span_skip(buf_span(&point->name), point->name_bytes));
	if (point->label_count)
		buf_append_char(full, '}');
	if (full->failure || point->name.failure)
		return error_set(
			err, ERR_INVALID, "a metric's name and labels are longer than %zu bytes", full->max_bytes);
	return ingest_metric_name(buf_span(full), &point->canonical, err);
}

static enum status keep_unit(struct push_point *point, struct batch *batch, struct batch_series *series)
{
	if (point->unit.len && !series->unit.len) {
		series->unit = arena_copy(batch->arena, buf_span(&point->unit));
		if (!series->unit.ptr) {
			series->unit = SPAN("");
			return ERR_MEMORY;
		}
	}
	return OK;
}

/* A body that is sent again has the same of all this. */
static void identify(struct push_point *point, struct batch_part *part, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	hash128_add(&part->push_hash, buf_span(&point->canonical));
	hash128_add_number(&part->push_hash, bits);
	hash128_add_number(&part->push_hash, point->time_ns);
	hash128_add_number(&part->push_hash, (uint64_t)point->step);
}

static enum status store_point(struct ingest_parser *parser, struct batch *batch, bool has_role, double value,
	int64_t ts_ms, struct error *err)
{
	struct push_point *point = &parser->point;
	struct batch_part *part = push_part(parser, batch);
	struct batch_series *series = batch_series(batch, part, buf_span(&point->canonical));

	if (!series || keep_unit(point, batch, series) != OK)
		return error_no_memory(err);
	series->role = has_role ? series->role : ROLE_OTHER;
	identify(point, part, value);
	return batch_add_points(batch, part, series, &point->step, &ts_ms, &value, 1) ? OK : error_no_memory(err);
}

/* The time of the point at hand and its stored name; false: it was rejected, and that was told. */
static bool may_store(struct ingest_parser *parser, struct batch *batch, const char *suffix, int64_t *ts_ms)
{
	struct push_point *point = &parser->point;
	struct error reason;

	*ts_ms = batch->arrival_ms;
	if (!push_part(parser, batch)) {
		batch->rejected++;
		batch->no_job += label_set_value(&parser->labels, LABEL_JOB).len == 0;
		return false;
	}
	if (point->time_ns && !ingest_time_ns(point->time_ns, ts_ms)) {
		batch->rejected++;
		push_warn(parser, "%llu ns is no time between 1990 and 2200", (unsigned long long)point->time_ns);
		return false;
	}
	if (name_point(point, suffix, &reason) != OK) {
		otlp_point_reject(parser, batch, reason.text);
		return false;
	}
	return true;
}

enum status otlp_point_add(
	struct ingest_parser *parser, struct batch *batch, const char *suffix, double value, struct error *err)
{
	int64_t ts_ms;

	return may_store(parser, batch, suffix, &ts_ms)
		       ? store_point(parser, batch, suffix[0] == '\0', value, ts_ms, err)
		       : OK;
}

enum status otlp_point_distribution(struct ingest_parser *parser, struct batch *batch,
	const struct otlp_distribution *distribution, struct error *err)
{
	struct push_point *point = &parser->point;
	struct batch_total total = {
		.step = point->step, .start_ms = NO_TIME, .sum = distribution->sum, .count = distribution->count};
	struct error reason;

	push_warn(parser,
		"of histograms and summaries the mean of each interval is stored, with NAME.count and NAME.sum");
	if (!distribution->has_sum)
		return otlp_point_add(parser, batch, ".count", distribution->count, err);
	/* the longer name of a part must be one, too */
	if (!may_store(parser, batch, ".count", &total.ts_ms) || name_point(point, "", &reason) != OK)
		return OK;
	struct batch_part *part = push_part(parser, batch);
	struct batch_series *series = batch_distribution(
		batch, part, buf_span(&point->canonical), distribution->is_interval ? SERIES_INTERVALS : SERIES_TOTALS);
	if (!series || keep_unit(point, batch, series) != OK)
		return error_no_memory(err);
	if (distribution->start_ns)
		(void)ingest_time_ns(distribution->start_ns, &total.start_ms); /* no time: not known */
	if (distribution->start_ns < point->time_ns && total.start_ms == total.ts_ms)
		total.ts_ms++; /* at one moment they would say that the start is not known */
	identify(point, part, distribution->sum);
	identify(point, part, distribution->count);
	return batch_add_total(batch, part, series, &total) ? OK : error_no_memory(err);
}
