#include "ingest/otlp/otlp_spans.h"

#include "ingest/otlp/otlp.h"
#include "ingest/otlp/span_names.h"

#include <stdlib.h>

enum { HOPS_MAX = 32 };
static const double NS_PER_MS = 1e6;

static const char *const metrics[SPAN_PARTS] = {"span:data", "span:forward", "span:backward", "span:communication",
	"span:optimizer", "span:checkpoint", "span:step_time"};

struct record {
	struct otlp_span span;
	enum span_part part;
	double own_ns; /* without what ran inside it */
};

uint64_t otlp_span_id(struct span id)
{
	uint64_t hash = 0xcbf29ce484222325u;
	bool is_any = false;

	for (size_t i = 0; i < id.len; i++) {
		is_any = is_any || (id.ptr[i] != '\0' && id.ptr[i] != '0');
		hash = (hash ^ (unsigned char)id.ptr[i]) * 0x100000001b3u;
	}
	return is_any ? hash : 0;
}

static size_t count_of(const struct ingest_parser *parser)
{
	return parser->spans.len / sizeof(struct record);
}

void otlp_spans_begin(struct ingest_parser *parser)
{
	buf_reset(&parser->spans);
}

static bool is_time(struct ingest_parser *parser, const struct otlp_span *span, struct span name)
{
	int64_t start_ms, end_ms;

	if (ingest_time_ns(span->start_ns, &start_ms) && ingest_time_ns(span->end_ns, &end_ms) &&
		span->end_ns >= span->start_ns)
		return true;
	push_warn(parser,
		"the span '%.*s' from %llu ns to %llu ns has no times between 1990 and 2200, the end behind the start",
		(int)(name.len < 60 ? name.len : 60), name.ptr, (unsigned long long)span->start_ns,
		(unsigned long long)span->end_ns);
	return false;
}

/* Of other names, too: what is inside them has their step. */
enum status otlp_spans_add(struct ingest_parser *parser, struct batch *batch, const struct otlp_span *span,
	struct span name, struct error *err)
{
	struct record record = {.span = *span, .own_ns = (double)(span->end_ns - span->start_ns)};

	if (!push_part(parser, batch)) {
		batch->rejected++;
		batch->no_job += label_set_value(&parser->labels, LABEL_JOB).len == 0;
		return OK;
	}
	if (!is_time(parser, span, name)) {
		batch->rejected++;
		return OK;
	}
	if (parser->spans.max_bytes - parser->spans.len < sizeof record) {
		batch->rejected++;
		push_warn(parser, "more than %zu spans of a stream in one request; send less at once",
			parser->spans.max_bytes / sizeof record);
		return OK;
	}
	record.part = ingest_span_part(parser->options.span_names, name);
	buf_append(&parser->spans, &record, sizeof record);
	return buf_status(&parser->spans, err);
}

/* ---- what is inside what ---- */

static int by_id(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->span.id > y->span.id) - (x->span.id < y->span.id);
}

static struct record *parent_of(struct record *records, size_t count, const struct record *record)
{
	struct record key = {.span.id = record->span.parent};

	return key.span.id ? bsearch(&key, records, count, sizeof key, by_id) : NULL;
}

static void find_step(struct record *records, size_t count, struct record *record)
{
	const struct record *above = record;

	for (int hops = 0; above && hops < HOPS_MAX; hops++) {
		if (above->span.step != NO_STEP) {
			record->span.step = above->span.step;
			return;
		}
		above = parent_of(records, count, above);
	}
}

/* The step's own time has all its parts, but no checkpoint: those are beside the steps. A step in a step is the same one. */
static void take_off(struct record *records, size_t count, struct record *record)
{
	struct record *above = parent_of(records, count, record);

	for (int hops = 0; above && above->part == SPAN_PART_NONE && hops < HOPS_MAX; hops++)
		above = parent_of(records, count, above);
	if (!above || above->part == SPAN_PART_NONE)
		return;
	if (above->part != SPAN_PART_STEP || record->part == SPAN_PART_CHECKPOINT || record->part == SPAN_PART_STEP)
		above->own_ns -= (double)(record->span.end_ns - record->span.start_ns);
}

static bool is_used(const struct record *record)
{
	return record->part != SPAN_PART_NONE && record->span.step != NO_STEP;
}

/* ---- points ---- */

static int by_step_and_part(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->span.step != y->span.step)
		return (x->span.step > y->span.step) - (x->span.step < y->span.step);
	if (x->part != y->part)
		return (x->part > y->part) - (x->part < y->part);
	return (x->span.start_ns > y->span.start_ns) - (x->span.start_ns < y->span.start_ns);
}

/* All spans of one part of one step, which stand first; taken: how many these are. */
static enum status add_point(struct ingest_parser *parser, struct batch *batch, const struct record *records,
	size_t count, size_t *taken, struct error *err)
{
	double own_ns = 0;
	size_t n = 0;

	otlp_metric_begin(parser, span_from(metrics[records->part]), SPAN("ms"));
	otlp_point_begin(parser);
	for (; n < count && records[n].span.step == records->span.step && records[n].part == records->part; n++) {
		own_ns += records[n].own_ns > 0 ? records[n].own_ns : 0;
		if (records[n].span.end_ns > parser->point.time_ns)
			parser->point.time_ns = records[n].span.end_ns;
	}
	parser->point.step = records->span.step;
	*taken = n;
	return otlp_point_add(parser, batch, "", own_ns / NS_PER_MS, err);
}

/* What has a part, but says no step. */
static void reject_unplaced(
	struct ingest_parser *parser, struct batch *batch, const struct record *records, size_t count)
{
	size_t unplaced = 0;

	for (size_t i = 0; i < count; i++)
		unplaced += records[i].part != SPAN_PART_NONE && records[i].span.step == NO_STEP;
	batch->rejected += unplaced;
	if (unplaced)
		push_warn(parser,
			"%zu spans say no step: give each the attribute 'step', or send them with a span around them that has it",
			unplaced);
}

static size_t keep_used(struct record *records, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (is_used(&records[i]))
			records[kept++] = records[i];
	return kept;
}

enum status otlp_spans_end(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct record *records = (struct record *)(void *)parser->spans.ptr;
	size_t count = count_of(parser), taken;

	if (!count)
		return OK;
	qsort(records, count, sizeof *records, by_id);
	for (size_t i = 0; i < count; i++)
		find_step(records, count, &records[i]);
	for (size_t i = 0; i < count; i++)
		if (is_used(&records[i]))
			take_off(records, count, &records[i]);
	reject_unplaced(parser, batch, records, count);
	size_t kept = keep_used(records, count);
	if (!kept && !batch->rejected)
		push_warn(parser, "none of %zu spans is named as a part of a training step (--span-names)", count);
	qsort(records, kept, sizeof *records, by_step_and_part);
	for (size_t i = 0; i < kept; i += taken)
		TRY(add_point(parser, batch, &records[i], kept - i, &taken, err));
	return OK;
}
