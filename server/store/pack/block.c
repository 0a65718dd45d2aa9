#include "store/pack/block.h"

/*
 * Unpacked: count, times, the lines whose flags are not 0, the lines that hold newlines of their own, the texts with a
 * newline behind each. Rare things are lists, so that lines without them cost nothing: not even a length.
 */
enum {
	FORMAT = 1,
	ZSTD_LEVEL = 1,
	PLAIN_MAX_BYTES = 64 << 20, /* one line may be longer than BLOCK_MAX_BYTES, and is then alone */
	LISTED_MIN_BYTES = 2,
	LINE_MIN_BYTES = 1, /* its time */
};

static void pack_times(const struct line *lines, size_t count, struct buf *out)
{
	int64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		pack_i64(out, (int64_t)((uint64_t)lines[i].ts_ms - (uint64_t)before));
		before = lines[i].ts_ms;
	}
}

static uint64_t flags_of(const struct line *line)
{
	return line->flags;
}

static uint64_t newlines_in(const struct line *line)
{
	struct span rest = line->text;
	uint64_t count = 0;

	for (ptrdiff_t at; (at = span_find_char(rest, '\n')) >= 0; count++)
		rest = span_skip(rest, (size_t)at + 1);
	return count;
}

/* How many lines are not 0; then the distance from the one before, and the value, of each. */
static void pack_list(
	const struct line *lines, size_t count, uint64_t (*value_of)(const struct line *), struct buf *out)
{
	size_t listed = 0, last = 0;

	for (size_t i = 0; i < count; i++)
		listed += value_of(&lines[i]) != 0;
	pack_u64(out, listed);
	for (size_t i = 0; i < count && listed; i++) {
		uint64_t value = value_of(&lines[i]);
		if (!value)
			continue;
		pack_u64(out, i - last);
		pack_u64(out, value);
		last = i;
		listed--;
	}
}

enum status block_lay_out(const struct line *lines, size_t count, struct buf *plain, struct error *err)
{
	plain->max_bytes = plain->max_bytes < PLAIN_MAX_BYTES ? plain->max_bytes : PLAIN_MAX_BYTES;
	pack_u64(plain, count);
	pack_times(lines, count, plain);
	pack_list(lines, count, flags_of, plain);
	pack_list(lines, count, newlines_in, plain);
	for (size_t i = 0; i < count; i++) {
		buf_append_span(plain, lines[i].text);
		buf_append_char(plain, '\n');
	}
	return buf_status(plain, err);
}

enum status block_compress(struct span plain, struct zstd *zstd, struct buf *out, struct error *err)
{
	buf_append_char(out, FORMAT);
	return zstd_pack(zstd, plain, ZSTD_LEVEL, out, err);
}

enum status block_pack(const struct line *lines, size_t count, struct zstd *zstd, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(PLAIN_MAX_BYTES);

	TRY(block_lay_out(lines, count, &plain, err));
	return block_compress(buf_span(&plain), zstd, out, err);
}

enum status block_decompress(struct span data, struct zstd *zstd, struct buf *plain, struct error *err)
{
	if (!data.len || data.ptr[0] != FORMAT)
		return error_set(err, ERR_INVALID, "the block has format %d, which this program does not know",
			data.len ? (unsigned char)data.ptr[0] : 0);
	buf_reset(plain);
	return zstd_unpack(zstd, span_skip(data, 1), PLAIN_MAX_BYTES, plain, err);
}

/* The line of the next value, from the one before; a list that leaves the block is damage. */
static void go_to_next(struct block_list *list, uint64_t count)
{
	uint64_t distance = unpack_u64(&list->at);

	if (distance >= count - list->next)
		list->at.has_failed = true;
	list->next += distance;
}

static struct block_list open_list(struct unpacker *in, size_t count)
{
	struct block_list list = {.left = unpack_count(in, LISTED_MIN_BYTES)};

	list.at = *in;
	unpack_pass(in, 2 * list.left);
	if (list.left)
		go_to_next(&list, count);
	return list;
}

static uint64_t take_listed(struct block_list *list, size_t line, size_t count)
{
	if (!list->left || list->next != line)
		return 0;
	uint64_t value = unpack_u64(&list->at);
	if (--list->left)
		go_to_next(list, count);
	return value;
}

struct block_cursor block_lines(struct span plain)
{
	struct unpacker in = unpacker_on(plain);
	struct block_cursor cursor = {.count = unpack_count(&in, LINE_MIN_BYTES)};

	cursor.times = in;
	unpack_pass(&in, cursor.count);
	cursor.flags = open_list(&in, cursor.count);
	cursor.newlines = open_list(&in, cursor.count);
	cursor.texts = in;
	return cursor;
}

static bool has_failed(const struct block_cursor *cursor)
{
	return cursor->times.has_failed || cursor->texts.has_failed || cursor->flags.at.has_failed ||
	       cursor->newlines.at.has_failed;
}

/* Up to the newline behind as many of its own. */
static struct span cut_text(struct unpacker *in, uint64_t newlines)
{
	size_t len = 0;
	ptrdiff_t at;

	do {
		at = span_find_char(span_skip(in->rest, len), '\n');
		len += at < 0 ? 0 : (size_t)at + 1;
	} while (at >= 0 && newlines--);
	if (at < 0) {
		in->has_failed = true;
		return SPAN("");
	}
	struct span text = span_of(in->rest.ptr, len - 1);
	in->rest = span_skip(in->rest, len);
	return text;
}

bool block_next_line(struct block_cursor *cursor, struct line *line)
{
	if (cursor->at == cursor->count || has_failed(cursor))
		return false;
	cursor->before_ms = (int64_t)((uint64_t)cursor->before_ms + (uint64_t)unpack_i64(&cursor->times));
	uint32_t flags = (uint32_t)take_listed(&cursor->flags, cursor->at, cursor->count);
	struct span text = cut_text(&cursor->texts, take_listed(&cursor->newlines, cursor->at, cursor->count));
	*line = (struct line){.text = text, .ts_ms = cursor->before_ms, .flags = flags};
	cursor->at++;
	return !has_failed(cursor);
}

static bool is_listed(const struct block_list *list, size_t line)
{
	return list->left && list->next == line;
}

bool block_read_lines(struct block_cursor *cursor, struct line *lines)
{
	struct unpacker times = cursor->times;
	const char *at = cursor->texts.rest.ptr, *end = at + cursor->texts.rest.len;
	int64_t ms = cursor->before_ms;

	for (size_t i = cursor->at; i < cursor->count; i++) {
		uint64_t flags = is_listed(&cursor->flags, i) ? take_listed(&cursor->flags, i, cursor->count) : 0;
		uint64_t newlines =
			is_listed(&cursor->newlines, i) ? take_listed(&cursor->newlines, i, cursor->count) : 0;
		const char *text = at, *newline = memchr(at, '\n', (size_t)(end - at));
		for (; newline && newlines; newlines--)
			newline = memchr(newline + 1, '\n', (size_t)(end - newline - 1));
		if (!newline)
			return false;
		ms = (int64_t)((uint64_t)ms + (uint64_t)unpack_i64(&times));
		*lines++ = (struct line){
			.text = span_of(text, (size_t)(newline - text)), .ts_ms = ms, .flags = (uint32_t)flags};
		at = newline + 1;
	}
	cursor->at = cursor->count;
	cursor->times = times;
	cursor->texts.rest = span_of(at, (size_t)(end - at));
	return block_is_whole(cursor);
}

struct span block_text(struct span plain)
{
	return block_lines(plain).texts.rest;
}

bool block_go_to(struct block_cursor *cursor, const char *begin, struct line *line)
{
	struct span passed = span_of(cursor->texts.rest.ptr, (size_t)(begin - cursor->texts.rest.ptr));
	size_t lines = span_count_char(passed, '\n');

	if (lines > cursor->count - cursor->at)
		return false;
	for (size_t i = 0; i < lines; i++)
		cursor->before_ms = (int64_t)((uint64_t)cursor->before_ms + (uint64_t)unpack_i64(&cursor->times));
	cursor->at += lines;
	while (cursor->flags.left && cursor->flags.next < cursor->at)
		take_listed(&cursor->flags, cursor->flags.next, cursor->count);
	cursor->texts.rest = span_skip(cursor->texts.rest, passed.len);
	return block_next_line(cursor, line);
}

bool block_is_whole(const struct block_cursor *cursor)
{
	return !has_failed(cursor) && cursor->at == cursor->count && cursor->texts.rest.len == 0;
}

enum status block_unpack(struct span data, struct zstd *zstd, struct buf *plain, struct arena *arena,
	struct line **lines, size_t *count, struct error *err)
{
	TRY(block_decompress(data, zstd, plain, err));
	struct block_cursor cursor = block_lines(buf_span(plain));
	struct line *found = arena_alloc(arena, cursor.count * sizeof *found);
	if (!found)
		return error_no_memory(err);
	if (!block_read_lines(&cursor, found))
		return error_set(err, ERR_INVALID, "the block of %zu lines is damaged", cursor.count);
	*lines = found;
	*count = cursor.count;
	return OK;
}
