#include "cli/relay/relay_wandb_known.h"

#include "tracker/wandb_replies.h"

enum { RUNS_MAX = 64, TEXT_MAX_BYTES = 1 << 20 };

struct wandb_known {
	struct wandb_known_run runs[RUNS_MAX];
	size_t count; /* ever: the next one takes the place of the oldest */
	char *entity;
};

static void run_done(struct wandb_known_run *run)
{
	char *texts[] = {
		run->project, run->id, run->name, run->config, run->summary, run->history_tail, run->events_tail};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		mem_free(texts[i]);
	*run = (struct wandb_known_run){0};
}

struct wandb_known *wandb_known_new(void)
{
	AUTO(wandb_known) known = mem_zeroed(sizeof *known);

	if (known && !(known->entity = mem_copy_string("")))
		return NULL;
	return TAKE(known);
}

void wandb_known_free(struct wandb_known *known)
{
	if (!known)
		return;
	for (size_t i = 0; i < RUNS_MAX; i++)
		run_done(&known->runs[i]);
	mem_free(known->entity);
	mem_free(known);
}

struct wandb_known_run *wandb_known_find(struct wandb_known *known, struct span project, struct span id)
{
	for (size_t i = 0; i < RUNS_MAX; i++) {
		struct wandb_known_run *run = &known->runs[i];
		if (run->id && span_equal(span_from(run->id), id) && span_equal(span_from(run->project), project))
			return run;
	}
	return NULL;
}

struct wandb_known_run *wandb_known_add(struct wandb_known *known, struct span project, struct span id)
{
	struct wandb_known_run *run = wandb_known_find(known, project, id);

	if (run)
		return run;
	struct wandb_known_run made = {.project = mem_copy_bytes(project.ptr, project.len),
		.id = mem_copy_bytes(id.ptr, id.len),
		.name = mem_copy_bytes(id.ptr, id.len),
		.config = mem_copy_string("{}"),
		.summary = mem_copy_string("{}"),
		.history_tail = mem_copy_string(""),
		.events_tail = mem_copy_string("")};
	if (!made.project || !made.id || !made.name || !made.config || !made.summary || !made.history_tail ||
		!made.events_tail) {
		run_done(&made);
		return NULL;
	}
	run = &known->runs[known->count++ % RUNS_MAX];
	run_done(run);
	*run = made;
	return run;
}

void wandb_known_set(char **text, struct span value)
{
	bool is_object = (*text)[0] == '{';
	struct span kept = value.len <= TEXT_MAX_BYTES ? value : is_object ? SPAN("{}") : SPAN("");
	char *copy = mem_copy_bytes(kept.ptr, kept.len);

	if (!copy)
		return; /* an older one is better than none */
	mem_free(*text);
	*text = copy;
}

const char *wandb_known_entity(const struct wandb_known *known)
{
	return known->entity;
}

void wandb_known_set_entity(struct wandb_known *known, struct span entity)
{
	if (entity.len)
		wandb_known_set(&known->entity, entity);
}

/* ---- a body ---- */

static void take_lines(const struct json *file, uint64_t *lines, char **tail)
{
	const struct json *content = json_get(file, "content"), *last = NULL;
	double offset = 0;

	for (const struct json *line = json_first(content); line; line = json_next(line))
		last = line;
	if (!last || (json_get(file, "offset") && !json_number_of(json_get(file, "offset"), &offset)) ||
		!(offset >= 0) || offset > 0x1p53)
		return;
	uint64_t end = (uint64_t)offset + json_count(content);
	if (end <= *lines)
		return;
	*lines = end;
	if (tail)
		wandb_known_set(tail, json_string_of(last));
}

void wandb_known_take(struct wandb_known_run *run, const struct json *body)
{
	const struct json *files = json_get(body, "files");

	for (const struct json *file = json_first(files); file; file = json_next(file)) {
		struct span name = json_key_of(file);
		if (span_equal(name, SPAN(WANDB_HISTORY)))
			take_lines(file, &run->history_lines, &run->history_tail);
		else if (span_equal(name, SPAN(WANDB_EVENTS)))
			take_lines(file, &run->events_lines, &run->events_tail);
		else if (span_equal(name, SPAN(WANDB_CONSOLE)))
			take_lines(file, &run->console_lines, NULL);
		else if (span_equal(name, SPAN(WANDB_SUMMARY)))
			for (const struct json *at = json_first(json_get(file, "content")); at; at = json_next(at))
				wandb_known_set(&run->summary, json_string_of(at));
	}
}
