#include "wandb/stream_in.h"

#include "base/json/json_write.h"
#include "base/text/iso8601.h"
#include "ingest/json_scan.h"
#include "ingest/lines/lines.h"

#include <inttypes.h>
#include <stdio.h>

enum { FILES_MAX = 5, RECENT_BYTES = STREAM_RECENT_LINES * STREAM_HASH_DIGITS };

struct reading {
	const struct stream_start *start;
	struct batch *batch;
	struct stream_post *post;
	struct batch_file *files;
	size_t max_lines; /* of the console: an empty line is as much memory as a long one */
	char *recent; /* of the console; once a body, which may name the file a million times */
	struct buf line; /* without its escapes */
};

/* A file that comes line by line. */
struct lines_reading {
	struct reading *reading;
	const struct stream_file *known;
	struct batch_file *file;
	struct history_reader *history; /* NULL: of the console */
	char *recent; /* of the console */
	uint64_t number; /* of the next line */
};

static uint64_t hash_of(struct span text)
{
	struct hash128 hash = {0};

	hash128_add(&hash, text);
	return (hash.low >> 1) | 1; /* never 0, which is none, and a positive number of SQL */
}

static struct batch_file *add_file(struct reading *r, const char *name, const struct stream_file *known)
{
	struct span kept = known && known->name.len ? known->name : span_from(name);

	for (size_t i = 0; i < r->batch->file_count; i++)
		if (span_equal(r->files[i].name, kept))
			return &r->files[i];
	struct batch_file *file = &r->files[r->batch->file_count++];
	*file = (struct batch_file){.name = kept, .content = SPAN("")};
	if (known) {
		file->known_line = file->next_line = known->next_line;
		file->known_origin = file->origin = known->origin;
		file->content = known->content;
	}
	return file;
}

/* ---- the console ---- */

struct span stream_cut_time(struct span line, int64_t *ts_ms)
{
	struct span rest = line;

	span_take(&rest, SPAN("ERROR "));
	ptrdiff_t space = span_find_char(rest, ' ');
	struct span stamp = space < 0 ? rest : span_of(rest.ptr, (size_t)space);
	if (stamp.len < sizeof "YYYY-MM-DDThh:mm:ss" - 1 || !iso8601_parse(stamp, ts_ms))
		return line;
	return span_skip(rest, space < 0 ? stamp.len : stamp.len + 1);
}

/* False: it is there already. Lines that were drawn anew longer ago than the last few are known by their number alone. */
static bool is_new_line(struct lines_reading *lines, struct span text)
{
	char digits[STREAM_HASH_DIGITS + 1];
	char *slot = lines->recent + lines->number % STREAM_RECENT_LINES * STREAM_HASH_DIGITS;
	uint64_t next = lines->file->next_line;

	snprintf(digits, sizeof digits, "%016" PRIx64, hash_of(text));
	if (lines->number < next &&
		(next - lines->number > STREAM_RECENT_LINES || !memcmp(slot, digits, STREAM_HASH_DIGITS)))
		return false;
	memcpy(slot, digits, STREAM_HASH_DIGITS);
	return true;
}

/* The stream says it. */
static struct span cut_label(struct span line, struct span label)
{
	struct span rest = line;

	return label.len && span_take(&rest, SPAN("[")) && span_take(&rest, label) && span_take(&rest, SPAN("] "))
		       ? rest
		       : line;
}

static enum status take_console_line(struct lines_reading *lines, struct span text, struct error *err)
{
	struct reading *r = lines->reading;
	int64_t ts_ms = r->start->now_ms;
	struct span line = stream_cut_time(text, &ts_ms); /* a run that is sent again has other times */

	if (!is_new_line(lines, line))
		return OK;
	line = cut_label(line, r->start->label);
	struct batch_part *part = batch_part(r->batch, r->start->job, r->start->console_stream);
	if (part && part->count >= r->max_lines)
		return error_set(err, ERR_TOO_LARGE, "the body has more than %zu lines of the console", r->max_lines);
	if (!part || !ingest_add_lines(r->batch, part, line, ts_ms, r->start->max_line_bytes))
		return error_no_memory(err);
	return OK;
}

/* ---- lines of any file ---- */

/* One that is no JSON is left out alone: if the body were refused, its client would stop, or send it for ever. */
static enum status take_history_line(struct lines_reading *lines, struct span text, struct error *err)
{
	struct stream_post *post = lines->reading->post;
	struct error why;
	enum status status = history_read(lines->history, text, &why);

	if (status == OK)
		return OK;
	if (status != ERR_INVALID) {
		*err = why;
		return status;
	}
	post->left_out++;
	if (!post->bad_line.status)
		post->bad_line = why;
	return OK;
}

/* A client that begins from the first line again brings the same, or is another one under the run's id. */
static enum status find_origin(struct lines_reading *lines, struct span text, struct error *err)
{
	struct batch_file *file = lines->file;
	uint64_t origin;
	enum status status = history_identify(lines->history, text, &origin, err);

	if (status == ERR_INVALID)
		return OK; /* it is left out when it is read */
	TRY(status);
	if (file->origin && file->origin != origin)
		file->next_line = 0;
	file->origin = origin;
	return OK;
}

/* What cannot be read was left out when it came first. */
static enum status pass_line(struct lines_reading *lines, struct span text, struct error *err)
{
	struct error why;
	enum status status = history_pass(lines->history, text, &why);

	if (status == OK || status == ERR_INVALID)
		return OK;
	*err = why;
	return status;
}

/* Lines of the console are looked into also if they are there: they may be drawn anew. */
static bool is_wanted(const struct lines_reading *lines)
{
	return lines->history ? lines->number >= lines->file->next_line : !lines->reading->start->has_console;
}

static enum status take_line(void *context, struct json_scan *s, struct error *err)
{
	struct lines_reading *lines = context;
	struct batch_file *file = lines->file;
	struct ndjson_value item;
	struct span text = SPAN("");

	TRY(json_scan_text(s, &item, err));
	bool is_first = lines->history && !lines->number;
	bool is_passed = lines->history && lines->history->is_sync; /* of which the times are wanted */
	if (is_first || is_passed || is_wanted(lines))
		TRY(json_scan_decode(s, &item, &lines->reading->line, &text, err));
	if (is_first)
		TRY(find_origin(lines, text, err));
	if (is_wanted(lines))
		TRY(lines->history ? take_history_line(lines, text, err) : take_console_line(lines, text, err));
	else if (is_passed)
		TRY(pass_line(lines, text, err));
	lines->number++;
	if (lines->number > file->next_line)
		file->next_line = lines->number;
	return OK;
}

/* What a client that goes on asks for: where the run is last, also if an earlier part of it comes later. */
static enum status put_tail(struct lines_reading *lines, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct json_writer w = json_writer_on(&text);
	const struct history_reader *history = lines->history;

	if (!history->last_ms || (history->is_sync && history->times && sent_times_is_older(history->times)))
		return OK;
	json_object(&w);
	json_put_double(&w, "_step", history->last_step);
	json_put_double(&w, "_runtime", history->last_runtime);
	json_put_double(&w, "_timestamp", (double)history->last_ms / 1000);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	lines->file->content = arena_copy(lines->reading->batch->arena, buf_span(&text));
	return lines->file->content.ptr ? OK : error_no_memory(err);
}

static enum status read_history(
	struct reading *r, const char *name, bool is_system, uint64_t offset, struct json_scan *s, struct error *err)
{
	const struct stream_start *start = r->start;
	const struct stream_file *known = is_system ? &start->events : &start->history;
	AUTO_DONE(history_reader)
	history = history_reader_on(
		r->batch, start->job, is_system ? start->system_stream : start->metrics_stream, start->now_ms);
	struct lines_reading lines = {
		.reading = r, .known = known, .file = add_file(r, name, known), .history = &history, .number = offset};

	history.is_system = is_system;
	history.is_measured = is_system && start->has_system;
	history.label = start->label;
	history.max_series = start->max_series;
	history.times = is_system ? start->event_times : start->history_times;
	history.is_sync = start->is_sync;
	history.axes = start->axes;
	history.axis_count = is_system ? 0 : start->axis_count;
	TRY(json_scan_each(s, take_line, &lines, err));
	r->post->left_out += history.left_out;
	if (history.first_ms && (!r->post->first_ms || history.first_ms < r->post->first_ms))
		r->post->first_ms = history.first_ms;
	if (history.last_ms > r->post->last_ms)
		r->post->last_ms = history.last_ms;
	return put_tail(&lines, err);
}

static enum status begin_recent(struct reading *r, struct batch_file *file, struct error *err)
{
	struct span before = file->content;

	if (!(r->recent = arena_alloc(r->batch->arena, RECENT_BYTES)))
		return error_no_memory(err);
	memset(r->recent, '0', RECENT_BYTES);
	if (before.len == RECENT_BYTES)
		memcpy(r->recent, before.ptr, RECENT_BYTES);
	file->content = span_of(r->recent, RECENT_BYTES);
	return OK;
}

static enum status read_console(struct reading *r, uint64_t offset, struct json_scan *s, struct error *err)
{
	const struct stream_file *known = &r->start->console;
	struct lines_reading lines = {
		.reading = r, .known = known, .file = add_file(r, WANDB_CONSOLE, known), .number = offset};

	if (r->start->consoles)
		lines.number = sent_consoles_place(r->start->consoles, offset, known->next_line);
	if (!r->recent)
		TRY(begin_recent(r, lines.file, err));
	lines.recent = r->recent;
	return json_scan_each(s, take_line, &lines, err);
}

/* The last one stands: it is all of them. */
static enum status take_summary(void *context, struct json_scan *s, struct error *err)
{
	struct reading *r = context;
	struct ndjson_value item;
	struct span text;

	TRY(json_scan_text(s, &item, err));
	TRY(json_scan_decode(s, &item, &r->line, &text, err));
	if (!span_is_utf8(text) || memchr(text.ptr, 0, text.len)) {
		r->post->left_out++;
		return OK;
	}
	struct batch_file *file = add_file(r, WANDB_SUMMARY, NULL);
	file->is_unchecked = true;
	file->content = arena_copy(r->batch->arena, text);
	return file->content.ptr ? OK : error_no_memory(err);
}

static enum status skip_line(void *context, struct json_scan *s, struct error *err)
{
	struct reading *r = context;

	r->post->left_out++;
	return json_scan_skip(s, err);
}

static enum status read_content(
	struct reading *r, struct span name, uint64_t offset, struct json_scan *s, struct error *err)
{
	if (json_scan_null(s))
		return OK;
	if (span_equal(name, SPAN(WANDB_HISTORY)))
		return read_history(r, WANDB_HISTORY, false, offset, s, err);
	if (span_equal(name, SPAN(WANDB_EVENTS)))
		return read_history(r, WANDB_EVENTS, true, offset, s, err);
	if (span_equal(name, SPAN(WANDB_CONSOLE)))
		return read_console(r, offset, s, err);
	return json_scan_each(s, span_equal(name, SPAN(WANDB_SUMMARY)) ? take_summary : skip_line, r, err);
}

/* ---- the body ---- */

static enum status read_offset(struct json_scan *s, uint64_t *out, struct error *err)
{
	struct json_scan at = *s;
	struct span number;
	int64_t value;

	TRY(json_scan_number(s, &number, err));
	if (!number.len)
		return OK;
	if (!span_parse_i64(number, &value) || value < 0 || value > INT64_C(1) << 53)
		return json_scan_expected(&at, "an offset, which is a count of lines", err);
	*out = (uint64_t)value;
	return OK;
}

/* The offset may stand behind what it is of. */
static enum status find_offset(struct json_scan s, uint64_t *out, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	*out = 0;
	TRY(json_scan_open(&s, '{', err));
	for (;;) {
		TRY(json_scan_key(&s, &key, &is_end, err));
		if (is_end)
			return OK;
		TRY(json_scan_is(&key, "offset") ? read_offset(&s, out, err) : json_scan_skip(&s, err));
	}
}

static enum status read_file(struct reading *r, struct span name, struct json_scan *s, struct error *err)
{
	struct ndjson_value key;
	uint64_t offset;
	bool is_end;

	if (json_scan_null(s))
		return OK;
	TRY(find_offset(*s, &offset, err));
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return OK;
		TRY(json_scan_is(&key, "content") ? read_content(r, name, offset, s, err) : json_scan_skip(s, err));
	}
}

static enum status read_files(struct reading *r, struct json_scan *s, struct error *err)
{
	struct ndjson_value name;
	bool is_end;

	if (json_scan_null(s))
		return OK;
	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &name, &is_end, err));
		if (is_end)
			return OK;
		TRY(read_file(r, name.raw, s, err));
	}
}

static enum status read_exit_code(struct reading *r, struct json_scan *s, struct error *err)
{
	struct json_scan at = *s;
	struct span number;

	TRY(json_scan_number(s, &number, err));
	if (!number.len)
		return OK;
	if (!span_parse_i64(number, &r->post->exit_code))
		return json_scan_expected(&at, "an exit code", err);
	r->post->has_exit_code = true;
	return OK;
}

static enum status read_ended(struct reading *r, struct json_scan *s, struct error *err)
{
	struct json_scan at = *s;
	struct span number;

	TRY(json_scan_number(s, &number, err));
	if (number.len && (!span_parse_i64(number, &r->post->ended_ms) || r->post->ended_ms < 0))
		return json_scan_expected(&at, "a time in milliseconds", err);
	return OK;
}

static enum status read_member(
	struct reading *r, const struct ndjson_value *key, struct json_scan *s, struct error *err)
{
	if (json_scan_is(key, "files"))
		return read_files(r, s, err);
	if (json_scan_is(key, "exitcode"))
		return read_exit_code(r, s, err);
	if (json_scan_is(key, "ended_ms"))
		return read_ended(r, s, err);
	if (json_scan_is(key, "exitcode_is_unknown") && !json_scan_null(s))
		return json_scan_bool(s, &r->post->has_unknown_code, err);
	if (json_scan_is(key, "complete") && !json_scan_null(s))
		return json_scan_bool(s, &r->post->is_complete, err);
	if (json_scan_is(key, "preempting") && !json_scan_null(s))
		return json_scan_bool(s, &r->post->is_preempting, err);
	return json_scan_skip(s, err);
}

static enum status read_body(struct reading *r, struct json_scan *s, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return json_scan_end(s, err);
		TRY(read_member(r, &key, s, err));
	}
}

static void put_label(struct reading *r)
{
	struct batch_file *file = &r->files[r->batch->file_count++];

	*file = (struct batch_file){.name = r->start->label_file, .content = r->start->label, .is_unchecked = true};
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c == '.';
}

/* Lines stand in a body as texts of JSON: the name of a measure is between \" and \". */
struct span stream_find_label(struct span body)
{
	static const size_t head = sizeof "\\\"system." - 1;
	struct span rest = body;

	for (ptrdiff_t at; (at = span_find(rest, SPAN("\\\"system."))) >= 0;) {
		rest = span_skip(rest, (size_t)at + head);
		ptrdiff_t end = span_find(rest, SPAN("\\\""));
		if (end < 0)
			return SPAN("");
		struct span name = span_cut(rest, (size_t)end);
		ptrdiff_t mark = span_find(name, SPAN("/l:"));
		struct span label = mark < 0 ? SPAN("") : span_skip(name, (size_t)mark + 3);
		rest = span_skip(rest, (size_t)end);
		bool is_label = label.len && label.len <= STREAM_LABEL_MAX_BYTES;
		for (size_t i = 0; i < label.len && is_label; i++)
			is_label = is_label_char(label.ptr[i]);
		if (is_label)
			return label;
	}
	return SPAN("");
}

enum status file_stream_read(struct span body, const struct stream_start *start, struct batch *batch,
	struct stream_post *out, struct error *err)
{
	struct reading r = {.start = start,
		.batch = batch,
		.post = out,
		.max_lines = ingest_lines_max(body.len),
		.line = BUF_INIT(body.len + 1)};
	struct json_scan s = json_scan_on(body);

	*out = (struct stream_post){0};
	if (!(r.files = arena_alloc(batch->arena, FILES_MAX * sizeof *r.files)))
		return error_no_memory(err);
	batch->files = r.files;
	/* Of what it holds and the console says again, too, it comes first wherever it is read (state/streams/told_metrics.h). */
	if (span_find(body, SPAN("\"" WANDB_HISTORY "\"")) >= 0 &&
		!batch_part(batch, start->job, start->metrics_stream))
		return error_no_memory(err);
	enum status status = read_body(&r, &s, err);
	if (status == OK && start->label_file.len)
		put_label(&r);
	buf_done(&r.line);
	return status;
}
