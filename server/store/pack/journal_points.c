#include "store/pack/journal_points.h"

#include "model/metrics/metric.h"
#include "store/pack/int_column.h"

/* The form is behind the role: of values, which there were first, it is 0. */
enum {
	VALUE_BYTES = 8,
	SERIES_MIN_BYTES = 4,
	FORM_SHIFT = 8,
	STORED_GUESS =
		8 /* "to be guessed", which was the number of roles at first; roles from this one on stand one higher */
};

static uint64_t stored_role(uint32_t role)
{
	return role == ROLE_COUNT ? STORED_GUESS : role + (role >= STORED_GUESS);
}

/* Beyond the last one it is more than ROLE_COUNT. */
static uint32_t role_of_stored(uint32_t stored)
{
	if (stored == STORED_GUESS)
		return ROLE_COUNT;
	return stored <= ROLE_COUNT ? stored - (stored > STORED_GUESS) : UINT32_MAX;
}

static void pack_series(const struct batch_series *series, uint64_t *scratch, struct buf *out)
{
	pack_span(out, series->metric);
	pack_span(out, series->unit);
	pack_u64(out, stored_role(series->role) | (uint64_t)series->form << FORM_SHIFT);
	pack_u64(out, series->count);
	column_pack(out, series->steps, series->count, scratch);
	column_pack(out, series->ts_ms, series->count, scratch);
	pack_doubles(out, series->values, series->count);
	if (!series_form_is_distribution(series->form))
		return;
	pack_doubles(out, series->counts, series->count);
	column_pack(out, series->starts_ms, series->count, scratch);
}

void journal_points_pack(const struct batch_part *part, struct buf *out)
{
	size_t most = 0, used = 0;

	for (size_t i = 0; i < part->series_count; i++) {
		most = part->series[i].count > most ? part->series[i].count : most;
		used += part->series[i].count != 0;
	}
	AUTO_MEM uint64_t *scratch = mem_alloc((most + 1) * sizeof *scratch);
	if (!scratch) {
		out->failure = ERR_MEMORY;
		return;
	}
	pack_u64(out, used);
	for (size_t i = 0; i < part->series_count; i++)
		if (part->series[i].count)
			pack_series(&part->series[i], scratch, out);
}

struct journal_points journal_points_open(struct span body)
{
	struct journal_points cursor = {.at = unpacker_on(body)};

	cursor.series_left = unpack_count(&cursor.at, SERIES_MIN_BYTES);
	return cursor;
}

static enum status read_totals(struct unpacker *in, struct arena *arena, struct batch_series *series, struct error *err)
{
	series->counts = arena_alloc(arena, series->count * sizeof *series->counts);
	series->starts_ms = arena_alloc(arena, series->count * sizeof *series->starts_ms);
	if (!series->counts || !series->starts_ms)
		return error_no_memory(err);
	unpack_doubles(in, series->counts, series->count);
	column_unpack(in, series->starts_ms, series->count);
	return OK;
}

static enum status read_series(struct unpacker *in, struct arena *arena, struct batch_series *series, struct error *err)
{
	*series = (struct batch_series){.metric = unpack_span(in)};
	series->unit = unpack_span(in);
	uint64_t role = unpack_u64(in);
	series->role = role_of_stored((uint32_t)(role & ((1u << FORM_SHIFT) - 1)));
	series->form = (enum series_form)(role >> FORM_SHIFT & UINT32_MAX);
	series->count = unpack_count(in, VALUE_BYTES);
	if (series->role > ROLE_COUNT || role >> FORM_SHIFT >= SERIES_FORM_COUNT || !series->metric.len ||
		!series->count)
		in->has_failed = true;
	if (in->has_failed)
		return OK;
	series->steps = arena_alloc(arena, series->count * sizeof *series->steps);
	series->ts_ms = arena_alloc(arena, series->count * sizeof *series->ts_ms);
	series->values = arena_alloc(arena, series->count * sizeof *series->values);
	if (!series->steps || !series->ts_ms || !series->values)
		return error_no_memory(err);
	column_unpack(in, series->steps, series->count);
	column_unpack(in, series->ts_ms, series->count);
	unpack_doubles(in, series->values, series->count);
	return series_form_is_distribution(series->form) ? read_totals(in, arena, series, err) : OK;
}

enum status journal_points_next(struct journal_points *cursor, struct arena *arena, struct batch_series *series,
	bool *has_one, struct error *err)
{
	*has_one = false;
	if (!cursor->series_left)
		return unpacker_end(&cursor->at, "a slice of points", err);
	TRY(read_series(&cursor->at, arena, series, err));
	if (cursor->at.has_failed)
		return error_set(err, ERR_INVALID, "a slice of points is damaged, %zu series before its end",
			cursor->series_left);
	cursor->series_left--;
	*has_one = true;
	return OK;
}

enum status journal_points_check(struct span body, size_t count, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct journal_points cursor = journal_points_open(body);
	struct batch_series series;
	bool has_one = true;
	size_t found = 0;

	if (!arena)
		return error_no_memory(err);
	while (has_one) {
		TRY(journal_points_next(&cursor, arena, &series, &has_one, err));
		found += has_one ? batch_series_points(&series) : 0;
	}
	if (found != count)
		return error_set(err, ERR_INVALID, "a slice of points holds %zu points, not %zu", found, count);
	return OK;
}
