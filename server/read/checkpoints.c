#include "read/checkpoints.h"

#include "model/jobs/checkpoint_by_hand.h"
#include "store/jobs.h"

#include <stdlib.h>
#include <string.h>

enum { ALL_MAX = 65536, FEW = 32 /* each of so few is asked for by itself */ };

struct set {
	struct checkpoint_by_hand *rows;
	const struct checkpoint_row **told; /* beside them: what a line tells of each; NULL: none that was read */
	size_t count;
	bool has_all; /* all that lines tell of was read */
};

/* A job that is being imported has no row yet, and nothing by hand. */
static enum status read_set(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct set *out, struct error *err)
{
	AUTO(arena) own = arena_new();
	struct job_row job;

	*out = (struct set){0};
	if (!own)
		return error_no_memory(err);
	enum status status = store_read_job_by_id(reader, own, job_id, &job, err);
	if (status != OK)
		return status == ERR_NOT_FOUND ? OK : status;
	TRY(checkpoints_by_hand_read(job.document, arena, &out->rows, &out->count, err));
	if (!(out->told = arena_alloc(arena, (out->count + 1) * sizeof *out->told)))
		return error_no_memory(err);
	for (size_t i = 0; i < out->count; i++)
		out->told[i] = NULL;
	return OK;
}

/* Then it is noted beside the one that is set. */
static bool is_of(struct set *set, const struct checkpoint_row *row)
{
	bool is_set = false;

	for (size_t i = 0; i < set->count; i++) {
		const struct checkpoint_by_hand *at = &set->rows[i];
		bool is_same = at->attempt == row->attempt;
		/* a stream that prints no steps repeats what somebody says, too */
		bool repeats = !row->attempt && at->ts_ms;
		if (at->step != row->step || (!is_same && !repeats))
			continue;
		is_set = true;
		if (is_same && !set->told[i])
			set->told[i] = row;
	}
	return is_set;
}

/* One statement for all that are set: what lines tell of. */
static enum status read_told(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct set *set, struct checkpoint_row **out, size_t *count, struct error *err)
{
	TRY(store_read_checkpoints(reader, arena, job_id, until_ms, limit, out, count, err));
	set->has_all = until_ms == INT64_MAX && *count < limit;
	return OK;
}

/* *is_one: a line tells of it, or somebody says when it was saved. */
static enum status read_one(struct store_reader *reader, struct arena *arena, int64_t job_id, const struct set *all,
	size_t at, struct checkpoint_row *out, bool *is_one, struct error *err)
{
	const struct checkpoint_by_hand *set = &all->rows[at];

	*is_one = all->told[at] != NULL;
	if (*is_one)
		*out = *all->told[at];
	else if (!all->has_all)
		TRY(store_read_checkpoint(reader, arena, job_id, set->attempt, set->step, out, is_one, err));
	if (!*is_one) {
		*out = (struct checkpoint_row){
			.job_id = job_id, .attempt = set->attempt, .step = set->step, .stream = SPAN("")};
		out->is_added = *is_one = set->attempt && set->ts_ms;
	}
	out->told_ms = out->ts_ms;
	out->ts_ms = set->ts_ms ? set->ts_ms : out->ts_ms;
	out->is_by_hand = true;
	out->is_denied = !set->is_usable;
	out->path = set->path;
	out->why = set->why;
	out->set_by = set->by;
	out->set_ms = set->set_ms;
	return OK;
}

static int newest_first(const void *a, const void *b)
{
	const struct checkpoint_row *x = a, *y = b;

	if (x->ts_ms != y->ts_ms)
		return x->ts_ms > y->ts_ms ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt > y->attempt ? -1 : 1;
	return (x->step < y->step) - (x->step > y->step);
}

/* Each that is set takes at most one of the log's away. */
static enum status read_both(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, bool has_denied, struct checkpoint_row **out, size_t *count, struct error *err)
{
	struct checkpoint_row *told, *rows;
	struct set set;
	size_t told_count;

	TRY(read_set(reader, arena, job_id, &set, err));
	if (!set.count)
		return store_read_checkpoints(reader, arena, job_id, until_ms, limit, out, count, err);
	TRY(read_told(reader, arena, job_id, until_ms, limit + set.count, &set, &told, &told_count, err));
	*count = 0;
	if (!(*out = rows = arena_alloc(arena, (told_count + set.count) * sizeof *rows)))
		return error_no_memory(err);
	for (size_t i = 0; i < told_count; i++)
		if (!is_of(&set, &told[i]))
			rows[(*count)++] = told[i];
	for (size_t i = 0; i < set.count; i++) {
		struct checkpoint_row *row = &rows[*count];
		bool is_one;
		TRY(read_one(reader, arena, job_id, &set, i, row, &is_one, err));
		*count += is_one && row->ts_ms <= until_ms && (has_denied || !row->is_denied);
	}
	if (*count)
		qsort(rows, *count, sizeof *rows, newest_first);
	*count = *count < limit ? *count : limit;
	return OK;
}

enum status checkpoints_read(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err)
{
	return read_both(reader, arena, job_id, until_ms, limit, false, out, count, err);
}

enum status checkpoints_read_all(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t until_ms,
	size_t limit, struct checkpoint_row **out, size_t *count, struct error *err)
{
	return read_both(reader, arena, job_id, until_ms, limit, true, out, count, err);
}

enum status checkpoints_read_denied(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct checkpoint_row **out, size_t *count, struct error *err)
{
	struct checkpoint_row *told;
	struct set set;
	size_t told_count = 0;

	*count = 0;
	TRY(read_set(reader, arena, job_id, &set, err));
	if (!(*out = arena_alloc(arena, (set.count + 1) * sizeof **out)))
		return error_no_memory(err);
	if (set.count > FEW)
		TRY(read_told(reader, arena, job_id, INT64_MAX, ALL_MAX, &set, &told, &told_count, err));
	for (size_t i = 0; i < told_count; i++)
		is_of(&set, &told[i]);
	for (size_t i = 0; i < set.count; i++) {
		bool is_one;
		if (set.rows[i].is_usable)
			continue;
		TRY(read_one(reader, arena, job_id, &set, i, &(*out)[*count], &is_one, err));
		*count += is_one;
	}
	if (*count)
		qsort(*out, *count, sizeof **out, newest_first);
	return OK;
}

enum status checkpoints_read_lost_steps(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t **out,
	size_t *count, struct error *err)
{
	struct checkpoint_row *denied, *left;
	size_t denied_count, left_count = 0;

	*count = 0;
	TRY(checkpoints_read_denied(reader, arena, job_id, &denied, &denied_count, err));
	if (!(*out = arena_alloc(arena, (denied_count + 1) * sizeof **out)))
		return error_no_memory(err);
	if (denied_count)
		TRY(checkpoints_read(reader, arena, job_id, INT64_MAX, ALL_MAX, &left, &left_count, err));
	for (size_t i = 0; i < denied_count; i++) {
		bool is_left = false;
		for (size_t k = 0; k < left_count && !is_left; k++)
			is_left = left[k].step == denied[i].step;
		if (!is_left)
			(*out)[(*count)++] = denied[i].step;
	}
	return OK;
}
