/* Experiments: names that runs are under. Each team has its own; the default one, number 0, is there for all. */
#include "base/crypto.h"
#include "mlflow/internal.h"
#include "state/jobs/secrets.h"

#include <stdio.h>

enum {
	EXPERIMENTS_MAX = 1000, /* of one page */
	PAGE_MAX_BYTES = 16 << 20, /* the next page begins behind what goes beyond it */
	ROWS_AT_A_TIME = 16 /* their tags may be a megabyte each */
};

static const struct tracked_project_row default_experiment = {
	.project_id = MLFLOW_DEFAULT_ID, .team = {"", 0}, .name = {MLFLOW_DEFAULT_NAME, 7}, .tags = {"{}", 2}};

static enum status place_below(const struct mlflow_call *call, const char *name, struct span *out, struct error *err)
{
	AUTO_DONE(buf) place = BUF_INIT(4096);

	buf_printf(&place, "%s/%s", call->options->artifact_root, name);
	TRY(buf_status(&place, err));
	*out = arena_copy(call->arena, buf_span(&place));
	return out->ptr ? OK : error_no_memory(err);
}

enum status mlflow_find_experiment(
	const struct mlflow_call *call, int64_t experiment_id, struct tracked_project_row *out, struct error *err)
{
	if (experiment_id != MLFLOW_DEFAULT_ID)
		return store_read_tracked_project(call->reader, call->arena, experiment_id, out, err);
	*out = default_experiment;
	return place_below(call, "0", &out->artifacts, err);
}

enum status mlflow_check_owner(
	const struct mlflow_call *call, const struct tracked_project_row *experiment, struct error *err)
{
	bool is_everybodys = experiment->project_id == MLFLOW_DEFAULT_ID || !call->team.len;

	if (is_everybodys || span_equal(experiment->team, call->team))
		return OK;
	return error_set(err, ERR_FORBIDDEN, "the experiment %lld is not of this token's team, '%.*s'",
		(long long)experiment->project_id, SPAN_ARGS(call->team));
}

static void write_id(struct json_writer *w, const char *key, int64_t id)
{
	char digits[24];

	json_put_span(w, key, span_of(digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)id)));
}

static enum status write_tags(struct json_writer *w, struct span tags, struct error *err)
{
	AUTO(json) object = NULL;

	TRY(json_parse(&object, tags, err));
	json_key(w, "tags");
	json_array(w);
	for (const struct json *tag = json_first(object); tag; tag = json_next(tag)) {
		json_object(w);
		json_put_span(w, "key", json_key_of(tag));
		json_put_span(w, "value", json_string_of(tag));
		json_object_end(w);
	}
	json_array_end(w);
	return OK;
}

static enum status write_experiment(const struct tracked_project_row *row, struct json_writer *w, struct error *err)
{
	json_object(w);
	write_id(w, "experiment_id", row->project_id);
	json_put_span(w, "name", row->name);
	json_put_span(w, "artifact_location", row->artifacts);
	json_put_text(w, "lifecycle_stage", "active");
	json_put_i64(w, "creation_time", row->created_ms);
	json_put_i64(w, "last_update_time", row->modified_ms);
	TRY(write_tags(w, row->tags, err));
	json_object_end(w);
	return OK;
}

/* [{"key", "value"}] as an object; the last of two counts. */
static enum status tags_object(
	const struct mlflow_call *call, const struct tracked_pairs *tags, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO_DONE(buf) masked = BUF_INIT(1 << 20);
	AUTO(json) object = NULL;
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	for (size_t i = 0; i < tags->count; i++) {
		json_key_span(&w, tags->items[i].key);
		json_span(&w, tags->items[i].value);
	}
	json_object_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&object, buf_span(&text), err));
	TRY(secrets_mask_settings(object, err));
	json_print(object, &masked);
	TRY(buf_status(&masked, err));
	*out = arena_copy(call->arena, buf_span(&masked));
	return out->ptr ? OK : error_no_memory(err);
}

/* As the client says; else below ours, by a name that no other has, since its number is not known yet. */
static enum status name_place(const struct mlflow_call *call, struct span *out, struct error *err)
{
	char uuid[UUID_BYTES + 1];

	*out = SPAN("");
	TRY(mlflow_text(call, "artifact_location", MLFLOW_PLACE_MAX_BYTES, out, err));
	if (out->len)
		return OK;
	crypto_uuid(uuid);
	return place_below(call, uuid, out, err);
}

static enum status check_name(struct span name, struct error *err)
{
	return span_equal(name, default_experiment.name)
		       ? error_set(err, ERR_CONFLICT, "there is an experiment '" MLFLOW_DEFAULT_NAME "' already")
		       : OK;
}

static enum status make_experiment(
	struct mlflow_call *call, struct span name, struct tracked_project_row *out, struct error *err)
{
	*out = (struct tracked_project_row){.team = call->team,
		.name = name,
		.tags = SPAN("{}"),
		.created_ms = call->now_ms,
		.modified_ms = call->now_ms};
	TRY(name_place(call, &out->artifacts, err));
	return pipeline_add_project(call->pipeline, out, err);
}

enum status mlflow_ensure_experiment(
	struct mlflow_call *call, struct span name, struct tracked_project_row *out, struct error *err)
{
	if (span_equal(name, default_experiment.name))
		return mlflow_find_experiment(call, MLFLOW_DEFAULT_ID, out, err);
	enum status status = store_find_tracked_project(call->reader, call->arena, call->team, name, out, err);
	if (status != ERR_NOT_FOUND)
		return status;
	status = make_experiment(call, name, out, err);
	if (status != ERR_CONFLICT) /* else another has just made it */
		return status;
	return store_find_tracked_project(call->reader, call->arena, call->team, name, out, err);
}

enum status mlflow_experiment_create(struct mlflow_call *call, struct error *err)
{
	struct tracked_pairs tags = {0};
	struct tracked_project_row row = {.team = call->team, .created_ms = call->now_ms, .modified_ms = call->now_ms};

	TRY(mlflow_want_text(call, "name", MLFLOW_NAME_MAX_BYTES, &row.name, err));
	TRY(mlflow_pairs(call, "tags", MLFLOW_BATCH_TAGS_MAX, MLFLOW_TAG_MAX_BYTES, &tags, err));
	TRY(tags_object(call, &tags, &row.tags, err));
	TRY(name_place(call, &row.artifacts, err));
	TRY(check_name(row.name, err));
	TRY(pipeline_add_project(call->pipeline, &row, err));
	write_id(&call->w, "experiment_id", row.project_id);
	return OK;
}

enum status mlflow_experiment_get(struct mlflow_call *call, struct error *err)
{
	struct tracked_project_row row;
	int64_t experiment_id;

	TRY(mlflow_experiment_id(call, &experiment_id, err));
	TRY(mlflow_find_experiment(call, experiment_id, &row, err));
	if (!http_may(http_request_principal(call->request), SCOPE_READ))
		TRY(mlflow_check_owner(call, &row, err)); /* numbers are easily guessed */
	json_key(&call->w, "experiment");
	return write_experiment(&row, &call->w, err);
}

enum status mlflow_experiment_get_by_name(struct mlflow_call *call, struct error *err)
{
	struct tracked_project_row row;
	struct span name;

	TRY(mlflow_want_text(call, "experiment_name", MLFLOW_NAME_MAX_BYTES, &name, err));
	if (span_equal(name, default_experiment.name))
		TRY(mlflow_find_experiment(call, MLFLOW_DEFAULT_ID, &row, err));
	else
		TRY(store_find_tracked_project(call->reader, call->arena, call->team, name, &row, err));
	json_key(&call->w, "experiment");
	return write_experiment(&row, &call->w, err);
}

/* ---- the list ---- */

struct listing {
	int64_t below; /* the page before ended there */
	size_t left; /* of the page */
	bool is_none; /* deleted ones alone: there are none */
	bool is_end;
};

static enum status read_listing(const struct mlflow_call *call, struct listing *out, struct error *err)
{
	struct span filter = SPAN(""), token = SPAN(""), view = SPAN("");
	int64_t limit = EXPERIMENTS_MAX;

	TRY(mlflow_text(call, "filter", MLFLOW_NAME_MAX_BYTES, &filter, err));
	if (span_trim(filter).len || (call->body && json_count(json_get(call->body, "order_by"))))
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"a search of experiments takes no filter and no order here: ask for one by its name, or filter and sort what is listed");
	TRY(mlflow_integer(call, "max_results", 1, 50000, &limit, err));
	TRY(mlflow_text(call, "page_token", MLFLOW_KEY_MAX_BYTES, &token, err));
	TRY(mlflow_text(call, "view_type", MLFLOW_KEY_MAX_BYTES, &view, err));
	*out = (struct listing){.below = INT64_MAX,
		.left = (size_t)(limit < EXPERIMENTS_MAX ? limit : EXPERIMENTS_MAX),
		.is_none = span_equal(view, SPAN("DELETED_ONLY"))};
	if (token.len && !mlflow_experiment_id_of(token, &out->below))
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'page_token' is none of this server's");
	return OK;
}

static enum status write_some(struct mlflow_call *call, struct listing *listing, struct error *err)
{
	AUTO(arena) arena = arena_new();
	size_t asked = listing->left < ROWS_AT_A_TIME ? listing->left : ROWS_AT_A_TIME, count;
	struct tracked_project_row *rows;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_tracked_projects(call->reader, arena, call->team, listing->below, asked, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		TRY(write_experiment(&rows[i], &call->w, err));
	listing->left -= count;
	listing->is_end = count < asked;
	if (count)
		listing->below = rows[count - 1].project_id;
	return OK;
}

/* The default one is the oldest: the last of the last page, which has room. */
static enum status write_default(struct mlflow_call *call, struct error *err)
{
	struct tracked_project_row row;

	TRY(mlflow_find_experiment(call, MLFLOW_DEFAULT_ID, &row, err));
	return write_experiment(&row, &call->w, err);
}

enum status mlflow_experiment_search(struct mlflow_call *call, struct error *err)
{
	struct listing listing;

	TRY(read_listing(call, &listing, err));
	json_key(&call->w, "experiments");
	json_array(&call->w);
	while (!listing.is_none && !listing.is_end && listing.left && call->w.out->len < PAGE_MAX_BYTES)
		TRY(write_some(call, &listing, err));
	if (listing.is_end && listing.below > MLFLOW_DEFAULT_ID)
		TRY(write_default(call, err));
	json_array_end(&call->w);
	if (!listing.is_none && !listing.is_end)
		write_id(&call->w, "next_page_token", listing.below);
	return OK;
}

/* ---- changes ---- */

static enum status change(struct mlflow_call *call, struct project_change *change, struct error *err)
{
	TRY(mlflow_experiment_id(call, &change->project_id, err));
	if (change->project_id == MLFLOW_DEFAULT_ID)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"the experiment '" MLFLOW_DEFAULT_NAME "' is everybody's: it has no tags, and keeps its name");
	change->team = call->team;
	change->now_ms = call->now_ms;
	return pipeline_change_project(call->pipeline, change, err);
}

enum status mlflow_experiment_update(struct mlflow_call *call, struct error *err)
{
	struct project_change asked = {.name = SPAN(""), .tag_key = SPAN("")};

	TRY(mlflow_want_text(call, "new_name", MLFLOW_NAME_MAX_BYTES, &asked.name, err));
	TRY(check_name(asked.name, err));
	return change(call, &asked, err);
}

enum status mlflow_experiment_set_tag(struct mlflow_call *call, struct error *err)
{
	struct project_change asked = {.name = SPAN(""), .tag_value = SPAN("")};

	TRY(mlflow_want_text(call, "key", MLFLOW_KEY_MAX_BYTES, &asked.tag_key, err));
	TRY(mlflow_text(call, "value", MLFLOW_TAG_MAX_BYTES, &asked.tag_value, err));
	return change(call, &asked, err);
}
