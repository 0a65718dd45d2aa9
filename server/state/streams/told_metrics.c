#include "state/streams/told_metrics.h"

#include "base/alloc.h"
#include "model/metrics/batch.h"
#include "model/metrics/main_metric.h"
#include "model/metrics/metric_words.h"
#include "model/metrics/stream_name.h"

#include <math.h>
#include <string.h>

enum { NAMES_MAX = 4096 }; /* lines of others are read as if nobody told them */

bool series_is_of_steps(const struct batch_series *sent, struct span stream)
{
	bool has_steps = sent->count && step_is_said(sent->steps[sent->count - 1]); /* MLflow's first one is none */

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

bool told_metrics_is_since(const struct batch_series *sent, int64_t began_ms)
{
	int64_t ts_ms = sent->ts_ms[sent->count - 1];

	return ts_ms == NO_TIME || ts_ms >= began_ms;
}

/* A job may have several throughputs; a part of the loss (aux_loss) is not the loss. */
static bool is_of_one(enum role role, struct span metric)
{
	const struct metric_candidate candidate = {.metric = metric_bare_name(metric), .unit = SPAN(""), .role = role};

	if (role != ROLE_LOSS && role != ROLE_EVAL_LOSS && role != ROLE_LEARNING_RATE && role != ROLE_GRAD_NORM)
		return false;
	return main_metric_rank(role, &candidate) < MAIN_METRIC_PART;
}

/* What is said of no part is of the training. Words are of ASCII: other names are compared as they are. */
static uint64_t hash_of(struct span metric)
{
	char text[METRIC_WORDS_MAX_BYTES];
	struct span name = metric_bare_name(metric), words = metric_words(name, text);

	if (!span_is_ascii(name))
		return span_hash(name);
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
	told->names[at] = (struct told_name){.hash = hash};
	return &told->names[at];
}

struct told_when told_metrics_when(const struct batch_series *sent, unsigned life)
{
	struct told_when when = {life, NO_TIME, false};

	for (size_t i = 0; i < sent->count; i++) {
		if (when.since_ms == NO_TIME)
			when.since_ms = sent->ts_ms[i];
		when.has_no_number |= !isfinite(sent->values[i]);
	}
	return when;
}

static void note(struct told_when *known, const struct told_when *now)
{
	if (known->life != now->life) {
		*known = *now;
		return;
	}
	if (known->since_ms == NO_TIME || (now->since_ms != NO_TIME && now->since_ms < known->since_ms))
		known->since_ms = now->since_ms;
	known->has_no_number |= now->has_no_number;
}

bool told_metrics_add(struct told_metrics *told, struct span metric, enum role role, const struct told_when *when)
{
	uint64_t hash = hash_of(metric);

	pthread_mutex_lock(&told->mutex);
	struct told_name *name = find(told, hash);
	bool is_full = !name && told->count >= NAMES_MAX;
	if (!name && !is_full)
		name = insert(told, hash);
	if (name)
		note(&name->when, when);
	if (is_of_one(role, metric))
		note(&told->roles[role], when);
	pthread_mutex_unlock(&told->mutex);
	atomic_store(&told->has_any, true);
	return name || is_full;
}

bool told_metrics_find(
	struct told_metrics *told, struct span metric, enum role role, unsigned life, struct told_when *when)
{
	*when = (struct told_when){0};
	if (!atomic_load(&told->has_any))
		return false;
	uint64_t hash = hash_of(metric);
	bool may_be_role = is_of_one(role, metric);
	pthread_mutex_lock(&told->mutex);
	const struct told_name *name = find(told, hash);
	if (name && name->when.life == life)
		note(when, &name->when);
	if (may_be_role && told->roles[role].life == life)
		note(when, &told->roles[role]);
	pthread_mutex_unlock(&told->mutex);
	return when->life == life;
}

void told_metrics_note_number(struct told_metrics *told, struct span metric, enum role role, int64_t number_ms)
{
	uint64_t hash = hash_of(metric);

	pthread_mutex_lock(&told->mutex);
	struct told_name *name = find(told, hash);
	if (name)
		name->number_ms = number_ms;
	if (is_of_one(role, metric))
		told->role_number_ms[role] = number_ms;
	pthread_mutex_unlock(&told->mutex);
}

int64_t told_metrics_number_ms(struct told_metrics *told, struct span metric, enum role role)
{
	uint64_t hash = hash_of(metric);

	pthread_mutex_lock(&told->mutex);
	const struct told_name *name = find(told, hash);
	int64_t by_role_ms = is_of_one(role, metric) ? told->role_number_ms[role] : 0;
	int64_t number_ms = name && name->number_ms ? name->number_ms : by_role_ms;
	pthread_mutex_unlock(&told->mutex);
	return number_ms;
}

bool told_metrics_have(struct told_metrics *told, struct span metric, enum role role, unsigned life)
{
	struct told_when when;

	return told_metrics_find(told, metric, role, life, &when);
}

/* One that has given way to a tracker's has none, but for what it is called. */
static enum role role_by(struct span metric, enum role role)
{
	return role == ROLE_OTHER ? role_guess(metric_bare_name(metric)) : role;
}

bool told_metrics_are_one(struct span a, enum role role_of_a, struct span b, enum role role_of_b)
{
	enum role role = role_by(a, role_of_a);

	if (hash_of(a) == hash_of(b))
		return true;
	return role == role_by(b, role_of_b) && is_of_one(role, a) && is_of_one(role, b);
}
