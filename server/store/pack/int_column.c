#include "store/pack/int_column.h"

#include <endian.h>

enum {
	LONGEST_UNARY = 24, /* so many ones: the residual follows in 64 bits */
	WORD_BITS = 64,
	WORD_BYTES = 8,
	MAX_ITEM_BYTES = 11, /* of LONGEST_UNARY and 64 bits */
	SLACK_BYTES = 16, /* words are stored whole */
	LOOK_ITEMS = 64,
};

/* What a value is foretold to be. All arithmetic wraps, so that any integers come back. */
enum model {
	MODEL_LINE, /* nothing to say: first + i * slope holds for all */
	MODEL_LEVEL, /* the column's mean */
	MODEL_SLOPE, /* the value before and the mean slope */
	MODEL_DOUBLE, /* the value before and the slope before */
	MODEL_COUNT
};

struct shape {
	enum model model;
	uint64_t first; /* LEVEL: the mean */
	uint64_t slope; /* DOUBLE: between the first two */
	unsigned width; /* low bits written as they are */
};

/* Takes the known values before the i-th; decoder and encoder share it. */
static inline __attribute__((always_inline)) uint64_t foretell(
	const struct shape *shape, const int64_t *values, size_t i)
{
	switch (shape->model) {
	case MODEL_LINE:
		return shape->first + i * shape->slope;
	case MODEL_LEVEL:
		return shape->first;
	case MODEL_SLOPE:
		return i ? (uint64_t)values[i - 1] + shape->slope : shape->first;
	case MODEL_DOUBLE:
		break;
	case MODEL_COUNT:
		return 0;
	}
	if (i >= 2)
		return 2 * (uint64_t)values[i - 1] - (uint64_t)values[i - 2];
	return i ? shape->first + shape->slope : shape->first;
}

static bool is_line(const struct shape *shape, const int64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((uint64_t)values[i] != foretell(shape, values, i))
			return false;
	return true;
}

static inline unsigned length_of(uint64_t residual)
{
	return residual ? (unsigned)(WORD_BITS - __builtin_clzll(residual)) : 0;
}

/* The sum of their lengths, which a few outliers do not decide, as they would their sum. Beyond `least` it is not of interest. */
static inline __attribute__((always_inline)) uint64_t sum_bits_of(
	const struct shape *shape, enum model model, const int64_t *values, size_t count, uint64_t least)
{
	struct shape constant = *shape;
	uint64_t bits = 0;

	constant.model = model;
	for (size_t at = 0, end; at < count && bits <= least; at = end) {
		end = count - at < LOOK_ITEMS ? count : at + LOOK_ITEMS;
		for (size_t i = at; i < end; i++)
			bits += length_of(pack_zigzag((int64_t)((uint64_t)values[i] - foretell(&constant, values, i))));
	}
	return bits;
}

/* A loop each, in which the model is a constant. */
static uint64_t sum_bits(const struct shape *shape, const int64_t *values, size_t count, uint64_t least)
{
	switch (shape->model) {
	case MODEL_LEVEL:
		return sum_bits_of(shape, MODEL_LEVEL, values, count, least);
	case MODEL_SLOPE:
		return sum_bits_of(shape, MODEL_SLOPE, values, count, least);
	default:
		return sum_bits_of(shape, MODEL_DOUBLE, values, count, least);
	}
}

static struct shape shape_for(enum model model, const int64_t *values, size_t count)
{
	struct shape shape = {.model = model, .first = (uint64_t)values[0]};
	int64_t mean = 0;

	switch (model) {
	case MODEL_LEVEL:
		for (size_t i = 0; i < count; i++)
			mean += values[i] / (int64_t)count; /* off by less than count, and cannot overflow */
		shape.first = (uint64_t)mean;
		break;
	case MODEL_LINE:
	case MODEL_DOUBLE:
		shape.slope = count > 1 ? (uint64_t)values[1] - (uint64_t)values[0] : 0;
		break;
	case MODEL_SLOPE:
		if (count > 1)
			shape.slope = (uint64_t)((int64_t)((uint64_t)values[count - 1] - (uint64_t)values[0]) /
						 (int64_t)(count - 1));
		break;
	case MODEL_COUNT:
		break;
	}
	return shape;
}

static struct shape choose(const int64_t *values, size_t count)
{
	/* The likeliest first: the others are given up early. Of equal ones the first of the enumeration is taken. */
	static const enum model order[] = {MODEL_SLOPE, MODEL_LEVEL, MODEL_DOUBLE};
	struct shape best = shape_for(MODEL_LINE, values, count);
	uint64_t least = UINT64_MAX;

	if (is_line(&best, values, count))
		return best;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct shape shape = shape_for(order[i], values, count);
		uint64_t bits = sum_bits(&shape, values, count, least);
		if (bits < least || (bits == least && shape.model < best.model)) {
			best = shape;
			least = bits;
		}
	}
	return best;
}

/* In bits, of all residuals at this width. */
static uint64_t cost(const uint64_t *residuals, size_t count, unsigned width)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t unary = residuals[i] >> width;
		bits += unary < LONGEST_UNARY ? unary + 1 + width : LONGEST_UNARY + WORD_BITS;
	}
	return bits;
}

/* The median's width, then downhill: outliers, which have a way of their own, do not widen all the others. */
static unsigned choose_width(const uint64_t *residuals, size_t count)
{
	size_t widths[WORD_BITS + 1] = {0}, below = 0;
	unsigned width = 0;

	for (size_t i = 0; i < count; i++)
		widths[length_of(residuals[i])]++;
	while (width < WORD_BITS - 1 && (below += widths[width]) * 2 < count)
		width++;
	uint64_t here = cost(residuals, count, width);
	for (int step = -1; step <= 1; step += 2)
		for (;;) {
			unsigned next = width + (unsigned)step;
			uint64_t there = next < WORD_BITS ? cost(residuals, count, next) : UINT64_MAX;
			if (there >= here)
				break;
			width = next;
			here = there;
		}
	return width;
}

struct bit_writer {
	unsigned char *at;
	uint64_t held;
	unsigned held_bits; /* < 8 between calls */
};

/* count <= 56. */
static void put_bits(struct bit_writer *w, uint64_t bits, unsigned count)
{
	w->held |= bits << w->held_bits;
	w->held_bits += count;
	uint64_t word = htole64(w->held);
	memcpy(w->at, &word, sizeof word);
	w->at += w->held_bits / 8;
	w->held >>= w->held_bits & ~7u;
	w->held_bits &= 7;
}

static void put_word(struct bit_writer *w, uint64_t value, unsigned count)
{
	if (count > 32) {
		put_bits(w, value & UINT32_MAX, 32);
		value >>= 32;
		count -= 32;
	}
	put_bits(w, value, count);
}

static void put_residual(struct bit_writer *w, uint64_t residual, unsigned width)
{
	uint64_t unary = residual >> width;

	if (unary >= LONGEST_UNARY) {
		put_bits(w, (1u << LONGEST_UNARY) - 1, LONGEST_UNARY);
		put_word(w, residual, WORD_BITS);
		return;
	}
	uint64_t ones = ((uint64_t)1 << unary) - 1,
		 low = residual & (((uint64_t)1 << width) - 1); /* ones, then a zero */
	if (unary + 1 + width <= WORD_BITS - 8) {
		put_bits(w, ones | low << (unary + 1), (unsigned)unary + 1 + width);
		return;
	}
	put_bits(w, ones, (unsigned)unary + 1);
	put_word(w, low, width);
}

void column_pack(struct buf *out, const int64_t *values, size_t count, uint64_t *scratch)
{
	if (!count)
		return;
	struct shape shape = choose(values, count);
	for (size_t i = 0; i < count; i++)
		scratch[i] = pack_zigzag((int64_t)((uint64_t)values[i] - foretell(&shape, values, i)));
	shape.width = shape.model == MODEL_LINE ? 0 : choose_width(scratch, count);
	buf_append_char(out, (char)(shape.model << 6 | shape.width));
	pack_i64(out, (int64_t)shape.first);
	pack_i64(out, (int64_t)shape.slope);
	if (shape.model == MODEL_LINE)
		return;
	unsigned char *start = (unsigned char *)buf_reserve(out, count * MAX_ITEM_BYTES + SLACK_BYTES);
	if (!start)
		return;
	struct bit_writer w = {.at = start};
	for (size_t i = 0; i < count; i++)
		put_residual(&w, scratch[i], shape.width);
	buf_advance(out, (size_t)(w.at - start) + (w.held_bits > 0));
}

struct bit_reader {
	const unsigned char *bytes;
	size_t len;
	size_t at; /* in bits */
	bool has_failed;
};

/* At least 56 bits from here on; zeros behind the end. */
static inline __attribute__((always_inline)) uint64_t peek(const struct bit_reader *r)
{
	size_t byte = r->at / 8;
	uint64_t word = 0;

	if (byte + WORD_BYTES <= r->len)
		memcpy(&word, r->bytes + byte, sizeof word);
	else if (byte < r->len)
		memcpy(&word, r->bytes + byte, r->len - byte);
	return le64toh(word) >> (r->at % 8);
}

static inline __attribute__((always_inline)) uint64_t read_bits(struct bit_reader *r, unsigned count)
{
	uint64_t bits = count ? peek(r) & (UINT64_MAX >> (WORD_BITS - count)) : 0;

	r->at += count;
	r->has_failed = r->has_failed || r->at > r->len * 8;
	return bits;
}

static uint64_t take_word(struct bit_reader *r, unsigned count)
{
	if (count <= 32)
		return read_bits(r, count);
	uint64_t low = read_bits(r, 32);
	return low | read_bits(r, count - 32) << 32;
}

/* Near the end of the bytes, and where it is longer than a word. */
static __attribute__((noinline)) uint64_t take_residual(struct bit_reader *r, unsigned width)
{
	/* The bits above the 56 known ones are zero, so their complement ends every run. */
	unsigned unary = (unsigned)__builtin_ctzll(~peek(r) | (uint64_t)1 << LONGEST_UNARY);

	if (unary == LONGEST_UNARY) {
		read_bits(r, LONGEST_UNARY);
		return take_word(r, WORD_BITS);
	}
	read_bits(r, unary + 1);
	return (uint64_t)unary << width | take_word(r, width);
}

/* Nearly every residual is in one word of the bytes: where the next begins is then known without a look at the end. */
static inline __attribute__((always_inline)) void take_values(
	struct bit_reader *r, const struct shape *shape, enum model model, int64_t *values, size_t count)
{
	const size_t words = r->len < WORD_BYTES ? 0 : r->len - WORD_BYTES + 1; /* so many begin in them */
	const unsigned width = shape->width;
	struct shape constant = *shape;
	size_t at = r->at;

	constant.model = model;
	for (size_t i = 0; i < count; i++) {
		uint64_t residual, word = ~(uint64_t)0;
		if (at / 8 < words)
			memcpy(&word, r->bytes + at / 8, sizeof word);
		word = le64toh(word) >> (at % 8);
		unsigned unary = (unsigned)__builtin_ctzll(~word | (uint64_t)1 << LONGEST_UNARY);
		if (unary < LONGEST_UNARY && unary + 1 + width <= WORD_BITS - 8) {
			residual = (uint64_t)unary << width | (word >> (unary + 1) & (((uint64_t)1 << width) - 1));
			at += unary + 1 + width;
		} else {
			r->at = at;
			residual = r->has_failed ? 0 : take_residual(r, width);
			at = r->at;
		}
		values[i] = (int64_t)(foretell(&constant, values, i) + (uint64_t)unpack_zigzag(residual));
	}
	r->at = at;
}

void column_unpack(struct unpacker *in, int64_t *values, size_t count)
{
	if (!count)
		return;
	unsigned head = in->rest.len ? (unsigned char)*in->rest.ptr : 0;
	in->has_failed = in->has_failed || !in->rest.len;
	in->rest = span_skip(in->rest, 1);
	struct shape shape = {.model = (enum model)(head >> 6), .width = head & 63};
	shape.first = (uint64_t)unpack_i64(in);
	shape.slope = (uint64_t)unpack_i64(in);
	struct bit_reader r = {(const unsigned char *)in->rest.ptr, in->rest.len, 0, in->has_failed};
	switch (shape.model) { /* a loop each, in which the model is a constant */
	case MODEL_LINE:
		for (size_t i = 0; i < count; i++)
			values[i] = (int64_t)(shape.first + i * shape.slope);
		return;
	case MODEL_LEVEL:
		take_values(&r, &shape, MODEL_LEVEL, values, count);
		break;
	case MODEL_SLOPE:
		take_values(&r, &shape, MODEL_SLOPE, values, count);
		break;
	default:
		take_values(&r, &shape, MODEL_DOUBLE, values, count);
	}
	in->has_failed = r.has_failed;
	in->rest = span_skip(in->rest, (r.at + 7) / 8);
}
