#include "store/columns/job_column.h"

#include "base/buf.h"
#include "store/columns/case_fold.h"

enum { RECENT_FIRST = 256, RECENT_MAX = 1 << 16, FOLDED_MAX_BYTES = 1 << 20 };

struct job_column *job_column_new(bool has_numbers, bool is_unordered)
{
	struct job_column *column = mem_zeroed(sizeof *column);

	if (!column)
		return NULL;
	column->has_numbers = has_numbers;
	column->is_unordered = is_unordered;
	column->value_count = 1;
	return column;
}

void job_column_free(struct job_column *column)
{
	if (!column)
		return;
	mem_free(column->numbers);
	mem_free(column->first);
	mem_free(column->more);
	mem_free(column->values);
	mem_free(column->value_numbers);
	mem_free(column->bytes);
	mem_free(column->recent);
	mem_free(column);
}

size_t job_column_bytes(const struct job_column *column)
{
	size_t place = column->has_numbers ? sizeof *column->numbers : column->is_unordered ? 0 : sizeof *column->first;

	return sizeof *column + column->job_cap * place + column->more_cap * sizeof *column->more +
	       column->value_cap * sizeof *column->values + column->number_cap * sizeof *column->value_numbers +
	       column->byte_cap + column->recent_cap * sizeof *column->recent;
}

/* ---- adding ---- */

static bool reserve(void **items, size_t *cap, size_t wanted, size_t item_bytes)
{
	if (wanted <= *cap)
		return true;
	size_t grown = *cap + *cap / 2 > wanted ? *cap + *cap / 2 : wanted + 64;
	void *moved = mem_resize(*items, grown, item_bytes);
	if (!moved)
		return false;
	*items = moved;
	*cap = grown;
	return true;
}

static bool reach_job(struct job_column *column, size_t job)
{
	bool is_ok =
		job < UINT32_MAX &&
		(column->has_numbers ? reserve((void **)&column->numbers, &column->job_cap, job + 1, sizeof(double))
				     : reserve((void **)&column->first, &column->job_cap, job + 1, sizeof(uint32_t)));

	for (; is_ok && column->jobs <= job; column->jobs++) {
		if (column->has_numbers)
			column->numbers[column->jobs] = JOB_NUMBER_MISSING;
		else
			column->first[column->jobs] = 0;
	}
	return is_ok;
}

bool job_column_set_number(struct job_column *column, size_t job, double number)
{
	if (!reach_job(column, job))
		return false;
	column->numbers[job] = number;
	return true;
}

static uint32_t *recent_slot(struct job_column *column, struct span text)
{
	return &column->recent[span_hash(text) & (column->recent_cap - 1)];
}

/* Not a full index of the values: one that was overwritten is kept twice. */
static bool grow_recent(struct job_column *column)
{
	if (column->recent_cap >= RECENT_MAX || 2 * column->value_count <= column->recent_cap)
		return true;
	size_t cap = column->recent_cap ? 4 * column->recent_cap : RECENT_FIRST;
	uint32_t *recent = mem_zeroed(cap * sizeof *recent);
	if (!recent)
		return false;
	mem_free(column->recent);
	column->recent = recent;
	column->recent_cap = cap;
	for (uint32_t i = 1; i < column->value_count; i++)
		*recent_slot(column, job_column_text(column, i)) = i;
	return true;
}

static bool append_bytes(struct job_column *column, struct span bytes)
{
	if (column->byte_count + bytes.len > UINT32_MAX ||
		!reserve((void **)&column->bytes, &column->byte_cap, column->byte_count + bytes.len + 1, 1))
		return false;
	if (bytes.len)
		memcpy(column->bytes + column->byte_count, bytes.ptr, bytes.len);
	column->byte_count += bytes.len;
	return true;
}

/* Most texts are; the rest is case_fold.h's. */
static bool is_plainly_folded(struct span text)
{
	unsigned char others = 0;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		others |= (unsigned char)(c | (c >= 'A' && c <= 'Z' ? 0x80 : 0));
	}
	return others < 0x80;
}

static bool append_folded(struct job_column *column, struct span text, struct job_value *value)
{
	AUTO_DONE(buf) folded = BUF_INIT(FOLDED_MAX_BYTES + 2 * text.len);

	value->folded_len = JOB_VALUE_FOLDED;
	if (is_plainly_folded(text))
		return true;
	fold_append(&folded, text);
	if (folded.failure)
		return false;
	if (span_equal(buf_span(&folded), text))
		return true;
	value->folded_len = (uint32_t)folded.len;
	return append_bytes(column, buf_span(&folded));
}

static bool append_number(struct job_column *column, struct span text)
{
	double number = NAN;
	size_t had = column->number_cap;

	/* "nan" and "inf" are no numbers here. */
	if (text.len && (unsigned char)text.ptr[0] <= '9' && span_parse_double(text, &number) && !isfinite(number))
		number = NAN;
	if (isnan(number) && !column->value_numbers)
		return true;
	if (!reserve((void **)&column->value_numbers, &column->number_cap, column->value_count + 1, sizeof number))
		return false;
	for (size_t i = had; i < column->number_cap; i++)
		column->value_numbers[i] = NAN;
	column->value_numbers[column->value_count] = number;
	return true;
}

static bool append_value(struct job_column *column, struct span text)
{
	struct job_value value = {.at = (uint32_t)column->byte_count, .len = (uint32_t)text.len};

	if (!reserve((void **)&column->values, &column->value_cap, column->value_count + 1, sizeof value) ||
		!append_bytes(column, text) || !append_folded(column, text, &value) || !append_number(column, text))
		return false;
	column->values[column->value_count++] = value;
	return true;
}

static bool find_value(struct job_column *column, struct span text, uint32_t *value)
{
	if (!grow_recent(column))
		return false;
	uint32_t *slot = recent_slot(column, text);
	if (!*slot || !span_equal(job_column_text(column, *slot), text)) {
		if (!append_value(column, text))
			return false;
		*slot = (uint32_t)(column->value_count - 1);
	}
	*value = *slot;
	return true;
}

bool job_column_add_text(struct job_column *column, size_t job, struct span text)
{
	uint32_t value;

	if (job >= UINT32_MAX || !find_value(column, text, &value))
		return false;
	if (!column->is_unordered) {
		if (!reach_job(column, job))
			return false;
		if (!column->first[job]) {
			column->first[job] = value;
			return true;
		}
	}
	if (!reserve((void **)&column->more, &column->more_cap, column->more_count + 1, sizeof *column->more))
		return false;
	column->more[column->more_count++] = (struct job_element){.job = (uint32_t)job, .value = value};
	return true;
}

void job_column_remove(struct job_column *column, const struct bits *jobs)
{
	size_t kept = 0;

	for (size_t i = 0; i < jobs->count && 64 * i < column->jobs; i++)
		for (uint64_t left = jobs->words[i]; left; left &= left - 1) {
			size_t job = 64 * i + bits_first(left);
			if (job < column->jobs && column->has_numbers)
				column->numbers[job] = JOB_NUMBER_MISSING;
			else if (job < column->jobs)
				column->first[job] = 0;
		}
	for (size_t i = 0; i < column->more_count; i++)
		if (!bits_has(jobs, column->more[i].job))
			column->more[kept++] = column->more[i];
	column->more_count = kept;
}

/* ---- conditions ---- */

void job_column_add_range(
	const struct job_column *column, double low, double high, const struct bits *among, struct bits *out)
{
	for (size_t i = 0; i < among->count && 64 * i < column->jobs; i++) {
		const double *numbers = column->numbers + 64 * i;
		size_t many = column->jobs - 64 * i < 64 ? column->jobs - 64 * i : 64;
		uint64_t found = 0;
		if (!among->words[i])
			continue;
		for (size_t k = 0; k < many; k++)
			found |= (uint64_t)((numbers[k] >= low) & (numbers[k] <= high)) << k;
		out->words[i] |= found & among->words[i];
	}
}

void job_column_add_present(const struct job_column *column, bool is_nan, const struct bits *among, struct bits *out)
{
	for (size_t i = 0; i < among->count; i++)
		for (uint64_t left = among->words[i]; left; left &= left - 1) {
			size_t job = 64 * i + bits_first(left);
			double number = job_column_number(column, job);
			if (is_nan ? isnan(number) : !isinf(number))
				bits_add(out, job);
		}
}

bool job_column_add_values(const struct job_column *column, unsigned char *memo,
	enum job_memo (*test)(void *context, const struct job_column *column, uint32_t value), void *context,
	const struct bits *among, struct bits *out)
{
	memo[0] = JOB_MEMO_NO; /* of jobs that have none */
	for (size_t i = among->count; i-- > 0;) { /* the newest jobs first: a search that is cut has found these */
		uint64_t found = 0;
		for (uint64_t left = 64 * i < column->jobs ? among->words[i] : 0; left; left &= left - 1) {
			uint32_t value = job_column_first(column, 64 * i + bits_first(left));
			if (memo[value] == JOB_MEMO_UNKNOWN &&
				!(memo[value] = (unsigned char)test(context, column, value)))
				return false;
			found |= memo[value] == JOB_MEMO_YES ? left & -left : 0;
		}
		out->words[i] |= found;
	}
	for (size_t i = 0; i < column->more_count; i++) {
		const struct job_element *element = &column->more[i];
		if (memo[element->value] == JOB_MEMO_NO || !bits_has(among, element->job))
			continue;
		if (memo[element->value] == JOB_MEMO_UNKNOWN &&
			!(memo[element->value] = (unsigned char)test(context, column, element->value)))
			return false;
		if (memo[element->value] == JOB_MEMO_YES)
			bits_add(out, element->job);
	}
	return true;
}

void job_column_note_range(const struct job_column *column, double low, double high, unsigned char *memo)
{
	const double *numbers = column->value_numbers;

	for (size_t i = 1; numbers && i < column->value_count; i++)
		memo[i] = (unsigned char)(memo[i] | (((numbers[i] >= low) & (numbers[i] <= high)) ? JOB_MEMO_YES : 0));
}

void job_column_note_text(
	const struct job_column *column, struct span text, bool is_prefix, enum job_memo as, unsigned char *memo)
{
	for (size_t i = 1; i < column->value_count; i++) {
		const struct job_value *value = &column->values[i];
		if ((is_prefix ? value->len >= text.len : value->len == text.len) &&
			(!text.len || memcmp(column->bytes + value->at, text.ptr, text.len) == 0))
			memo[i] = (unsigned char)as;
	}
}

/* The value whose bytes are around `at`: the last one that begins at or before it. */
static size_t value_around(const struct job_column *column, size_t from, size_t at)
{
	size_t low = from, high = column->value_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (column->values[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void job_column_note_part(const struct job_column *column, struct span part, unsigned char *memo)
{
	struct span all = span_of(column->bytes, column->byte_count);
	size_t at = 0, value = 1;
	ptrdiff_t found;

	/* A hit across two texts, or in one that has another folded form, is none. */
	while ((found = span_find(span_skip(all, at), part)) >= 0) {
		at += (size_t)found;
		value = value_around(column, value, at);
		struct span folded = job_column_folded(column, (uint32_t)value);
		if (column->bytes + at >= folded.ptr && column->bytes + at + part.len <= folded.ptr + folded.len) {
			memo[value] = JOB_MEMO_YES;
			at = (size_t)(folded.ptr - column->bytes) + folded.len;
		} else {
			at++;
		}
	}
}
