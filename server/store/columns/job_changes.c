#include "store/columns/job_changes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct change {
	int64_t version;
	int64_t job_id;
	unsigned what;
};

struct job_changes {
	pthread_mutex_t lock;
	struct change *items; /* in the order of their versions */
	size_t count, cap;
	int64_t forgotten; /* the newest version of which a change was dropped */
};

struct job_changes *job_changes_new(void)
{
	struct job_changes *changes = mem_zeroed(sizeof *changes);

	if (changes)
		pthread_mutex_init(&changes->lock, NULL);
	return changes;
}

void job_changes_free(struct job_changes *changes)
{
	if (!changes)
		return;
	mem_free(changes->items);
	pthread_mutex_destroy(&changes->lock);
	mem_free(changes);
}

static int compare(int64_t left, int64_t right)
{
	return (left > right) - (left < right);
}

static int compare_jobs(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	int order = compare(left->job_id, right->job_id);

	return order ? order : compare(right->version, left->version); /* the newest first */
}

static int compare_versions(const void *a, const void *b)
{
	return compare(((const struct change *)a)->version, ((const struct change *)b)->version);
}

/* What a later change of the same job says, too, goes: one that lives long is there once a kind, not once a commit. */
static void fold(struct job_changes *changes)
{
	size_t kept = 0;
	int64_t job_id = 0;
	unsigned seen = 0;

	if (!changes->items)
		return;
	qsort(changes->items, changes->count, sizeof *changes->items, compare_jobs);
	for (size_t i = 0; i < changes->count; i++) {
		struct change change = changes->items[i];
		unsigned what = change.what;
		seen = i && change.job_id == job_id ? seen : 0;
		job_id = change.job_id;
		change.what &= ~seen;
		seen |= what;
		if (change.what)
			changes->items[kept++] = change;
	}
	changes->count = kept;
	qsort(changes->items, kept, sizeof *changes->items, compare_versions);
}

static void forget_oldest(struct job_changes *changes)
{
	size_t gone = changes->count - changes->count / 4 * 3;

	if (!changes->items)
		return;
	changes->forgotten = changes->items[gone - 1].version;
	changes->count -= gone;
	memmove(changes->items, changes->items + gone, changes->count * sizeof *changes->items);
}

/* A quarter of it, or else it is sorted again and again. */
static void make_room(struct job_changes *changes)
{
	if (changes->count < changes->cap)
		return;
	fold(changes);
	if (changes->count < changes->cap / 4 * 3)
		return;
	if (changes->cap >= JOB_CHANGES_MAX ||
		!mem_grow((void **)&changes->items, changes->cap, &changes->cap, sizeof *changes->items))
		forget_oldest(changes);
}

static void note(struct job_changes *changes, const struct change *change)
{
	struct change *last = changes->count ? &changes->items[changes->count - 1] : NULL;

	if (last && last->version == change->version && last->job_id == change->job_id) {
		last->what |= change->what;
		return;
	}
	make_room(changes);
	if (changes->items)
		changes->items[changes->count++] = *change;
	else /* there was never any memory */
		changes->forgotten = change->version;
}

void job_changes_note(struct job_changes *changes, int64_t version, int64_t job_id, unsigned what)
{
	struct change change = {.version = version, .job_id = job_id, .what = what};

	pthread_mutex_lock(&changes->lock);
	note(changes, &change);
	pthread_mutex_unlock(&changes->lock);
}

static int compare_ids(const void *a, const void *b)
{
	return compare(*(const int64_t *)a, *(const int64_t *)b);
}

bool job_changes_since(
	struct job_changes *changes, int64_t version, unsigned what, int64_t **jobs, size_t *count, bool *is_known)
{
	size_t cap = 0, used = 0;
	bool is_ok = true;

	*jobs = NULL;
	pthread_mutex_lock(&changes->lock);
	*is_known = version >= changes->forgotten;
	for (size_t i = 0; *is_known && is_ok && i < changes->count; i++) {
		const struct change *change = &changes->items[i];
		if (change->version <= version || !(change->what & what))
			continue;
		is_ok = mem_grow((void **)jobs, used, &cap, sizeof **jobs);
		if (is_ok)
			(*jobs)[used++] = change->job_id;
	}
	pthread_mutex_unlock(&changes->lock);
	if (used)
		qsort(*jobs, used, sizeof **jobs, compare_ids);
	*count = 0;
	for (size_t i = 0; i < used; i++)
		if (!i || (*jobs)[i] != (*jobs)[i - 1])
			(*jobs)[(*count)++] = (*jobs)[i];
	return is_ok;
}
