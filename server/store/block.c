#include "store/block.h"

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

enum status block_pack(const struct line *lines, size_t count, struct zstd *zstd, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(PLAIN_MAX_BYTES);

	pack_u64(&plain, count);
	pack_times(lines, count, &plain);
	pack_list(lines, count, flags_of, &plain);
	pack_list(lines, count, newlines_in, &plain);
	for (size_t i = 0; i < count; i++) {
		buf_append_span(&plain, lines[i].text);
		buf_append_char(&plain, '\n');
	}
	TRY(buf_status(&plain, err));
	buf_append_char(out, FORMAT);
	return zstd_pack(zstd, buf_span(&plain), ZSTD_LEVEL, out, err);
}

static void unpack_times(struct unpacker *in, struct line *lines, size_t count)
{
	int64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		before = (int64_t)((uint64_t)before + (uint64_t)unpack_i64(in));
		lines[i] = (struct line){.text = SPAN(""), .ts_ms = before};
	}
}

static void set_flags(struct line *line, uint64_t value)
{
	line->flags = (uint32_t)value;
}

/* Kept in the length until the texts are cut. */
static void set_newlines(struct line *line, uint64_t value)
{
	line->text.len = (size_t)value;
}

static void unpack_list(struct unpacker *in, struct line *lines, size_t count, void (*set)(struct line *, uint64_t))
{
	size_t at = 0;

	for (size_t left = unpack_count(in, LISTED_MIN_BYTES); left; left--) {
		uint64_t distance = unpack_u64(in), value = unpack_u64(in);
		if (in->has_failed || distance >= count - at) {
			in->has_failed = true;
			return;
		}
		at += (size_t)distance;
		set(&lines[at], value);
	}
}

static void cut_texts(struct unpacker *in, struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t newlines = lines[i].text.len, len = 0;
		ptrdiff_t at;
		do {
			at = span_find_char(span_skip(in->rest, len), '\n');
			len += at < 0 ? 0 : (size_t)at + 1;
		} while (at >= 0 && newlines--);
		if (at < 0) {
			in->has_failed = true;
			return;
		}
		lines[i].text = span_of(in->rest.ptr, len - 1);
		in->rest = span_skip(in->rest, len);
	}
}

enum status block_unpack(struct span data, struct zstd *zstd, struct buf *plain, struct arena *arena,
	struct line **lines, size_t *count, struct error *err)
{
	if (!data.len || data.ptr[0] != FORMAT)
		return error_set(err, ERR_INVALID, "the block has format %d, which this program does not know",
			data.len ? (unsigned char)data.ptr[0] : 0);
	buf_reset(plain);
	TRY(zstd_unpack(zstd, span_skip(data, 1), PLAIN_MAX_BYTES, plain, err));
	struct unpacker in = unpacker_on(buf_span(plain));
	size_t stated = unpack_count(&in, LINE_MIN_BYTES);
	struct line *found = arena_alloc(arena, stated * sizeof *found);
	if (!found)
		return error_set(err, ERR_MEMORY, "out of memory");
	unpack_times(&in, found, stated);
	unpack_list(&in, found, stated, set_flags);
	unpack_list(&in, found, stated, set_newlines);
	if (!in.has_failed)
		cut_texts(&in, found, stated);
	TRY(unpacker_end(&in, "the block", err));
	*lines = found;
	*count = stated;
	return OK;
}
