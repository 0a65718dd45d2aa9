#include "state/watchers/score_state.h"

#include "base/alloc.h"

enum status score_list_add(struct score_list *list, const struct evaluation_score *score, struct error *err)
{
	if (!list->arena && !(list->arena = arena_new()))
		return error_no_memory(err);
	if (!mem_grow((void **)&list->items, list->count, &list->cap, sizeof *list->items))
		return error_no_memory(err);
	struct evaluation_score *put = &list->items[list->count];
	*put = *score;
	put->path = arena_copy(list->arena, score->path);
	put->task = arena_copy(list->arena, score->task);
	put->metric = arena_copy(list->arena, score->metric);
	if (!put->path.ptr || !put->task.ptr || !put->metric.ptr)
		return error_no_memory(err);
	list->count++;
	return OK;
}

void score_list_done(struct score_list *list)
{
	arena_free(list->arena);
	mem_free(list->items);
	*list = (struct score_list){0};
}

void log_scores_free(struct log_scores *scores)
{
	if (!scores)
		return;
	score_list_done(&scores->found);
	mem_free(scores);
}
