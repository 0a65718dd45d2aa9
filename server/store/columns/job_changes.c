#include "store/columns/job_changes.h"

#include <pthread.h>
#include <stdlib.h>

struct change {
	int64_t version;
	int64_t job_id;
	unsigned what;
};

struct job_changes {
	pthread_mutex_t lock;
	struct change *ring; /* once it is full */
	size_t count, cap, oldest;
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
	mem_free(changes->ring);
	pthread_mutex_destroy(&changes->lock);
	mem_free(changes);
}

static void note(struct job_changes *changes, const struct change *change)
{
	if (changes->count) {
		struct change *last = &changes->ring[(changes->oldest + changes->count - 1) % JOB_CHANGES_MAX];
		if (last->version == change->version && last->job_id == change->job_id) {
			last->what |= change->what;
			return;
		}
	}
	if (changes->count < JOB_CHANGES_MAX &&
		!mem_grow((void **)&changes->ring, changes->count, &changes->cap, sizeof *change)) {
		changes->forgotten = change->version;
		return;
	}
	if (changes->count < JOB_CHANGES_MAX) {
		changes->ring[changes->count++] = *change;
		return;
	}
	struct change *oldest = &changes->ring[changes->oldest];
	changes->forgotten = oldest->version > changes->forgotten ? oldest->version : changes->forgotten;
	*oldest = *change;
	changes->oldest = (changes->oldest + 1) % JOB_CHANGES_MAX;
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
	const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
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
		const struct change *change = &changes->ring[i];
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
