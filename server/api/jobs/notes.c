/* Notes at places of a job: a step, a time, a line or a checkpoint. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "pipeline/jobs/notes.h"
#include "read/charts/place_read.h"
#include "read/checkpoints.h"
#include "read/logs/lines.h"
#include "state/jobs/secrets.h"
#include "store/faults.h"
#include "store/jobs.h"

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 10000, CHECKPOINTS_MAX = 65536, KEY_MAX_BYTES = 255 };

static void write_note(const struct note_row *row, struct json_writer *w)
{
	json_object(w);
	json_put_i64(w, "id", row->note_id);
	json_put_text(w, "at", note_places[row->place]);
	json_key(w, "step");
	if (row->has_step)
		json_i64(w, row->step);
	else
		json_null(w);
	json_key(w, "ts_ms");
	if (row->ts_ms)
		json_i64(w, row->ts_ms);
	else
		json_null(w);
	if (row->stream.len) {
		json_put_span(w, "stream", row->stream);
		json_put_i64(w, "line", (int64_t)row->line);
	}
	json_put_span(w, "text", row->text);
	json_put_span(w, "author", row->author);
	json_put_i64(w, "created_ms", row->created_ms);
	json_put_i64(w, "modified_ms", row->modified_ms);
	if (row->deleted_ms) {
		json_put_i64(w, "deleted_ms", row->deleted_ms);
		json_put_i64(w, "undo_until_ms", row->deleted_ms + NOTE_UNDO_MS);
	}
	json_object_end(w);
}

enum status api_notes_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	bool with_deleted = false;
	struct note_row *rows;
	int64_t after = 0;
	struct job_row job;
	size_t limit, count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(http_query_i64(request, "after", 0, INT64_MAX, &after, err));
	TRY(http_query_bool(request, "deleted", &with_deleted, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(store_read_notes(reader, arena, job.job_id, after,
		with_deleted ? http_request_arrival_ms(request) - NOTE_UNDO_MS : INT64_MAX, limit + 1, &rows, &count,
		err));
	json_object(&w);
	json_key(&w, "notes");
	json_array(&w);
	for (size_t i = 0; i < count && i < limit; i++)
		write_note(&rows[i], &w);
	json_array_end(&w);
	if (count > limit)
		json_put_i64(&w, "next_after", rows[limit - 1].note_id);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- where it is ---- */

static enum status take_line(struct api *api, struct store_reader *reader, struct arena *arena, struct span job,
	struct note_row *row, struct place *place, struct error *err)
{
	struct line_view *lines;
	uint64_t total;
	size_t count;

	TRY(lines_read(
		api->options.pipeline, reader, arena, job, row->stream, row->line, 1, 1, &lines, &count, &total, err));
	if (!count)
		return error_set_field(err, ERR_SEMANTIC, "line", "stream '%.*s' has %llu lines; there is no line %llu",
			SPAN_ARGS(row->stream), (unsigned long long)total, (unsigned long long)row->line);
	place->has_time = lines[0].ts_ms > 0;
	place->ts_ms = place->has_time ? lines[0].ts_ms : 0;
	return OK;
}

static enum status take_checkpoint(struct store_reader *reader, struct arena *arena, struct span name, int64_t step,
	struct place *place, struct error *err)
{
	struct checkpoint_row *rows;
	struct job_row job;
	size_t count;

	TRY(store_read_job(reader, arena, name, &job, err));
	TRY(checkpoints_read_all(reader, arena, job.job_id, INT64_MAX, CHECKPOINTS_MAX, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		if (rows[i].step == step) { /* the newest of that step */
			*place = (struct place){true, true, step, rows[i].ts_ms};
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, "checkpoint",
		"the log tells of no checkpoint at step %lld (GET …/checkpoints lists them); a note may be at the step",
		(long long)step);
}

static bool has(const struct json *body, const char *key)
{
	const struct json *node = json_get(body, key);

	return node && json_kind(node) != JSON_NULL;
}

static enum status which_place(const struct json *body, int32_t *place, struct error *err)
{
	static const char *const keys[NOTE_PLACE_COUNT] = {"step", "ts_ms", "line", "checkpoint"};
	int found = 0;

	for (int32_t i = 0; i < NOTE_PLACE_COUNT; i++)
		if (has(body, keys[i])) {
			*place = i;
			found++;
		}
	if (found != 1)
		return error_set_field(err, ERR_SEMANTIC, "step",
			"a note is at one place: step, ts_ms, line (with stream) or checkpoint; this one has %d",
			found);
	if (has(body, "stream") != (*place == NOTE_AT_LINE))
		return error_set_field(err, ERR_SEMANTIC, "stream", "%s",
			*place == NOTE_AT_LINE ? "stream says whose line it is" : "stream goes with line alone");
	return OK;
}

static enum status read_place(struct api *api, struct store_reader *reader, struct arena *arena, struct span job,
	const struct json *body, struct note_row *row, struct error *err)
{
	struct place place = {0};
	int64_t number = 0;

	TRY(which_place(body, &row->place, err));
	switch (row->place) {
	case NOTE_AT_STEP:
		TRY(json_want_i64(body, "step", &place.step, err));
		if (place.step < 0)
			return error_set_field(
				err, ERR_SEMANTIC, "step", "step is %lld; steps count from 0", (long long)place.step);
		place.has_step = true;
		break;
	case NOTE_AT_TIME:
		TRY(json_want_i64(body, "ts_ms", &place.ts_ms, err));
		if (place.ts_ms <= 0)
			return error_set_field(err, ERR_SEMANTIC, "ts_ms",
				"ts_ms is %lld; it takes milliseconds since 1970, from 1 on", (long long)place.ts_ms);
		place.has_time = true;
		break;
	case NOTE_AT_LINE:
		TRY(json_want_string(body, "stream", &row->stream, err));
		TRY(json_want_i64(body, "line", &number, err));
		if (number < 0)
			return error_set_field(
				err, ERR_SEMANTIC, "line", "line is %lld; lines count from 0", (long long)number);
		row->line = (uint64_t)number;
		TRY(take_line(api, reader, arena, job, row, &place, err));
		break;
	default:
		TRY(json_want_i64(body, "checkpoint", &number, err));
		TRY(take_checkpoint(reader, arena, job, number, &place, err));
		break;
	}
	TRY(place_read(api->options.pipeline, reader, arena, job, &place, err));
	row->has_step = place.has_step;
	row->step = place.step;
	row->ts_ms = place.has_time ? place.ts_ms : 0;
	return OK;
}

/* ---- changes ---- */

static enum status read_text(struct api *api, const struct json *body, struct span *text, struct error *err)
{
	uint64_t most = api->options.max_note_bytes;

	*text = SPAN("");
	TRY(secrets_mask(body, err)); /* of addresses */
	TRY(json_want_string(body, "text", text, err));
	if (text->len >= 1 && text->len <= most)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "text", "text has %zu bytes; it takes 1 to %llu (--max-note-bytes)",
		text->len, (unsigned long long)most);
}

static enum status read_key(const struct http_request *request, struct span *key, struct error *err)
{
	*key = http_request_header(request, "Idempotency-Key");
	if (!key->len)
		*key = SPAN("");
	if (key->len > KEY_MAX_BYTES)
		return error_set(err, ERR_INVALID, "an Idempotency-Key has at most %d bytes, this one %zu",
			KEY_MAX_BYTES, key->len);
	for (size_t i = 0; i < key->len; i++)
		if (key->ptr[i] < ' ' || key->ptr[i] > '~')
			return error_set(err, ERR_INVALID,
				"an Idempotency-Key is of printable ASCII; this one is not at byte %zu", i);
	return OK;
}

static struct note_change change_of(struct api *api, const struct http_request *request)
{
	return (struct note_change){.job = http_request_segment(request, 0),
		.team = api_team(request),
		.most = api->options.max_notes,
		.now_ms = http_request_arrival_ms(request)};
}

static enum status read_number(const struct http_request *request, int64_t *out, struct error *err)
{
	struct span text = http_request_segment(request, 1);

	if (span_parse_i64(text, out) && *out > 0)
		return OK;
	return error_set(err, ERR_NOT_FOUND, "there is no note '%.*s': notes have numbers",
		(int)(text.len < 80 ? text.len : 80), text.ptr);
}

static enum status answer(const struct note_row *row, struct http_response *response, struct error *err)
{
	struct json_writer w = api_reply(response);

	write_note(row, &w);
	return buf_status(&response->body, err);
}

enum status api_notes_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct note_change change = change_of(api, request);
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	change.row = (struct note_row){.stream = SPAN(""),
		.author = span_from(http_request_principal(request)->name),
		.created_ms = change.now_ms,
		.modified_ms = change.now_ms};
	TRY(read_key(request, &change.row.key, err));
	TRY(read_text(api, body, &change.row.text, err));
	TRY(read_place(api, ((struct api_worker *)worker)->reader, arena, change.job, body, &change.row, err));
	TRY(pipeline_put_note(api->options.pipeline, arena, &change, err));
	response->status = change.is_known ? 200 : 201;
	return answer(&change.row, response, err);
}

enum status api_note_change(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct note_change change = change_of(api, request);
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(read_number(request, &change.note_id, err));
	TRY(api_body_object(request, &body, err));
	change.has_text = has(body, "text");
	change.has_deleted = has(body, "deleted");
	if (change.has_text)
		TRY(read_text(api, body, &change.row.text, err));
	TRY(json_want_bool(body, "deleted", &change.is_deleted, err));
	if (change.is_deleted || (!change.has_text && !change.has_deleted))
		return error_set_field(err, ERR_SEMANTIC, "deleted",
			"a change is a new text, or {\"deleted\": false}, which takes a deletion back; DELETE deletes");
	TRY(pipeline_put_note(api->options.pipeline, arena, &change, err));
	return answer(&change.row, response, err);
}

enum status api_note_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct note_change change = change_of(api, request);
	AUTO(arena) arena = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(read_number(request, &change.note_id, err));
	change.has_deleted = change.is_deleted = true;
	TRY(pipeline_put_note(api->options.pipeline, arena, &change, err));
	return answer(&change.row, response, err);
}
