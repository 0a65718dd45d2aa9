/*
 * Models that clients of version 3 log: their files go where the run's do, without us; what is known of a model is a tag of its run
 * (mlflow.loggedModel.ID), or of its experiment where it has none. Its id says which: m-RUN-RANDOM, m-eEXPERIMENT-RANDOM.
 */
#include "base/crypto.h"
#include "mlflow/internal.h"

#include <stdio.h>

enum { MODEL_TEXT_MAX_BYTES = 2000, RUN_DIGITS = 32, RANDOM_DIGITS = 8, ID_MAX_BYTES = 64 };

static const char tag_start[] = "mlflow.loggedModel.";
static const struct span models_path = {"/api/2.0/mlflow/logged-models/", 30};

struct model {
	struct span id, name, type, status, artifacts, run_id; /* run_id "": of an experiment */
	int64_t experiment_id, created_ms;
};

/* ---- its id ---- */

static bool is_hex(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (span_hex_digit(text.ptr[i]) < 0 || (text.ptr[i] >= 'A' && text.ptr[i] <= 'F'))
			return false;
	return text.len > 0;
}

/* Whose it is, by its id; false: it is none of ours. */
static bool read_id(struct span id, struct model *out)
{
	struct span owner = id, random;

	if (id.len > ID_MAX_BYTES || !span_take(&owner, SPAN("m-")) || owner.len <= RANDOM_DIGITS + 1)
		return false;
	random = span_skip(owner, owner.len - RANDOM_DIGITS);
	owner.len -= RANDOM_DIGITS + 1;
	if (owner.ptr[owner.len] != '-' || !is_hex(random))
		return false;
	*out = (struct model){.id = id, .run_id = SPAN("")};
	if (owner.len == RUN_DIGITS && is_hex(owner)) {
		out->run_id = owner;
		return true;
	}
	return span_take(&owner, SPAN("e")) && span_parse_i64(owner, &out->experiment_id) && out->experiment_id >= 0;
}

static enum status make_id(struct mlflow_call *call, struct model *model, struct error *err)
{
	unsigned char bytes[RANDOM_DIGITS / 2];
	char digits[RANDOM_DIGITS + 1], text[ID_MAX_BYTES + 1];

	crypto_random(bytes, sizeof bytes);
	crypto_hex(bytes, sizeof bytes, digits);
	if (model->run_id.len)
		snprintf(text, sizeof text, "m-%.*s-%s", SPAN_ARGS(model->run_id), digits);
	else
		snprintf(text, sizeof text, "m-e%lld-%s", (long long)model->experiment_id, digits);
	model->id = arena_copy(call->arena, span_from(text));
	return model->id.ptr ? OK : error_no_memory(err);
}

/* ---- its tag ---- */

static enum status tag_key(struct mlflow_call *call, struct span id, struct span *out, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(256);

	buf_append_text(&key, tag_start);
	buf_append_span(&key, id);
	TRY(buf_status(&key, err));
	*out = arena_copy(call->arena, buf_span(&key));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status keep(struct mlflow_call *call, const struct model *model, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MLFLOW_TAG_MAX_BYTES);
	struct json_writer w = json_writer_on(&text);
	struct tracked_pairs tags = {0};
	struct span key;

	json_object(&w);
	json_put_span(&w, "name", model->name);
	json_put_span(&w, "model_type", model->type);
	json_put_span(&w, "status", model->status);
	json_put_span(&w, "artifact_uri", model->artifacts);
	json_put_i64(&w, "experiment_id", model->experiment_id);
	json_put_i64(&w, "created_ms", model->created_ms);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(tag_key(call, model->id, &key, err));
	if (!model->run_id.len)
		return pipeline_change_project(call->pipeline,
			&(struct project_change){.team = call->team,
				.project_id = model->experiment_id,
				.name = SPAN(""),
				.tag_key = key,
				.tag_value = buf_span(&text),
				.now_ms = call->now_ms},
			err);
	if (!tracked_pairs_add(call->arena, &tags, key, buf_span(&text)))
		return error_no_memory(err);
	return mlflow_state(call, model->run_id, NULL, &tags, err);
}

static enum status no_model(struct span id, struct error *err)
{
	return mlflow_error(
		err, ERR_NOT_FOUND, NULL, "there is no model with the id '%.*s'", SPAN_ARGS(span_cut(id, 100)));
}

/* The arena's copy of the tag's text. */
static enum status find_tag(
	struct mlflow_call *call, const struct model *model, struct span key, struct span *out, struct error *err)
{
	struct tracked_project_row experiment;
	struct tracked_run_row row;
	struct mlflow_run run;
	AUTO(json) tags = NULL;

	*out = SPAN("");
	bool is_there = false;
	if (!model->run_id.len) {
		TRY(mlflow_find_experiment(call, model->experiment_id, &experiment, err));
		TRY(mlflow_check_owner(call, &experiment, err));
		TRY(json_parse(&tags, experiment.tags, err));
		const struct json *tag = json_first(tags);
		while (tag && !span_equal(json_key_of(tag), key))
			tag = json_next(tag);
		is_there = json_string_of(tag).len > 0;
		*out = arena_copy(call->arena, json_string_of(tag));
	} else {
		TRY(store_read_tracked_run(call->reader, call->arena, model->run_id, &row, err));
		TRY(mlflow_view_run(call, &row, false, &run, err));
		for (size_t i = 0; i < run.tags.count; i++)
			if (span_equal(run.tags.items[i].key, key))
				*out = run.tags.items[i].value;
	}
	if (is_there && !out->ptr)
		return error_no_memory(err);
	return out->len ? OK : no_model(model->id, err);
}

static struct span copy_member(struct mlflow_call *call, const struct json *document, const char *name)
{
	struct span text = json_string_of(json_get(document, name));

	return text.len ? arena_copy(call->arena, text) : SPAN("");
}

static enum status find(struct mlflow_call *call, struct span id, struct model *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct span key, text;

	if (!read_id(id, out))
		return no_model(id, err);
	TRY(tag_key(call, id, &key, err));
	TRY(find_tag(call, out, key, &text, err));
	TRY(json_parse(&document, text, err));
	out->name = copy_member(call, document, "name");
	out->type = copy_member(call, document, "model_type");
	out->status = copy_member(call, document, "status");
	out->artifacts = copy_member(call, document, "artifact_uri");
	(void)mlflow_integer_of(json_get(document, "experiment_id"), &out->experiment_id);
	(void)mlflow_integer_of(json_get(document, "created_ms"), &out->created_ms);
	return out->name.ptr && out->type.ptr && out->status.ptr && out->artifacts.ptr ? OK : error_no_memory(err);
}

static void write_model(struct json_writer *w, const struct model *model)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%lld", (long long)model->experiment_id);
	json_key(w, "model");
	json_object(w);
	json_key(w, "info");
	json_object(w);
	json_put_span(w, "model_id", model->id);
	json_put_text(w, "experiment_id", digits);
	json_put_span(w, "name", model->name);
	json_put_span(w, "model_type", model->type);
	json_put_span(w, "status", model->status);
	json_put_span(w, "artifact_uri", model->artifacts);
	json_put_span(w, "source_run_id", model->run_id);
	json_put_i64(w, "creation_timestamp_ms", model->created_ms);
	json_put_i64(w, "last_updated_timestamp_ms", model->created_ms);
	json_object_end(w);
	json_key(w, "data");
	json_object(w);
	json_object_end(w);
	json_object_end(w);
}

/* ---- calls ---- */

static enum status check_status(struct span status, struct error *err)
{
	static const char *const statuses[] = {
		"LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED"};

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_equal(status, span_from(statuses[i])))
			return OK;
	return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
		"'status' must be LOGGED_MODEL_PENDING, LOGGED_MODEL_READY or LOGGED_MODEL_UPLOAD_FAILED, not '%.*s'",
		SPAN_ARGS(span_cut(status, 60)));
}

/* Where its experiment is, and so its files, unless a relay has told its client already. */
static enum status place(struct mlflow_call *call, struct model *model, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct tracked_project_row experiment;
	struct tracked_run_row run;

	if (model->run_id.len) {
		TRY(store_read_tracked_run(call->reader, call->arena, model->run_id, &run, err));
		model->experiment_id = run.project_id;
	}
	TRY(mlflow_find_experiment(call, model->experiment_id, &experiment, err));
	TRY(mlflow_check_owner(call, &experiment, err));
	if (model->artifacts.len)
		return OK;
	if (mlflow_keeps_files(experiment.artifacts)) /* small ones, no models: these stay with their client */
		buf_printf(&text, "./mlflow-artifacts/%lld", (long long)model->experiment_id);
	else
		buf_append_span(&text, experiment.artifacts);
	buf_printf(&text, "/models/%.*s/artifacts", SPAN_ARGS(model->id));
	TRY(buf_status(&text, err));
	model->artifacts = arena_copy(call->arena, buf_span(&text));
	return model->artifacts.ptr ? OK : error_no_memory(err);
}

static enum status read_model(struct mlflow_call *call, struct model *model, struct error *err)
{
	TRY(mlflow_experiment_id(call, &model->experiment_id, err));
	TRY(mlflow_text(call, "source_run_id", MLFLOW_KEY_MAX_BYTES, &model->run_id, err));
	TRY(mlflow_text(call, "name", MODEL_TEXT_MAX_BYTES, &model->name, err));
	TRY(mlflow_text(call, "model_type", MODEL_TEXT_MAX_BYTES, &model->type, err));
	TRY(mlflow_text(call, "artifact_uri", MLFLOW_PLACE_MAX_BYTES, &model->artifacts, err));
	TRY(mlflow_text(call, "status", MLFLOW_KEY_MAX_BYTES, &model->status, err));
	TRY(check_status(model->status, err));
	return mlflow_text(call, "client_model_id", ID_MAX_BYTES, &model->id, err);
}

enum status mlflow_model_create(struct mlflow_call *call, struct error *err)
{
	struct model model = {.id = SPAN(""),
		.name = SPAN("model"),
		.type = SPAN(""),
		.status = SPAN("LOGGED_MODEL_PENDING"),
		.artifacts = SPAN(""),
		.run_id = SPAN(""),
		.created_ms = call->now_ms};
	struct model owner;

	TRY(read_model(call, &model, err));
	if (!model.id.len)
		TRY(make_id(call, &model, err));
	if (!read_id(model.id, &owner) || !span_equal(owner.run_id, model.run_id))
		return mlflow_error(
			err, ERR_SEMANTIC, MLFLOW_INVALID, "'client_model_id' does not go with 'source_run_id'");
	if (!model.run_id.len && model.experiment_id == MLFLOW_DEFAULT_ID)
		return mlflow_error(err, ERR_UNSUPPORTED, MLFLOW_NOT_IMPLEMENTED,
			"a model of no run is kept with its experiment, which cannot be the default one: begin a run, or set an experiment");
	TRY(place(call, &model, err));
	TRY(keep(call, &model, err));
	write_model(&call->w, &model);
	return OK;
}

static enum status change_status(struct mlflow_call *call, struct model *model, struct error *err)
{
	TRY(mlflow_text(call, "status", MLFLOW_KEY_MAX_BYTES, &model->status, err));
	TRY(check_status(model->status, err));
	return keep(call, model, err);
}

/* What follows the model's id in the path: "", "params", "tags/KEY". */
static enum status read_path(
	struct mlflow_call *call, struct model *model, struct span *rest, bool *is_search, struct error *err)
{
	struct span id;

	*rest = http_request_path(call->request);
	if (!span_take(rest, models_path) || !span_next(rest, '/', &id))
		return mlflow_unknown(call, err);
	*is_search = span_equal(id, SPAN("search"));
	return *is_search ? OK : find(call, id, model, err);
}

enum status mlflow_model_get(struct mlflow_call *call, struct error *err)
{
	struct model model;
	struct span rest;
	bool is_search;

	TRY(read_path(call, &model, &rest, &is_search, err));
	if (rest.len || is_search)
		return mlflow_no_models(call, err);
	write_model(&call->w, &model);
	return OK;
}

/* Params are those of its run; of its tags nothing is kept, and searches find none. */
enum status mlflow_model_change(struct mlflow_call *call, struct error *err)
{
	struct model model;
	struct span rest;
	bool is_search;

	TRY(read_path(call, &model, &rest, &is_search, err));
	if (is_search) {
		json_key(&call->w, "models");
		json_array(&call->w);
		json_array_end(&call->w);
		return OK;
	}
	if (span_equal(rest, SPAN("params")) || span_starts_with(rest, SPAN("tags")))
		return OK;
	if (rest.len || http_request_method(call->request) != HTTP_PATCH)
		return mlflow_no_models(call, err);
	TRY(change_status(call, &model, err));
	write_model(&call->w, &model);
	return OK;
}

/* That a run made a model says the model's id. */
enum status mlflow_run_outputs(struct mlflow_call *call, struct error *err)
{
	struct tracked_run_row row;
	struct span run_id;

	TRY(mlflow_run_id(call, &run_id, err));
	return store_read_tracked_run(call->reader, call->arena, run_id, &row, err);
}
