/*
 * Lines and points as they arrive: the body is cut into slices, each a batch that commits by itself while the connection waits. A
 * body of one slice is all or nothing; a longer or endless one keeps what was committed when it breaks.
 *
 * One upload has one slice at the writer at most. upload_timer.h hands over what has waited long enough, so that the last lines
 * of a quiet endless upload are seen at once.
 */
#include "api/send/upload.h"

#include "api/core/api_state.h"
#include "base/clock.h"
#include "base/hash128.h"
#include "base/codec/snappy.h"
#include "ingest/ingest.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/jobs/session_table.h"
#include "pipeline/pipeline.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
	NAME_MAX_BYTES = 255,
	PARTS_MAX = 4096,
	ENDLESS_WAIT_MS = 50, /* a slice of an endless upload waits so long for more */
	HELD_MAX_BYTES = 64 << 10, /* between feeds, while all uploads together hold too much */
	EARLY_PAUSE_MS = 1000,
	BODY_WAIT_MS = 1000, /* of a body with a stated length: one slice, if it comes within a second */
};

struct upload {
	struct upload *next, *previous; /* of all; under api->uploads_mutex */
	struct upload *due_next; /* uploads_hand_over's own */
	atomic_uint refs; /* the connection, the slice at the writer, and uploads_hand_over while it looks */
	struct api *api;
	struct http_upload *handle;
	pthread_mutex_t mutex; /* of everything below */
	const struct ingest_protocol *protocol;
	struct ingest_parser *parser;
	bool is_packed; /* by snappy */
	bool is_whole; /* for a protocol that takes its body piece by piece: `whole` holds it to the end, and it is one slice */
	struct buf whole;
	struct hash128 key_hash; /* of the request's Idempotency-Key; {0}: it has none */
	struct batch *batch; /* being filled */
	size_t noted_bytes; /* of it, as the pipeline knows */
	bool must_hurry; /* all uploads hold so much together that this slice goes as it is */
	int64_t batch_since_ms;
	int64_t wait_ms;
	int64_t offset; /* of the next slice, -1: none was given */
	int64_t written_ms; /* 0: not given */
	bool was_full; /* the slice that was handed over last */
	int64_t zone_ms;
	struct principal principal;
	char session[SESSION_ID_MAX_BYTES + 1], source[NAME_MAX_BYTES + 1];
	char job[NAME_MAX_BYTES + 1], stream[NAME_MAX_BYTES + 1], host[NAME_MAX_BYTES + 1];
	struct upload_place place; /* as the path says it */
	struct batch *submitted; /* at the writer, or back from it */
	bool is_in_flight;
	bool is_waiting; /* the connection is suspended for us */
	bool is_gone;
	const struct upload_door *door;
	bool has_finished_parsing;
	enum status status; /* of a slice that was refused */
	struct error err;
	struct upload_result result;
};

static size_t held_bytes(const struct upload *upload)
{
	bool holds = upload->protocol->held_bytes && upload->parser;

	return holds ? upload->protocol->held_bytes(upload->parser) : 0;
}

/* What the open slice holds now: an upload that feeds slowly must not be a place to keep memory. */
static void note_open(struct upload *upload)
{
	const struct batch *batch = upload->batch;
	size_t bytes = batch ? batch_bytes(batch) : 0;

	bytes += held_bytes(upload) + upload->whole.cap;
	upload->must_hurry = pipeline_note_open(upload->api->options.pipeline, upload->noted_bytes, bytes);
	upload->noted_bytes = bytes;
}

static void upload_free(struct upload *upload)
{
	if (upload->noted_bytes)
		pipeline_note_open(upload->api->options.pipeline, upload->noted_bytes, 0);
	if (upload->parser)
		upload->protocol->free(upload->parser);
	buf_done(&upload->whole);
	batch_free(upload->batch);
	batch_free(upload->submitted);
	pthread_mutex_destroy(&upload->mutex);
	mem_free(upload);
}

static void drop(struct upload *upload)
{
	if (atomic_fetch_sub(&upload->refs, 1) == 1)
		upload_free(upload);
}

/* With the mutex held; releases it. */
static void release(struct upload *upload)
{
	pthread_mutex_unlock(&upload->mutex);
	drop(upload);
}

/* With the mutex held; releases it, before the connection goes on: of one that was detached at a stop nobody is left
 * but us, and its resume is the upload's abort, which locks. */
static void release_and_wake(struct upload *upload)
{
	bool wakes = upload->is_waiting && !upload->is_gone;

	upload->is_waiting = upload->is_waiting && !wakes;
	pthread_mutex_unlock(&upload->mutex);
	if (wakes)
		http_upload_resume(upload->handle);
	drop(upload);
}

static void list_add(struct upload *upload)
{
	struct api *api = upload->api;

	pthread_mutex_lock(&api->uploads_mutex);
	upload->next = api->uploads;
	if (api->uploads)
		api->uploads->previous = upload;
	api->uploads = upload;
	pthread_mutex_unlock(&api->uploads_mutex);
}

static void list_remove(struct upload *upload)
{
	struct api *api = upload->api;

	pthread_mutex_lock(&api->uploads_mutex);
	if (upload->previous)
		upload->previous->next = upload->next;
	else
		api->uploads = upload->next;
	if (upload->next)
		upload->next->previous = upload->previous;
	pthread_mutex_unlock(&api->uploads_mutex);
}

/* What is back from the writer. */
static void free_submitted(struct upload *upload)
{
	if (!upload->is_in_flight)
		batch_free(TAKE(upload->submitted));
}

/* The connection that goes on now frees the slice on its own thread: all others wait for this one. */
static void slice_done(void *context, const struct ingest_result *result)
{
	struct upload *upload = context;

	pthread_mutex_lock(&upload->mutex);
	upload->is_in_flight = false;
	if (!upload->is_waiting || upload->is_gone)
		free_submitted(upload);
	upload->result.accepted += result->accepted;
	upload->result.duplicate += result->duplicate;
	upload->result.refused += result->refused;
	upload->result.rejected += result->refused;
	upload->result.next_offset = result->next_offset;
	if (result->status == OK) {
		upload->result.has_committed = true;
		upload->result.has_offset = upload->offset >= 0;
		upload->result.seq = result->seq;
	} else {
		upload->status = result->status;
		upload->err = result->err;
	}
	release_and_wake(upload);
}

static uint64_t sent_bytes(const struct batch *batch)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < batch->part_count; i++)
		sum += batch->parts[i].sent_bytes;
	return sum;
}

static void count_parsed(struct upload *upload, const struct batch *batch)
{
	struct upload_result *result = &upload->result;

	result->rejected += batch->rejected;
	result->cut += batch->cut_lines;
	atomic_fetch_add(&upload->api->no_job_lines, batch->no_job);
	atomic_fetch_add(&upload->api->bad_times, batch->bad_times);
	result->no_job += batch->no_job;
	if (upload->door->is_prometheus)
		atomic_fetch_add(&upload->api->rejected_samples, batch->rejected);
}

/* An endless body holds its lease by what it sends; that it was lost is told at the next request. */
static void renew_session(const struct upload *upload)
{
	struct error ignored;

	if (upload->session[0] && session_renew(upload->api->sessions, span_from(upload->session), SPAN(""), SPAN(""),
					  SPAN(""), NULL, &ignored) != OK)
		return;
}

static bool has_key(const struct upload *upload)
{
	return upload->key_hash.low || upload->key_hash.high;
}

/* By the key each of them is known when the body comes again. */
static void mark_parts(const struct upload *upload, struct batch *batch)
{
	for (size_t i = 0; i < batch->part_count; i++) {
		batch->parts[i].is_push = true;
		batch->parts[i].push_hash = upload->key_hash;
	}
}

/* With the mutex held and nothing in flight. A busy writer is an error for a first slice (the sender comes back) and a
 * pause for a later one (it cannot: there would be no telling what was taken). A later one pauses early, but
 * not for long: the short bodies of others may keep extraction as busy as that for ever. */
static enum status submit(struct upload *upload, struct error *err)
{
	struct batch *batch = upload->batch;
	uint64_t sent = sent_bytes(batch);
	struct batch counts = *batch; /* the batch is the writer's in a moment */

	free_submitted(upload);
	if (has_key(upload))
		mark_parts(upload, batch);
	batch->offset = upload->offset;
	renew_session(upload);
	batch->written_ms = upload->written_ms;
	batch->follows_full = upload->was_full;
	batch->zone_ms = upload->zone_ms;
	batch->may_wait = upload->result.has_committed && clock_mono_ms() - upload->batch_since_ms < EARLY_PAUSE_MS;
	atomic_fetch_add(&upload->refs, 1);
	upload->is_in_flight = batch->is_senders = true;
	enum status status = pipeline_submit(upload->api->options.pipeline, batch, slice_done, upload, err);
	if (status != OK) {
		atomic_fetch_sub(&upload->refs, 1); /* the caller has one */
		upload->is_in_flight = false;
		return status == ERR_BUSY && upload->result.has_committed ? OK : status;
	}
	upload->submitted = TAKE(upload->batch);
	upload->was_full = counts.text_bytes >= upload->api->options.slice_bytes;
	note_open(upload);
	count_parsed(upload, &counts);
	if (upload->offset >= 0)
		upload->offset += (int64_t)sent;
	return OK;
}

static bool has_lines(const struct upload *upload)
{
	return upload->batch && (upload->batch->line_count || upload->batch->point_count);
}

static enum status open_batch(struct upload *upload, struct error *err)
{
	if (upload->batch)
		return OK;
	struct batch *batch = batch_new(clock_wall_ms());
	if (!batch)
		return error_no_memory(err);
	batch->host = arena_copy(batch->arena, span_from(upload->host));
	batch->team = arena_copy(batch->arena, span_from(upload->principal.team));
	batch->source = arena_copy(batch->arena, span_from(upload->source));
	upload->batch = batch;
	upload->batch_since_ms = clock_mono_ms();
	return batch->host.ptr && batch->team.ptr && batch->source.ptr ? OK : error_no_memory(err);
}

/* ---- begin ---- */

static enum status take_name(
	const struct http_request *request, const char *name, char out[NAME_MAX_BYTES + 1], struct error *err)
{
	struct span value;

	if (!http_request_query(request, name, &value))
		return OK;
	TRY(ingest_check_name(name, value, NAME_MAX_BYTES, err));
	memcpy(out, value.ptr, value.len);
	out[value.len] = 0;
	return OK;
}

static enum status take_session(
	const struct http_request *request, char out[SESSION_ID_MAX_BYTES + 1], struct error *err)
{
	struct span value;

	if (!http_request_query(request, "session", &value))
		return OK;
	TRY(ingest_check_name("session", value, SESSION_ID_MAX_BYTES, err));
	memcpy(out, value.ptr, value.len);
	out[value.len] = 0;
	return OK;
}

static enum status unsupported(const struct http_request *request, const char *what, struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "Content-Type '%.*s' is not taken here; send %s",
		SPAN_ARGS(http_request_header(request, "Content-Type")), what);
}

/* What each door asks of its parameters beside their form. */
static enum status check_parameters(struct upload *upload, struct error *err)
{
	struct session_facts facts;

	if (upload->protocol == &ingest_plain && !upload->job[0])
		return error_set_field(err, ERR_INVALID, "job", "plain text needs the query parameter job=NAME");
	if (upload->door->needs_job && !upload->job[0])
		return error_set_field(err, ERR_INVALID, "job", "points need the query parameter job=NAME");
	if (upload->offset >= 0 && (!upload->job[0] || !upload->stream[0]))
		return error_set_field(
			err, ERR_INVALID, "offset", "offset counts the bytes of one stream: give job= and stream= too");
	if (upload->offset >= 0 && upload->door->counts_points && !upload->source[0])
		return error_set_field(err, ERR_INVALID, "source",
			"offset counts the points of one source: give source=NAME, too, which no sender of lines has");
	if (upload->source[0] && upload->offset < 0)
		return error_set_field(
			err, ERR_INVALID, "source", "a source is what offset= counts the bytes of: give that, too");
	if (!upload->session[0])
		return OK;
	if (!upload->job[0] || !upload->stream[0])
		return error_set_field(
			err, ERR_INVALID, "session", "a session is of one stream: give job= and stream= too");
	TRY(session_renew(upload->api->sessions, span_from(upload->session), span_from(upload->job),
		span_from(upload->stream), span_from(upload->principal.team), &facts, err));
	if (!upload->host[0])
		snprintf(upload->host, sizeof upload->host, "%s", facts.host);
	return OK;
}

/* +02:00, -0530, Z or UTC; a plus that was not encoded is a space by now. */
static enum status read_zone(const struct http_request *request, int64_t *zone_ms, struct error *err)
{
	struct span zone;
	int64_t number;

	if (!http_request_query(request, "time_zone", &zone) || span_equal(zone, SPAN("Z")) ||
		span_equal(zone, SPAN("UTC")))
		return OK;
	char digits[] = {0, 0, 0, 0};
	bool has_colon = zone.len == 6 && zone.ptr[3] == ':';
	if (has_colon || zone.len == 5) {
		memcpy(digits, zone.ptr + 1, 2);
		memcpy(digits + 2, zone.ptr + 3 + has_colon, 2);
	}
	bool is_signed = zone.len && (zone.ptr[0] == '+' || zone.ptr[0] == '-' || zone.ptr[0] == ' ');
	bool is_number = digits[0] >= '0' && digits[0] <= '9' && digits[2] >= '0' && digits[2] <= '9' &&
			 span_parse_i64(span_of(digits, 4), &number);
	if (!is_signed || !is_number || number > 1400 || number % 100 > 59)
		return error_set_field(err, ERR_INVALID, "time_zone",
			"time_zone '%.*s' is no offset from UTC: +02:00, -05:30 or UTC", SPAN_ARGS(zone));
	*zone_ms = (number / 100 * 60 + number % 100) * 60000 * (zone.ptr[0] == '-' ? -1 : 1);
	return OK;
}

/* The router has refused the parameters that are not this door's. */
static enum status read_parameters(struct upload *upload, const struct http_request *request, struct error *err)
{
	bool has_length = http_request_header(request, "Content-Length").len != 0;
	int64_t offset = -1;

	if (upload->door->place) {
		TRY(upload->door->place(request, &upload->place, err));
		memcpy(upload->job, upload->place.job, sizeof upload->job);
		memcpy(upload->stream, upload->place.stream, sizeof upload->stream);
	}
	TRY(take_name(request, "job", upload->job, err));
	TRY(take_name(request, "stream", upload->stream, err));
	TRY(take_name(request, "host", upload->host, err));
	TRY(take_name(request, "source", upload->source, err));
	TRY(take_session(request, upload->session, err));
	TRY(http_query_i64(request, "offset", 0, INT64_MAX / 2, &offset, err));
	TRY(http_query_i64(
		request, "written_ms", 0, http_request_arrival_ms(request) + DAY_MS, &upload->written_ms, err));
	TRY(read_zone(request, &upload->zone_ms, err));
	upload->offset = offset;
	upload->wait_ms = has_length ? BODY_WAIT_MS : ENDLESS_WAIT_MS;
	upload->principal = *http_request_principal(request);
	upload->protocol = upload->door->protocol(http_request_header(request, "Content-Type"));
	if (!upload->protocol)
		return unsupported(request, upload->door->media, err);
	return check_parameters(upload, err);
}

/* One key may be of a batch whose lines go to one door and its points to another. */
static enum status read_key(struct upload *upload, const struct http_request *request, struct error *err)
{
	struct span key = http_request_header(request, "Idempotency-Key");

	if (!key.len)
		return OK;
	if (key.len > NAME_MAX_BYTES)
		return error_set(err, ERR_INVALID, "an Idempotency-Key has at most %d bytes, this one %zu",
			NAME_MAX_BYTES, key.len);
	if (upload->offset >= 0)
		return error_set_field(err, ERR_INVALID, "offset", "offset and Idempotency-Key exclude each other");
	hash128_add(&upload->key_hash, SPAN("Idempotency-Key"));
	hash128_add(&upload->key_hash, http_request_path(request));
	hash128_add(&upload->key_hash, key);
	return OK;
}

static enum status fill_upload(struct upload *upload, const struct http_request *request, struct error *err)
{
	struct span encoding = span_trim(http_request_header(request, "Content-Encoding"));

	TRY(read_parameters(upload, request, err));
	/* with an offset the body is of one stream: entries that name another would make the count meaningless */
	struct ingest_options options = {.max_line_bytes = upload->api->options.max_line_bytes,
		.job = span_from(upload->job),
		.stream = upload->stream[0] ? span_from(upload->stream) : SPAN("algo-1"),
		.max_name_bytes = NAME_MAX_BYTES,
		.max_parts = upload->offset >= 0 ? 1 : PARTS_MAX,
		.max_points_bytes = upload->api->options.max_points_bytes,
		.max_push_bytes = upload->api->options.max_push_bytes,
		.is_snappy = span_equal_fold(encoding, SPAN("snappy")),
		.span_names = upload->api->span_names,
		.more_labels = span_from(upload->place.labels),
		.labels = upload->door->is_prometheus ? upload->api->prometheus_labels : upload->api->labels};
	TRY(read_key(upload, request, err));
	upload->is_packed = options.is_snappy;
	bool counts_points = upload->door->counts_points && upload->offset >= 0;
	upload->is_whole = (options.is_snappy || has_key(upload) || counts_points) && !upload->door->takes_whole;
	upload->whole = BUF_INIT(options.max_push_bytes);
	return upload->protocol->open(&upload->parser, &options, err);
}

enum status upload_begin(struct api *api, const struct upload_door *door, const struct http_request *request,
	struct http_upload *handle, void **out, struct error *err)
{
	struct upload *upload = mem_zeroed(sizeof *upload);

	if (!upload)
		return error_no_memory(err);
	pthread_mutex_init(&upload->mutex, NULL);
	upload->api = api;
	upload->door = door;
	upload->handle = handle;
	atomic_init(&upload->refs, 1);
	enum status status = fill_upload(upload, request, err);
	if (status != OK) {
		upload_free(upload);
		return status;
	}
	list_add(upload);
	*out = upload;
	return OK;
}

/* ---- feed and finish ---- */

static enum status refused(const struct upload *upload, struct error *err)
{
	if (upload->status != OK && err)
		*err = upload->err;
	return upload->status;
}

static bool is_full(const struct upload *upload)
{
	return has_lines(upload) &&
	       (upload->must_hurry || upload->batch->text_bytes >= upload->api->options.slice_bytes ||
		       clock_mono_ms() - upload->batch_since_ms >= BODY_WAIT_MS);
}

/* A full slice goes to the writer; the connection waits when the next one is full before that came back. */
static enum status move_on(struct upload *upload, bool *must_wait, struct error *err)
{
	if (is_full(upload) && !upload->is_in_flight)
		TRY(submit(upload, err));
	upload->is_waiting = *must_wait = is_full(upload);
	return OK;
}

/* Neither a body that is taken as a whole nor a line without its end can be handed over to make room. */
static enum status check_room(const struct upload *upload, struct error *err)
{
	if (!upload->must_hurry || (!upload->is_whole && held_bytes(upload) <= HELD_MAX_BYTES))
		return OK;
	error_set(err, ERR_BUSY,
		"bodies that are still coming hold too much memory (--queue-bytes); send this one again");
	if (err)
		err->retry_after_s = 1;
	return ERR_BUSY;
}

static enum status too_large(const struct upload *upload, struct error *err)
{
	return error_set(err, ERR_TOO_LARGE,
		"a body %s is larger than %zu bytes (--max-push-bytes); send less at once%s",
		upload->is_packed     ? "packed by snappy"
		: upload->offset >= 0 ? "of points with an offset"
				      : "with an Idempotency-Key",
		upload->whole.max_bytes, upload->is_packed ? ", or gzip or zstd" : "");
}

static enum status keep_whole(struct upload *upload, struct span bytes, struct error *err)
{
	if (bytes.len > upload->whole.max_bytes - upload->whole.len)
		return too_large(upload, err);
	buf_append_span(&upload->whole, bytes);
	return buf_status(&upload->whole, err);
}

static enum status unpack_whole(struct upload *upload, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(upload->whole.max_bytes);
	enum status status = snappy_unpack(buf_span(&upload->whole), plain.max_bytes, &plain, err);

	if (status == ERR_TOO_LARGE)
		return too_large(upload, err);
	TRY(status);
	buf_done(&upload->whole);
	upload->whole = plain;
	plain = BUF_INIT(0);
	return OK;
}

static enum status feed_whole(struct upload *upload, struct error *err)
{
	if (upload->is_packed)
		TRY(unpack_whole(upload, err));
	TRY(upload->protocol->feed(upload->parser, upload->batch, buf_span(&upload->whole), err));
	buf_done(&upload->whole);
	return OK;
}

enum status upload_feed(void *context, struct span bytes, bool *must_wait, struct error *err)
{
	struct upload *upload = context;

	*must_wait = false;
	pthread_mutex_lock(&upload->mutex);
	free_submitted(upload);
	enum status status = refused(upload, err);
	if (status == OK)
		status = open_batch(upload, err);
	if (status == OK)
		status = upload->is_whole ? keep_whole(upload, bytes, err)
					  : upload->protocol->feed(upload->parser, upload->batch, bytes, err);
	note_open(upload);
	if (status == OK)
		status = check_room(upload, err);
	if (status == OK)
		status = move_on(upload, must_wait, err);
	upload->is_gone = status != OK; /* it is being refused: the timer must not store what is to come again */
	pthread_mutex_unlock(&upload->mutex);
	return status;
}

static enum status parse_end(struct upload *upload, struct error *err)
{
	if (upload->has_finished_parsing)
		return OK;
	upload->has_finished_parsing = true;
	TRY(open_batch(upload, err));
	enum status status = upload->is_whole && upload->whole.len ? feed_whole(upload, err) : OK;
	if (status == OK)
		status = upload->protocol->finish(upload->parser, upload->batch, err);
	note_open(upload);
	return status;
}

static enum status try_to_finish(struct upload *upload, bool *must_wait, struct error *err)
{
	TRY(refused(upload, err));
	TRY(parse_end(upload, err));
	if (!upload->is_in_flight && has_lines(upload))
		TRY(submit(upload, err));
	upload->is_waiting = *must_wait = upload->is_in_flight || has_lines(upload);
	if (!*must_wait && upload->batch)
		count_parsed(upload, upload->batch);
	return OK;
}

/* The upload is over and answered. */
static void end(struct upload *upload)
{
	upload->is_gone = true;
	pthread_mutex_unlock(&upload->mutex);
	list_remove(upload);
	pthread_mutex_lock(&upload->mutex);
	release(upload);
}

enum status upload_finish(void *context, struct http_response *response, bool *must_wait, struct error *err)
{
	struct upload *upload = context;
	struct error failure = {0};

	*must_wait = false;
	pthread_mutex_lock(&upload->mutex);
	enum status status = try_to_finish(upload, must_wait, &failure);
	bool is_told = status == OK || upload->door->tells_errors; /* else the transport does, and abort comes */
	if (*must_wait || !is_told) {
		upload->is_gone = status != OK; /* as in upload_feed */
		pthread_mutex_unlock(&upload->mutex);
		*err = failure;
		return status;
	}
	upload->result.status = failure.status = status;
	upload->result.session = upload->session;
	upload->result.warning = upload->protocol->warning(upload->parser);
	upload->door->reply(upload->api, upload->protocol, &upload->result, &failure, response);
	end(upload);
	return OK;
}

void upload_abort(void *context)
{
	struct upload *upload = context;

	list_remove(upload);
	pthread_mutex_lock(&upload->mutex);
	upload->is_gone = true;
	release(upload);
}

/* ---- what has waited long enough ---- */

static void hand_over(struct upload *upload, int64_t now_ms)
{
	struct error err;

	pthread_mutex_lock(&upload->mutex);
	bool is_due = has_lines(upload) && !upload->is_gone && !upload->is_in_flight && upload->status == OK &&
		      (now_ms - upload->batch_since_ms >= upload->wait_ms || upload->is_waiting);
	enum status status = is_due ? submit(upload, &err) : OK;
	/* a first slice that finds the writer busy stays where it is: feed or finish will say so, or the next round sends it */
	if (status == OK || status == ERR_BUSY) {
		release(upload);
		return;
	}
	upload->status = status;
	upload->err = err;
	release_and_wake(upload);
}

/* The list is not held meanwhile: what a slice takes (its text is packed) no other connection waits for. */
void uploads_hand_over(struct api *api, int64_t now_ms)
{
	struct upload *due = NULL;

	pthread_mutex_lock(&api->uploads_mutex);
	for (struct upload *upload = api->uploads; upload; upload = upload->next) {
		atomic_fetch_add(&upload->refs, 1); /* in the list, so its connection has one, too */
		upload->due_next = due;
		due = upload;
	}
	pthread_mutex_unlock(&api->uploads_mutex);
	for (struct upload *upload = due, *next; upload; upload = next) {
		next = upload->due_next;
		hand_over(upload, now_ms);
	}
}
