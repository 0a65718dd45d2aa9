#include "cli/moving/mlflow_source.h"

#include <float.h>
#include <math.h>

void mlflow_past_run_done(struct mlflow_past_run *run)
{
	mem_free(run->params.items);
	mem_free(run->tags.items);
	mem_free(run->metrics.items);
	arena_free(run->arena);
}

void mlflow_source_done(struct mlflow_source *source)
{
	if (source->kind)
		source->kind->free(source->state);
}

bool mlflow_pairs_add(struct arena *arena, struct mlflow_pairs *pairs, struct span key, struct span value)
{
	if (!mem_grow((void **)&pairs->items, pairs->count, &pairs->cap, sizeof *pairs->items))
		return false;
	struct mlflow_pair pair = {arena_copy(arena, key), arena_copy(arena, value)};
	if (!pair.key.ptr || !pair.value.ptr)
		return false;
	pairs->items[pairs->count++] = pair;
	return true;
}

const struct mlflow_pair *mlflow_pairs_find(const struct mlflow_pairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (span_equal(pairs->items[i].key, span_from(key)))
			return &pairs->items[i];
	return NULL;
}

double mlflow_stored_value(double value)
{
	return fabs(value) == DBL_MAX ? copysign((double)INFINITY, value) : value;
}
