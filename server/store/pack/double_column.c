#include "store/pack/double_column.h"

#include "store/pack/int_column.h"

#include <math.h>

enum {
	EXACT_POWER = 22, /* 10^22 is the largest power of ten that is a double */
	MANTISSA_MAX_DIGITS = 18,
	EXCEPTION_SHARE = 64, /* one value in so many may be left out of the common power of ten */
	EXCEPTION_MIN_BYTES = 9,
	RAW_SHARE = 8, /* with more exceptions than one in so many, or seven bytes a value, raw bits are as short */
	RAW_BYTES = 7,
};

#define EXACT_DIGITS 1000000000000000 /* below: any decimal is another double */

enum value_mode { VALUES_DECIMAL, VALUES_RAW };

static const double powers[EXACT_POWER + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
	1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const uint64_t integer_powers[MANTISSA_MAX_DIGITS + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
	100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
	1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000};

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

/*
 * With so many places, if that is what the value is. Two decimals of at most 15 digits are never the same double, so it is also the
 * shortest, for a tenth of what that costs.
 */
static bool try_places(double value, unsigned places, struct decimal *out)
{
	double size = fabs(value), scaled = size * powers[places];

	if (!(scaled < EXACT_DIGITS))
		return false;
	uint64_t digits = (uint64_t)(scaled + 0.5);
	if (!digits || (double)digits / powers[places] != size)
		return false;
	*out = (struct decimal){digits, -(int)places};
	return true;
}

/* Numbers of a log mostly have as many places as those before them. */
static struct decimal decimal_of(double value, unsigned *places)
{
	struct decimal d;

	if (try_places(value, *places, &d))
		return strip(d);
	d = strip(decimal_shortest(value));
	if (d.exponent <= 0 && d.exponent >= -EXACT_POWER && (unsigned)-d.exponent > *places && d.digits < EXACT_DIGITS)
		*places = (unsigned)-d.exponent;
	return d;
}

/* The power of ten that all but a few values are whole multiples of. */
static int choose_exponent(struct values_work *work, const double *values, size_t count)
{
	size_t counts[2 * EXACT_POWER + 1] = {0}, below = 0;
	int exponent = -EXACT_POWER;
	unsigned places = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_plain(values[i]) || values[i] == 0)
			continue;
		struct decimal d = decimal_of(values[i], &places);
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

static void pack_exceptions(const struct values_work *work, const double *values, size_t count, struct buf *out)
{
	size_t last = 0;

	pack_u64(out, work->exception_count);
	for (size_t i = 0; i < count; i++) {
		if (!work->is_exception[i])
			continue;
		pack_u64(out, i - last);
		pack_double(out, values[i]);
		last = i;
	}
}

/* False, with nothing written: raw is the better way. */
static bool pack_decimal(struct values_work *work, const double *values, size_t count, struct buf *out)
{
	int exponent = choose_exponent(work, values, count);
	size_t start = out->len;

	for (size_t i = 0; i < count; i++) {
		int64_t mantissa;
		bool is_exact = mantissa_of(values[i], work->decimals[i], exponent, &mantissa);
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
	pack_exceptions(work, values, count, out);
	if (out->len - start <= count * RAW_BYTES || out->failure)
		return true;
	out->len = start;
	return false;
}

/* Each value against the one before, the eight bytes in planes: those of sign and exponent are mostly zero. */
static void pack_raw(struct values_work *work, const double *values, size_t count, struct buf *out)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bits;
		memcpy(&bits, &values[i], sizeof bits);
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

void values_pack(struct buf *out, const double *values, size_t count, struct values_work *work)
{
	work->exception_count = 0;
	if (!pack_decimal(work, values, count, out))
		pack_raw(work, values, count, out);
}

static void unpack_decimal(struct unpacker *in, double *values, size_t count, int64_t *column)
{
	int64_t exponent = unpack_i64(in);
	size_t at = 0;

	if (exponent < -EXACT_POWER || exponent > EXACT_POWER) {
		in->has_failed = true;
		return;
	}
	column_unpack(in, column, count);
	for (size_t i = 0; i < count; i++)
		values[i] = from_mantissa(column[i], (int)exponent);
	for (size_t left = unpack_count(in, EXCEPTION_MIN_BYTES); left; left--) {
		uint64_t step = unpack_u64(in);
		double value = unpack_double(in);
		if (step >= count - at) {
			in->has_failed = true;
			return;
		}
		at += step;
		values[at] = value;
	}
}

static void unpack_raw(struct unpacker *in, double *values, size_t count)
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
		memcpy(&values[i], &bits, sizeof bits);
	}
	in->rest = span_skip(in->rest, count * sizeof bits);
}

void values_unpack(struct unpacker *in, double *values, size_t count, int64_t *column)
{
	int mode = in->rest.len ? (unsigned char)*in->rest.ptr : -1;

	in->rest = span_skip(in->rest, 1);
	if (mode == VALUES_DECIMAL)
		unpack_decimal(in, values, count, column);
	else if (mode == VALUES_RAW)
		unpack_raw(in, values, count);
	else
		in->has_failed = true;
}
