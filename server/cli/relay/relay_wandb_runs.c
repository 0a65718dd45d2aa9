/* Runs: made under the id that the client names, and gone on with. */
#include "cli/relay/relay_wandb.h"

#include "base/crypto.h"

enum { TEXT_MAX_BYTES = 8 << 10, TAIL_MAX_BYTES = 4 << 20, ID_BYTES = 4 };

static struct span project_of(const struct relay_wandb_call *call, const char *name)
{
	struct span project = relay_wandb_variable(call, name);

	return project.len ? project : SPAN(WANDB_DEFAULT_PROJECT);
}

/* ---- making and changing ---- */

static void write_bucket(struct relay_wandb_call *call, const struct wandb_known_run *run, struct span entity)
{
	struct json_writer *w = &call->w;

	json_key(w, "bucket");
	json_object(w);
	json_put_text(w, "id", run->id);
	json_put_text(w, "name", run->id);
	json_put_text(w, "displayName", run->name);
	json_put_text(w, "description", "");
	json_put_text(w, "config", "{}");
	json_key(w, "sweepName");
	json_null(w);
	json_key(w, "project");
	json_object(w);
	json_put_text(w, "id", run->project);
	json_put_text(w, "name", run->project);
	wandb_write_named(w, "entity", entity);
	json_object_end(w);
	json_put_i64(w, "historyLineCount", 0);
	json_object_end(w);
}

/* Who names none is given one, by which the server has it, too. */
static bool name_run(struct relay_wandb_call *call)
{
	unsigned char bytes[ID_BYTES];
	char digits[2 * ID_BYTES + 1];
	struct json *variables = (struct json *)call->asked.variables; /* the call's own */

	if (!variables || relay_wandb_variable(call, "name").len)
		return variables != NULL;
	crypto_random(bytes, sizeof bytes);
	crypto_hex(bytes, sizeof bytes, digits);
	return json_set_string(variables, "name", span_from(digits));
}

static void change_run(struct relay_wandb_call *call, struct wandb_known_run *run)
{
	struct span name = relay_wandb_variable(call, "displayName"), config = relay_wandb_variable(call, "config");

	if (name.len)
		wandb_known_set(&run->name, name);
	if (config.len)
		wandb_known_set(&run->config, config);
}

enum status relay_wandb_upsert(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(buf) entity = BUF_INIT(TEXT_MAX_BYTES);
	struct relay_core *core = call->core;

	if (relay_wandb_variable(call, "sweep").len)
		return error_set(err, ERR_UNSUPPORTED, WANDB_NO_SWEEPS);
	if (!name_run(call))
		return error_set(err, ERR_SEMANTIC, "'variables' must be an object");
	relay_wandb_entity(call, &entity);
	json_key(&call->w, "upsertBucket");
	json_object(&call->w);
	pthread_mutex_lock(&core->mutex);
	struct wandb_known_run *run = wandb_known_add(
		core->known[RELAY_WANDB], project_of(call, "project"), relay_wandb_variable(call, "name"));
	if (run) {
		change_run(call, run);
		write_bucket(call, run, buf_span(&entity));
	}
	pthread_mutex_unlock(&core->mutex);
	json_put_bool(&call->w, "inserted", true);
	json_object_end(&call->w);
	return run ? relay_wandb_put_operation(call, err) : error_no_memory(err);
}

/* ---- going on ---- */

/* A list of one text, in a text. */
static void put_tail(struct json_writer *w, const char *key, const char *line)
{
	AUTO_DONE(buf) text = BUF_INIT(TAIL_MAX_BYTES);
	struct json_writer inner = json_writer_on(&text);

	json_array(&inner);
	if (*line)
		json_text(&inner, line);
	json_array_end(&inner);
	json_put_span(w, key, text.failure == OK ? buf_span(&text) : SPAN("[]"));
}

static void write_resume(struct json_writer *w, const struct wandb_known_run *run)
{
	json_object(w);
	json_put_text(w, "id", run->id);
	json_put_text(w, "name", run->id);
	json_put_text(w, "summaryMetrics", run->summary);
	json_put_text(w, "displayName", run->name);
	json_put_i64(w, "logLineCount", (int64_t)run->console_lines);
	json_put_i64(w, "historyLineCount", (int64_t)run->history_lines);
	json_put_i64(w, "eventsLineCount", (int64_t)run->events_lines);
	put_tail(w, "historyTail", run->history_tail);
	put_tail(w, "eventsTail", run->events_tail);
	json_put_text(w, "config", run->config);
	json_key(w, "tags");
	json_array(w);
	json_array_end(w);
	json_put_text(w, "wandbConfig", "{\"t\":{}}"); /* by which a client tells a run that has begun */
	json_object_end(w);
}

static uint64_t count_of(const struct json *bucket, const char *name)
{
	double count;

	return json_number_of(json_get(bucket, name), &count) && count >= 0 && count < 0x1p53 ? (uint64_t)count : 0;
}

/* What went before came by another process: from here on it goes through this one. */
static void learn(struct relay_wandb_call *call, const struct json *bucket)
{
	static const struct {
		const char *name;
		size_t at;
	} texts[] = {{"displayName", offsetof(struct wandb_known_run, name)},
		{"config", offsetof(struct wandb_known_run, config)},
		{"summaryMetrics", offsetof(struct wandb_known_run, summary)}};

	struct wandb_known_run *run = wandb_known_add(
		call->core->known[RELAY_WANDB], project_of(call, "project"), relay_wandb_variable(call, "name"));
	for (size_t i = 0; run && i < sizeof texts / sizeof *texts; i++) {
		struct span text = json_string_of(json_get(bucket, texts[i].name));
		if (text.len)
			wandb_known_set((char **)((char *)run + texts[i].at), text);
	}
	if (!run)
		return;
	run->history_lines = count_of(bucket, "historyLineCount");
	run->events_lines = count_of(bucket, "eventsLineCount");
	run->console_lines = count_of(bucket, "logLineCount");
}

static enum status pass_status(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;

	TRY(relay_wandb_ask(call, &reply, err));
	if (reply.status_code != 200) /* of a refusal the training ends */
		return error_set(err, ERR_UNAVAILABLE, "the server answers %d", reply.status_code);
	if (json_parse(&document, buf_span(&reply.body), NULL) == OK) {
		const struct json *bucket = json_get_path(document, "data.model.bucket");
		pthread_mutex_lock(&call->core->mutex);
		if (bucket && json_kind(bucket) == JSON_OBJECT)
			learn(call, bucket);
		pthread_mutex_unlock(&call->core->mutex);
	}
	relay_wandb_reply_with(call, &reply);
	return OK;
}

/*
 * While the server is away: what this training told of the run. Of another one it is there, and empty: nobody can say that it is not, and
 * whoever must go on with it does.
 */
enum status relay_wandb_resume_status(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(buf) entity = BUF_INIT(TEXT_MAX_BYTES);
	struct span project = project_of(call, "project");
	struct json_writer *w = &call->w;

	if (pass_status(call, err) == OK)
		return OK;
	relay_wandb_entity(call, &entity);
	json_key(w, "model");
	json_object(w);
	json_put_span(w, "id", project);
	json_put_span(w, "name", project);
	wandb_write_named(w, "entity", buf_span(&entity));
	json_key(w, "bucket");
	pthread_mutex_lock(&call->core->mutex);
	struct wandb_known_run *run =
		wandb_known_add(call->core->known[RELAY_WANDB], project, relay_wandb_variable(call, "name"));
	if (run)
		write_resume(w, run);
	pthread_mutex_unlock(&call->core->mutex);
	if (!run)
		return error_no_memory(err);
	json_object_end(w);
	return OK;
}

/* ---- alerts ---- */

enum status relay_wandb_alert(struct relay_wandb_call *call, struct error *err)
{
	TRY(relay_wandb_put_operation(call, err));
	json_key(&call->w, "notifyScriptableRunAlert");
	json_object(&call->w);
	json_put_bool(&call->w, "success", true);
	json_object_end(&call->w);
	return OK;
}
