/* Models of version 3 of the client: noted with an id that stays, as runs are. Their files go where the run's do, without us. */
#include "cli/relay/relay_mlflow.h"

#include "base/crypto.h"

#include <stdio.h>

enum { TEXT_MAX_BYTES = 8 << 10, RANDOM_DIGITS = 8 };

static const struct span models_path = {"logged-models/", 14};

static const char pending[] = "LOGGED_MODEL_PENDING", ready[] = "LOGGED_MODEL_READY",
		  failed[] = "LOGGED_MODEL_UPLOAD_FAILED";

static void write_model(struct relay_call *call, const struct known_model *model)
{
	struct json_writer *w = &call->w;

	json_key(w, "model");
	json_object(w);
	json_key(w, "info");
	json_object(w);
	json_put_text(w, "model_id", model->id);
	json_put_text(w, "experiment_id", model->experiment_id);
	json_put_text(w, "name", model->name);
	json_put_text(w, "model_type", model->type);
	json_put_text(w, "source_run_id", model->run_id);
	json_put_text(w, "artifact_uri", model->artifacts);
	json_put_text(w, "status", model->status);
	json_object_end(w);
	json_key(w, "data");
	json_object(w);
	json_object_end(w);
	json_object_end(w);
}

static char *copy_member(const struct json *body, const char *name, const char *otherwise)
{
	struct span text = json_string_of(json_get(body, name));

	return text.len ? mem_copy_bytes(text.ptr, text.len) : mem_copy_string(otherwise);
}

/* As the server forms it: by its id a model says whose it is. */
static bool fill_model(
	struct relay_call *call, struct span experiment_id, struct span location, struct known_model *model)
{
	unsigned char bytes[RANDOM_DIGITS / 2];
	char digits[RANDOM_DIGITS + 1];
	AUTO_DONE(buf) artifacts = BUF_INIT(TEXT_MAX_BYTES);

	crypto_random(bytes, sizeof bytes);
	crypto_hex(bytes, sizeof bytes, digits);
	*model = (struct known_model){.status = pending};
	model->experiment_id = mem_copy_bytes(experiment_id.ptr, experiment_id.len);
	model->run_id = copy_member(call->body, "source_run_id", "");
	model->name = copy_member(call->body, "name", "model");
	model->type = copy_member(call->body, "model_type", "");
	if (!model->run_id)
		return false;
	int len = snprintf(model->id, sizeof model->id, "m-%s-%s", model->run_id, digits);
	buf_printf(&artifacts, "%.*s/models/%s/artifacts", SPAN_ARGS(location), model->id);
	model->artifacts = artifacts.failure == OK ? mem_copy_bytes(artifacts.ptr, artifacts.len) : NULL;
	return model->experiment_id && model->name && model->type && model->artifacts && len < (int)sizeof model->id;
}

/* To the server it is made, and then made again with how it ended. */
static bool form_record(const struct known_model *model, struct json **out)
{
	AUTO_DONE(buf) text = BUF_INIT(8 * TEXT_MAX_BYTES);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	json_put_text(&w, "client_model_id", model->id);
	json_put_text(&w, "source_run_id", model->run_id);
	json_put_text(&w, "name", model->name);
	json_put_text(&w, "model_type", model->type);
	json_put_text(&w, "artifact_uri", model->artifacts);
	json_put_text(&w, "status", model->status);
	json_object_end(&w);
	return text.failure == OK && json_parse(out, buf_span(&text), NULL) == OK;
}

static enum status make_model(
	struct relay_call *call, const struct relay_experiment *experiment, struct span id, struct error *err)
{
	struct known_model model;
	AUTO(json) record = NULL;
	bool is_made = fill_model(call, id, buf_span(&experiment->location), &model) && form_record(&model, &record);

	if (is_made) {
		relay_mlflow_put(call->core, "logged-models", record);
		write_model(call, &model);
	}
	pthread_mutex_lock(&call->core->mutex);
	bool is_known = is_made && known_add_model(call->core->known[RELAY_MLFLOW], &model);
	pthread_mutex_unlock(&call->core->mutex);
	if (!is_made)
		known_model_done(&model);
	return is_known ? OK : error_no_memory(err);
}

enum status relay_model_create(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(buf) run_id = BUF_INIT(TEXT_MAX_BYTES);
	struct relay_experiment experiment;

	/* one that no run makes is its experiment's, whose number has to be the server's */
	if (!relay_text(call, "source_run_id", &run_id) || run_id.len != KNOWN_RUN_ID_DIGITS)
		return relay_pass(call, err) == OK
			       ? OK
			       : error_set(err, ERR_UNSUPPORTED,
					 "the server is away, and a model without a run cannot be noted");
	if (!relay_text(call, "experiment_id", &id))
		buf_append_text(&id, "0");
	relay_find_experiment(call, buf_span(&id), &experiment);
	enum status status = make_model(call, &experiment, buf_span(&id), err);
	buf_done(&experiment.name);
	buf_done(&experiment.location);
	return status;
}

static const char *status_of(const struct json *body)
{
	struct span status = json_string_of(json_get(body, "status"));

	return span_equal(status, span_from(ready)) ? ready : span_equal(status, span_from(failed)) ? failed : pending;
}

/* What is known of it, with its new status; false: it is not known. */
static bool answer_known(struct relay_call *call, struct span id, bool is_whole)
{
	bool is_change = is_whole && span_equal(call->request->method, SPAN("PATCH"));
	AUTO(json) record = NULL;

	pthread_mutex_lock(&call->core->mutex);
	struct known_model *model = known_model(call->core->known[RELAY_MLFLOW], id);
	if (model && is_change)
		model->status = status_of(call->body);
	if (model && is_whole)
		write_model(call, model);
	bool is_formed = model && is_change && form_record(model, &record);
	pthread_mutex_unlock(&call->core->mutex);
	if (is_formed)
		relay_mlflow_put(call->core, "logged-models", record);
	return model && is_formed == is_change;
}

enum status relay_model_call(struct relay_call *call, struct error *err)
{
	struct span rest = call->name, id = SPAN("");

	(void)(span_take(&rest, models_path) && span_next(&rest, '/', &id));
	bool is_aside = span_equal(rest, SPAN("params")) || span_starts_with(rest, SPAN("tags"));
	bool is_deletion = span_equal(call->request->method, SPAN("DELETE"));
	if ((is_aside || (!rest.len && !is_deletion)) && answer_known(call, id, !is_aside))
		return OK;
	if (relay_pass(call, err) == OK)
		return OK;
	return is_aside ? OK
			: error_set(err, ERR_UNSUPPORTED, "the server is away, and sm-ship's relay cannot answer this");
}

/* A model's id says which run made it. */
enum status relay_run_outputs(struct relay_call *call, struct error *err)
{
	(void)call;
	(void)err;
	return OK;
}
