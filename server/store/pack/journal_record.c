#include "store/pack/journal_record.h"

#include "store/pack/journal_points.h"

enum {
	FORMAT = 2,
	FORMAT_WITHOUT_KINDS = 1,
	ZSTD_LEVEL = 1,
	FLAG_BITS = 3, /* below the length in a line's head: the two of enum line_flags, and: */
	HAS_TIME = 4,
	KNOWN_FLAGS = LINE_CUT | LINE_OPEN_END,
	LINE_MIN_BYTES = 1,
	FIRST_SLICES = 16,
	COPIED_BYTES = 256 << 10,
};

static size_t varint_bytes(uint64_t value)
{
	return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

/* Any two times wrap around rightly. */
static int64_t difference(int64_t ms, int64_t before_ms)
{
	return (int64_t)((uint64_t)ms - (uint64_t)before_ms);
}

static uint64_t head_of(const struct line *line)
{
	return line->text.len << FLAG_BITS | (line->ts_ms != NO_TIME ? HAS_TIME : 0) | (line->flags & KNOWN_FLAGS);
}

static size_t body_bytes(const struct journal_slice *slice, const struct line *lines)
{
	int64_t before_ms = slice->arrival_ms;
	size_t bytes = 0;

	for (size_t i = 0; i < slice->line_count; i++) {
		bytes += varint_bytes(head_of(&lines[i])) + lines[i].text.len;
		if (lines[i].ts_ms == NO_TIME)
			continue;
		bytes += varint_bytes(pack_zigzag(difference(lines[i].ts_ms, before_ms)));
		before_ms = lines[i].ts_ms;
	}
	return bytes;
}

void journal_writer_done(struct journal_writer *writer)
{
	buf_done(&writer->plain);
	buf_done(&writer->blocks);
	buf_done(&writer->frame);
}

void journal_writer_reset(struct journal_writer *writer)
{
	buf_reset(&writer->plain);
	buf_reset(&writer->blocks);
	writer->slice_count = 0;
}

void journal_writer_cut(struct journal_writer *writer, size_t plain_bytes, size_t block_bytes, size_t slice_count)
{
	writer->plain.len = plain_bytes;
	writer->blocks.len = block_bytes;
	writer->plain.failure = writer->blocks.failure = OK;
	writer->slice_count = slice_count;
}

static void add_head(struct buf *plain, const struct journal_slice *slice)
{
	pack_u64(plain, slice->kind);
	pack_i64(plain, slice->job_id);
	pack_u64(plain, slice->stream_id);
	pack_u64(plain, slice->generation);
	pack_u64(plain, slice->first_line);
	pack_u64(plain, slice->first_byte);
	pack_i64(plain, slice->arrival_ms);
	pack_u64(plain, slice->line_count);
	pack_u64(plain, slice->text_bytes);
	pack_u64(plain, slice->sent_bytes);
}

static void add_block(struct journal_writer *writer, const struct journal_slice *slice)
{
	pack_i64(&writer->plain, difference(slice->first_ms, slice->arrival_ms));
	pack_i64(&writer->plain, difference(slice->last_ms, slice->arrival_ms));
	pack_u64(&writer->plain, slice->block.len);
	buf_append_span(&writer->blocks, slice->block);
}

/* `bytes` is what they take. */
static void add_lines(struct buf *plain, const struct journal_slice *slice, const struct line *lines, size_t bytes)
{
	int64_t before_ms = slice->arrival_ms;
	char *at = buf_reserve(plain, bytes);

	if (!at)
		return;
	for (size_t i = 0; i < slice->line_count; i++) {
		at = pack_u64_at(at, head_of(&lines[i]));
		if (lines[i].ts_ms != NO_TIME) {
			at = pack_u64_at(at, pack_zigzag(difference(lines[i].ts_ms, before_ms)));
			before_ms = lines[i].ts_ms;
		}
		if (lines[i].text.len)
			at = mempcpy(at, lines[i].text.ptr, lines[i].text.len);
	}
	buf_advance(plain, bytes);
}

size_t journal_add(struct journal_writer *writer, const struct journal_slice *slice, const struct line *lines)
{
	struct buf *plain = &writer->plain;

	if (!plain->max_bytes) {
		plain->max_bytes = JOURNAL_RECORD_MAX_BYTES;
		writer->blocks.max_bytes = JOURNAL_RECORD_MAX_BYTES;
	}
	writer->slice_count++;
	add_head(plain, slice);
	if (slice->kind == JOURNAL_BLOCK) {
		add_block(writer, slice);
		return plain->len;
	}
	if (slice->kind == JOURNAL_POINTS) {
		pack_u64(plain, slice->first_point);
		pack_u64(plain, slice->point_count);
		pack_span(plain, slice->body);
		return plain->len - slice->body.len;
	}
	size_t bytes = body_bytes(slice, lines);
	pack_u64(plain, bytes);
	size_t body_at = plain->len;
	add_lines(plain, slice, lines, bytes);
	return body_at;
}

static enum status pack_record(struct journal_writer *writer, struct zstd *zstd, struct buf *record, struct error *err)
{
	struct buf *frame = &writer->frame;

	TRY(buf_status(&writer->plain, err));
	TRY(buf_status(&writer->blocks, err));
	buf_reset(frame);
	frame->max_bytes = SIZE_MAX / 2;
	TRY(zstd_pack(zstd, buf_span(&writer->plain), ZSTD_LEVEL, frame, err));
	buf_append_char(record, FORMAT);
	pack_span(record, buf_span(frame));
	buf_append_span(record, buf_span(&writer->blocks));
	return buf_status(record, err);
}

/* A small one is copied, into no more memory than it needs; what the writer's had grown to is there for the next record. */
static enum status hand_out(struct journal_writer *writer, struct buf *plain, struct error *err)
{
	struct buf packed = writer->plain;

	if (packed.len > COPIED_BYTES) {
		writer->plain = BUF_INIT(packed.max_bytes);
		*plain = packed;
		buf_done(&writer->frame);
		return OK;
	}
	char *copy = mem_copy_bytes(packed.ptr, packed.len);
	if (!copy)
		return error_no_memory(err);
	buf_done(plain);
	*plain = (struct buf){.ptr = copy, .len = packed.len, .cap = packed.len, .max_bytes = packed.max_bytes};
	return OK;
}

enum status journal_pack(
	struct journal_writer *writer, struct zstd *zstd, struct buf *plain, struct buf *record, struct error *err)
{
	enum status status = pack_record(writer, zstd, record, err);

	if (status == OK)
		status = hand_out(writer, plain, err);
	journal_writer_reset(writer);
	return status;
}

static void read_block(struct unpacker *in, struct span *blocks, struct journal_slice *slice)
{
	slice->first_ms = (int64_t)((uint64_t)slice->arrival_ms + (uint64_t)unpack_i64(in));
	slice->last_ms = (int64_t)((uint64_t)slice->arrival_ms + (uint64_t)unpack_i64(in));
	uint64_t len = unpack_u64(in);
	if (len > blocks->len) {
		in->has_failed = true;
		return;
	}
	slice->block = span_of(blocks->ptr, (size_t)len);
	*blocks = span_skip(*blocks, (size_t)len);
}

static struct journal_slice read_slice(struct unpacker *in, struct span *blocks, bool has_kinds)
{
	uint64_t kind = has_kinds ? unpack_u64(in) : JOURNAL_LINES;
	struct journal_slice slice = {.kind = kind <= JOURNAL_POINTS ? (enum journal_kind)kind : JOURNAL_LINES};

	if (kind > JOURNAL_POINTS)
		in->has_failed = true;
	slice.job_id = unpack_i64(in);
	slice.stream_id = (uint32_t)unpack_u64(in);
	slice.generation = (uint32_t)unpack_u64(in);
	slice.first_line = unpack_u64(in);
	slice.first_byte = unpack_u64(in);
	slice.arrival_ms = unpack_i64(in);
	slice.line_count = slice.kind == JOURNAL_BLOCK ? (size_t)unpack_u64(in) : unpack_count(in, LINE_MIN_BYTES);
	slice.text_bytes = (size_t)unpack_u64(in);
	slice.sent_bytes = unpack_u64(in);
	slice.body = slice.block = SPAN("");
	if (slice.kind == JOURNAL_POINTS) {
		slice.first_point = unpack_u64(in);
		slice.point_count = (size_t)unpack_u64(in);
		in->has_failed = in->has_failed || slice.line_count || slice.sent_bytes;
	}
	if (slice.kind == JOURNAL_BLOCK)
		read_block(in, blocks, &slice);
	else
		slice.body = unpack_span(in);
	return slice;
}

/* So that whoever walks the lines later may trust the counts. */
static bool is_whole(const struct journal_slice *slice)
{
	struct journal_cursor cursor = journal_lines(slice);
	struct line line;
	size_t count = 0;

	while (journal_next_line(&cursor, &line))
		count++;
	if (slice->kind == JOURNAL_BLOCK)
		return count == slice->line_count && block_is_whole(&cursor.block);
	return count == slice->line_count && !cursor.at.has_failed && cursor.at.rest.len == 0;
}

static bool add_slice(struct arena *arena, struct journal_slice **slices, size_t used, size_t *cap)
{
	if (used < *cap)
		return true;
	*cap = *cap ? *cap * 2 : FIRST_SLICES;
	struct journal_slice *grown = arena_alloc(arena, *cap * sizeof *grown);
	if (grown && used)
		memcpy(grown, *slices, used * sizeof *grown);
	*slices = grown;
	return grown != NULL;
}

static enum status read_slices(struct span plain, struct span blocks, bool has_kinds, struct journal_slice **slices,
	size_t *count, struct arena *arena, struct error *err)
{
	struct unpacker in = unpacker_on(plain);
	struct journal_slice *found = NULL;
	size_t used = 0, cap = 0;

	for (; in.rest.len; used++) {
		if (!add_slice(arena, &found, used, &cap))
			return error_no_memory(err);
		found[used] = read_slice(&in, &blocks, has_kinds);
		if (in.has_failed)
			return error_set(err, ERR_INVALID, "the journal record is damaged in slice %zu", used + 1);
	}
	if (blocks.len)
		return error_set(err, ERR_INVALID, "the journal record has %zu bytes too many", blocks.len);
	*slices = found;
	*count = used;
	return OK;
}

enum status journal_unpack(struct span record, struct zstd *zstd, struct buf *plain, struct journal_slice **slices,
	size_t *count, struct arena *arena, struct error *err)
{
	int format = record.len ? (unsigned char)record.ptr[0] : 0;
	struct unpacker in = unpacker_on(span_skip(record, record.len ? 1 : 0));

	if (format != FORMAT && format != FORMAT_WITHOUT_KINDS)
		return error_set(
			err, ERR_INVALID, "the journal record has format %d, which this program does not know", format);
	struct span frame = format == FORMAT ? unpack_span(&in) : in.rest;
	buf_reset(plain);
	TRY(zstd_unpack(zstd, frame, JOURNAL_RECORD_MAX_BYTES, plain, err));
	struct span blocks = format == FORMAT ? in.rest : SPAN("");
	return read_slices(buf_span(plain), blocks, format == FORMAT, slices, count, arena, err);
}

enum status journal_open_slice(struct journal_slice *slice, struct zstd *zstd, struct buf *text, struct error *err)
{
	if (slice->kind == JOURNAL_POINTS)
		return journal_points_check(slice->body, slice->point_count, err);
	if (slice->kind == JOURNAL_BLOCK) {
		TRY(block_decompress(slice->block, zstd, text, err));
		slice->body = buf_span(text);
	}
	if (is_whole(slice))
		return OK;
	return error_set(err, ERR_INVALID, "the slice of stream %u at line %llu does not hold %zu whole lines",
		slice->stream_id, (unsigned long long)slice->first_line, slice->line_count);
}

struct journal_cursor journal_lines(const struct journal_slice *slice)
{
	struct journal_cursor cursor = {.kind = slice->kind};

	if (slice->kind == JOURNAL_BLOCK)
		cursor.block = block_lines(slice->body);
	cursor.at = unpacker_on(slice->body);
	cursor.left = slice->line_count;
	cursor.before_ms = slice->arrival_ms;
	return cursor;
}

bool journal_next_line(struct journal_cursor *cursor, struct line *line)
{
	if (cursor->kind == JOURNAL_BLOCK)
		return block_next_line(&cursor->block, line);
	if (!cursor->left)
		return false;
	uint64_t head = unpack_u64(&cursor->at);
	bool has_time = head & HAS_TIME;
	if (has_time)
		cursor->before_ms = (int64_t)((uint64_t)cursor->before_ms + (uint64_t)unpack_i64(&cursor->at));
	uint64_t len = head >> FLAG_BITS;
	if (cursor->at.has_failed || len > cursor->at.rest.len) {
		cursor->at.has_failed = true;
		cursor->left = 0;
		return false;
	}
	*line = (struct line){.text = span_of(cursor->at.rest.ptr, (size_t)len),
		.ts_ms = has_time ? cursor->before_ms : NO_TIME,
		.flags = (uint32_t)head & KNOWN_FLAGS};
	cursor->at.rest = span_skip(cursor->at.rest, (size_t)len);
	cursor->left--;
	return true;
}
