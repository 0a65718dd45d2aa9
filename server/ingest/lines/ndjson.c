/*
 * NDJSON, an object a line, and a JSON array of such objects, which may span lines. Fields: line, log or message (text), the times of
 * ndjson_scan.h, stream, job; all others are skipped. An object without a text of those names is the line itself, and of a kernel's line its
 * machine is kept. A bad object harms itself alone.
 */
#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "ingest/ingest.h"
#include "ingest/lines/lines.h"
#include "ingest/ndjson_scan.h"
#include "model/metrics/stream_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Escapes make a text at most six times as long; the rest is for the fields around it. */
/* What of an array is waited for. */
enum array_state { WANT_ARRAY, WANT_ITEM_OR_END, WANT_ITEM, IN_ITEM, BEHIND_ARRAY };
static const char *const wants[] = {
	"'[', an array of objects", "'{' or ']'", "'{'", "',' or ']'", "nothing behind ']'"};

enum { ESCAPE_FACTOR = 6, OTHER_FIELDS_BYTES = 256 << 10, WARNING_BYTES = 4096, TOLD_REJECTIONS = 3 };

struct ingest_parser {
	struct ingest_options options; /* its names are in the arena */
	struct arena *arena;
	struct buf carry; /* the open line as far as it has come */
	uint64_t lost_bytes; /* of the open line, behind what carry has room for */
	struct buf decoded; /* the text at hand without its escapes */
	struct buf job_name; /* the same of the names */
	struct buf stream_name;
	struct buf plain, kept; /* of a kernel's line */
	struct buf machine; /* of a record's */
	struct buf warnings;
	bool is_array;
	enum array_state state;
	unsigned depth; /* in an item */
	bool in_text, is_escaped;
	uint64_t line_number; /* of an array's items, too: from 1 */
	uint64_t rejected;
	uint64_t bad_times;
	size_t last_part; /* where the last line went: bodies seldom change their stream */
};

static void ndjson_free(struct ingest_parser *parser)
{
	if (!parser)
		return;
	buf_done(&parser->carry);
	buf_done(&parser->decoded);
	buf_done(&parser->job_name);
	buf_done(&parser->stream_name);
	buf_done(&parser->plain);
	buf_done(&parser->machine);
	buf_done(&parser->kept);
	buf_done(&parser->warnings);
	arena_free(parser->arena);
	mem_free(parser);
}

static enum status ndjson_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	if (options->job.len)
		TRY(ingest_check_name("job", options->job, options->max_name_bytes, err));
	TRY(ingest_check_name("stream", options->stream, options->max_name_bytes, err));
	struct ingest_parser *parser = mem_zeroed(sizeof *parser);
	if (parser && (parser->arena = arena_new())) {
		parser->options = *options;
		parser->options.job = arena_copy(parser->arena, options->job);
		parser->options.stream = arena_copy(parser->arena, options->stream);
	}
	if (!parser || !parser->arena || !parser->options.job.ptr || !parser->options.stream.ptr) {
		ndjson_free(parser);
		return error_no_memory(err);
	}
	parser->carry = BUF_INIT(ESCAPE_FACTOR * options->max_line_bytes + OTHER_FIELDS_BYTES);
	parser->decoded = parser->job_name = parser->stream_name = BUF_INIT(parser->carry.max_bytes);
	parser->plain = parser->machine = BUF_INIT(KERNEL_PLAIN_BYTES);
	parser->kept = BUF_INIT(KERNEL_KEPT_BYTES);
	parser->warnings = BUF_INIT(WARNING_BYTES);
	*out = parser;
	return OK;
}

static const char *unit_of(const struct ingest_parser *parser)
{
	return parser->is_array ? "element" : "line";
}

/* Of the first few of each kind; the rest is counted. */
static void warn(struct ingest_parser *parser, size_t column, const char *format, va_list arguments)
{
	char text[256];

	vsnprintf(text, sizeof text, format, arguments);
	buf_printf(&parser->warnings, "%s%s %" PRIu64 ", column %zu: %s", parser->warnings.len ? "; " : "",
		unit_of(parser), parser->line_number, column, text);
}

__attribute__((format(printf, 4, 5))) static bool reject(
	struct ingest_parser *parser, struct batch *batch, size_t column, const char *format, ...)
{
	va_list arguments;

	batch->rejected++;
	if (++parser->rejected > TOLD_REJECTIONS)
		return false;
	va_start(arguments, format);
	warn(parser, column, format, arguments);
	va_end(arguments);
	return false;
}

__attribute__((format(printf, 3, 4))) static void bad_time(
	struct ingest_parser *parser, size_t column, const char *format, ...)
{
	va_list arguments;

	if (++parser->bad_times > TOLD_REJECTIONS)
		return;
	va_start(arguments, format);
	warn(parser, column, format, arguments);
	va_end(arguments);
}

struct entry {
	struct span text;
	struct span kept; /* instead of the text; "": nothing */
	struct span job;
	struct span stream;
	struct span host; /* that the record names; "": none, or it is not asked */
	int64_t ts_ms;
};

static size_t column_of(struct span object, struct span part)
{
	return (size_t)(part.ptr - object.ptr) + 1;
}

/* *out stays in the object or in scratch. */
static bool read_string(struct ingest_parser *parser, struct batch *batch, struct span object,
	const struct ndjson_value *value, struct buf *scratch, struct span *out)
{
	size_t column = 0;

	*out = value->raw;
	if (!value->has_escapes)
		return true;
	buf_reset(scratch);
	if (!ndjson_decode(value->raw, scratch, &column))
		return reject(parser, batch, column_of(object, value->raw) + column - 1, "unknown escape in a text");
	*out = buf_span(scratch);
	return true;
}

static bool read_name(struct ingest_parser *parser, struct batch *batch, struct span object, const char *field,
	const struct ndjson_value *value, struct buf *scratch, struct span *out)
{
	if (value->kind == NDJSON_ABSENT || value->kind == NDJSON_NULL)
		return true;
	bool is_rank = value->kind != NDJSON_OTHER && strcmp(field, "stream") == 0; /* 3: the stream of that rank */
	if (value->kind != NDJSON_STRING && !is_rank)
		return reject(parser, batch, 1, "the field '%s' is not a text", field);
	return read_string(parser, batch, object, value, scratch, out);
}

/* The first one that is a time: "time" may be how long something took. */
static int64_t read_time(struct ingest_parser *parser, struct span object, const struct ndjson_object *fields)
{
	const struct ndjson_value *bad = NULL;
	int64_t ts_ms;

	for (int i = NDJSON_TS; i <= NDJSON_JOURNAL_TIME; i++) {
		const struct ndjson_value *value = &fields->fields[i];
		if (value->kind == NDJSON_ABSENT || value->kind == NDJSON_NULL)
			continue;
		if (value->kind != NDJSON_OTHER && ingest_parse_time(value->raw, &ts_ms))
			return ts_ms;
		bad = bad ? bad : value;
	}
	if (bad && bad->kind == NDJSON_OTHER)
		bad_time(parser, 1, "the time is neither text nor number: the time of arrival counts");
	else if (bad)
		bad_time(parser, column_of(object, bad->raw),
			"'%.*s' is no time between 1990 and 2200: the time of arrival counts",
			(int)(bad->raw.len < 64 ? bad->raw.len : 64), bad->raw.ptr);
	return NO_TIME;
}

/* Docker writes "stdout" and "stderr" beside `log`: which output of a process it was, not which process of the job. */
static bool is_docker_output(struct span stream, const struct ndjson_value *text, const struct ndjson_object *fields)
{
	return text && text == &fields->fields[NDJSON_LOG] &&
	       (span_equal(stream, SPAN("stdout")) || span_equal(stream, SPAN("stderr")));
}

/* What a kernel said, or who was failed by its machine, belongs to that machine, which the record names, whatever stream it comes in. */
static void keep_machine(
	struct ingest_parser *parser, struct span object, const struct ndjson_object *fields, struct entry *entry)
{
	if (stream_is_system(entry->stream) || !(fields->says_kernel || kernel_line_may_accuse(entry->text)))
		return;
	if (entry->text.len && entry->text.ptr[entry->text.len - 1] == '\n')
		entry->text.len--;
	if (kernel_record_keep(span_trim(object), entry->text, &parser->plain, &parser->kept))
		entry->kept = buf_span(&parser->kept);
}

/* Whose record it is; "": it does not say. */
static struct span read_machine(struct ingest_parser *parser, struct span object, const struct ndjson_object *fields)
{
	const struct ndjson_value *one = NULL;
	size_t count = 0;
	struct span host = SPAN("");

	for (int i = NDJSON_OWN_HOST; i <= NDJSON_KUBERNETES; i++)
		if (fields->fields[i].kind != NDJSON_ABSENT) {
			one = &fields->fields[i];
			count++;
		}
	if (!count)
		return host;
	if (count == 1 && one->kind == NDJSON_STRING && !one->has_escapes)
		host = one->raw;
	else
		kernel_record_machine(span_trim(object), &parser->machine, &host);
	return kernel_line_names(host) && host.len <= parser->options.max_name_bytes ? host : SPAN("");
}

static bool read_entry(struct ingest_parser *parser, struct batch *batch, struct span object, struct entry *entry)
{
	const struct ndjson_value *text = NULL;
	struct ndjson_object fields;
	struct ndjson_mistake mistake;

	if (!ndjson_scan(object, &fields, &mistake))
		return reject(parser, batch, mistake.column, "expected %s", mistake.expected);
	for (int i = NDJSON_MESSAGE; i >= NDJSON_LINE; i--)
		if (fields.fields[i].kind == NDJSON_STRING)
			text = &fields.fields[i];
	*entry =
		(struct entry){.text = span_trim(object), .job = parser->options.job, .stream = parser->options.stream};
	if ((text && !read_string(parser, batch, object, text, &parser->decoded, &entry->text)) ||
		!read_name(parser, batch, object, "job", &fields.fields[NDJSON_JOB], &parser->job_name, &entry->job) ||
		!read_name(parser, batch, object, "stream", &fields.fields[NDJSON_STREAM], &parser->stream_name,
			&entry->stream))
		return false;
	if (is_docker_output(entry->stream, text, &fields))
		entry->stream = parser->options.stream;
	if (entry->job.len == 0)
		return reject(parser, batch, 1, "no job, neither in a field 'job' nor in the query");
	size_t most = ingest_lines_max(parser->options.max_line_bytes);
	if (ingest_count_lines(entry->text) > most)
		return reject(parser, batch, 1, "a text of more than %zu lines (--max-line-bytes)", most);
	entry->ts_ms = read_time(parser, object, &fields);
	if (text)
		keep_machine(parser, object, &fields, entry);
	if (!batch->host.len && !stream_is_system(entry->stream))
		entry->host = read_machine(parser, object, &fields);
	return true;
}

/* Where the request names no machine the records do, if each does. */
static bool note_machine(struct batch *batch, struct batch_part *part, const struct entry *entry)
{
	if (batch->host.len || stream_is_system(entry->stream))
		return true;
	part->is_host_of_records = true;
	part->has_nameless |= !entry->host.len;
	return part->has_nameless || batch_part_note_host(batch, part, entry->host);
}

/* NULL with OK: the names are no names, which is a rejection. */
static enum status find_part(struct ingest_parser *parser, struct batch *batch, const struct entry *entry,
	struct batch_part **out, struct error *err)
{
	struct error reason;

	*out = parser->last_part < batch->part_count ? &batch->parts[parser->last_part] : NULL;
	if (!*out || !span_equal((*out)->stream, entry->stream) || !span_equal((*out)->job, entry->job))
		*out = batch_find_part(batch, entry->job, entry->stream);
	if (*out) {
		parser->last_part = (size_t)(*out - batch->parts);
		return OK;
	}
	if (ingest_check_name("job", entry->job, parser->options.max_name_bytes, &reason) ||
		ingest_check_name("stream", entry->stream, parser->options.max_name_bytes, &reason)) {
		reject(parser, batch, 1, "%s", reason.text);
		return OK;
	}
	if (batch->part_count >= parser->options.max_parts) {
		error_set(err, ERR_TOO_LARGE, "%s %" PRIu64 ": more than %zu streams in one slice", unit_of(parser),
			parser->line_number, parser->options.max_parts);
		if (err)
			err->line = (int64_t)parser->line_number;
		return ERR_TOO_LARGE;
	}
	*out = batch_part(batch, entry->job, entry->stream);
	return *out ? OK : error_no_memory(err);
}

/* What an offset counts is the text, whatever is kept. */
static bool add(
	const struct ingest_parser *parser, struct batch *batch, struct batch_part *part, const struct entry *entry)
{
	size_t most = parser->options.max_line_bytes;

	if (!entry->kept.len)
		return ingest_add_lines(batch, part, entry->text, entry->ts_ms, most);
	struct span text = entry->text, kept = entry->kept, line, one;
	if (ingest_count_lines(kept) != ingest_count_lines(text)) /* the record itself */
		return batch_add(
			batch, part, span_cut(kept, most), entry->ts_ms, kept.len > most ? LINE_CUT : 0, text.len + 1);
	while (span_next(&kept, '\n', &one)) {
		if (!kept.ptr || !span_next(&text, '\n', &line))
			line = text;
		if (!batch_add(batch, part, span_cut(one, most), entry->ts_ms, one.len > most ? LINE_CUT : 0,
			    line.len + 1))
			return false;
	}
	return true;
}

static bool is_blank(struct span line)
{
	for (size_t i = 0; i < line.len; i++)
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t' && line.ptr[i] != '\r')
			return false;
	return true;
}

static enum status take_line(struct ingest_parser *parser, struct batch *batch, struct span line, struct error *err)
{
	struct batch_part *part = NULL;
	struct entry entry = {0};
	bool is_read = false;

	parser->line_number++;
	if (line.len > parser->carry.max_bytes || parser->lost_bytes)
		reject(parser, batch, parser->carry.max_bytes + 1, "the object is longer than %zu bytes",
			parser->carry.max_bytes);
	else if (!is_blank(line))
		is_read = read_entry(parser, batch, line, &entry);
	TRY(buf_status(&parser->decoded, err));
	TRY(buf_status(&parser->job_name, err));
	TRY(buf_status(&parser->stream_name, err));
	TRY(buf_status(&parser->plain, err));
	TRY(buf_status(&parser->machine, err));
	TRY(buf_status(&parser->kept, err));
	if (is_read)
		TRY(find_part(parser, batch, &entry, &part, err));
	if (part && (!note_machine(batch, part, &entry) || !add(parser, batch, part, &entry)))
		return error_no_memory(err);
	ingest_let_go(&parser->decoded);
	ingest_let_go(&parser->job_name);
	ingest_let_go(&parser->stream_name);
	ingest_let_go(&parser->plain);
	ingest_let_go(&parser->machine);
	ingest_let_go(&parser->kept);
	return OK;
}

static void carry_on(struct ingest_parser *parser, struct span bytes)
{
	size_t room = parser->carry.max_bytes - parser->carry.len;
	size_t kept = bytes.len < room ? bytes.len : room;

	buf_append(&parser->carry, bytes.ptr, kept);
	parser->lost_bytes += bytes.len - kept;
}

static enum status take_carried(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	TRY(take_line(parser, batch, buf_span(&parser->carry), err));
	ingest_let_go(&parser->carry);
	parser->lost_bytes = 0;
	return OK;
}

static enum status ndjson_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *at = bytes.ptr ? bytes.ptr : "", *end = at + bytes.len, *newline;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		struct span line = span_of(at, (size_t)(newline - at));
		if (parser->carry.len || parser->lost_bytes) {
			carry_on(parser, line);
			TRY(buf_status(&parser->carry, err));
			TRY(take_carried(parser, batch, err));
		} else {
			TRY(take_line(parser, batch, line, err));
		}
	}
	if (at < end)
		carry_on(parser, span_of(at, (size_t)(end - at)));
	return buf_status(&parser->carry, err);
}

static enum status ndjson_finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	if (parser->carry.len || parser->lost_bytes)
		TRY(take_carried(parser, batch, err));
	if (parser->rejected > TOLD_REJECTIONS)
		buf_printf(&parser->warnings, "; %" PRIu64 " objects were not stored in all", parser->rejected);
	if (parser->bad_times > TOLD_REJECTIONS)
		buf_printf(&parser->warnings, "; %" PRIu64 " times were no times in all", parser->bad_times);
	return OK;
}

/* ---- an array ---- */

static enum status array_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	TRY(ndjson_open(out, options, err));
	(*out)->is_array = true;
	return OK;
}

/* Where the item ends, at the ',' or ']' behind it, or `end`: brackets outside of texts, each byte once. */
static const char *skip_item(struct ingest_parser *parser, const char *at, const char *end)
{
	for (; at < end; at++) {
		char c = *at;
		if (parser->in_text) {
			parser->in_text = parser->is_escaped || c != '"';
			parser->is_escaped = !parser->is_escaped && c == '\\';
		} else if (c == '"') {
			parser->in_text = true;
		} else if (c == '{' || c == '[') {
			parser->depth++;
		} else if (!parser->depth && (c == ',' || c == ']')) {
			return at;
		} else if (parser->depth && (c == '}' || c == ']')) {
			parser->depth--;
		}
	}
	return end;
}

static enum status unexpected(const struct ingest_parser *parser, struct error *err)
{
	error_set(err, ERR_INVALID, "element %" PRIu64 " of the array: expected %s", parser->line_number + 1,
		wants[parser->state]);
	if (err)
		err->line = (int64_t)parser->line_number + 1;
	return ERR_INVALID;
}

/* One byte outside of items that is no blank. */
static enum status take_char(struct ingest_parser *parser, char c, struct error *err)
{
	if (parser->state == WANT_ARRAY && c == '[')
		parser->state = WANT_ITEM_OR_END;
	else if (parser->state == WANT_ITEM_OR_END && c == ']')
		parser->state = BEHIND_ARRAY;
	else if ((parser->state == WANT_ITEM_OR_END || parser->state == WANT_ITEM) && c != ',' && c != ']')
		parser->state = IN_ITEM;
	else
		return unexpected(parser, err);
	return OK;
}

static enum status feed_item(
	struct ingest_parser *parser, struct batch *batch, const char **at, const char *end, struct error *err)
{
	const char *first = *at, *stop = skip_item(parser, first, end);
	struct span item = span_of(first, (size_t)(stop - first));

	*at = stop;
	if (stop == end || parser->carry.len || parser->lost_bytes)
		carry_on(parser, item);
	TRY(buf_status(&parser->carry, err));
	if (stop == end)
		return OK;
	TRY(parser->carry.len ? take_carried(parser, batch, err) : take_line(parser, batch, item, err));
	parser->state = *stop == ',' ? WANT_ITEM : BEHIND_ARRAY;
	++*at;
	return OK;
}

static enum status array_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *at = bytes.ptr ? bytes.ptr : "", *end = at + bytes.len;

	while (at < end) {
		if (parser->state != IN_ITEM && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) {
			at++;
			continue;
		}
		if (parser->state != IN_ITEM)
			TRY(take_char(parser, *at, err));
		if (parser->state == IN_ITEM)
			TRY(feed_item(parser, batch, &at, end, err));
		else
			at++;
	}
	return OK;
}

static enum status array_finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	if (parser->state != BEHIND_ARRAY)
		return unexpected(parser, err);
	return ndjson_finish(parser, batch, err);
}

static size_t ndjson_held_bytes(const struct ingest_parser *parser)
{
	return parser->carry.cap + parser->decoded.cap + parser->job_name.cap + parser->stream_name.cap +
	       parser->plain.cap + parser->machine.cap + parser->kept.cap;
}

static struct span ndjson_warning(const struct ingest_parser *parser)
{
	return buf_span(&parser->warnings);
}

const struct ingest_protocol ingest_ndjson = {
	.name = "ndjson",
	.open = ndjson_open,
	.feed = ndjson_feed,
	.finish = ndjson_finish,
	.warning = ndjson_warning,
	.held_bytes = ndjson_held_bytes,
	.free = ndjson_free,
};

const struct ingest_protocol ingest_json_array = {
	.name = "json",
	.open = array_open,
	.feed = array_feed,
	.finish = array_finish,
	.warning = ndjson_warning,
	.held_bytes = ndjson_held_bytes,
	.free = ndjson_free,
};
