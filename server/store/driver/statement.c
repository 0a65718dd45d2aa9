/* What is the same for every database: doubles as two columns, rows in an arena, numbers. */
#include "store/driver/statement.h"

#include <float.h>
#include <math.h>

void bind_u64(struct statement *s, uint64_t value)
{
	bind_i64(s, (int64_t)value);
}

uint64_t column_u64(struct statement *s)
{
	return (uint64_t)column_i64(s);
}

uint32_t column_u32(struct statement *s)
{
	return (uint32_t)column_i64(s);
}

bool column_bool(struct statement *s)
{
	return column_i64(s) != 0;
}

struct span column_span(struct statement *s, struct arena *arena)
{
	struct span bytes = column_borrow(s);
	struct span copy = bytes.ptr ? arena_copy(arena, bytes) : bytes;

	if (!copy.ptr) {
		s->is_out_of_memory = true;
		return SPAN("");
	}
	return copy;
}

bool column_is_null(const struct statement *s)
{
	return column_kind(s) == COLUMN_NULL;
}

enum double_kind { KIND_FINITE, KIND_NAN, KIND_INFINITY, KIND_MINUS_INFINITY, KIND_MINUS_ZERO, KIND_HUGE_SUM };

void bind_double(struct statement *s, double value)
{
	enum double_kind kind = KIND_FINITE;

	if (isnan(value)) {
		kind = KIND_NAN;
		value = 0;
	} else if (isinf(value)) {
		kind = value > 0 ? KIND_INFINITY : KIND_MINUS_INFINITY;
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	} else if (value == 0 && signbit(value)) {
		kind = KIND_MINUS_ZERO;
		value = 0;
	}
	bind_finite(s, value);
	bind_i64(s, kind);
}

void bind_all(struct statement *s, struct numbers numbers)
{
	for (size_t i = 0; i < numbers.count; i++)
		bind_i64(s, numbers.values[i]);
}

/* What is not huge says nothing beside what is, once they are one number. */
static void bind_sum(struct statement *s, struct sum sum)
{
	if (sum.huge == 0) {
		bind_double(s, sum.plain);
		return;
	}
	bind_finite(s, sum.huge + sum.plain * SUM_SCALE);
	bind_i64(s, KIND_HUGE_SUM);
}

void bind_summary(struct statement *s, const struct summary *summary)
{
	bind_u64(s, summary->count);
	bind_u64(s, summary->nan_count);
	bind_u64(s, summary->inf_count);
	bind_double(s, summary->last);
	bind_double(s, summary->min);
	bind_double(s, summary->max);
	bind_sum(s, summary->sum);
	bind_i64(s, summary->first_step);
	bind_i64(s, summary->last_step);
	bind_i64(s, summary->last_ts_ms);
}

enum status statement_check(struct statement *s, struct error *err)
{
	return s->is_out_of_memory ? error_no_memory(err) : OK;
}

static double double_of(double value, enum double_kind kind)
{
	switch (kind) {
	case KIND_NAN:
		return NAN;
	case KIND_INFINITY:
		return INFINITY;
	case KIND_MINUS_INFINITY:
		return -INFINITY;
	case KIND_MINUS_ZERO:
		return -0.0;
	case KIND_FINITE:
	case KIND_HUGE_SUM:
		break;
	}
	return value;
}

double column_double(struct statement *s)
{
	double value = column_finite(s);

	return double_of(value, (enum double_kind)column_i64(s));
}

static struct sum column_sum(struct statement *s)
{
	double value = column_finite(s);
	enum double_kind kind = (enum double_kind)column_i64(s);

	return kind == KIND_HUGE_SUM ? (struct sum){.huge = value} : (struct sum){.plain = double_of(value, kind)};
}

void column_summary(struct statement *s, struct summary *out)
{
	out->count = column_u64(s);
	out->nan_count = column_u64(s);
	out->inf_count = column_u64(s);
	out->last = column_double(s);
	out->min = column_double(s);
	out->max = column_double(s);
	out->sum = column_sum(s);
	out->first_step = column_i64(s);
	out->last_step = column_i64(s);
	out->last_ts_ms = column_i64(s);
}

void *rows_grow(struct arena *arena, void *rows, size_t count, size_t *cap, size_t row_bytes)
{
	if (count < *cap)
		return rows;
	size_t wanted = *cap ? *cap * 2 : 8;
	void *grown = wanted > SIZE_MAX / row_bytes ? NULL : arena_alloc(arena, wanted * row_bytes);
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, rows, count * row_bytes);
	*cap = wanted;
	return grown;
}

enum status run_with(struct store_tx *tx, const char *sql, struct numbers numbers, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), sql, err));
	bind_all(&s, numbers);
	return statement_run(&s, err);
}

enum status run_for_job(struct store_tx *tx, const char *sql, int64_t job_id, struct error *err)
{
	return run_with(tx, sql, NUMBERS(job_id), err);
}
