#include "state/streams/told_metrics.h"

#include "base/alloc.h"
#include "model/metrics/metric_words.h"
#include "model/metrics/stream_name.h"

#include <string.h>

enum { NAMES_MAX = 4096 }; /* lines of others are read as if nobody told them */

bool series_is_of_steps(const struct batch_series *sent, struct span stream)
{
	bool has_steps = sent->count && sent->steps[sent->count - 1] != NO_STEP; /* MLflow's first one is none */

	return sent->form == SERIES_VALUES && has_steps && !stream_is_system(stream);
}

enum role series_role(const struct batch_series *sent)
{
	return sent->role < ROLE_COUNT ? (enum role)sent->role : role_guess(metric_bare_name(sent->metric));
}

void told_metrics_init(struct told_metrics *told)
{
	pthread_mutex_init(&told->mutex, NULL);
}

void told_metrics_done(struct told_metrics *told)
{
	pthread_mutex_destroy(&told->mutex);
	mem_free(told->names);
}

/* A job may have several throughputs. */
static bool is_of_one(enum role role)
{
	return role == ROLE_LOSS || role == ROLE_EVAL_LOSS || role == ROLE_LEARNING_RATE || role == ROLE_GRAD_NORM;
}

/* What is said of no part is of the training. */
static uint64_t hash_of(struct span metric)
{
	char text[METRIC_WORDS_MAX_BYTES];
	struct span words = metric_words(metric_bare_name(metric), text);

	while (span_starts_with(words, SPAN("_train_")))
		words = span_skip(words, sizeof "_train" - 1);
	return span_hash(words);
}

/* Where it is, or belongs: they are in the order of their hashes. */
static size_t place_of(const struct told_metrics *told, uint64_t hash)
{
	size_t low = 0, high = told->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (told->names[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct told_name *find(const struct told_metrics *told, uint64_t hash)
{
	size_t at = place_of(told, hash);

	return at < told->count && told->names[at].hash == hash ? &told->names[at] : NULL;
}

/* NULL: no memory. */
static struct told_name *insert(struct told_metrics *told, uint64_t hash)
{
	size_t at = place_of(told, hash);

	if (!mem_grow((void **)&told->names, told->count, &told->cap, sizeof *told->names))
		return NULL;
	memmove(&told->names[at + 1], &told->names[at], (told->count++ - at) * sizeof *told->names);
	told->names[at].hash = hash;
	return &told->names[at];
}

bool told_metrics_add(struct told_metrics *told, struct span metric, enum role role, unsigned life)
{
	uint64_t hash = hash_of(metric);

	pthread_mutex_lock(&told->mutex);
	struct told_name *name = find(told, hash);
	bool is_full = !name && told->count >= NAMES_MAX;
	if (!name && !is_full)
		name = insert(told, hash);
	if (name)
		name->life = life;
	if (is_of_one(role))
		told->lives[role] = life;
	pthread_mutex_unlock(&told->mutex);
	atomic_store(&told->has_any, true);
	return name || is_full;
}

bool told_metrics_have(struct told_metrics *told, struct span metric, enum role role, unsigned life)
{
	if (!atomic_load(&told->has_any))
		return false;
	pthread_mutex_lock(&told->mutex);
	const struct told_name *name = find(told, hash_of(metric));
	bool has = (name && name->life == life) || told->lives[role] == life;
	pthread_mutex_unlock(&told->mutex);
	return has;
}
