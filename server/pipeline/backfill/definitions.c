/* Metric definitions of jobs and of the server: changed by one transaction, shown as they run. */
#include "pipeline/backfill/definitions.h"

#include "base/clock.h"
#include "pipeline/backfill/backfill.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/consume/mend.h"
#include "read/view.h"
#include "state/jobs/default_definitions.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/backfills.h"
#include "store/definitions.h"
#include "store/jobs.h"

/* ---- changes ---- */

struct definitions_change {
	struct pipeline *pipeline;
	struct span job, team;
	struct span json; /* the array */
	const struct json *definitions; /* the same */
	bool wants_backfill;
	int64_t now_ms;
	int64_t job_id; /* what was written */
	uint32_t generation;
	bool has_backfill; /* asked for, or because nothing was extracted while the old ones were damaged */
	bool is_none; /* the job has them already */
};

static enum status check(
	const struct pipeline *pipeline, const struct json *definitions, struct buf *out, struct error *err)
{
	AUTO(definition_set) set = NULL;

	TRY(definition_set_new(&set, definitions, pipeline->presets, err));
	json_print(definitions, out);
	return buf_status(out, err);
}

static bool names_preset(const struct json *definitions)
{
	return json_get(json_first(definitions), "Preset") != NULL;
}

enum status definitions_into_document(
	const struct json *definitions, struct span document, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);
	AUTO(json) whole = NULL;
	AUTO(json) algorithm = NULL;

	TRY(json_parse(&whole, document, err));
	const struct json *before = json_get(whole, "AlgorithmSpecification");
	if (before && json_kind(before) == JSON_OBJECT)
		json_print(before, &text);
	else
		buf_append_text(&text, "{}");
	TRY(buf_status(&text, err));
	TRY(json_parse(&algorithm, buf_span(&text), err));
	bool is_shown = json_count(definitions) && !names_preset(definitions);
	json_remove(algorithm, "MetricDefinitions");
	if (is_shown && !json_set_copy(algorithm, "MetricDefinitions", definitions))
		return error_no_memory(err);
	if (!before && !is_shown)
		json_remove(whole, "AlgorithmSpecification");
	else if (!json_set_copy(whole, "AlgorithmSpecification", algorithm))
		return error_no_memory(err);
	json_print(whole, out);
	return buf_status(out, err);
}

static enum status put_now(
	const struct definitions_change *change, struct job_row *row, struct store_tx *tx, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(4 << 20);

	TRY(definitions_into_document(change->definitions, row->document, &document, err));
	row->document = buf_span(&document);
	row->generation = change->generation;
	row->modified_ms = change->now_ms;
	return store_put_job(tx, row, err);
}

static enum status refuse_while_running(
	struct store_tx *tx, struct arena *arena, const struct job_row *row, struct error *err)
{
	struct backfill_row backfill;

	TRY(store_read_backfill(store_tx_reader(tx), arena, row->job_id, &backfill, err));
	if (!backfill.job_id || backfill.state != BACKFILL_RUNNING)
		return OK;
	return error_set(err, ERR_CONFLICT,
		"a back-fill of job '%.*s' runs; wait until it is done, or cancel it by DELETE …/definitions/backfill",
		SPAN_ARGS(row->name));
}

static enum status is_damaged(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, bool *out, struct error *err)
{
	struct span damage;

	TRY(pipeline_read_damage(pipeline, reader, arena, row, &damage, err));
	*out = damage.len > 0;
	if (*out)
		return OK;
	struct job_view view; /* of a stream whose consumers began anew, too */
	TRY(view_read_job(pipeline, reader, arena, row->name, SPAN(""), SPAN(""), 0, &view, err));
	for (size_t i = 0; i < view.stream_count; i++)
		*out |= view.streams[i].damage.len > 0;
	return OK;
}

/* Where a limit deleted text the new ones are of new lines alone, unless it was asked for more. */
static enum status begin_backfill(struct definitions_change *change, struct store_tx *tx, struct arena *arena,
	const struct job_row *row, struct error *err)
{
	struct error why;
	enum status status = backfill_begin(tx, arena, row, change->generation, change->now_ms, &why);

	if (status == ERR_CONFLICT && !change->wants_backfill) {
		change->has_backfill = false;
		return OK;
	}
	if (status != OK && err)
		*err = why;
	return status;
}

static enum status are_same(const struct definitions_change *change, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, bool *out, struct error *err)
{
	struct span text;

	TRY(store_read_definitions(reader, arena, row->job_id, row->generation, &text, err));
	*out = span_equal(text.len ? text : SPAN("[]"), change->json);
	return OK;
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct definitions_change *change = context;
	AUTO(arena) arena = arena_new();
	uint32_t newest;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, change->job, &row, err));
	TRY(check_team(row.team, row.name, change->team, err));
	TRY(refuse_while_running(tx, arena, &row, err));
	TRY(store_newest_generation(store_tx_reader(tx), row.job_id, &newest, err));
	TRY(is_damaged(change->pipeline, store_tx_reader(tx), arena, &row, &change->has_backfill, err));
	change->has_backfill |= change->wants_backfill;
	TRY(are_same(change, store_tx_reader(tx), arena, &row, &change->is_none, err));
	change->is_none &= !change->has_backfill;
	if (change->is_none)
		return OK;
	change->job_id = row.job_id;
	change->generation = (newest > row.generation ? newest : row.generation) + 1;
	TRY(store_put_definitions(tx, row.job_id, change->generation, change->json, err));
	if (change->has_backfill)
		TRY(begin_backfill(change, tx, arena, &row, err));
	return change->has_backfill ? OK : put_now(change, &row, tx, err);
}

static void apply_change(void *context)
{
	struct definitions_change *change = context;
	struct job_state *job = directory_peek_id(change->pipeline->directory, change->job_id);

	if (change->has_backfill || change->is_none)
		return;
	if (job) {
		mend_hasten(job);
		job->generation = change->generation;
		atomic_store(&job->is_row_dirty, true);
	}
}

enum status pipeline_change_definitions(struct pipeline *pipeline, struct span job, struct span team,
	const struct json *definitions, bool *backfill, struct error *err)
{
	AUTO_DONE(buf) json = BUF_INIT(4 << 20);

	TRY(check(pipeline, definitions, &json, err));
	struct definitions_change change = {.pipeline = pipeline,
		.job = job,
		.team = team,
		.json = buf_span(&json),
		.definitions = definitions,
		.wants_backfill = *backfill,
		.now_ms = clock_wall_ms()};
	TRY(writer_execute_then(pipeline, write_change, apply_change, &change, err));
	*backfill = change.has_backfill;
	if (*backfill)
		backfill_wake(pipeline);
	return OK;
}

static enum status write_cancellation(void *context, struct store_tx *tx, struct error *err)
{
	struct definitions_change *change = context;
	AUTO(arena) arena = arena_new();
	struct backfill_row backfill;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, change->job, &row, err));
	TRY(check_team(row.team, row.name, change->team, err));
	TRY(store_read_backfill(store_tx_reader(tx), arena, row.job_id, &backfill, err));
	if (!backfill.job_id || backfill.state != BACKFILL_RUNNING)
		return error_set(err, ERR_NOT_FOUND, "no back-fill of job '%.*s' runs", SPAN_ARGS(row.name));
	backfill.state = BACKFILL_CANCELLED;
	backfill.updated_ms = change->now_ms;
	return store_put_backfill(tx, &backfill, err);
}

enum status pipeline_cancel_backfill(struct pipeline *pipeline, struct span job, struct span team, struct error *err)
{
	struct definitions_change change = {.pipeline = pipeline, .job = job, .team = team, .now_ms = clock_wall_ms()};

	return writer_execute(pipeline, write_cancellation, &change, err);
}

static enum status write_defaults(void *context, struct store_tx *tx, struct error *err)
{
	return definitions_write_default(tx, buf_span(context), err);
}

enum status pipeline_change_default_definitions(
	struct pipeline *pipeline, const struct json *definitions, struct error *err)
{
	AUTO_DONE(buf) json = BUF_INIT(4 << 20);

	TRY(check(pipeline, definitions, &json, err));
	return writer_execute(pipeline, write_defaults, &json, err);
}

/* ---- views ---- */

static enum status copy_items(struct arena *arena, const struct definition_set *set, int preset,
	struct definitions_view *out, struct error *err)
{
	size_t count = definition_set_count(set, preset);

	out->items = arena_alloc(arena, count * sizeof *out->items);
	if (!out->items)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct metric_definition *item = &out->items[i];
		*item = definition_set_get(set, preset, i);
		struct span *texts[] = {&item->name, &item->regex, &item->step_regex, &item->group, &item->unit};
		for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
			if (!(*texts[j] = arena_copy(arena, *texts[j])).ptr)
				return error_no_memory(err);
	}
	out->count = count;
	return OK;
}

/* Streams may have different presets: what most lines came by stands for the job. */
static void choose_preset(const struct job_view *view, struct definitions_view *out)
{
	uint64_t most = 0;

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		if (!stream->preset.len || stream->lines < most)
			continue;
		most = stream->lines;
		out->preset = stream->preset;
		out->reason = stream->preset_reason;
	}
}

static void add_format(struct format_view *formats, size_t *count, const struct format_view *format)
{
	size_t at = 0;

	while (at < *count && !span_equal(formats[at].preset, format->preset))
		at++;
	if (at == *count) {
		formats[(*count)++] = *format;
		return;
	}
	formats[at].lines += format->lines;
}

/* The one with most lines first. */
static void sort_formats(struct format_view *formats, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && formats[j].lines > formats[j - 1].lines; j--) {
			struct format_view swapped = formats[j];
			formats[j] = formats[j - 1];
			formats[j - 1] = swapped;
		}
}

static enum status fold_formats(
	struct arena *arena, const struct job_view *view, struct definitions_view *out, struct error *err)
{
	size_t cap = 0;

	for (size_t i = 0; i < view->stream_count; i++)
		cap += view->streams[i].format_count;
	struct format_view *formats = arena_alloc(arena, cap * sizeof *formats);
	if (!formats)
		return error_no_memory(err);
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].format_count; j++)
			add_format(formats, &out->format_count, &view->streams[i].formats[j]);
	sort_formats(formats, out->format_count);
	out->formats = formats;
	return OK;
}

static enum status view_preset(const struct pipeline *pipeline, struct arena *arena, const struct json *stated,
	struct definitions_view *out, struct error *err)
{
	if (stated) {
		out->preset = arena_copy(arena, json_string_of(stated));
		out->reason = SPAN("asked for");
	}
	int number = definition_set_preset_find(pipeline->presets, out->preset);
	if (number < 0)
		return OK;
	out->source = DEFINITIONS_PRESET;
	return copy_items(arena, pipeline->presets, number, out, err);
}

static enum status view_json(const struct pipeline *pipeline, struct arena *arena, struct span text,
	struct definitions_view *out, struct error *err)
{
	AUTO(definition_set) set = NULL;
	AUTO(json) json = NULL;

	TRY(definitions_parse(&json, text, err));
	if (!json || !json_count(json))
		return view_preset(pipeline, arena, NULL, out, err);
	if (names_preset(json))
		return view_preset(pipeline, arena, json_get(json_first(json), "Preset"), out, err);
	TRY(definition_set_new(&set, json, pipeline->presets, err));
	out->source = DEFINITIONS_JOB;
	out->preset = out->reason = SPAN("");
	return copy_items(arena, set, -1, out, err);
}

enum { DAMAGE_BYTES = 1024 };

static enum status say_damage(
	struct arena *arena, const char *why, const char *path, struct span job, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(4 * DAMAGE_BYTES);

	buf_printf(&text,
		"metric definitions cannot be read (%s): lines are stored without points until they are set again by PUT /api/v1/",
		why);
	buf_append_text(&text, job.len ? "jobs/" : "");
	buf_append_span(&text, job);
	buf_append_text(&text, path);
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

/* As view_json, but what is damaged is said. */
static enum status view_or_say(const struct pipeline *pipeline, struct arena *arena, struct span text, struct span job,
	struct definitions_view *out, struct error *err)
{
	struct error why;
	enum status status = view_json(pipeline, arena, text, out, &why);

	out->damage = SPAN("");
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status == OK)
		return OK;
	out->source = DEFINITIONS_NONE;
	out->count = 0;
	return say_damage(arena, why.text, job.len ? "/definitions" : "definitions", job, &out->damage, err);
}

enum status pipeline_read_damage(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct span *out, struct error *err)
{
	AUTO(job_state) job = directory_find(pipeline->directory, row->name);
	struct definitions_view view = {.preset = SPAN(""), .reason = SPAN("")};
	struct span text;

	*out = SPAN("");
	if (job) { /* in most cases they are at hand */
		pthread_mutex_lock(&job->mutex);
		struct definitions *present = definitions_ref(job->definitions);
		pthread_mutex_unlock(&job->mutex);
		bool is_intact = present && present->generation == row->generation && !present->damage;
		definitions_unref(present);
		if (is_intact)
			return OK;
	}
	TRY(store_read_definitions(reader, arena, row->job_id, row->generation, &text, err));
	TRY(view_or_say(pipeline, arena, text, row->name, &view, err));
	*out = view.damage;
	return OK;
}

/* Between its commit and the change in RAM readers still see what was: it is done when that is over. */
static bool is_in_force(struct pipeline *pipeline, const struct backfill_row *backfill, struct span name)
{
	struct job_state *job = directory_find(pipeline->directory, name);

	if (!job)
		return true;
	pthread_mutex_lock(&job->mutex);
	bool is_behind = job->definitions && job->definitions->generation < backfill->generation;
	pthread_mutex_unlock(&job->mutex);
	job_unref(job);
	return !is_behind;
}

enum status pipeline_view_definitions(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct definitions_view *out, struct error *err)
{
	struct span text, defaults;

	*out = (struct definitions_view){.generation = view->row.generation, .preset = SPAN(""), .reason = SPAN("")};
	TRY(store_read_backfill(reader, arena, view->row.job_id, &out->backfill, err));
	if (out->backfill.state == BACKFILL_DONE && !is_in_force(pipeline, &out->backfill, view->row.name))
		out->backfill.state = BACKFILL_RUNNING;
	TRY(store_read_definitions(reader, arena, view->row.job_id, view->row.generation, &text, err));
	TRY(definitions_read_default(reader, arena, &defaults, err));
	choose_preset(view, out);
	TRY(fold_formats(arena, view, out, err));
	TRY(view_or_say(pipeline, arena, text, view->row.name, out, err));
	if (out->source == DEFINITIONS_JOB && view->row.generation == 1 && span_equal(text, defaults))
		out->source = DEFINITIONS_SERVER;
	return OK;
}

enum status pipeline_view_default_definitions(struct pipeline *pipeline, struct store_reader *reader,
	struct arena *arena, struct definitions_view *out, struct error *err)
{
	struct span text;

	*out = (struct definitions_view){.preset = SPAN(""), .reason = SPAN("")};
	TRY(definitions_read_default(reader, arena, &text, err));
	return view_or_say(pipeline, arena, text, SPAN(""), out, err);
}

const char *pipeline_preset(
	const struct pipeline *pipeline, struct arena *arena, size_t number, struct definitions_view *out)
{
	const char *name = definition_set_preset_name(pipeline->presets, (int)number);
	struct error err;

	*out = (struct definitions_view){.preset = SPAN(""), .reason = SPAN("")};
	if (name && copy_items(arena, pipeline->presets, (int)number, out, &err) != OK)
		return NULL;
	out->is_renamed = definition_set_preset_is_renamed(pipeline->presets, (int)number);
	return name;
}
