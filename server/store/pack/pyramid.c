#include "store/pack/pyramid.h"

#include "base/arena.h"
#include "store/pack/int_column.h"

enum { FORMAT = 1, FORMAT_OF_HUGE = 2 /* of a row: has huge sums */, HEAD_MIN_BYTES = 6 };

/* Of a constant field each of these is one instruction; a chart reads thousands of buckets of twenty fields. */
#define INLINE static inline __attribute__((always_inline))

/* ---- buckets ---- */

void pyramid_bucket_open(
	struct pyramid_bucket *bucket, int64_t number, int64_t x, uint64_t ordinal, const struct point *point)
{
	bool is_finite = isfinite(point->value);

	*bucket = (struct pyramid_bucket){.number = number,
		.first_x = x,
		.last_x = x,
		.min_x = x,
		.max_x = x,
		.min_step = point->step,
		.max_step = point->step,
		.first_ordinal = ordinal,
		.last_ordinal = ordinal,
		.first = point->value,
		.last = point->value,
		.min = is_finite ? point->value : 0,
		.max = is_finite ? point->value : 0,
		.count = is_finite,
		.nan_count = isnan(point->value),
		.inf_count = isinf(point->value) && point->value > 0,
		.neg_inf_count = isinf(point->value) && point->value < 0,
		.first_line = point->line,
		.min_line = point->line,
		.max_line = point->line};
	if (is_finite)
		sum_add(&bucket->sum, point->value);
}

static void merge_extremes(struct pyramid_bucket *into, const struct pyramid_bucket *from)
{
	if (!from->count)
		return;
	if (!into->count || from->min < into->min || (from->min == into->min && from->min_x < into->min_x)) {
		into->min = from->min;
		into->min_x = from->min_x;
		into->min_line = from->min_line;
	}
	if (!into->count || from->max > into->max || (from->max == into->max && from->max_x < into->max_x)) {
		into->max = from->max;
		into->max_x = from->max_x;
		into->max_line = from->max_line;
	}
}

void pyramid_bucket_merge(struct pyramid_bucket *into, const struct pyramid_bucket *from)
{
	merge_extremes(into, from);
	if (from->first_x < into->first_x) {
		into->first_x = from->first_x;
		into->first = from->first;
		into->first_line = from->first_line;
	}
	if (from->last_x >= into->last_x) {
		into->last_x = from->last_x;
		into->last = from->last;
	}
	into->min_step = from->min_step < into->min_step ? from->min_step : into->min_step;
	into->max_step = from->max_step > into->max_step ? from->max_step : into->max_step;
	into->first_ordinal = from->first_ordinal < into->first_ordinal ? from->first_ordinal : into->first_ordinal;
	into->last_ordinal = from->last_ordinal > into->last_ordinal ? from->last_ordinal : into->last_ordinal;
	sum_merge(&into->sum, &from->sum);
	into->count += from->count;
	into->nan_count += from->nan_count;
	into->inf_count += from->inf_count;
	into->neg_inf_count += from->neg_inf_count;
}

/* ---- a row: columns of integers, each less what others foretell; then the values ---- */

enum field {
	NUMBER,
	FIRST_X,
	LAST_X,
	MIN_X,
	MAX_X,
	MIN_STEP,
	MAX_STEP,
	FIRST_ORDINAL,
	LAST_ORDINAL,
	COUNT,
	NAN_COUNT,
	INF_COUNT,
	NEG_INF_COUNT,
	FIRST_LINE,
	MIN_LINE,
	MAX_LINE,
	FIELD_COUNT
};

/* Where the field lies: every field is eight bytes of a bucket. */
INLINE uint64_t *field_of(struct pyramid_bucket *b, enum field field)
{
	switch (field) {
	case NUMBER:
		return (uint64_t *)&b->number;
	case FIRST_X:
		return (uint64_t *)&b->first_x;
	case LAST_X:
		return (uint64_t *)&b->last_x;
	case MIN_X:
		return (uint64_t *)&b->min_x;
	case MAX_X:
		return (uint64_t *)&b->max_x;
	case MIN_STEP:
		return (uint64_t *)&b->min_step;
	case MAX_STEP:
		return (uint64_t *)&b->max_step;
	case FIRST_ORDINAL:
		return &b->first_ordinal;
	case LAST_ORDINAL:
		return &b->last_ordinal;
	case COUNT:
		return &b->count;
	case NAN_COUNT:
		return &b->nan_count;
	case INF_COUNT:
		return &b->inf_count;
	case NEG_INF_COUNT:
		return &b->neg_inf_count;
	case FIRST_LINE:
		return &b->first_line;
	case MIN_LINE:
		return &b->min_line;
	default:
		return &b->max_line;
	}
}

/* What the fields before it foretell of a field. All arithmetic wraps. */
INLINE uint64_t foretell(const struct pyramid_bucket *b, enum field field, unsigned level, double lines_per_x)
{
	switch (field) {
	case FIRST_X:
		return (uint64_t)b->number << level;
	case LAST_X:
		return (uint64_t)b->first_x + ((uint64_t)1 << level) - 1;
	case MIN_X:
	case MAX_X:
	case MIN_STEP:
		return (uint64_t)b->first_x;
	case MAX_STEP:
		return (uint64_t)b->min_step + ((uint64_t)b->last_x - (uint64_t)b->first_x);
	case LAST_ORDINAL:
		return b->first_ordinal;
	case COUNT:
		return b->last_ordinal - b->first_ordinal + 1;
	case MIN_LINE:
	case MAX_LINE:
		break;
	default:
		return 0;
	}
	double way = (double)((uint64_t)(field == MIN_LINE ? b->min_x : b->max_x) - (uint64_t)b->first_x) * lines_per_x;
	return b->first_line + (fabs(way) < 1e15 ? (uint64_t)llround(way) : 0);
}

static double lines_per_x(const struct pyramid_bucket *buckets, size_t count)
{
	const struct pyramid_bucket *first = &buckets[0], *last = &buckets[count ? count - 1 : 0];

	return count > 1 && last->first_x != first->first_x
		       ? (double)(last->first_line - first->first_line) /
				 (double)((uint64_t)last->first_x - (uint64_t)first->first_x)
		       : 0;
}

enum value_field { FIRST, LAST, MIN, MAX, SUM, HUGE_SUM, VALUE_COUNT };

INLINE double *value_of(struct pyramid_bucket *b, enum value_field field)
{
	switch (field) {
	case FIRST:
		return &b->first;
	case LAST:
		return &b->last;
	case MIN:
		return &b->min;
	case MAX:
		return &b->max;
	case SUM:
		return &b->sum.plain;
	default:
		return &b->sum.huge;
	}
}

/* Rows without a huge value are as they always were. */
static unsigned count_values(unsigned format)
{
	return format == FORMAT_OF_HUGE ? VALUE_COUNT : HUGE_SUM;
}

static unsigned format_of(const struct pyramid_bucket *buckets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (buckets[i].sum.huge != 0)
			return FORMAT_OF_HUGE;
	return FORMAT;
}

void pyramid_row_pack(
	struct buf *out, const struct pyramid_bucket *buckets, size_t count, unsigned level, struct pyramid_work *work)
{
	double slope = lines_per_x(buckets, count);
	unsigned format = format_of(buckets, count);
	struct pyramid_bucket b;

	buf_append_char(out, (char)format);
	pack_u64(out, count);
	for (unsigned field = 0; field < FIELD_COUNT; field++) {
		for (size_t i = 0; i < count; i++) {
			b = buckets[i];
			work->values.column[i] = (int64_t)(*field_of(&b, (enum field)field) -
							   foretell(&b, (enum field)field, level, slope));
		}
		column_pack(out, work->values.column, count, work->values.scratch);
	}
	for (unsigned field = 0; field < count_values(format); field++) {
		for (size_t i = 0; i < count; i++) {
			b = buckets[i];
			work->doubles[i] = *value_of(&b, (enum value_field)field);
		}
		values_pack(out, work->doubles, count, &work->values);
	}
}

INLINE void place_field(struct pyramid_bucket *buckets, const int64_t *column, size_t count, enum field field,
	unsigned level, double slope)
{
	for (size_t i = 0; i < count; i++)
		*field_of(&buckets[i], field) = (uint64_t)column[i] + foretell(&buckets[i], field, level, slope);
}

static void place_column(struct pyramid_bucket *buckets, const int64_t *column, size_t count, enum field field,
	unsigned level, double slope)
{
#define PLACE(name)                                                                                                    \
	case name:                                                                                                     \
		place_field(buckets, column, count, name, level, slope);                                               \
		break;
	switch (field) {
		PLACE(NUMBER)
		PLACE(FIRST_X)
		PLACE(LAST_X)
		PLACE(MIN_X)
		PLACE(MAX_X)
		PLACE(MIN_STEP)
		PLACE(MAX_STEP)
		PLACE(FIRST_ORDINAL)
		PLACE(LAST_ORDINAL)
		PLACE(COUNT)
		PLACE(NAN_COUNT)
		PLACE(INF_COUNT)
		PLACE(NEG_INF_COUNT)
		PLACE(FIRST_LINE)
		PLACE(MIN_LINE)
		PLACE(MAX_LINE)
	case FIELD_COUNT:
		break;
	}
#undef PLACE
}

static void unpack_buckets(
	struct unpacker *in, unsigned format, struct pyramid_bucket *buckets, size_t count, unsigned level)
{
	int64_t column[PYRAMID_ROW_BUCKETS];
	double values[PYRAMID_ROW_BUCKETS], slope = 0;

	for (unsigned field = 0; field < FIELD_COUNT && !in->has_failed; field++) {
		column_unpack(in, column, count);
		if (field == MIN_LINE)
			slope = lines_per_x(buckets, count);
		place_column(buckets, column, count, (enum field)field, level, slope);
	}
	for (size_t i = 0; i < count; i++)
		buckets[i].sum.huge = 0;
	for (unsigned field = 0; field < count_values(format) && !in->has_failed; field++) {
		values_unpack(in, values, count, column);
		for (size_t i = 0; i < count && !in->has_failed; i++)
			*value_of(&buckets[i], (enum value_field)field) = values[i];
	}
}

enum status pyramid_row_unpack(
	struct span data, unsigned level, struct pyramid_bucket *buckets, size_t *count, struct error *err)
{
	if (!data.len || (data.ptr[0] != FORMAT && data.ptr[0] != FORMAT_OF_HUGE))
		return error_set(err, ERR_INVALID, "the row of buckets has format %d, which this program does not know",
			data.len ? (unsigned char)data.ptr[0] : 0);
	struct unpacker in = unpacker_on(span_skip(data, 1));
	uint64_t stated = unpack_u64(&in);
	if (stated > PYRAMID_ROW_BUCKETS || level > PYRAMID_LEVEL_MAX)
		return error_set(err, ERR_INVALID, "the row of buckets is damaged: it states %llu buckets of level %u",
			(unsigned long long)stated, level);
	unpack_buckets(&in, (unsigned char)data.ptr[0], buckets, (size_t)stated, level);
	TRY(unpacker_end(&in, "the row of buckets", err));
	for (size_t i = 1; i < stated; i++)
		if (buckets[i].number <= buckets[i - 1].number)
			return error_set(err, ERR_INVALID,
				"the row of buckets is damaged: bucket %lld comes after %lld",
				(long long)buckets[i].number, (long long)buckets[i - 1].number);
	*count = (size_t)stated;
	return OK;
}

/* ---- heads ---- */

void pyramid_heads_pack(struct buf *out, const struct pyramid_head *heads, size_t count)
{
	buf_append_char(out, FORMAT);
	pack_u64(out, count);
	for (size_t i = 0; i < count; i++) {
		pack_u64(out, heads[i].attempt);
		pack_u64(out, heads[i].axis);
		pack_u64(out, heads[i].base);
		pack_u64(out, heads[i].top);
		pack_i64(out, heads[i].min_x);
		pack_i64(out, heads[i].max_x);
	}
}

static bool is_whole(const struct pyramid_head *head, uint64_t axis)
{
	return axis <= PYRAMID_TIME && head->base <= head->top && head->top <= PYRAMID_LEVEL_MAX &&
	       (head->top - head->base) % PYRAMID_LEVEL_STEP == 0 && head->min_x <= head->max_x;
}

enum status pyramid_heads_unpack(
	struct span data, struct arena *arena, struct pyramid_head **heads, size_t *count, struct error *err)
{
	struct unpacker in = unpacker_on(span_skip(data, 1));

	if (!data.len || data.ptr[0] != FORMAT)
		return error_set(err, ERR_INVALID, "the pyramid has format %d, which this program does not know",
			data.len ? (unsigned char)data.ptr[0] : 0);
	*count = unpack_count(&in, HEAD_MIN_BYTES);
	*heads = arena_alloc(arena, *count * sizeof **heads);
	if (!*heads)
		return error_no_memory(err);
	for (size_t i = 0; i < *count; i++) {
		struct pyramid_head *head = &(*heads)[i];
		head->attempt = (uint32_t)unpack_u64(&in);
		uint64_t axis = unpack_u64(&in);
		head->axis = axis == PYRAMID_TIME ? PYRAMID_TIME : PYRAMID_STEP;
		head->base = (unsigned)unpack_u64(&in);
		head->top = (unsigned)unpack_u64(&in);
		head->min_x = unpack_i64(&in);
		head->max_x = unpack_i64(&in);
		in.has_failed = in.has_failed || !is_whole(head, axis);
	}
	return unpacker_end(&in, "the pyramid", err);
}
