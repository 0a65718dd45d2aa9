/* What a caller may change of a job's document after it was made: tags, notes, labels, the keep-alive period. */
#include "pipeline/internal.h"
#include "pipeline/pools.h"

#include "model/training_job.h"

#include <stdio.h>

enum { DOCUMENT_MAX_BYTES = 4 << 20 };

struct job_change {
	struct pipeline *pipeline;
	struct span job, team;
	const struct json *changes;
	int64_t job_id;
};

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

static bool is_null(const struct json *node)
{
	return !node || json_kind(node) == JSON_NULL;
}

/* Checked as when the job was made; null takes the field away. */
static enum status replace(struct json *document, const char *field, const struct json *value, struct error *err)
{
	if (is_null(value)) {
		json_remove(document, field);
		return OK;
	}
	TRY(training_job_check_field(field, value, err));
	return json_set_copy(document, field, value) ? OK : out_of_memory(err);
}

static enum status put_copy(struct json_writer *w, const struct json *node, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	json_raw(w, buf_span(&text));
	return OK;
}

static enum status parse_written(struct json **out, const struct buf *text, struct error *err)
{
	TRY(buf_status(text, err));
	return json_parse(out, buf_span(text), err);
}

static const struct json *find_key(const struct json *object, struct span key)
{
	for (const struct json *at = json_first(object); at; at = json_next(at))
		if (span_equal(json_key_of(at), key))
			return at;
	return NULL;
}

static void put_tag(struct json_writer *w, struct span key, struct span value)
{
	json_object(w);
	json_put_span(w, "Key", key);
	json_put_span(w, "Value", value);
	json_object_end(w);
}

static bool has_tag(const struct json *tags, struct span key)
{
	for (const struct json *tag = tags ? json_first(tags) : NULL; tag; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "Key")), key))
			return true;
	return false;
}

/* {"k": "v", "gone": null} into [{"Key", "Value"}]: old ones keep their place. */
static enum status merge_tags(struct json *document, const struct json *changes, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) merged = NULL;
	struct json_writer w = json_writer_on(&text);
	const struct json *old = json_get(document, "Tags");
	char field[128];

	if (json_kind(changes) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "tags",
			"tags is an object, {\"team\": \"nlp\", \"gone\": null}; Tags replaces all of them");
	json_array(&w);
	for (const struct json *tag = old ? json_first(old) : NULL; tag; tag = json_next(tag)) {
		const struct json *change = find_key(changes, json_string_of(json_get(tag, "Key")));
		if (!change)
			TRY(put_copy(&w, tag, err));
		else if (!is_null(change))
			put_tag(&w, json_key_of(change), json_string_of(change));
	}
	for (const struct json *change = json_first(changes); change; change = json_next(change)) {
		snprintf(field, sizeof field, "tags.%.*s",
			(int)(json_key_of(change).len < 100 ? json_key_of(change).len : 100), json_key_of(change).ptr);
		if (!is_null(change) && json_kind(change) != JSON_STRING)
			return error_set_field(
				err, ERR_SEMANTIC, field, "%s must be a string, or null to take it away", field);
		if (!is_null(change) && !has_tag(old, json_key_of(change)))
			put_tag(&w, json_key_of(change), json_string_of(change));
	}
	json_array_end(&w);
	TRY(parse_written(&merged, &text, err));
	return replace(document, "Tags", merged, err);
}

/* {"KeepAlivePeriodInSeconds": n}, as UpdateTrainingJob has it; the rest of ResourceConfig is what ran. */
static enum status change_resources(struct json *document, const struct json *changes, struct error *err)
{
	static const char field[] = "ResourceConfig.KeepAlivePeriodInSeconds";
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) merged = NULL;
	struct json_writer w = json_writer_on(&text);
	const struct json *old = json_get(document, "ResourceConfig");
	const struct json *seconds = json_get(changes, "KeepAlivePeriodInSeconds");

	if (json_kind(changes) != JSON_OBJECT || !seconds || json_count(changes) != 1)
		return error_set_field(err, ERR_SEMANTIC, "ResourceConfig",
			"KeepAlivePeriodInSeconds, and nothing else of ResourceConfig, can be changed");
	TRY(training_job_check_field(field, seconds, err));
	json_object(&w);
	for (const struct json *at = old ? json_first(old) : NULL; at; at = json_next(at)) {
		if (span_equal(json_key_of(at), SPAN("KeepAlivePeriodInSeconds")))
			continue;
		json_key_span(&w, json_key_of(at));
		TRY(put_copy(&w, at, err));
	}
	if (!is_null(seconds)) {
		json_key(&w, "KeepAlivePeriodInSeconds");
		TRY(put_copy(&w, seconds, err));
	}
	json_object_end(&w);
	TRY(parse_written(&merged, &text, err));
	return json_set_copy(document, "ResourceConfig", merged) ? OK : out_of_memory(err);
}

static enum status change_one(struct json *document, const struct json *change, struct error *err)
{
	/* what UpdateTrainingJob changes, beside the keep-alive period */
	static const char *const whole[] = {"RemoteDebugConfig", "ProfilerConfig", "ProfilerRuleConfigurations"};
	struct span key = json_key_of(change);
	char field[64];

	if (span_equal(key, SPAN("tags")))
		return merge_tags(document, change, err);
	if (span_equal(key, SPAN("Tags")))
		return replace(document, "Tags", change, err);
	if (span_equal(key, SPAN("notes")))
		return replace(document, "Notes", change, err);
	if (span_equal(key, SPAN("labels")))
		return replace(document, "Labels", change, err);
	if (span_equal(key, SPAN("muted_advice")))
		return replace(document, "MutedAdvice", change, err);
	if (span_equal(key, SPAN("ResourceConfig")))
		return change_resources(document, change, err);
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (span_equal(key, span_from(whole[i])))
			return replace(document, whole[i], change, err);
	snprintf(field, sizeof field, "%.*s", (int)(key.len < 60 ? key.len : 60), key.ptr);
	return error_set_field(err, ERR_SEMANTIC, field,
		"'%s' of a job cannot be changed; tags, Tags, notes, labels, muted_advice, ResourceConfig.KeepAlivePeriodInSeconds,"
		" RemoteDebugConfig, ProfilerConfig, ProfilerRuleConfigurations and retention can",
		field);
}

enum status job_change_document(struct span old, const struct json *changes, struct buf *out, struct error *err)
{
	AUTO(json) document = NULL;

	TRY(json_parse(&document, old.len ? old : SPAN("{}"), err));
	for (const struct json *change = json_first(changes); change; change = json_next(change))
		TRY(change_one(document, change, err));
	TRY(job_mask_secrets(document, err));
	json_print(document, out);
	return buf_status(out, err);
}

enum status job_keep_changes(struct span old, struct span new, struct buf *out, struct error *err)
{
	static const char *const kept[] = {"Tags", "Notes", "Labels", "MutedAdvice"};
	AUTO(json) before = NULL;
	AUTO(json) document = NULL;

	TRY(json_parse(&before, old.len ? old : SPAN("{}"), err));
	TRY(json_parse(&document, new, err));
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		const struct json *value = json_get(before, kept[i]);
		if (value && !json_get(document, kept[i]) && !json_set_copy(document, kept[i], value))
			return out_of_memory(err);
	}
	json_print(document, out);
	return buf_status(out, err);
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct job_change *change = context;
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) document = BUF_INIT(DOCUMENT_MAX_BYTES);
	struct job_row row;

	if (!arena)
		return out_of_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, change->job, &row, err));
	if (change->team.len && !span_equal(change->team, row.team))
		return error_set(err, ERR_FORBIDDEN, "job '%.*s' belongs to %s%.*s", SPAN_ARGS(row.name),
			row.team.len ? "team " : "no team", SPAN_ARGS(row.team));
	TRY(job_change_document(row.document, change->changes, &document, err));
	row.document = buf_span(&document);
	row.modified_ms = clock_wall_ms();
	change->job_id = row.job_id;
	return pools_put_job(tx, &row, err);
}

static void apply_change(void *context)
{
	struct job_change *change = context;
	struct job_state *job = directory_peek_id(change->pipeline->directory, change->job_id);

	if (job)
		atomic_store(&job->is_row_dirty, true);
}

enum status pipeline_change_job(
	struct pipeline *pipeline, struct span job, struct span team, const struct json *changes, struct error *err)
{
	struct job_change change = {.pipeline = pipeline, .job = job, .team = team, .changes = changes};

	return pipeline_execute_then(pipeline, write_change, apply_change, &change, err);
}
