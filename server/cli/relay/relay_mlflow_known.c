#include "cli/relay/relay_mlflow_known.h"

enum { EXPERIMENTS_MAX = 64, RUNS_MAX = 256, MODELS_MAX = 64 };

struct known {
	struct known_experiment experiments[EXPERIMENTS_MAX];
	size_t experiment_count; /* ever: the next one takes the place of the oldest */
	struct known_run runs[RUNS_MAX];
	size_t run_count;
	struct known_model models[MODELS_MAX];
	size_t model_count;
};

static void experiment_done(struct known_experiment *experiment)
{
	mem_free(experiment->id);
	mem_free(experiment->name);
	mem_free(experiment->location);
	*experiment = (struct known_experiment){0};
}

void known_run_done(struct known_run *run)
{
	mem_free(run->experiment_id);
	mem_free(run->name);
	mem_free(run->user);
	mem_free(run->artifacts);
	mem_free(run->tags);
	*run = (struct known_run){0};
}

void known_model_done(struct known_model *model)
{
	mem_free(model->experiment_id);
	mem_free(model->run_id);
	mem_free(model->name);
	mem_free(model->type);
	mem_free(model->artifacts);
	*model = (struct known_model){0};
}

struct known *known_new(void)
{
	return mem_zeroed(sizeof(struct known));
}

void known_free(struct known *known)
{
	if (!known)
		return;
	for (size_t i = 0; i < EXPERIMENTS_MAX; i++)
		experiment_done(&known->experiments[i]);
	for (size_t i = 0; i < RUNS_MAX; i++)
		known_run_done(&known->runs[i]);
	for (size_t i = 0; i < MODELS_MAX; i++)
		known_model_done(&known->models[i]);
	mem_free(known);
}

const struct known_experiment *known_by_id(const struct known *known, struct span id)
{
	for (size_t i = 0; i < EXPERIMENTS_MAX; i++)
		if (known->experiments[i].id && span_equal(span_from(known->experiments[i].id), id))
			return &known->experiments[i];
	return NULL;
}

const struct known_experiment *known_by_name(const struct known *known, struct span name)
{
	for (size_t i = 0; i < EXPERIMENTS_MAX; i++)
		if (known->experiments[i].id && span_equal(span_from(known->experiments[i].name), name))
			return &known->experiments[i];
	return NULL;
}

const struct known_experiment *known_last(const struct known *known)
{
	return known->experiment_count ? &known->experiments[(known->experiment_count - 1) % EXPERIMENTS_MAX] : NULL;
}

const struct known_experiment *known_add_experiment(
	struct known *known, struct span id, struct span name, struct span location, bool is_ours)
{
	struct known_experiment *place = &known->experiments[known->experiment_count % EXPERIMENTS_MAX];
	struct known_experiment made = {mem_copy_bytes(id.ptr, id.len), mem_copy_bytes(name.ptr, name.len),
		mem_copy_bytes(location.ptr, location.len), is_ours};

	if (!made.id || !made.name || !made.location) {
		experiment_done(&made);
		return NULL;
	}
	experiment_done(place);
	*place = made;
	known->experiment_count++;
	return place;
}

struct known_run *known_run(struct known *known, struct span id)
{
	for (size_t i = 0; i < RUNS_MAX; i++)
		if (known->runs[i].id[0] && span_equal(span_from(known->runs[i].id), id))
			return &known->runs[i];
	return NULL;
}

bool known_add_run(struct known *known, const struct known_run *run)
{
	struct known_run made = *run;

	if (!made.experiment_id || !made.name || !made.user || !made.artifacts || !made.tags) {
		known_run_done(&made);
		return false;
	}
	struct known_run *place = &known->runs[known->run_count++ % RUNS_MAX];
	known_run_done(place);
	*place = made;
	return true;
}

struct known_model *known_model(struct known *known, struct span id)
{
	for (size_t i = 0; i < MODELS_MAX; i++)
		if (known->models[i].id[0] && span_equal(span_from(known->models[i].id), id))
			return &known->models[i];
	return NULL;
}

bool known_add_model(struct known *known, const struct known_model *model)
{
	struct known_model made = *model;

	if (!made.experiment_id || !made.run_id || !made.name || !made.type || !made.artifacts) {
		known_model_done(&made);
		return false;
	}
	struct known_model *place = &known->models[known->model_count++ % MODELS_MAX];
	known_model_done(place);
	*place = made;
	return true;
}
