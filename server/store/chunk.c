#include "store/chunk.h"

#include "base/decimal.h"
#include "store/column.h"

#include <endian.h>

enum {
	FORMAT = 1,
	ZSTD_LEVEL = 1,
	PLAIN_MAX_BYTES = 1 << 17, /* six columns of 1024 items at their worst, and the exceptions */
	EXACT_POWER = 22, /* 10^22 is the largest power of ten that is a double */
	MANTISSA_MAX_DIGITS = 18,
	EXCEPTION_SHARE = 64, /* one value in so many may be left out of the common power of ten */
	EXCEPTION_MIN_BYTES = 9,
	RAW_SHARE = 8, /* with more exceptions than one in so many, or seven bytes a value, raw bits are as short */
	RAW_BYTES = 7,
};

enum frame { FRAME_PLAIN, FRAME_ZSTD };
enum value_mode { VALUES_DECIMAL, VALUES_RAW };

static const double powers[EXACT_POWER + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
	1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const uint64_t integer_powers[MANTISSA_MAX_DIGITS + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
	100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
	1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000};

/* What encoding a chunk needs beside its input; too large for a stack that others share. */
struct work {
	uint64_t scratch[CHUNK_MAX_POINTS];
	int64_t column[CHUNK_MAX_POINTS];
	struct decimal decimals[CHUNK_MAX_POINTS];
	bool is_exception[CHUNK_MAX_POINTS];
	size_t exception_count;
};

static bool has_same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

/* One rounding, of exact operands: what a decimal reader would give while the mantissa is below 2^53. */
static double from_mantissa(int64_t mantissa, int exponent)
{
	return exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
}

/* Plain zeros are 0 at any power; NaN, infinities and -0 have no decimal form. */
static bool is_plain(double value)
{
	return isfinite(value) && !(value == 0 && signbit(value));
}

static struct decimal strip(struct decimal d)
{
	while (d.digits % 10 == 0) {
		d.digits /= 10;
		d.exponent++;
	}
	return d;
}

/* The power of ten that all but a few values are whole multiples of. */
static int choose_exponent(struct work *work, const struct point *points, size_t count)
{
	size_t counts[2 * EXACT_POWER + 1] = {0}, below = 0;
	int exponent = -EXACT_POWER;

	for (size_t i = 0; i < count; i++) {
		if (!is_plain(points[i].value) || points[i].value == 0)
			continue;
		struct decimal d = strip(decimal_shortest(points[i].value));
		work->decimals[i] = d;
		if (d.exponent >= -EXACT_POWER)
			counts[(d.exponent < EXACT_POWER ? d.exponent : EXACT_POWER) + EXACT_POWER]++;
	}
	while (exponent < EXACT_POWER && (below += counts[exponent + EXACT_POWER]) * EXCEPTION_SHARE <= count)
		exponent++;
	return exponent;
}

static bool mantissa_of(double value, struct decimal d, int exponent, int64_t *mantissa)
{
	if (value == 0) {
		*mantissa = 0;
		return is_plain(value);
	}
	if (!is_plain(value) || d.exponent < exponent || d.exponent - exponent > MANTISSA_MAX_DIGITS)
		return false;
	uint64_t scaled;
	if (__builtin_mul_overflow(d.digits, integer_powers[d.exponent - exponent], &scaled) || scaled > INT64_MAX / 2)
		return false;
	*mantissa = value < 0 ? -(int64_t)scaled : (int64_t)scaled;
	return has_same_bits(from_mantissa(*mantissa, exponent), value);
}

static void pack_exceptions(const struct work *work, const struct point *points, size_t count, struct buf *out)
{
	size_t last = 0;

	pack_u64(out, work->exception_count);
	for (size_t i = 0; i < count; i++) {
		if (!work->is_exception[i])
			continue;
		pack_u64(out, i - last);
		pack_double(out, points[i].value);
		last = i;
	}
}

/* False, with nothing written: raw is the better way. */
static bool pack_decimal(struct work *work, const struct point *points, size_t count, struct buf *out)
{
	int exponent = choose_exponent(work, points, count);
	size_t start = out->len;

	for (size_t i = 0; i < count; i++) {
		int64_t mantissa;
		bool is_exact = mantissa_of(points[i].value, work->decimals[i], exponent, &mantissa);
		work->is_exception[i] = !is_exact;
		work->exception_count += !is_exact;
		/* The value before foretells it best, and is not read. */
		work->column[i] = is_exact ? mantissa : i ? work->column[i - 1] : 0;
	}
	if (work->exception_count * RAW_SHARE > count && work->exception_count < count)
		return false;
	buf_append_char(out, VALUES_DECIMAL);
	pack_i64(out, exponent);
	column_pack(out, work->column, count, work->scratch);
	pack_exceptions(work, points, count, out);
	if (out->len - start <= count * RAW_BYTES || out->failure)
		return true;
	out->len = start;
	return false;
}

/* Each value against the one before, the eight bytes in planes: those of sign and exponent are mostly zero. */
static void pack_raw(struct work *work, const struct point *points, size_t count, struct buf *out)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bits;
		memcpy(&bits, &points[i].value, sizeof bits);
		work->scratch[i] = bits ^ before;
		before = bits;
	}
	buf_append_char(out, VALUES_RAW);
	char *planes = buf_reserve(out, count * sizeof(uint64_t));
	if (!planes)
		return;
	for (unsigned plane = 0; plane < sizeof(uint64_t); plane++)
		for (size_t i = 0; i < count; i++)
			planes[plane * count + i] = (char)(work->scratch[i] >> (plane * 8));
	buf_advance(out, count * sizeof(uint64_t));
}

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
		return p->flags;
	case FIELD_COUNT:
		break;
	}
	return 0;
}

/* False: no such value of the field. */
static bool set_field(struct point *p, enum field field, int64_t value)
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
		p->flags = (uint32_t)value;
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
			work->column[i] = get_field(&points[i], (enum field)field);
		column_pack(plain, work->column, count, work->scratch);
	}
	if (!pack_decimal(work, points, count, plain))
		pack_raw(work, points, count, plain);
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
		return error_set(err, ERR_MEMORY, "out of memory");
	work->exception_count = 0;
	pack_plain(work, points, count, &plain);
	TRY(buf_status(&plain, err));
	TRY(zstd_pack(zstd, buf_span(&plain), ZSTD_LEVEL, &packed, err));
	if (packed.len < plain.len)
		append_frame(out, FRAME_ZSTD, buf_span(&packed));
	else
		append_frame(out, FRAME_PLAIN, buf_span(&plain));
	return buf_status(out, err);
}

static void unpack_decimal(struct unpacker *in, struct point *points, size_t count, int64_t *column)
{
	int64_t exponent = unpack_i64(in);
	size_t at = 0;

	if (exponent < -EXACT_POWER || exponent > EXACT_POWER) {
		in->has_failed = true;
		return;
	}
	column_unpack(in, column, count);
	for (size_t i = 0; i < count; i++)
		points[i].value = from_mantissa(column[i], (int)exponent);
	for (size_t left = unpack_count(in, EXCEPTION_MIN_BYTES); left; left--) {
		uint64_t step = unpack_u64(in);
		double value = unpack_double(in);
		if (step >= count - at) {
			in->has_failed = true;
			return;
		}
		at += step;
		points[at].value = value;
	}
}

static void unpack_raw(struct unpacker *in, struct point *points, size_t count)
{
	const unsigned char *planes = (const unsigned char *)in->rest.ptr;
	uint64_t bits = 0;

	if (in->rest.len / sizeof bits < count) {
		in->has_failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		for (unsigned plane = 0; plane < sizeof bits; plane++)
			bits ^= (uint64_t)planes[plane * count + i] << (plane * 8);
		memcpy(&points[i].value, &bits, sizeof bits);
	}
	in->rest = span_skip(in->rest, count * sizeof bits);
}

static void unpack_values(struct unpacker *in, struct point *points, size_t count, int64_t *column)
{
	int mode = in->rest.len ? (unsigned char)*in->rest.ptr : -1;

	in->rest = span_skip(in->rest, 1);
	if (mode == VALUES_DECIMAL)
		unpack_decimal(in, points, count, column);
	else if (mode == VALUES_RAW)
		unpack_raw(in, points, count);
	else
		in->has_failed = true;
}

static enum status unpack_plain(struct span plain, struct point *points, size_t *count, struct error *err)
{
	struct unpacker in = unpacker_on(plain);
	int64_t column[CHUNK_MAX_POINTS];
	uint64_t stated = unpack_u64(&in);

	if (stated > CHUNK_MAX_POINTS)
		return error_set(
			err, ERR_INVALID, "the chunk is damaged: it states %llu points", (unsigned long long)stated);
	size_t found = (size_t)stated;
	for (unsigned field = 0; field < FIELD_COUNT && !in.has_failed; field++) {
		column_unpack(&in, column, found);
		for (size_t i = 0; i < found && !in.has_failed; i++)
			in.has_failed = !set_field(&points[i], (enum field)field, column[i]);
	}
	if (!in.has_failed)
		unpack_values(&in, points, found, column);
	TRY(unpacker_end(&in, "the chunk", err));
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
