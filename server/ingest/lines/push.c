#include "ingest/lines/push.h"

#include "base/codec/protobuf.h"

#include "base/text/iso8601.h"
#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "base/codec/snappy.h"
#include "ingest/lines/lines.h"
#include "model/metrics/metric.h"
#include "model/metrics/stream_name.h"

#include <stdarg.h>
#include <stdio.h>

enum { WARNING_BYTES = 2048, TOLD = 3, POINT_NAME_BYTES = 4096, SPANS_MAX_BYTES = 4 << 20 };

void push_free(struct ingest_parser *parser)
{
	if (!parser)
		return;
	buf_done(&parser->body);
	buf_done(&parser->plain);
	buf_done(&parser->text);
	buf_done(&parser->key);
	buf_done(&parser->point.name);
	buf_done(&parser->point.unit);
	buf_done(&parser->point.full);
	buf_done(&parser->point.canonical);
	buf_done(&parser->scratch);
	buf_done(&parser->value);
	buf_done(&parser->spans);
	buf_done(&parser->extra);
	buf_done(&parser->below);
	buf_done(&parser->cri);
	buf_done(&parser->entry_host);
	buf_done(&parser->kept);
	buf_done(&parser->warnings);
	label_set_done(&parser->labels);
	mem_free(parser);
}

enum status push_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	struct ingest_parser *parser = mem_zeroed(sizeof *parser);

	if (!parser)
		return error_no_memory(err);
	parser->options = *options;
	parser->options.job = parser->options.stream = SPAN(""); /* the caller's; labels say them here */
	parser->body = parser->plain = parser->text = parser->key = parser->scratch = BUF_INIT(options->max_push_bytes);
	parser->value = parser->extra = parser->below = parser->body;
	parser->point.name = parser->point.full = parser->point.canonical = BUF_INIT(POINT_NAME_BYTES);
	parser->point.unit = BUF_INIT(METRIC_UNIT_MAX_BYTES);
	parser->spans = BUF_INIT(SPANS_MAX_BYTES);
	parser->cri = BUF_INIT(options->max_line_bytes + 1); /* what fills it is cut and marked with the other lines */
	parser->warnings = BUF_INIT(WARNING_BYTES);
	parser->entry_host = BUF_INIT(options->max_name_bytes);
	parser->kept = BUF_INIT(KERNEL_KEPT_BYTES);
	/* several names, and a byte more than one may have: what is too long for a name stays too long */
	label_set_init(&parser->labels, options->labels, 4 * options->max_name_bytes + 1);
	*out = parser;
	return OK;
}

size_t push_held_bytes(const struct ingest_parser *parser)
{
	return parser->body.cap + parser->plain.cap + parser->spans.cap;
}

struct span push_warning(const struct ingest_parser *parser)
{
	return buf_span(&parser->warnings);
}

void push_warn(struct ingest_parser *parser, const char *format, ...)
{
	char text[256];
	va_list arguments;

	if (parser->told++ >= TOLD)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	buf_printf(&parser->warnings, "%s%s", parser->warnings.len ? "; " : "", text);
}

static enum status too_large(const struct ingest_parser *parser, struct error *err)
{
	return error_set(err, ERR_TOO_LARGE, "the body is larger than %zu bytes (--max-push-bytes); send less at once",
		parser->options.max_push_bytes);
}

enum status push_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	(void)batch;
	if (bytes.len > parser->body.max_bytes - parser->body.len)
		return too_large(parser, err);
	buf_append_span(&parser->body, bytes);
	return buf_status(&parser->body, err);
}

enum status push_content(struct ingest_parser *parser, bool is_packed, struct span *content, struct error *err)
{
	*content = buf_span(&parser->body);
	if (!is_packed)
		return OK;
	enum status status = snappy_unpack(*content, parser->options.max_push_bytes, &parser->plain, err);
	if (status == ERR_TOO_LARGE)
		return too_large(parser, err);
	*content = buf_span(&parser->plain);
	return status;
}

/* ---- streams ---- */

struct batch_part *push_part(const struct ingest_parser *parser, const struct batch *batch)
{
	return parser->has_part ? &batch->parts[parser->part] : NULL;
}

enum { TEAM_MAX_BYTES = 63 };

static enum status make_part(
	struct ingest_parser *parser, struct batch *batch, struct span job, struct span stream, struct error *err)
{
	struct span team = label_set_value(&parser->labels, LABEL_TEAM);
	struct batch_part *part;
	struct error reason;

	if (team.len && ingest_check_name("team", team, TEAM_MAX_BYTES, &reason) != OK) {
		push_warn(parser, "%s: the job gets no team", reason.text);
		team = SPAN("");
	}

	if (batch->part_count >= parser->options.max_parts)
		return error_set(err, ERR_TOO_LARGE, "more than %zu streams in one body", parser->options.max_parts);
	part = batch_part(batch, job, stream);
	if (!part || !(part->host = arena_copy(batch->arena, label_set_value(&parser->labels, LABEL_HOST))).ptr ||
		!(part->team = arena_copy(batch->arena, team)).ptr)
		return error_no_memory(err);
	return OK;
}

static bool is_name(struct ingest_parser *parser, const char *what, struct span name)
{
	struct error reason;

	if (ingest_check_name(what, name, parser->options.max_name_bytes, &reason) == OK)
		return true;
	push_warn(parser, "%s", reason.text);
	return false;
}

/* Of a stream that the body has already. */
static enum status note_host(
	struct ingest_parser *parser, struct batch *batch, struct batch_part *part, struct error *err)
{
	struct span host = label_set_value(&parser->labels, LABEL_HOST);

	if (!host.len || !is_name(parser, "host", host))
		return OK;
	return batch_part_note_host(batch, part, host) ? OK : error_no_memory(err);
}

enum status push_begin_stream(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct span job = label_set_value(&parser->labels, LABEL_JOB);
	struct span stream = label_set_value(&parser->labels, LABEL_STREAM);
	struct batch_part *found;

	parser->has_part = false;
	if (!stream.len)
		stream = SPAN("algo-1");
	if (!job.len) {
		push_warn(parser, "no label names the job (--job-labels)");
		return OK;
	}
	if (!(found = batch_find_part(batch, job, stream))) {
		struct span host = label_set_value(&parser->labels, LABEL_HOST);
		if (!is_name(parser, "job", job) || !is_name(parser, "stream", stream) ||
			(host.len && !is_name(parser, "host", host)))
			return OK;
		TRY(make_part(parser, batch, job, stream, err));
		found = &batch->parts[batch->part_count - 1];
	} else {
		TRY(note_host(parser, batch, found, err));
	}
	parser->part = (size_t)(found - batch->parts);
	parser->has_part = true;
	found->is_push = true;
	return OK;
}

void push_identify(struct ingest_parser *parser, struct batch *batch, struct span bytes)
{
	struct batch_part *part = push_part(parser, batch);

	if (part)
		hash128_add(&part->push_hash, bytes);
}

/* ---- the container runtime's prefix: 2016-10-06T00:17:09.669794202Z stdout F text ---- */

struct cri {
	int64_t ts_ms;
	char output; /* of stdout 'o' or of stderr 'e' */
	bool is_part; /* the line goes on in the next one of this output */
	struct span text;
};

enum { CRI_TIME_LEAST = 20, CRI_TIME_MOST = 40 };

static bool read_cri(struct span text, struct cri *cri)
{
	struct span rest = text, time, output, tags, tag;

	if (text.len < CRI_TIME_LEAST || text.ptr[4] != '-' || text.ptr[10] != 'T')
		return false;
	if (!span_next(&rest, ' ', &time) || time.len < CRI_TIME_LEAST || time.len > CRI_TIME_MOST ||
		!span_next(&rest, ' ', &output))
		return false;
	if (!span_equal(output, SPAN("stdout")) && !span_equal(output, SPAN("stderr")))
		return false;
	if (!rest.len || (rest.ptr[0] != 'F' && rest.ptr[0] != 'P') || !span_next(&rest, ' ', &tags))
		return false;
	span_next(&tags, ':', &tag);
	cri->is_part = tag.ptr[0] == 'P';
	cri->output = output.ptr[3];
	cri->text = rest.ptr ? rest : SPAN("");
	return tag.len == 1 && iso8601_parse(time, &cri->ts_ms);
}

static enum status add(
	struct ingest_parser *parser, struct batch *batch, struct span text, int64_t ts_ms, struct error *err)
{
	size_t most = ingest_lines_max(parser->options.max_push_bytes);

	if (batch->line_count + ingest_count_lines(text) > most)
		return error_set(err, ERR_TOO_LARGE,
			"the body holds more than %zu lines (--max-push-bytes); send less at once", most);
	return ingest_add_lines(batch, push_part(parser, batch), text, ts_ms, parser->options.max_line_bytes)
		       ? OK
		       : error_no_memory(err);
}

static enum status flush_cri(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	if (!parser->has_cri)
		return OK;
	TRY(add(parser, batch, buf_span(&parser->cri), parser->cri_ms, err));
	buf_reset(&parser->cri);
	parser->has_cri = false;
	return OK;
}

/* Parts of one output are joined; those of the other one may lie between them, which ends the line where it is. */
static enum status take_cri(struct ingest_parser *parser, struct batch *batch, const struct cri *cri, struct error *err)
{
	if (parser->has_cri && parser->cri_output != cri->output)
		TRY(flush_cri(parser, batch, err));
	if (!cri->is_part && !parser->has_cri)
		return add(parser, batch, cri->text, cri->ts_ms, err);
	size_t room = parser->cri.max_bytes - parser->cri.len;
	buf_append(&parser->cri, cri->text.ptr, cri->text.len < room ? cri->text.len : room);
	TRY(buf_status(&parser->cri, err));
	parser->cri_ms = parser->has_cri ? parser->cri_ms : cri->ts_ms;
	parser->has_cri = true;
	parser->cri_output = cri->output;
	return cri->is_part ? OK : flush_cri(parser, batch, err);
}

static int64_t time_of(struct ingest_parser *parser, struct batch *batch, uint64_t time_ns)
{
	int64_t ts_ms;

	if (!time_ns)
		return NO_TIME;
	if (ingest_time_ns(time_ns, &ts_ms))
		return ts_ms;
	batch->bad_times++;
	push_warn(parser, "%llu ns is no time between 1990 and 2200: the time of arrival counts",
		(unsigned long long)time_ns);
	return NO_TIME;
}

/* The machine of the record at hand, where labels name none: if each record has one. */
static enum status note_machine(
	const struct ingest_parser *parser, struct batch *batch, struct batch_part *part, struct error *err)
{
	struct span host = buf_span(&parser->entry_host);

	if (label_set_value(&parser->labels, LABEL_HOST).len || stream_is_system(part->stream))
		return OK;
	part->is_host_of_records = true;
	part->has_nameless |= !kernel_line_names(host);
	return part->has_nameless || batch_part_note_host(batch, part, host) ? OK : error_no_memory(err);
}

/*
 * A line that may accuse a machine keeps the one that stands beside it, where several may send the stream: one that is called by its machine is its own.
 * A name of 255 bytes beside lines of one would make a body's memory a hundred times what it was.
 */
static enum status keep_machine(struct ingest_parser *parser, const struct batch *batch, const struct batch_part *part,
	struct span *text, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);
	struct span host = buf_span(&parser->entry_host);

	if (!host.len)
		host = label_set_value(&parser->labels, LABEL_HOST);
	bool is_sure = parser->entry_is_kernels || parser->labels.is_kernels;
	bool is_own = span_equal_fold(host, part->stream) && !is_sure;
	if (!kernel_line_names(host) || stream_is_system(part->stream) || is_own ||
		batch->text_bytes >= parser->options.max_push_bytes || !(is_sure || kernel_line_may_accuse(*text)))
		return OK;
	if (kernel_record_wrap(*text, host, is_sure, &plain, &parser->kept))
		*text = buf_span(&parser->kept);
	TRY(buf_status(&plain, err));
	return buf_status(&parser->kept, err);
}

enum status push_line(
	struct ingest_parser *parser, struct batch *batch, struct span text, uint64_t time_ns, struct error *err)
{
	struct batch_part *part = push_part(parser, batch);
	struct cri cri;

	if (!part) {
		batch->rejected++;
		batch->no_job += label_set_value(&parser->labels, LABEL_JOB).len == 0;
		return OK;
	}
	hash128_add(&part->push_hash, text);
	hash128_add_number(&part->push_hash, time_ns);
	TRY(note_machine(parser, batch, part, err));
	TRY(keep_machine(parser, batch, part, &text, err));
	if (read_cri(text, &cri))
		return take_cri(parser, batch, &cri, err);
	TRY(flush_cri(parser, batch, err));
	return add(parser, batch, text, time_of(parser, batch, time_ns), err);
}

enum status push_end_stream(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	return flush_cri(parser, batch, err);
}

enum status push_each(struct ingest_parser *parser, struct batch *batch, struct span message, struct span body,
	uint32_t number, const char *name, push_take *take, struct error *err)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (protobuf_is(&field, number, PROTOBUF_BYTES))
			TRY(take(parser, batch, field.bytes, body, err));
	return protobuf_end(message, body, name, err);
}

enum status push_each_of_body(struct ingest_parser *parser, struct batch *batch, bool is_snappy, const char *name,
	push_take *take, struct error *err)
{
	struct span body;

	TRY(push_content(parser, is_snappy, &body, err));
	return push_each(parser, batch, body, body, 1, name, take, err);
}
