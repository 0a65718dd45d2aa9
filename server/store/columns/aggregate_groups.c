#include "store/columns/aggregate_groups.h"

#include "base/alloc.h"
#include "base/map.h"
#include "model/jobs/aggregate.h"
#include "model/metrics/point.h"
#include "store/aggregate.h"

#include <math.h>
#include <stdlib.h>

enum { KEY_MAX_BYTES = 64 << 10, TYPES_MAX = 1000 };

/* Of one figure in one group. */
struct tally {
	uint64_t count;
	struct sum sum;
	double min, max;
	double *values; /* of medians and percentiles */
	size_t value_cap;
};

struct group {
	struct span *keys;
	int64_t last_job_id;
	uint64_t jobs, unpriced_jobs, estimated_jobs, unknown_losses;
	struct span *types; /* in the arena, each once */
	size_t type_count, type_cap;
	struct tally *tallies;
};

struct groups {
	const struct job_aggregation *ask;
	struct arena *arena; /* of groups and keys; values are alone */
	struct map *by_key;
	struct group **all;
	size_t count, cap;
	uint64_t value_count;
	struct buf key;
};

enum status groups_new(struct groups **out, const struct job_aggregation *aggregation, struct error *err)
{
	AUTO(groups) groups = mem_zeroed(sizeof *groups);

	if (!groups)
		return error_no_memory(err);
	groups->ask = aggregation;
	groups->key = BUF_INIT(KEY_MAX_BYTES);
	groups->arena = arena_new();
	groups->by_key = map_new();
	if (!groups->arena || !groups->by_key)
		return error_no_memory(err);
	*out = TAKE(groups);
	return OK;
}

void groups_free(struct groups *groups)
{
	if (!groups)
		return;
	for (size_t i = 0; i < groups->count; i++)
		for (size_t j = 0; j < groups->ask->figure_count; j++)
			mem_free(groups->all[i]->tallies[j].values);
	for (size_t i = 0; i < groups->count; i++)
		mem_free(groups->all[i]->types);
	mem_free(groups->all);
	map_free(groups->by_key);
	buf_done(&groups->key);
	arena_free(groups->arena);
	mem_free(groups);
}

/* 0 and no more: none; else 1, and how long each is, so that no two lists of keys look the same. */
static enum status put_key(struct groups *groups, const struct span *keys, struct error *err)
{
	buf_reset(&groups->key);
	for (size_t i = 0; i < groups->ask->name_count; i++) {
		uint32_t len = (uint32_t)keys[i].len;
		buf_append_char(&groups->key, keys[i].ptr != NULL);
		if (!keys[i].ptr)
			continue;
		buf_append(&groups->key, &len, sizeof len);
		buf_append_span(&groups->key, keys[i]);
	}
	return buf_status(&groups->key, err);
}

static struct group *make_group(struct groups *groups, const struct span *keys)
{
	size_t names = groups->ask->name_count, figures = groups->ask->figure_count;
	struct group *group = arena_alloc(groups->arena, sizeof *group);

	if (!group || !mem_grow((void **)&groups->all, groups->count, &groups->cap, sizeof *groups->all))
		return NULL;
	*group = (struct group){.keys = arena_alloc(groups->arena, (names + 1) * sizeof *group->keys),
		.tallies = arena_alloc(groups->arena, (figures + 1) * sizeof *group->tallies)};
	if (!group->keys || !group->tallies)
		return NULL;
	memset(group->tallies, 0, figures * sizeof *group->tallies);
	for (size_t i = 0; i < names; i++) {
		group->keys[i] = keys[i].ptr ? arena_copy(groups->arena, keys[i]) : keys[i];
		if (keys[i].ptr && !group->keys[i].ptr)
			return NULL;
	}
	if (!map_put(groups->by_key, buf_span(&groups->key), group))
		return NULL;
	groups->all[groups->count++] = group;
	return group;
}

static enum status find_group(struct groups *groups, const struct span *keys, struct group **out, struct error *err)
{
	TRY(put_key(groups, keys, err));
	*out = map_get(groups->by_key, buf_span(&groups->key));
	if (*out)
		return OK;
	if (groups->count == groups->ask->max_groups)
		return error_set_field(err, ERR_TOO_LARGE, "by",
			"there are more than %llu groups (--max-groups): group by less, or ask for fewer jobs",
			(unsigned long long)groups->ask->max_groups);
	*out = make_group(groups, keys);
	return *out ? OK : error_no_memory(err);
}

static bool keeps_values(enum fold fold)
{
	return fold >= FOLD_MEDIAN && fold <= FOLD_P99;
}

static enum status keep_value(struct groups *groups, struct tally *tally, double value, struct error *err)
{
	if (groups->value_count == groups->ask->max_values)
		return error_set_field(err, ERR_TOO_LARGE, "of",
			"medians and percentiles need more than %llu values (--max-group-values): ask for fewer jobs",
			(unsigned long long)groups->ask->max_values);
	if (!mem_grow((void **)&tally->values, tally->count, &tally->value_cap, sizeof *tally->values))
		return error_no_memory(err);
	tally->values[tally->count] = value;
	groups->value_count++;
	return OK;
}

static enum status add_value(
	struct groups *groups, struct tally *tally, enum fold fold, double value, struct error *err)
{
	if (isnan(value))
		return OK;
	if (keeps_values(fold))
		TRY(keep_value(groups, tally, value, err));
	sum_add(&tally->sum, value);
	tally->min = tally->count && tally->min < value ? tally->min : value;
	tally->max = tally->count && tally->max > value ? tally->max : value;
	tally->count++;
	return OK;
}

static bool has_type(const struct group *group, struct span type)
{
	for (size_t i = 0; i < group->type_count; i++)
		if (span_equal(group->types[i], type))
			return true;
	return false;
}

static enum status add_unpriced(struct groups *groups, struct group *group, struct span types, struct error *err)
{
	struct span type;

	group->unpriced_jobs += types.len > 0;
	while (types.len && span_next(&types, ' ', &type)) {
		if (group->type_count == TYPES_MAX || has_type(group, type))
			continue;
		if (!mem_grow((void **)&group->types, group->type_count, &group->type_cap, sizeof *group->types))
			return error_no_memory(err);
		group->types[group->type_count] = arena_copy(groups->arena, type);
		if (!group->types[group->type_count].ptr)
			return error_no_memory(err);
		group->type_count++;
	}
	return OK;
}

enum status groups_add(struct groups *groups, int64_t job_id, const struct span *keys, const double *values,
	const struct job_gaps *gaps, struct error *err)
{
	struct group *group;

	TRY(find_group(groups, keys, &group, err));
	if (group->jobs && group->last_job_id == job_id)
		return OK;
	group->last_job_id = job_id;
	group->jobs++;
	group->unknown_losses += gaps->unknown_losses;
	group->estimated_jobs += gaps->is_estimated;
	TRY(add_unpriced(groups, group, gaps->unpriced, err));
	for (size_t i = 0; i < groups->ask->figure_count; i++)
		TRY(add_value(groups, &group->tallies[i], groups->ask->figures[i].fold, values[i], err));
	return OK;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Between the two values nearest to the rank, in proportion. */
static double percentile(struct tally *tally, double share)
{
	qsort(tally->values, tally->count, sizeof *tally->values, by_value);
	double rank = share * (double)(tally->count - 1), below = floor(rank);
	double low = tally->values[(size_t)below], high = tally->values[(size_t)ceil(rank)];
	return low == high ? low : low + (high - low) * (rank - below);
}

static double figure_of(struct tally *tally, enum fold fold)
{
	static const double shares[FOLD_NUMBER] = {
		[FOLD_MEDIAN] = 0.5, [FOLD_P50] = 0.5, [FOLD_P90] = 0.9, [FOLD_P95] = 0.95, [FOLD_P99] = 0.99};

	if (fold == FOLD_COUNT)
		return (double)tally->count;
	if (!tally->count)
		return NAN;
	switch (fold) {
	case FOLD_SUM:
		return sum_value(tally->sum);
	case FOLD_MEAN:
		return sum_mean(tally->sum, tally->count, tally->min, tally->max);
	case FOLD_MIN:
		return tally->min;
	case FOLD_MAX:
		return tally->max;
	default:
		return percentile(tally, shares[fold]);
	}
}

static int by_keys(const void *a, const void *b)
{
	const struct job_group *left = a, *right = b;

	for (size_t i = 0; i < left->key_count; i++) {
		const struct span *x = &left->keys[i], *y = &right->keys[i];
		if (!x->ptr != !y->ptr)
			return x->ptr ? -1 : 1;
		int order = x->ptr ? span_compare(*x, *y) : 0;
		if (order)
			return order;
	}
	return 0;
}

static enum status give_unpriced(
	struct job_group *row, const struct group *group, struct arena *arena, struct error *err)
{
	row->unpriced_jobs = group->unpriced_jobs;
	row->unpriced_types = arena_alloc(arena, (group->type_count + 1) * sizeof(struct span));
	if (!row->unpriced_types)
		return error_no_memory(err);
	for (; row->unpriced_type_count < group->type_count; row->unpriced_type_count++) {
		struct span *type = &row->unpriced_types[row->unpriced_type_count];
		*type = arena_copy(arena, group->types[row->unpriced_type_count]);
		if (!type->ptr)
			return error_no_memory(err);
	}
	return OK;
}

enum status groups_finish(
	struct groups *groups, struct arena *arena, struct job_group **out, size_t *count, struct error *err)
{
	const struct job_aggregation *ask = groups->ask;
	struct job_group *rows = arena_alloc(arena, (groups->count + 1) * sizeof *rows);

	if (!rows)
		return error_no_memory(err);
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = groups->all[i];
		rows[i] = (struct job_group){.keys = arena_alloc(arena, (ask->name_count + 1) * sizeof(struct span)),
			.key_count = ask->name_count,
			.unknown_losses = group->unknown_losses,
			.estimated_jobs = group->estimated_jobs,
			.figures = arena_alloc(arena, (ask->figure_count + 1) * sizeof(double))};
		if (!rows[i].keys || !rows[i].figures)
			return error_no_memory(err);
		for (size_t j = 0; j < ask->name_count; j++) {
			rows[i].keys[j] = group->keys[j].ptr ? arena_copy(arena, group->keys[j]) : group->keys[j];
			if (group->keys[j].ptr && !rows[i].keys[j].ptr)
				return error_no_memory(err);
		}
		for (size_t j = 0; j < ask->figure_count; j++)
			rows[i].figures[j] = ask->figures[j].counts_jobs
						     ? (double)group->jobs
						     : figure_of(&group->tallies[j], ask->figures[j].fold);
		TRY(give_unpriced(&rows[i], group, arena, err));
	}
	if (groups->count)
		qsort(rows, groups->count, sizeof *rows, by_keys);
	*out = rows;
	*count = groups->count;
	return OK;
}
