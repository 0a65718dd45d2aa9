/* What a caller may change of a job's document after it was made: tags, notes, labels, the keep-alive period; settings it lacks. */
#include "pipeline/jobs/job_change.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/secret.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/job_time.h"
#include "model/jobs/restart_verdict.h"
#include "model/jobs/training_job.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/jobs/by_hand_signed.h"
#include "pipeline/jobs/faults_by_hand.h"
#include "pipeline/jobs/hosts_by_hand.h"
#include "pipeline/jobs/restarts_by_hand.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "state/audit.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "state/jobs/secrets.h"
#include "store/jobs.h"
#include "store/run.h"

#include <stdio.h>

enum { DOCUMENT_MAX_BYTES = 4 << 20, STATED_MAX = 100 /* settings that SageMaker's document takes */ };

struct job_change {
	struct pipeline *pipeline;
	struct span job, team;
	const struct json *changes;
	struct buf document; /* as it has become */
	int64_t job_id;
	struct life life; /* of by_hand */
	bool goes_on_otherwise; /* its tag "continues" is another one */
	struct arena *arena; /* of what is shown after the commit */
	struct hosts_set hosts;
	struct faults_cleared faults;
	struct restarts_ended ended;
};

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
	return json_set_copy(document, field, value) ? OK : error_no_memory(err);
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
	return json_set_copy(document, "ResourceConfig", merged) ? OK : error_no_memory(err);
}

/* ---- settings ---- */

static const char *const setting_sections[] = {"HyperParameters", "OtherHyperParameters"};

/* Key to node; spans and nodes are the document's. */
static enum status index_settings(struct map **out, const struct json *document, struct error *err)
{
	AUTO(map) stated = map_new();

	if (!stated)
		return error_no_memory(err);
	for (size_t i = 0; i < sizeof setting_sections / sizeof *setting_sections; i++) {
		const struct json *section = json_get(document, setting_sections[i]);
		for (const struct json *at = section ? json_first(section) : NULL; at; at = json_next(at))
			if (!map_put(stated, json_key_of(at), (void *)at))
				return error_no_memory(err);
	}
	*out = TAKE(stated);
	return OK;
}

/* What the section has, and of the changes from *change on what is stated nowhere, while the section has room. */
static enum status fill_section(struct json *document, const char *section, const struct map *stated,
	const struct json **change, size_t most, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) merged = NULL;
	struct json_writer w = json_writer_on(&text);
	const struct json *old = json_get(document, section);
	size_t count = 0;

	json_object(&w);
	for (const struct json *at = old ? json_first(old) : NULL; at; at = json_next(at), count++) {
		json_key_span(&w, json_key_of(at));
		TRY(put_copy(&w, at, err));
	}
	for (; *change && count < most; *change = json_next(*change)) {
		if (map_get(stated, json_key_of(*change)))
			continue;
		json_key_span(&w, json_key_of(*change));
		TRY(put_copy(&w, *change, err));
		count++;
	}
	json_object_end(&w);
	TRY(parse_written(&merged, &text, err));
	if (!count)
		return OK;
	return json_set_copy(document, section, merged) ? OK : error_no_memory(err);
}

/* Those that the document does not state are added: at most a hundred, as SageMaker's has them, and the rest beside these. */
static enum status add_settings(struct json *document, const struct json *changes, struct error *err)
{
	const struct json *change = json_kind(changes) == JSON_OBJECT ? json_first(changes) : NULL;
	const struct json *stated_in_full = json_get(document, setting_sections[0]);
	AUTO(map) stated = NULL;

	if (json_kind(changes) != JSON_OBJECT || (!is_null(stated_in_full) && json_kind(stated_in_full) != JSON_OBJECT))
		return error_set_field(err, ERR_SEMANTIC, "hp",
			"hp is an object, {\"lr\": \"3e-4\"}: what the job does not state is added");
	TRY(index_settings(&stated, document, err));
	TRY(fill_section(document, setting_sections[0], stated, &change, STATED_MAX, err));
	return fill_section(document, setting_sections[1], stated, &change, SIZE_MAX, err);
}

enum status pipeline_write_kept_settings(struct store_reader *reader, struct span job, const struct json *asked,
	struct json_writer *w, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) document = NULL;
	AUTO(map) stated = NULL;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(reader, arena, job, &row, err));
	TRY(json_parse(&document, row.document, err));
	TRY(index_settings(&stated, document, err));
	json_key(w, "kept");
	json_object(w);
	for (const struct json *at = json_first(asked); at; at = json_next(at)) {
		const struct json *node = map_get(stated, json_key_of(at));
		struct span value = json_string_of(node);
		if (!node || span_equal(value, json_string_of(at)) || secret_is_masked(value))
			continue;
		json_key_span(w, json_key_of(at));
		TRY(put_copy(w, node, err));
	}
	json_object_end(w);
	return OK;
}

/* ---- all of them ---- */

static enum status change_notes(struct json *document, const struct json *change, struct error *err)
{
	return replace(document, "Notes", change, err);
}

static enum status change_labels(struct json *document, const struct json *change, struct error *err)
{
	return replace(document, "Labels", change, err);
}

static enum status change_muted(struct json *document, const struct json *change, struct error *err)
{
	return replace(document, "MutedAdvice", change, err);
}

static enum status change_same(struct json *document, const struct json *change, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "%.*s", SPAN_ARGS(json_key_of(change)));
	return replace(document, field, change, err);
}

/* What a PATCH takes, beside retention: the route's schema names the same. */
static const struct {
	const char *name;
	enum status (*change)(struct json *, const struct json *, struct error *);
} members[] = {{"tags", merge_tags}, {"Tags", change_same}, {"hp", add_settings}, {"notes", change_notes},
	{"labels", change_labels}, {"muted_advice", change_muted}, {"by_hand", by_hand_change},
	{"ResourceConfig", change_resources},
	/* what UpdateTrainingJob changes, beside the keep-alive period */
	{"RemoteDebugConfig", change_same}, {"ProfilerConfig", change_same},
	{"ProfilerRuleConfigurations", change_same}};
enum { MEMBER_COUNT = sizeof members / sizeof *members };

static enum status refuse_member(struct span key, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(1024);
	char field[64];

	for (size_t i = 0; i < MEMBER_COUNT; i++)
		buf_printf(&names, "%s, ", members[i].name);
	TRY(buf_status(&names, err));
	snprintf(field, sizeof field, "%.*s", (int)(key.len < 60 ? key.len : 60), key.ptr);
	return error_set_field(err, ERR_SEMANTIC, field,
		"'%s' of a job cannot be changed; %.*sretention can (of ResourceConfig: KeepAlivePeriodInSeconds)",
		field, SPAN_ARGS(buf_span(&names)));
}

static enum status change_one(struct json *document, const struct json *change, struct error *err)
{
	struct span key = json_key_of(change);

	for (size_t i = 0; i < MEMBER_COUNT; i++)
		if (span_equal(key, span_from(members[i].name)))
			return members[i].change(document, change, err);
	return refuse_member(key, err);
}

enum status job_change_document(struct span old, const struct json *changes, struct buf *out, struct error *err)
{
	AUTO(json) document = NULL;

	TRY(json_parse(&document, old.len ? old : SPAN("{}"), err));
	for (const struct json *change = json_first(changes); change; change = json_next(change))
		TRY(change_one(document, change, err));
	TRY(secrets_mask(document, err));
	json_print(document, out);
	return buf_status(out, err);
}

/* What was set stays, but for what the document sets. */
static enum status keep_by_hand(const struct json *before, struct json *document, struct error *err)
{
	const struct json *set = json_get(before, "by_hand"), *own = json_get(document, "by_hand");
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) changes = NULL;

	if (!set)
		return OK;
	json_print(own ? own : set, &text);
	TRY(buf_status(&text, err));
	TRY(json_parse(&changes, buf_span(&text), err));
	if (!json_set_copy(document, "by_hand", set))
		return error_no_memory(err);
	return by_hand_change(document, changes, err);
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
			return error_no_memory(err);
	}
	TRY(keep_by_hand(before, document, err));
	json_print(document, out);
	return buf_status(out, err);
}

static enum status refuse_start(struct error *err)
{
	return error_set_field(err, ERR_SEMANTIC, "by_hand.start_ms",
		"by_hand.start_ms is of a job that has trained, or ended, and before its training's end");
}

static enum status refuse_end(struct error *err)
{
	return error_set_field(
		err, ERR_SEMANTIC, "by_hand.end_ms", "by_hand.end_ms is of a job that has ended, and after its start");
}

/*
 * Of a job that did not train, or did not end, there is nothing to be set right; and with what is set or taken back it must not end before
 * it begins. What the request does not name may wait until it counts.
 */
static enum status check_times(const struct job_change *change, const struct job_row *row, struct error *err)
{
	const struct json *changes = json_get(change->changes, "by_hand");
	const struct json *start = json_get(changes, "start_ms"), *end = json_get(changes, "end_ms");
	AUTO(json) document = NULL;
	struct by_hand by;

	TRY(json_parse(&document, row->document, err));
	by_hand_read(&by, document);
	if (!is_null(end) && (row->ended_ms != by.end_ms || (change->life.has_given_way && is_null(start))))
		return refuse_end(err);
	if (!is_null(start) && (row->started_ms != by.start_ms || change->life.has_given_way))
		return refuse_start(err);
	if (!change->life.has_given_way || (!start && !end))
		return OK;
	return start ? refuse_start(err) : refuse_end(err); /* one is taken back, beside which the other cannot be */
}

static enum status write_by_hand(
	struct job_change *change, struct store_tx *tx, struct arena *arena, struct job_row *row, struct error *err)
{
	change->life = (struct life){.pipeline = change->pipeline, .arena = arena, .now_ms = row->modified_ms};
	TRY(hosts_by_hand_check(store_tx_reader(tx), arena, row->job_id, json_get(change->changes, "by_hand"), err));
	TRY(hosts_by_hand_write(tx, change->arena, row, &change->hosts, err)); /* why it failed names machines */
	TRY(life_write(&change->life, tx, row, true, err));
	TRY(faults_by_hand_write(
		change->pipeline, tx, change->arena, row, json_get(change->changes, "by_hand"), &change->faults, err));
	TRY(restarts_by_hand_write(change->pipeline, tx, change->arena, row, &change->ended, err));
	return check_times(change, row, err);
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct job_change *change = context;
	AUTO(arena) arena = arena_new();
	struct job_row row;

	buf_reset(&change->document); /* after a commit that failed this runs again */
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, change->job, &row, err));
	TRY(check_team(row.team, row.name, change->team, err));
	TRY(job_change_document(row.document, change->changes, &change->document, err));
	row.document = buf_span(&change->document);
	row.modified_ms = clock_wall_ms();
	change->job_id = row.job_id;
	bool has_tags = json_get(change->changes, "tags") || json_get(change->changes, "Tags");
	struct span before = SPAN(""), behind;
	if (has_tags)
		TRY(store_read_continued(store_tx_reader(tx), arena, row.job_id, &before, err));
	TRY(json_get(change->changes, "by_hand") ? write_by_hand(change, tx, arena, &row, err)
						 : pools_put_job(tx, &row, err));
	if (!has_tags)
		return OK;
	TRY(store_read_continued(store_tx_reader(tx), arena, row.job_id, &behind, err));
	change->goes_on_otherwise = !span_equal(before, behind);
	return store_check_run(store_tx_reader(tx), arena, row.name, err);
}

static void apply_change(void *context)
{
	struct job_change *change = context;
	struct job_state *job = directory_peek_id(change->pipeline->directory, change->job_id);
	struct error err;

	hosts_by_hand_apply(change->pipeline, change->job_id, &change->hosts);
	faults_by_hand_apply(change->pipeline, change->job_id, &change->faults);
	restarts_by_hand_say(change->pipeline, &change->ended);
	if (!job)
		return;
	if (job_settings_state(job->settings, change->pipeline->devices, buf_span(&change->document), &err) != OK)
		log_line(LOG_WARNING, "settings_failed", "job=\"%s\" error=\"%s\"", job->name, err.text);
	if (change->goes_on_otherwise)
		atomic_store(&job->goes_on_otherwise, true);
	atomic_store(&job->is_row_dirty, true);
}

/* Who says it is whoever asks. */
static enum status sign(
	const struct pipeline *pipeline, const struct json *changes, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) copy = NULL;

	if (!json_get(changes, "by_hand"))
		return OK;
	json_print(changes, &text);
	TRY(buf_status(&text, err));
	TRY(json_parse(&copy, buf_span(&text), err));
	TRY(by_hand_take_signed(pipeline, copy, err));
	*out = TAKE(copy);
	return OK;
}

enum status pipeline_change_job(
	struct pipeline *pipeline, struct span job, struct span team, const struct json *changes, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_change change = {.pipeline = pipeline,
		.arena = arena,
		.job = job,
		.team = team,
		.changes = changes,
		.document = BUF_INIT(DOCUMENT_MAX_BYTES)};

	if (!arena)
		return error_no_memory(err);
	AUTO(json) named = NULL;
	TRY(by_hand_check(json_get(changes, "by_hand"), clock_wall_ms() + JOB_AHEAD_MS, err));
	TRY(sign(pipeline, changes, &named, err));
	change.changes = named ? named : changes;
	enum status status = writer_execute_then(pipeline, write_change, apply_change, &change, err);

	buf_done(&change.document);
	return status;
}
