/*
 * Prometheus' remote write 1.0: WriteRequest{1: TimeSeries{1: Label{1: name, 2: value}, 2: Sample{1: value, 2: ms}, 4: Histogram}},
 * a snappy block whatever Content-Encoding says. A series belongs to a training where one of its labels names one
 * (--prometheus-job-labels); all others are of the machine that a label names, in the job of all machines. Prometheus drops for ever
 * what is answered by a 4xx: what cannot be stored harms itself alone, and is counted.
 * Source: prometheus.io/docs/specs/prw/remote_write_spec
 */
#include "base/codec/protobuf.h"
#include "ingest/lines/push.h"
#include "model/metrics/batch_points.h"
#include "model/metrics/metric.h"

#include <stdio.h>

enum { AHEAD_MS = 10 * 60 * 1000 }; /* a sample's clock; one further ahead would hold up its series until then */
static const uint64_t STALE_NAN = 0x7ff0000000000002; /* "the series has ended": no value */
static const int64_t LATEST_MS = INT64_MAX / 1000000;

struct sample {
	double value;
	int64_t ts_ms;
	bool is_stale;
};

/* One series, while its message is read. */
struct remote_series {
	struct ingest_parser *parser;
	struct batch *batch;
	struct span body;
	struct batch_part *part; /* NULL: why holds the reason against it */
	struct batch_series *series;
	bool names_job;
	const char *why;
	struct error reason;
};

static enum status read_label(
	struct span message, struct span body, struct span *name, struct span *value, struct error *err)
{
	struct protobuf_field field;

	*name = *value = SPAN("");
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			*name = field.bytes;
		else if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			*value = field.bytes;
	}
	return protobuf_end(message, body, "Label", err);
}

/* The name stands among the labels: it is found first. */
static enum status read_name(struct remote_series *own, struct span message, struct span *scrape_job, struct error *err)
{
	struct ingest_parser *parser = own->parser;
	struct protobuf_field field;
	struct span name, value;

	buf_reset(&parser->point.name);
	label_set_reset(&parser->labels);
	*scrape_job = SPAN("");
	while (protobuf_next(&message, &field)) {
		if (!protobuf_is(&field, 1, PROTOBUF_BYTES))
			continue;
		TRY(read_label(field.bytes, own->body, &name, &value, err));
		if (span_equal(name, SPAN("__name__"))) {
			buf_reset(&parser->point.name);
			buf_append_span(&parser->point.name, value);
			continue;
		}
		if (span_equal(name, SPAN("job")))
			*scrape_job = value;
		label_set_add(&parser->labels, name, value);
	}
	TRY(label_set_finish(&parser->labels, err));
	return protobuf_end(message, own->body, "TimeSeries", err);
}

static enum status read_labels(struct remote_series *own, struct span message, struct error *err)
{
	struct buf *full = &own->parser->point.name;
	struct protobuf_field field;
	struct span name, value;
	bool has_one = false;

	while (protobuf_next(&message, &field)) {
		if (!protobuf_is(&field, 1, PROTOBUF_BYTES))
			continue;
		TRY(read_label(field.bytes, own->body, &name, &value, err));
		if (span_equal(name, SPAN("__name__")) || !name.len)
			continue;
		ingest_metric_label(full, !has_one, name, value);
		has_one = true;
	}
	if (has_one)
		buf_append_char(full, '}');
	return OK;
}

/* node1:9400 -> node1, as its own log names it; [::1]:9400 and a path stay what they are. */
static struct span bare_host(struct span host)
{
	ptrdiff_t colon = span_find_char(host, ':');
	uint64_t port;

	if (colon <= 0 || !span_parse_u64(span_skip(host, (size_t)colon + 1), &port))
		return host;
	return span_of(host.ptr, (size_t)colon);
}

/* Of a machine: the job of all machines (of the team), and a stream for each of its exporters. */
static void name_host_place(struct remote_series *own, struct span host, struct span scrape_job)
{
	struct ingest_parser *parser = own->parser;
	struct span team = own->batch->team;

	buf_reset(&parser->key);
	buf_append_text(&parser->key, INGEST_MACHINES_JOB);
	if (team.len) {
		buf_append_char(&parser->key, '/');
		buf_append_span(&parser->key, team);
	}
	buf_reset(&parser->text);
	buf_append_span(&parser->text, host.len ? host : SPAN("unknown"));
	if (scrape_job.len) {
		buf_append_char(&parser->text, '/');
		buf_append_span(&parser->text, scrape_job);
	}
}

/* A machine's figures are no rank of the training, and no sign that it goes on. */
static void name_training_place(struct remote_series *own, struct span job, struct span host)
{
	struct ingest_parser *parser = own->parser;

	buf_reset(&parser->key);
	buf_append_span(&parser->key, job);
	buf_reset(&parser->text);
	buf_append_text(&parser->text, "system/");
	buf_append_span(&parser->text, host.len ? host : SPAN("prometheus"));
}

static enum status find_part(struct remote_series *own, struct span scrape_job, struct error *err)
{
	struct ingest_parser *parser = own->parser;
	struct span job = label_set_value(&parser->labels, LABEL_JOB);
	struct span host = bare_host(label_set_value(&parser->labels, LABEL_HOST));

	own->names_job = job.len != 0;
	if (own->names_job)
		name_training_place(own, job, host);
	else
		name_host_place(own, host, scrape_job);
	struct span place = buf_span(&parser->key), stream = buf_span(&parser->text);
	if ((own->part = batch_find_part(own->batch, place, stream)))
		return OK;
	if (ingest_check_name("job", place, parser->options.max_name_bytes, &own->reason) != OK ||
		ingest_check_name("stream", stream, parser->options.max_name_bytes, &own->reason) != OK) {
		own->why = own->reason.text;
		return OK;
	}
	if (own->batch->part_count >= parser->options.max_parts) {
		own->why = "the body is of more machines and jobs than one may hold";
		return OK;
	}
	own->part = batch_part(own->batch, place, stream);
	if (!own->part || (own->names_job && !(own->part->team = arena_copy(
						       own->batch->arena, label_set_value(&parser->labels, LABEL_TEAM)))
						      .ptr))
		return error_no_memory(err);
	own->part->is_push = true;
	return OK;
}

static enum status begin_series(struct remote_series *own, struct span message, struct error *err)
{
	struct push_point *point = &own->parser->point;
	struct span scrape_job;

	TRY(read_name(own, message, &scrape_job, err));
	if (!point->name.len) {
		own->why = "a series has no __name__";
		return OK;
	}
	TRY(read_labels(own, message, err));
	buf_reset(&point->canonical);
	if (buf_status(&point->name, &own->reason) != OK ||
		ingest_metric_name(buf_span(&point->name), &point->canonical, &own->reason) != OK) {
		own->why = own->reason.text;
		return OK;
	}
	return find_part(own, scrape_job, err);
}

static enum status read_sample(struct span message, struct span body, struct sample *sample, struct error *err)
{
	struct protobuf_field field;

	*sample = (struct sample){0};
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 1, PROTOBUF_FIXED64)) {
			sample->value = protobuf_double(field.value);
			sample->is_stale = field.value == STALE_NAN;
		} else if (protobuf_is(&field, 2, PROTOBUF_VARINT)) {
			sample->ts_ms = (int64_t)field.value;
		}
	}
	return protobuf_end(message, body, "Sample", err);
}

static void reject(struct remote_series *own, const char *why)
{
	own->batch->rejected++;
	push_warn(own->parser, "%s", why);
}

static bool is_time(const struct remote_series *own, int64_t ts_ms)
{
	int64_t ignored;

	return ts_ms > 0 && ts_ms < LATEST_MS && ts_ms <= own->batch->arrival_ms + AHEAD_MS &&
	       ingest_time_ns((uint64_t)ts_ms * 1000000, &ignored);
}

static enum status add_sample(struct remote_series *own, const struct sample *sample, struct error *err)
{
	static const int64_t no_step = NO_STEP;
	uint64_t bits;

	memcpy(&bits, &sample->value, sizeof bits);
	if (!own->series) {
		own->series = batch_samples(own->batch, own->part, buf_span(&own->parser->point.canonical));
		if (!own->series)
			return error_no_memory(err);
		if (!own->names_job) /* nobody's loss, whatever its name reminds of */
			own->series->role = ROLE_OTHER;
	}
	hash128_add(&own->part->push_hash, buf_span(&own->parser->point.canonical));
	hash128_add_number(&own->part->push_hash, bits);
	hash128_add_number(&own->part->push_hash, (uint64_t)sample->ts_ms);
	return batch_add_points(own->batch, own->part, own->series, &no_step, &sample->ts_ms, &sample->value, 1)
		       ? OK
		       : error_no_memory(err);
}

static enum status take_sample(struct remote_series *own, struct span message, struct error *err)
{
	struct sample sample;

	TRY(read_sample(message, own->body, &sample, err));
	if (sample.is_stale)
		return OK;
	if (!own->part) {
		reject(own, own->why);
		return OK;
	}
	if (!is_time(own, sample.ts_ms)) {
		char text[96];
		snprintf(text, sizeof text, "%lld ms is before 1990, or more than 10 minutes ahead of this server",
			(long long)sample.ts_ms);
		reject(own, text);
		return OK;
	}
	return add_sample(own, &sample, err);
}

static enum status read_series(
	struct ingest_parser *parser, struct batch *batch, struct span message, struct span body, struct error *err)
{
	struct remote_series own = {.parser = parser, .batch = batch, .body = body};
	struct protobuf_field field;

	TRY(begin_series(&own, message, err));
	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, 2, PROTOBUF_BYTES))
			TRY(take_sample(&own, field.bytes, err));
		else if (protobuf_is(&field, 4, PROTOBUF_BYTES))
			reject(&own, "native histograms are not stored");
	}
	return OK;
}

static enum status finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct protobuf_field field;
	struct span body, rest;

	batch->is_partial = true;
	TRY(push_content(parser, true, &body, err));
	rest = body;
	while (protobuf_next(&rest, &field))
		if (protobuf_is(&field, 1, PROTOBUF_BYTES))
			TRY(read_series(parser, batch, field.bytes, body, err));
	return protobuf_end(rest, body, "WriteRequest", err);
}

const struct ingest_protocol ingest_remote_write = PUSH_PROTOCOL("remote_write", finish);
