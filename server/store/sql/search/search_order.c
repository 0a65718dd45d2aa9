#include "store/sql/search/search_order.h"

#include "store/driver/statement.h"

#include <math.h>
#include <stdlib.h>

/* Numbers are ordered by `real` here; `number` and `text` of those that are picked are filled in at the end. */
struct picking {
	const struct search_sort *sort;
	const struct job_column *columns[2];
	bool is_folded; /* texts in their folded form */
	struct search_place *heap; /* the last of them at its root */
	size_t count, cap, wanted;
};

static int compare_places(const struct search_sort *sort, const struct search_place *a, const struct search_place *b)
{
	int order = 0;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (search_has_value(sort, a->rank)) {
		order = (a->real > b->real) - (a->real < b->real);
		order = order ? order : span_compare(a->text, b->text);
	}
	order = order ? order : (a->job_id > b->job_id) - (a->job_id < b->job_id);
	return sort->is_descending ? -order : order;
}

static int compare_for_sort(const void *a, const void *b, void *sort)
{
	return compare_places(sort, a, b);
}

/* ---- one job's place ---- */

static void set_text(
	const struct picking *p, const struct job_column *column, uint32_t value, struct search_place *place)
{
	place->text = p->is_folded ? job_column_folded(column, value) : job_column_text(column, value);
}

static void find_text(const struct picking *p, size_t job, struct search_place *place)
{
	const struct job_column *column = p->columns[0];
	uint32_t value = job_column_first(column, job);

	if (!value && p->columns[1]) {
		column = p->columns[1];
		value = job_column_first(column, job);
	}
	if (p->sort->kind != SEARCH_SORT_ATTRIBUTE) {
		if (value)
			set_text(p, column, value, place);
		return;
	}
	if (!value) {
		place->rank = SEARCH_RANK_MISSING;
	} else if (!isnan(job_column_text_number(column, value))) {
		place->real = job_column_text_number(column, value);
	} else {
		place->rank = SEARCH_RANK_OTHER;
		set_text(p, column, value, place);
	}
}

static void find_number(const struct picking *p, size_t job, struct search_place *place)
{
	double number = job_column_number(p->columns[0], job);

	if (p->columns[1]) {
		double end = job_column_number(p->columns[1], job);
		number = isinf(number) || isinf(end) || end <= number ? JOB_NUMBER_MISSING : end - number;
	}
	if (isnan(number))
		place->rank = SEARCH_RANK_OTHER;
	else if (isinf(number))
		place->rank = SEARCH_RANK_MISSING;
	else
		place->real = number;
}

static struct search_place place_of(const struct picking *p, size_t job)
{
	struct search_place place = {.job_id = (int64_t)job, .text = {NULL, 0}};

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a sort has a column */
	if (p->columns[0]->has_numbers)
		find_number(p, job, &place);
	else
		find_text(p, job, &place);
	return place;
}

/* ---- the first places, by a heap ---- */

static void sink(struct picking *p, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= p->count)
			return;
		if (child + 1 < p->count && compare_places(p->sort, &p->heap[child], &p->heap[child + 1]) < 0)
			child++;
		if (compare_places(p->sort, &p->heap[child], &p->heap[at]) <= 0)
			return;
		struct search_place moved = p->heap[at];
		p->heap[at] = p->heap[child];
		p->heap[child] = moved;
		at = child;
	}
}

static bool add(struct picking *p, struct arena *arena, const struct search_place *place)
{
	if (p->count == p->wanted) {
		if (compare_places(p->sort, place, &p->heap[0]) < 0) {
			p->heap[0] = *place;
			sink(p, 0);
		}
		return true;
	}
	p->heap = rows_grow(arena, p->heap, p->count, &p->cap, sizeof *p->heap);
	if (!p->heap)
		return false;
	p->heap[p->count++] = *place;
	if (p->count == p->wanted)
		for (size_t i = p->count / 2; i-- > 0;)
			sink(p, i);
	return true;
}

/* Jobs come about in the order of their times: newest first they are seen first where newest come first. */
static bool pick_all(struct picking *p, struct arena *arena, const struct bits *among, const struct search_place *from)
{
	for (size_t k = 0; k < among->count; k++) {
		size_t i = p->sort->is_descending ? among->count - 1 - k : k;
		for (uint64_t left = among->words[i]; left;) {
			size_t bit = p->sort->is_descending ? 63 - (size_t)__builtin_clzll(left) : bits_first(left);
			struct search_place place = place_of(p, 64 * i + bit);
			left &= ~(UINT64_C(1) << bit);
			if (from && compare_places(p->sort, &place, from) <= 0)
				continue;
			if (!add(p, arena, &place))
				return false;
		}
	}
	return true;
}

/* As SQL gives them: integers beside doubles, copied texts. */
static bool finish(const struct picking *p, struct arena *arena)
{
	bool is_integer = p->sort->kind == SEARCH_SORT_I64 || p->sort->kind == SEARCH_SORT_MISSING_I64;

	for (size_t i = 0; i < p->count; i++) {
		struct search_place *place = &p->heap[i];
		place->number = is_integer ? (int64_t)place->real : 0;
		place->real = is_integer ? 0 : place->real;
		place->text = place->text.len ? arena_copy(arena, place->text) : SPAN("");
		if (!place->text.ptr)
			return false;
	}
	return true;
}

static struct picking picking_on(const struct search_memory *memory, const struct search_sort *sort)
{
	struct picking p = {.sort = sort,
		.is_folded = sort->kind == SEARCH_SORT_ATTRIBUTE ||
			     (sort->kind == SEARCH_SORT_TEXT && strcmp(sort->sources[0].column, "name") == 0)};

	for (size_t i = 0; i < sort->source_count; i++)
		p.columns[i] = search_memory_column(memory, &sort->sources[i]);
	return p;
}

enum status search_pick(struct search_memory *memory, const struct search_sort *sort, const struct bits *among,
	const struct search_place *from, size_t limit, struct search_page *out, struct error *err)
{
	bool is_integer = sort->kind == SEARCH_SORT_I64 || sort->kind == SEARCH_SORT_MISSING_I64;
	struct search_place place;
	struct picking p = picking_on(memory, sort);

	p.wanted = limit < SIZE_MAX ? limit + 1 : limit; /* one more tells whether a page follows */
	if (from) {
		place = *from;
		place.real = is_integer ? (double)place.number : place.real;
	}
	if (!pick_all(&p, memory->arena, among, from ? &place : NULL))
		return error_no_memory(err);
	if (p.count)
		qsort_r(p.heap, p.count, sizeof *p.heap, compare_for_sort, (void *)sort);
	*out = (struct search_page){.places = p.heap, .count = p.count, .has_more = p.count > limit && limit};
	if (p.count > limit)
		p.count = out->count = limit;
	return finish(&p, memory->arena) ? OK : error_no_memory(err);
}

/* ---- the place at a position: between two of a sample, then exactly ---- */

/* Evenly among the jobs: as many as make sample and rest equally dear (Floyd and Rivest, Expected time bounds for selection, 1975). */
static bool take_sample(struct picking *p, struct arena *arena, const struct bits *among, size_t total)
{
	size_t stride = (size_t)cbrt((double)total) + 1, seen = 0;

	p->wanted = SIZE_MAX;
	for (size_t i = 0; i < among->count; i++)
		for (uint64_t left = among->words[i]; left; left &= left - 1) {
			if (seen++ % stride)
				continue;
			struct search_place place = place_of(p, 64 * i + bits_first(left));
			if (!add(p, arena, &place))
				return false;
		}
	if (p->heap)
		qsort_r(p->heap, p->count, sizeof *p->heap, compare_for_sort, (void *)p->sort);
	return true;
}

/* Those between the two, and how many come before; NULL: no bound. */
static bool take_between(struct picking *p, struct arena *arena, const struct bits *among,
	const struct search_place *low, const struct search_place *high, size_t *before)
{
	p->count = *before = 0;
	p->wanted = SIZE_MAX;
	for (size_t i = 0; i < among->count; i++)
		for (uint64_t left = among->words[i]; left; left &= left - 1) {
			struct search_place place = place_of(p, 64 * i + bits_first(left));
			bool is_before = low && compare_places(p->sort, &place, low) < 0;
			*before += is_before;
			if (is_before || (high && compare_places(p->sort, &place, high) > 0))
				continue;
			if (!add(p, arena, &place))
				return false;
		}
	return true;
}

enum status search_place_at(struct search_memory *memory, const struct search_sort *sort, const struct bits *among,
	size_t position, struct search_place *out, bool *is_there, struct error *err)
{
	struct picking sample = picking_on(memory, sort), p = sample;
	size_t total = bits_size(among), before = 0;

	*is_there = position < total;
	if (!*is_there)
		return OK;
	if (!take_sample(&sample, memory->arena, among, total))
		return error_no_memory(err);
	size_t at = (size_t)((double)position / (double)total * (double)sample.count);
	size_t margin = (size_t)(2 * sqrt((double)sample.count)) + 1; /* four times by how much a random one errs */
	for (;; margin *= 8) { /* where values repeat in step with it, it may be far off */
		const struct search_place *low = at > margin ? &sample.heap[at - margin] : NULL;
		const struct search_place *high = at + margin < sample.count ? &sample.heap[at + margin] : NULL;
		if (!take_between(&p, memory->arena, among, low, high, &before))
			return error_no_memory(err);
		if (position >= before && position - before < p.count)
			break;
	}
	qsort_r(p.heap, p.count, sizeof *p.heap, compare_for_sort, (void *)sort);
	p.heap += position - before;
	p.count = 1;
	if (!finish(&p, memory->arena))
		return error_no_memory(err);
	*out = p.heap[0];
	return OK;
}
