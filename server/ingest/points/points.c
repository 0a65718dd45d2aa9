/*
 * Bodies of points: {"series":[{…columns…}]} and {"points":[{…}]}, the latter's array alone, and NDJSON of its entries. The document is
 * taken entry by entry as it arrives; of an entry whose end has not come, what has come is kept. In a document a bad entry
 * is an error; a bad line of NDJSON harms itself alone.
 */
#include "ingest/ingest.h"
#include "ingest/points/points_entry.h"
#include "base/bytes16.h"
#include "base/map.h"
#include "model/metrics/metric.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEY_BYTES = 64, WARNING_BYTES = 4096, TOLD_REJECTIONS = 3, NAMES_KEPT = 4096 };
enum { ITEMS_KEPT = 16 << 10, CARRY_KEPT_BYTES = 256 << 10 }; /* between entries */

enum state { /* what is waited for, outside of entries */
	WANT_DOCUMENT,
	WANT_KEY_OR_END,
	IN_KEY,
	WANT_COLON,
	WANT_ARRAY,
	WANT_ENTRY_OR_END,
	WANT_ENTRY,
	IN_ENTRY,
	WANT_COMMA_OR_END,
	AFTER_ARRAY,
	WANT_KEY,
	AT_END,
};

static const char *const wants[] = {"'{' or '['", "\"series\" or \"points\"", "the end of a key", "':'", "'['",
	"'{' or ']'", "'{'", "the end of an entry", "',' or ']'", "',' or '}'", "\"series\" or \"points\"",
	"nothing behind the end"};

struct ingest_parser {
	struct ingest_options options; /* its names are in the arena */
	struct arena *arena;
	bool is_lines; /* NDJSON */
	enum state state;
	bool is_array; /* the document is the array itself */
	bool is_columns;
	char key[KEY_BYTES];
	size_t key_len;
	unsigned depth; /* in an entry */
	bool in_text, is_escaped;
	uint64_t entry_number; /* in its array, from 0 */
	int64_t line, column; /* of the next byte, from 1 */
	struct buf carry; /* the open entry as far as it has come; starts where entry_line and entry_column say */
	int64_t entry_line, entry_column;
	struct points_entry entry;
	struct buf name, metric, stream; /* without escapes */
	struct map *names; /* metrics as they came -> canonical, in names_arena */
	struct arena *names_arena;
	struct buf warnings;
	uint64_t rejected;
};

static void points_free(struct ingest_parser *parser)
{
	if (!parser)
		return;
	points_entry_done(&parser->entry);
	buf_done(&parser->carry);
	buf_done(&parser->name);
	buf_done(&parser->metric);
	buf_done(&parser->stream);
	buf_done(&parser->warnings);
	map_free(parser->names);
	arena_free(parser->names_arena);
	arena_free(parser->arena);
	mem_free(parser);
}

static enum status fill_parser(struct ingest_parser *parser, const struct ingest_options *options, struct error *err)
{
	parser->arena = arena_new();
	parser->names_arena = arena_new();
	parser->names = map_new();
	if (!parser->arena || !parser->names_arena || !parser->names)
		return error_no_memory(err);
	parser->options = *options;
	parser->options.job = arena_copy(parser->arena, options->job);
	parser->options.stream = arena_copy(parser->arena, options->stream);
	if (!parser->options.job.ptr || !parser->options.stream.ptr)
		return error_no_memory(err);
	parser->carry = BUF_INIT(options->max_points_bytes);
	parser->name = parser->metric = parser->stream = BUF_INIT(options->max_points_bytes);
	parser->warnings = BUF_INIT(WARNING_BYTES);
	parser->line = parser->column = parser->entry_line = parser->entry_column = 1;
	return OK;
}

static enum status open_parser(
	struct ingest_parser **out, const struct ingest_options *options, bool is_lines, struct error *err)
{
	TRY(ingest_check_name("job", options->job, options->max_name_bytes, err));
	TRY(ingest_check_name("stream", options->stream, options->max_name_bytes, err));
	struct ingest_parser *parser = mem_zeroed(sizeof *parser);
	if (!parser)
		return error_no_memory(err);
	parser->is_lines = is_lines;
	enum status status = fill_parser(parser, options, err);
	if (status != OK) {
		points_free(parser);
		return status;
	}
	*out = parser;
	return OK;
}

static enum status json_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	return open_parser(out, options, false, err);
}

static enum status ndjson_open(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	return open_parser(out, options, true, err);
}

static void advance(int64_t *line, int64_t *column, struct span bytes)
{
	const char *at = bytes.ptr, *end = bytes.ptr + bytes.len, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		++*line;
		*column = 1;
		at = newline + 1;
	}
	*column += end - at;
}

/* ---- an entry ---- */

static enum status decode(struct ndjson_value value, struct buf *out, const char *field, struct error *err)
{
	size_t column;

	buf_reset(out);
	if (!value.has_escapes)
		buf_append_span(out, value.raw);
	else if (!ndjson_decode(value.raw, out, &column))
		return error_set_field(err, ERR_INVALID, field, "unknown escape in a text");
	return buf_status(out, err);
}

/* Entries name few metrics over and over: each is decoded and put in order once. */
static enum status canonical(
	struct ingest_parser *parser, struct ndjson_value raw, struct span *metric, struct error *err)
{
	struct span *known = raw.raw.len ? map_get(parser->names, raw.raw) : NULL;

	if (known) {
		*metric = *known;
		return OK;
	}
	TRY(decode(raw, &parser->name, "metric", err));
	buf_reset(&parser->metric);
	TRY(ingest_metric_name(buf_span(&parser->name), &parser->metric, err));
	if (map_count(parser->names) >= NAMES_KEPT) { /* names without end must not become memory without end */
		map_free(parser->names);
		arena_free(parser->names_arena);
		parser->names = map_new();
		parser->names_arena = arena_new();
		if (!parser->names || !parser->names_arena)
			return error_no_memory(err);
	}
	known = arena_alloc(parser->names_arena, sizeof *known);
	if (!known || !(*known = arena_copy(parser->names_arena, buf_span(&parser->metric))).ptr ||
		!map_put(parser->names, raw.raw, known))
		return error_no_memory(err);
	*metric = *known;
	return OK;
}

static enum status find_part(
	struct ingest_parser *parser, struct batch *batch, struct batch_part **out, struct error *err)
{
	struct ndjson_value raw = parser->entry.names[POINTS_STREAM];
	struct span stream = parser->options.stream;

	if (raw.kind != NDJSON_ABSENT) {
		TRY(decode(raw, &parser->stream, "stream", err));
		stream = buf_span(&parser->stream);
	}
	if ((*out = batch_find_part(batch, parser->options.job, stream)))
		return OK;
	TRY(ingest_check_name("stream", stream, parser->options.max_name_bytes, err));
	if (batch->part_count >= parser->options.max_parts)
		return error_set(err, ERR_TOO_LARGE, "more than %zu streams in one slice", parser->options.max_parts);
	*out = batch_part(batch, parser->options.job, stream);
	return *out ? OK : error_no_memory(err);
}

static enum status read_role(struct ingest_parser *parser, uint32_t *role, struct error *err)
{
	struct ndjson_value raw = parser->entry.names[POINTS_ROLE];
	char list[ROLE_LIST_BYTES];
	enum role found;

	*role = ROLE_COUNT;
	if (raw.kind == NDJSON_ABSENT)
		return OK;
	if (!role_parse(raw.raw, &found))
		return error_set_field(err, ERR_INVALID, "role", "there is no role '%.*s'; there are %s",
			(int)(raw.raw.len < 64 ? raw.raw.len : 64), raw.raw.ptr, role_list(list));
	*role = found;
	return OK;
}

static enum status read_unit(struct ingest_parser *parser, struct span *unit, struct error *err)
{
	struct ndjson_value raw = parser->entry.names[POINTS_UNIT];

	*unit = SPAN("");
	if (raw.kind == NDJSON_ABSENT || !raw.raw.len)
		return OK;
	TRY(decode(raw, &parser->name, "unit", err));
	*unit = buf_span(&parser->name);
	return ingest_check_name("unit", *unit, METRIC_UNIT_MAX_BYTES, err);
}

/* Columns that are not given are filled: time of arrival, and the series' own count. */
static enum status fill_column(struct points_column *column, size_t count, int64_t value, struct error *err)
{
	if (column->is_given)
		return OK;
	if (column->cap < count) {
		int64_t *grown = mem_resize(column->integers, count, sizeof *grown);
		if (!grown)
			return error_no_memory(err);
		column->integers = grown;
		column->cap = count;
	}
	for (size_t i = 0; i < count; i++)
		column->integers[i] = value;
	return OK;
}

/* All or nothing: the batch changes when all of the entry is known to be good. */
static enum status store_entry(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	struct points_entry *entry = &parser->entry;
	size_t count = entry->values.count;
	struct batch_part *part;
	struct span metric, unit;
	uint32_t role;

	TRY(canonical(parser, entry->names[POINTS_METRIC], &metric, err));
	TRY(read_role(parser, &role, err));
	TRY(read_unit(parser, &unit, err));
	TRY(fill_column(&entry->steps, count, NO_STEP, err));
	TRY(fill_column(&entry->times, count, batch->arrival_ms, err));
	TRY(find_part(parser, batch, &part, err));
	struct batch_series *series = batch_series(batch, part, metric);
	if (!series)
		return error_no_memory(err);
	series->role = role != ROLE_COUNT ? role : series->role;
	if (unit.len && !span_equal(unit, series->unit)) {
		series->unit = arena_copy(batch->arena, unit);
		if (!series->unit.ptr)
			return error_no_memory(err);
	}
	if (!batch_add_points(
		    batch, part, series, entry->steps.integers, entry->times.integers, entry->values.values, count))
		return error_no_memory(err);
	return OK;
}

static const char *array_name(const struct ingest_parser *parser)
{
	return parser->is_array ? "" : parser->is_columns ? "series" : "points";
}

/* Into a path of the document ("series[3].value[17]"), with the place of the mistake. */
static void place_error(const struct ingest_parser *parser, struct span text, size_t at, struct error *err)
{
	struct error inner;
	char path[sizeof err->field + 48];

	if (!err)
		return;
	inner = *err;
	err->line = parser->entry_line;
	err->column = parser->entry_column;
	advance(&err->line, &err->column, span_of(text.ptr, at < text.len ? at : text.len));
	if (parser->is_lines)
		snprintf(path, sizeof path, "%s", inner.field);
	else
		snprintf(path, sizeof path, "%s[%" PRIu64 "]%s%s", array_name(parser), parser->entry_number,
			inner.field[0] ? "." : "", inner.field);
	snprintf(err->field, sizeof err->field, "%.*s", (int)sizeof err->field - 1, path);
	snprintf(err->text, sizeof err->text, "line %" PRId64 ", column %" PRId64 "%s%s: %.*s", err->line, err->column,
		path[0] ? ", " : "", path, (int)(sizeof err->text - 96 - sizeof err->field), inner.text);
}

static enum status take_entry(
	struct ingest_parser *parser, struct batch *batch, struct span text, bool is_scanned, struct error *err)
{
	struct error inner = {0};
	size_t at = text.len;
	enum status status = OK;

	if (!is_scanned)
		status = points_entry_scan(&parser->entry, text, parser->is_columns, &at, &inner);
	if (status == OK)
		status = store_entry(parser, batch, &inner);
	if (status == ERR_INVALID || status == ERR_TOO_LARGE)
		place_error(parser, text, at, &inner);
	if (status == ERR_INVALID && parser->is_lines) {
		batch->rejected++;
		if (++parser->rejected <= TOLD_REJECTIONS)
			buf_printf(&parser->warnings, "%s%s", parser->warnings.len ? "; " : "", inner.text);
		return OK;
	}
	if (status != OK && err)
		*err = inner;
	parser->entry_number++;
	return status;
}

static enum status too_long(const struct ingest_parser *parser, struct error *err)
{
	error_set(err, ERR_TOO_LARGE,
		"line %" PRId64 ": an entry of more than %zu bytes (--max-points-bytes); send its points in several",
		parser->entry_line, parser->options.max_points_bytes);
	if (err)
		err->line = parser->entry_line;
	return ERR_TOO_LARGE;
}

/* The end of the entry has come, with `bytes` behind what was kept. */
static enum status end_entry(
	struct ingest_parser *parser, struct batch *batch, struct span bytes, bool is_scanned, struct error *err)
{
	struct span text = bytes;

	if (bytes.len > parser->options.max_points_bytes - parser->carry.len)
		return too_long(parser, err);
	if (parser->carry.len) {
		buf_append_span(&parser->carry, bytes);
		TRY(buf_status(&parser->carry, err));
		text = buf_span(&parser->carry);
	}
	TRY(take_entry(parser, batch, text, is_scanned, err));
	points_entry_shrink(&parser->entry, ITEMS_KEPT);
	buf_reset(&parser->carry);
	if (parser->carry.cap > CARRY_KEPT_BYTES)
		buf_done(&parser->carry);
	return OK;
}

static enum status keep(struct ingest_parser *parser, struct span bytes, struct error *err)
{
	if (bytes.len > parser->options.max_points_bytes - parser->carry.len)
		return too_long(parser, err);
	buf_append_span(&parser->carry, bytes);
	return buf_status(&parser->carry, err);
}

/* ---- the document around the entries ---- */

/* The first byte from `at` on by which a bracket or a text begins or ends; 16 bytes without any are passed at once. */
static const char *find_bracket(const char *at, const char *end)
{
	for (; end - at >= (ptrdiff_t)sizeof(bytes16); at += sizeof(bytes16)) {
		bytes16 bytes = bytes16_at(at), folded = bytes | (unsigned char)0x20; /* [ and { are one, ] and } */
		if (bytes16_has_any((bytes16)((folded == '{') | (folded == '}') | (bytes == '"'))))
			break;
	}
	while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
		at++;
	return at;
}

/* Where the entry ends, or `end`: brackets outside of texts, each byte once. */
static const char *skip_entry(struct ingest_parser *parser, const char *at, const char *end)
{
	for (; at < end; at++) {
		char c = *at;
		if (parser->in_text) {
			parser->in_text = parser->is_escaped || c != '"';
			parser->is_escaped = !parser->is_escaped && c == '\\';
			continue;
		}
		if ((at = find_bracket(at, end)) == end)
			return end;
		c = *at;
		if (c == '"')
			parser->in_text = true;
		else if (c == '{' || c == '[')
			parser->depth++;
		else if (--parser->depth == 0)
			return at + 1;
	}
	return end;
}

static enum status unexpected(const struct ingest_parser *parser, struct error *err)
{
	bool is_in_field = parser->state >= WANT_ARRAY && parser->state <= WANT_ENTRY;
	char field[64] = "body";

	if (is_in_field && parser->state != WANT_ARRAY)
		snprintf(field, sizeof field, "%s[%" PRIu64 "]", array_name(parser), parser->entry_number);
	else if (is_in_field)
		snprintf(field, sizeof field, "%s", array_name(parser));
	error_set_field(err, ERR_INVALID, field, "line %" PRId64 ", column %" PRId64 ": expected %s", parser->line,
		parser->column, wants[parser->state]);
	if (err) {
		err->line = parser->line;
		err->column = parser->column;
	}
	return ERR_INVALID;
}

static enum status end_key(struct ingest_parser *parser, struct error *err)
{
	struct span key = span_of(parser->key, parser->key_len);

	parser->is_columns = span_equal(key, SPAN("series"));
	parser->state = WANT_COLON;
	parser->entry_number = 0;
	if (parser->is_columns || span_equal(key, SPAN("points")))
		return OK;
	error_set_field(err, ERR_INVALID, "body",
		"line %" PRId64 ": there is no field '%.*s' here; there are series and "
		"points",
		parser->line, SPAN_ARGS(key));
	if (err)
		err->line = parser->line;
	return ERR_INVALID;
}

static enum status take_key_char(struct ingest_parser *parser, char c, struct error *err)
{
	if (c == '"')
		return end_key(parser, err);
	if (parser->key_len < KEY_BYTES)
		parser->key[parser->key_len++] = c;
	return OK;
}

/* One byte outside of entries that is no blank. */
static enum status take_char(struct ingest_parser *parser, char c, struct error *err)
{
	static const struct {
		enum state from;
		char c;
		enum state to;
	} steps[] = {
		{WANT_DOCUMENT, '{', WANT_KEY_OR_END},
		{WANT_DOCUMENT, '[', WANT_ENTRY_OR_END},
		{WANT_KEY_OR_END, '"', IN_KEY},
		{WANT_KEY_OR_END, '}', AT_END},
		{WANT_COLON, ':', WANT_ARRAY},
		{WANT_ARRAY, '[', WANT_ENTRY_OR_END},
		{WANT_ENTRY_OR_END, '{', IN_ENTRY},
		{WANT_ENTRY_OR_END, ']', AFTER_ARRAY},
		{WANT_ENTRY, '{', IN_ENTRY},
		{WANT_COMMA_OR_END, ',', WANT_ENTRY},
		{WANT_COMMA_OR_END, ']', AFTER_ARRAY},
		{AFTER_ARRAY, ',', WANT_KEY},
		{AFTER_ARRAY, '}', AT_END},
		{WANT_KEY, '"', IN_KEY},
	};

	if (parser->state == IN_KEY)
		return take_key_char(parser, c, err);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (steps[i].from == parser->state && steps[i].c == c) {
			parser->is_array = parser->is_array || (parser->state == WANT_DOCUMENT && c == '[');
			parser->state = steps[i].to == AFTER_ARRAY && parser->is_array ? AT_END : steps[i].to;
			parser->key_len = 0;
			return OK;
		}
	return unexpected(parser, err);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/*
 * From the '{' on, or from where the bytes before broke off. What is one point mostly lies there whole, and is read at once; of columns the
 * end is found first, as mostly they do not.
 */
static enum status feed_entry(
	struct ingest_parser *parser, struct batch *batch, const char **at, const char *end, struct error *err)
{
	const char *first = *at;
	bool may_be_whole = !parser->depth && !parser->is_columns;
	struct span rest = span_of(first, (size_t)(end - first));
	size_t whole = may_be_whole ? points_entry_take(&parser->entry, rest, false) : 0;
	const char *stop = whole ? first + whole : skip_entry(parser, first, end);
	struct span bytes = span_of(first, (size_t)(stop - first));

	if (parser->depth)
		TRY(keep(parser, bytes, err));
	else
		TRY(end_entry(parser, batch, bytes, whole != 0, err));
	advance(&parser->line, &parser->column, bytes);
	if (!parser->depth)
		parser->state = WANT_COMMA_OR_END;
	*at = stop;
	return OK;
}

static enum status json_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *at = bytes.ptr ? bytes.ptr : "", *end = at + bytes.len;

	while (at < end) {
		if (parser->state == IN_ENTRY) {
			TRY(feed_entry(parser, batch, &at, end, err));
			continue;
		}
		if (parser->state == IN_KEY || !is_blank(*at))
			TRY(take_char(parser, *at, err));
		if (parser->state == IN_ENTRY) { /* the '{' is the entry's first byte */
			parser->entry_line = parser->line;
			parser->entry_column = parser->column;
			continue;
		}
		advance(&parser->line, &parser->column, span_of(at, 1));
		at++;
	}
	return OK;
}

static enum status json_finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	(void)batch;
	return parser->state == AT_END ? OK : unexpected(parser, err);
}

/* ---- NDJSON ---- */

static enum status take_line(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	if (span_trim(buf_span(&parser->carry)).len || span_trim(bytes).len)
		TRY(end_entry(parser, batch, bytes, false, err));
	buf_reset(&parser->carry);
	parser->entry_line++;
	return OK;
}

static enum status ndjson_feed(struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err)
{
	const char *at = bytes.ptr ? bytes.ptr : "", *end = at + bytes.len, *newline;

	for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		TRY(take_line(parser, batch, span_of(at, (size_t)(newline - at)), err));
	return at < end ? keep(parser, span_of(at, (size_t)(end - at)), err) : OK;
}

static enum status ndjson_finish(struct ingest_parser *parser, struct batch *batch, struct error *err)
{
	if (span_trim(buf_span(&parser->carry)).len)
		TRY(take_line(parser, batch, SPAN(""), err));
	if (parser->rejected > TOLD_REJECTIONS)
		buf_printf(&parser->warnings, "; %" PRIu64 " points were not stored in all", parser->rejected);
	return OK;
}

static struct span points_warning(const struct ingest_parser *parser)
{
	return buf_span(&parser->warnings);
}

const struct ingest_protocol ingest_points = {
	"points", json_open, json_feed, json_finish, points_warning, NULL, points_free};
const struct ingest_protocol ingest_points_ndjson = {
	"points_ndjson", ndjson_open, ndjson_feed, ndjson_finish, points_warning, NULL, points_free};
