#include "store/pack/chunk.h"

#include "store/pack/double_column.h"
#include "store/pack/int_column.h"

enum {
	FORMAT = 1,
	ZSTD_LEVEL = 1,
	PLAIN_MAX_BYTES = 1 << 17, /* six columns of 1024 items at their worst, and the exceptions */
};

enum frame { FRAME_PLAIN, FRAME_ZSTD };

struct work {
	struct values_work values;
	double column[CHUNK_MAX_POINTS];
};

enum field { FIELD_STEP, FIELD_TIME, FIELD_LINE, FIELD_ATTEMPT, FIELD_FLAGS, FIELD_COUNT };

static int64_t get_field(const struct point *p, enum field field)
{
	switch (field) {
	case FIELD_STEP:
		return p->step;
	case FIELD_TIME:
		return p->ts_ms;
	case FIELD_LINE:
		return (int64_t)p->line;
	case FIELD_ATTEMPT:
		return p->attempt;
	case FIELD_FLAGS:
		return 0; /* nothing is flagged yet */
	case FIELD_COUNT:
		break;
	}
	return 0;
}

/* False: no such value of the field. */
static inline __attribute__((always_inline)) bool set_field(struct point *p, enum field field, int64_t value)
{
	switch (field) {
	case FIELD_STEP:
		p->step = value;
		return true;
	case FIELD_TIME:
		p->ts_ms = value;
		return true;
	case FIELD_LINE:
		p->line = (uint64_t)value;
		return true;
	case FIELD_ATTEMPT:
		p->attempt = (uint32_t)value;
		return value >= 0 && value <= UINT32_MAX;
	case FIELD_FLAGS:
		return value >= 0 && value <= UINT32_MAX;
	case FIELD_COUNT:
		break;
	}
	return false;
}

static void pack_plain(struct work *work, const struct point *points, size_t count, struct buf *plain)
{
	pack_u64(plain, count);
	for (unsigned field = 0; field < FIELD_COUNT; field++) {
		for (size_t i = 0; i < count; i++)
			work->values.column[i] = get_field(&points[i], (enum field)field);
		column_pack(plain, work->values.column, count, work->values.scratch);
	}
	for (size_t i = 0; i < count; i++)
		work->column[i] = points[i].value;
	values_pack(plain, work->column, count, &work->values);
}

static void append_frame(struct buf *out, enum frame frame, struct span bytes)
{
	buf_append_char(out, FORMAT);
	buf_append_char(out, (char)frame);
	buf_append_span(out, bytes);
}

enum status chunk_pack(const struct point *points, size_t count, struct zstd *zstd, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(PLAIN_MAX_BYTES);
	AUTO_DONE(buf) packed = BUF_INIT(PLAIN_MAX_BYTES);

	if (count > CHUNK_MAX_POINTS)
		return error_set(
			err, ERR_TOO_LARGE, "%zu points do not fit into a chunk of %d", count, CHUNK_MAX_POINTS);
	AUTO_MEM struct work *work = mem_alloc(sizeof *work);
	if (!work)
		return error_no_memory(err);
	pack_plain(work, points, count, &plain);
	TRY(buf_status(&plain, err));
	TRY(zstd_pack(zstd, buf_span(&plain), ZSTD_LEVEL, &packed, err));
	if (packed.len < plain.len)
		append_frame(out, FRAME_ZSTD, buf_span(&packed));
	else
		append_frame(out, FRAME_PLAIN, buf_span(&plain));
	return buf_status(out, err);
}

/* A loop each, in which the field is a constant. */
static inline __attribute__((always_inline)) void unpack_field(
	struct unpacker *in, struct point *points, size_t count, enum field field, int64_t *column)
{
	bool is_known = true;

	column_unpack(in, column, count);
	if (in->has_failed)
		return;
	for (size_t i = 0; i < count; i++)
		is_known &= set_field(&points[i], field, column[i]);
	in->has_failed = !is_known;
}

static enum status unpack_plain(struct span plain, struct point *points, size_t *count, struct error *err)
{
	struct unpacker in = unpacker_on(plain);
	int64_t column[CHUNK_MAX_POINTS];
	double values[CHUNK_MAX_POINTS];
	uint64_t stated = unpack_u64(&in);

	if (stated > CHUNK_MAX_POINTS)
		return error_set(
			err, ERR_INVALID, "the chunk is damaged: it states %llu points", (unsigned long long)stated);
	size_t found = (size_t)stated;
	unpack_field(&in, points, found, FIELD_STEP, column);
	unpack_field(&in, points, found, FIELD_TIME, column);
	unpack_field(&in, points, found, FIELD_LINE, column);
	unpack_field(&in, points, found, FIELD_ATTEMPT, column);
	unpack_field(&in, points, found, FIELD_FLAGS, column);
	if (!in.has_failed)
		values_unpack(&in, values, found, column);
	TRY(unpacker_end(&in, "the chunk", err));
	for (size_t i = 0; i < found; i++)
		points[i].value = values[i];
	*count = found;
	return OK;
}

enum status chunk_unpack(struct span data, struct zstd *zstd, struct point *points, size_t *count, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(PLAIN_MAX_BYTES);

	if (data.len < 2 || data.ptr[0] != FORMAT)
		return error_set(err, ERR_INVALID, "the chunk has format %d, which this program does not know",
			data.len ? (unsigned char)data.ptr[0] : 0);
	struct span bytes = span_skip(data, 2);
	if (data.ptr[1] == FRAME_PLAIN)
		return unpack_plain(bytes, points, count, err);
	if (data.ptr[1] != FRAME_ZSTD)
		return error_set(
			err, ERR_INVALID, "the chunk is damaged: there is no frame %d", (unsigned char)data.ptr[1]);
	TRY(zstd_unpack(zstd, bytes, PLAIN_MAX_BYTES, &plain, err));
	return unpack_plain(buf_span(&plain), points, count, err);
}
