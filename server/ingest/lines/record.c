#include "ingest/lines/record.h"

#include "base/json/json_write.h"
#include "extract/line/kernel_record.h"

#include <limits.h>

enum { SEVERITY_INFO_FIRST = 9, SEVERITY_INFO_LAST = 12, SEVERITIES = 24, SEVERITY_STEPS = 4 };

void record_begin(struct ingest_parser *parser)
{
	buf_reset(&parser->text);
	buf_reset(&parser->extra);
	buf_reset(&parser->below);
	buf_reset(&parser->entry_host);
	parser->entry_host_rank = UINT_MAX;
	parser->entry_is_kernels = false;
}

static bool is_plain(struct span value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] <= ' ' || value.ptr[i] == '"')
			return false;
	return value.len > 0;
}

static void append_pair(struct buf *out, struct span key, struct span value)
{
	struct json_writer w = json_writer_on(out);
	bool is_json = value.len && (value.ptr[0] == '{' || value.ptr[0] == '[');

	if (out->len)
		buf_append_char(out, ' ');
	buf_append_span(out, key);
	buf_append_char(out, '=');
	if (is_json || is_plain(value))
		buf_append_span(out, value);
	else
		json_span(&w, value);
}

/* What follows stands on the body's last line. */
static void end_line(struct buf *text)
{
	while (text->len && text->ptr[text->len - 1] == '\n')
		text->len--;
}

void record_add_severity(struct ingest_parser *parser, uint64_t number, struct span text)
{
	static const char *const names[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
	bool is_info = number ? number >= SEVERITY_INFO_FIRST && number <= SEVERITY_INFO_LAST
			      : span_equal_fold(text, SPAN("info"));

	if (!text.len && number > 0 && number <= SEVERITIES)
		text = span_from(names[(number - 1) / SEVERITY_STEPS]);
	if (!text.len || is_info)
		return;
	end_line(&parser->text);
	append_pair(&parser->text, SPAN("severity"), text);
}

static bool is_of_collector(struct span key)
{
	return span_starts_with(key, SPAN("log.file.")) || span_equal(key, SPAN("log.iostream")) ||
	       span_equal(key, SPAN("logtag"));
}

void record_add_attribute(struct ingest_parser *parser, struct span key, struct span value)
{
	if (!key.len || is_of_collector(key))
		return;
	if (value.len && value.len <= parser->entry_host.max_bytes &&
		label_set_is_better(&parser->labels, LABEL_HOST, key, &parser->entry_host_rank)) {
		buf_reset(&parser->entry_host);
		buf_append_span(&parser->entry_host, value);
	}
	parser->entry_is_kernels |= span_equal(value, SPAN("kernel")) && kernel_record_names_program(key);
	if (span_find_char(value, '\n') < 0) {
		append_pair(&parser->extra, key, value);
		return;
	}
	buf_append_char(&parser->below, '\n');
	buf_append_span(&parser->below, value);
}

bool record_is_empty(const struct ingest_parser *parser)
{
	const struct buf *parts[] = {&parser->text, &parser->extra, &parser->below};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i]->len || buf_status(parts[i], NULL) != OK) /* there was no room: it is no empty record */
			return false;
	return true;
}

enum status record_put_text(
	struct ingest_parser *parser, struct batch *batch, struct span text, uint64_t time_ns, struct error *err)
{
	TRY(buf_status(&parser->extra, err));
	TRY(buf_status(&parser->below, err));
	if (record_is_empty(parser))
		return push_line(parser, batch, text, time_ns, err);
	buf_append_span(&parser->text, text);
	return record_put_line(parser, batch, time_ns, err);
}

enum status record_put_line(struct ingest_parser *parser, struct batch *batch, uint64_t time_ns, struct error *err)
{
	struct buf *text = &parser->text;

	TRY(buf_status(&parser->extra, err));
	TRY(buf_status(&parser->below, err));
	if (parser->extra.len || parser->below.len)
		end_line(text);
	if (text->len && parser->extra.len)
		buf_append_char(text, ' ');
	buf_append_span(text, buf_span(&parser->extra));
	buf_append_span(text, buf_span(&parser->below));
	TRY(buf_status(text, err));
	return push_line(parser, batch, buf_span(text), time_ns, err);
}
