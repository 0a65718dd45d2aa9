#include "store/journal_record.h"

enum {
	FORMAT = 1,
	ZSTD_LEVEL = 1,
	FLAG_BITS = 3, /* below the length in a line's head: the two of enum line_flags, and: */
	HAS_TIME = 4,
	KNOWN_FLAGS = LINE_CUT | LINE_OPEN_END,
	LINE_MIN_BYTES = 1,
	FIRST_SLICES = 16,
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

void journal_add(struct journal_writer *writer, const struct journal_slice *slice, const struct line *lines)
{
	struct buf *plain = &writer->plain;
	int64_t before_ms = slice->arrival_ms;

	if (!plain->max_bytes)
		plain->max_bytes = JOURNAL_RECORD_MAX_BYTES;
	pack_i64(plain, slice->job_id);
	pack_u64(plain, slice->stream_id);
	pack_u64(plain, slice->generation);
	pack_u64(plain, slice->first_line);
	pack_u64(plain, slice->first_byte);
	pack_i64(plain, slice->arrival_ms);
	pack_u64(plain, slice->line_count);
	pack_u64(plain, slice->text_bytes);
	pack_u64(plain, slice->sent_bytes);
	pack_u64(plain, body_bytes(slice, lines));
	for (size_t i = 0; i < slice->line_count; i++) {
		pack_u64(plain, head_of(&lines[i]));
		if (lines[i].ts_ms != NO_TIME) {
			pack_i64(plain, difference(lines[i].ts_ms, before_ms));
			before_ms = lines[i].ts_ms;
		}
		buf_append_span(plain, lines[i].text);
	}
	writer->slice_count++;
}

enum status journal_pack(
	struct journal_writer *writer, struct zstd *zstd, struct buf *plain, struct buf *record, struct error *err)
{
	enum status status = buf_status(&writer->plain, err);

	if (status == OK) {
		buf_append_char(record, FORMAT);
		status = zstd_pack(zstd, buf_span(&writer->plain), ZSTD_LEVEL, record, err);
	}
	writer->slice_count = 0;
	if (status != OK) {
		buf_reset(&writer->plain);
		return status;
	}
	/* What plain had grown to is the writer's for the next record. */
	struct buf packed = writer->plain;
	writer->plain = *plain;
	writer->plain.max_bytes = packed.max_bytes;
	buf_reset(&writer->plain);
	*plain = packed;
	return OK;
}

static struct journal_slice read_slice(struct unpacker *in)
{
	struct journal_slice slice;

	slice.job_id = unpack_i64(in);
	slice.stream_id = (uint32_t)unpack_u64(in);
	slice.generation = (uint32_t)unpack_u64(in);
	slice.first_line = unpack_u64(in);
	slice.first_byte = unpack_u64(in);
	slice.arrival_ms = unpack_i64(in);
	slice.line_count = unpack_count(in, LINE_MIN_BYTES);
	slice.text_bytes = (size_t)unpack_u64(in);
	slice.sent_bytes = unpack_u64(in);
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
	return count == slice->line_count && !cursor.at.has_failed && cursor.at.rest.len == 0;
}

enum status journal_slices(
	struct span plain, struct journal_slice **slices, size_t *count, struct arena *arena, struct error *err)
{
	struct unpacker in = unpacker_on(plain);
	struct journal_slice *found = NULL;
	size_t used = 0, cap = 0;

	while (in.rest.len) {
		if (used == cap) {
			cap = cap ? cap * 2 : FIRST_SLICES;
			struct journal_slice *grown = arena_alloc(arena, cap * sizeof *grown);
			if (!grown)
				return error_set(err, ERR_MEMORY, "out of memory");
			if (used)
				memcpy(grown, found, used * sizeof *grown);
			found = grown;
		}
		found[used] = read_slice(&in);
		if (in.has_failed || !is_whole(&found[used]))
			return error_set(err, ERR_INVALID, "the journal record is damaged in slice %zu", used + 1);
		used++;
	}
	*slices = found;
	*count = used;
	return OK;
}

enum status journal_unpack(struct span record, struct zstd *zstd, struct buf *plain, struct journal_slice **slices,
	size_t *count, struct arena *arena, struct error *err)
{
	if (!record.len || record.ptr[0] != FORMAT)
		return error_set(err, ERR_INVALID, "the journal record has format %d, which this program does not know",
			record.len ? (unsigned char)record.ptr[0] : 0);
	buf_reset(plain);
	TRY(zstd_unpack(zstd, span_skip(record, 1), JOURNAL_RECORD_MAX_BYTES, plain, err));
	return journal_slices(buf_span(plain), slices, count, arena, err);
}

struct journal_cursor journal_lines(const struct journal_slice *slice)
{
	return (struct journal_cursor){unpacker_on(slice->body), slice->line_count, slice->arrival_ms};
}

bool journal_next_line(struct journal_cursor *cursor, struct line *line)
{
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
