/*
 * The back-fill's thread: one at a time, the oldest first. It goes on from where it stood after a restart, yields to live ingest,
 * and takes its place in one transaction.
 */
#include "pipeline/backfill/backfill.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/notices.h"
#include "pipeline/commit/resolve.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/backfills.h"
#include "store/definitions.h"
#include "store/jobs.h"
#include "store/retention.h"

#include <sys/resource.h>
#include <unistd.h>

enum {
	TICK_MS = 50,
	LOOK_MS = 5000, /* nobody wakes the thread for what a failed read left behind */
	WAIT_MS = 250,
	TELL_MS = 250,
	GRACE_MS = 6 * 1000, /* longer than a reader may take */
	NICENESS = 5,
	EVENT_MAX_BYTES = 4096,
	YIELD_PART = 4, /* of what the journal may hold: from there on live ingest goes first */
};

static const char *state_name(enum backfill_state state)
{
	static const char *const names[] = {"running", "done", "failed", "cancelled"};

	return names[state];
}

void pipeline_write_backfill(const struct backfill_row *row, struct json_writer *w)
{
	json_put_text(w, "state", state_name(row->state));
	json_put_i64(w, "generation", row->generation);
	json_put_i64(w, "started_ms", row->started_ms);
	json_put_i64(w, "updated_ms", row->updated_ms);
	json_put_i64(w, "lines", (int64_t)row->lines);
	json_put_i64(w, "lines_total", (int64_t)row->lines_total);
	json_put_i64(w, "bytes", (int64_t)row->bytes);
	json_put_i64(w, "bytes_total", (int64_t)row->bytes_total);
	if (row->error.len)
		json_put_span(w, "error", row->error);
}

static void tell(struct backfill *backfill)
{
	AUTO_DONE(buf) json = BUF_INIT(EVENT_MAX_BYTES);
	struct pipeline *pipeline = backfill->pipeline;
	struct json_writer w = json_writer_on(&json);
	uint64_t seq = atomic_load(&pipeline->figures.extracted_seq);
	struct error err;

	backfill->told_ms = clock_mono_ms();
	if (!hub_wants(pipeline->options.hub, span_from(backfill->job->name), HUB_BACKFILL))
		return;
	json_object(&w);
	json_put_text(&w, "job", backfill->job->name);
	pipeline_write_backfill(&backfill->row, &w);
	json_object_end(&w);
	const struct hub_topic topic = {span_from(backfill->job->name), span_from(backfill->job->team)};
	if (json.failure || hub_publish(pipeline->options.hub, topic, HUB_BACKFILL, seq, buf_span(&json), &err) != OK)
		log_line(LOG_WARNING, "event_dropped", "kind=backfill");
}

static void count(struct backfill *backfill)
{
	struct backfill_row *row = &backfill->row;

	row->lines = row->lines_total = row->bytes = row->bytes_total = 0;
	for (size_t i = 0; i < backfill->count; i++) {
		struct stream_state *stream = backfill->shadows[i].stream;
		pthread_mutex_lock(&stream->mutex);
		uint64_t lines = stream->committed_line, bytes = stream->committed_byte;
		uint64_t done = backfill->shadows[i].state->extracted_lines;
		pthread_mutex_unlock(&stream->mutex);
		done = done < lines ? done : lines;
		row->lines += done;
		row->lines_total += lines;
		row->bytes += lines ? (uint64_t)((double)bytes * (double)done / (double)lines) : 0;
		row->bytes_total += bytes;
	}
	row->updated_ms = clock_wall_ms();
}

/* ---- its beginning ---- */

enum status backfill_begin(struct store_tx *tx, struct arena *arena, const struct job_row *row, uint32_t generation,
	int64_t now_ms, struct error *err)
{
	struct expired_text *expired;
	size_t count;

	TRY(store_read_expired(store_tx_reader(tx), arena, row->job_id, 0, &expired, &count, err));
	if (count)
		return error_set(err, ERR_CONFLICT,
			"a limit deleted text of job '%.*s': a back-fill would lose the points that came from it; without backfill=true the definitions are used for new lines",
			SPAN_ARGS(row->name));
	struct backfill_row backfill = {.job_id = row->job_id,
		.generation = generation,
		.started_ms = now_ms,
		.updated_ms = now_ms,
		.error = SPAN("")};
	return store_put_backfill(tx, &backfill, err);
}

void backfill_wake(struct pipeline *pipeline)
{
	atomic_store(&pipeline->backfill_due, true);
	pthread_mutex_lock(&pipeline->tick_mutex);
	pthread_cond_broadcast(&pipeline->tick);
	pthread_mutex_unlock(&pipeline->tick_mutex);
}

struct loading {
	struct backfill *backfill;
	enum status status;
	struct error err;
};

/* After a commit, as with forgetting: nobody is planning a line for a stream that is not in RAM yet. */
static void load_job(void *context)
{
	struct loading *loading = context;
	struct backfill *backfill = loading->backfill;

	loading->status = resolve_whole_job(
		backfill->pipeline, backfill->reader, backfill->row.job_id, &backfill->job, &loading->err);
	if (backfill->job)
		atomic_store(&backfill->job->is_backfilled, true);
}

static enum status load(struct backfill *backfill, struct error *err)
{
	struct loading loading = {.backfill = backfill};

	TRY(writer_execute_then(backfill->pipeline, writer_write_nothing, load_job, &loading, err));
	if (loading.status != OK && err)
		*err = loading.err;
	return loading.status;
}

/* Streams may come while it runs. */
static enum status open_shadows(struct backfill *backfill, struct error *err)
{
	struct stream_state *stream;

	for (size_t i = backfill->count; (stream = job_stream_at(backfill->job, i)); i++) {
		if (!mem_grow((void **)&backfill->shadows, backfill->count, &backfill->cap, sizeof *backfill->shadows))
			return error_no_memory(err);
		backfill->shadows[backfill->count] = (struct shadow){0};
		enum status status = shadow_open(backfill, stream, &backfill->shadows[backfill->count], err);
		if (status != OK) {
			shadow_close(&backfill->shadows[backfill->count]);
			return status;
		}
		backfill->count++;
	}
	return OK;
}

/* ---- in slices, yielding ---- */

enum going { GO_ON, STOP_NOW, END_IT };

/* Asks the store whether it is still wanted. */
static enum status ask(struct backfill *backfill, enum going *going, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct backfill_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_backfill(backfill->reader, arena, backfill->row.job_id, &row, err));
	bool is_wanted = row.job_id && row.state == BACKFILL_RUNNING && row.generation == backfill->row.generation;
	if (!is_wanted || atomic_load(&backfill->job->is_deleted))
		*going = END_IT;
	return OK;
}

static bool must_yield(const struct pipeline *pipeline)
{
	return atomic_load(&pipeline->figures.journal_bytes) > pipeline->options.journal_bytes / YIELD_PART ||
	       atomic_load(&pipeline->figures.is_disk_low);
}

static enum status wait_and_ask(struct backfill *backfill, enum going *going, struct error *err)
{
	*going = control_wait_tick(backfill->pipeline, WAIT_MS) ? STOP_NOW : GO_ON;
	return *going == GO_ON ? ask(backfill, going, err) : OK;
}

static enum status pause_now_and_then(struct backfill *backfill, enum going *going, struct error *err)
{
	struct pipeline *pipeline = backfill->pipeline;

	*going = control_wait_tick(pipeline, 0) ? STOP_NOW : GO_ON;
	while (*going == GO_ON && must_yield(pipeline))
		TRY(wait_and_ask(backfill, going, err));
	if (*going != GO_ON || clock_mono_ms() - backfill->told_ms < TELL_MS)
		return OK;
	count(backfill);
	tell(backfill);
	return ask(backfill, going, err);
}

/* The text of all streams, up to where each is sealed now. */
static enum status catch_up(struct backfill *backfill, enum going *going, struct error *err)
{
	for (size_t i = 0; i < backfill->count; i++) {
		for (bool is_level = false; !is_level;) {
			TRY(pause_now_and_then(backfill, going, err));
			if (*going != GO_ON)
				return OK;
			TRY(shadow_step(backfill, &backfill->shadows[i], &is_level, err));
		}
		TRY(shadow_settle(backfill, &backfill->shadows[i], err));
	}
	return OK;
}

/* ---- the change ---- */

/* What its detectors said must be written before its series are others: it would be taken for what they said. */
static bool is_level(struct stream_state *stream, const struct stream_state *state)
{
	pthread_mutex_lock(&stream->mutex);
	bool is_so = !stream->pending_incidents && state->extracted_lines == stream->extracted_lines &&
		     state->extracted_points == stream->extracted_points;
	pthread_mutex_unlock(&stream->mutex);
	return is_so;
}

static enum status check_still_wanted(
	struct backfill *backfill, struct store_tx *tx, struct arena *arena, struct job_row *job, struct error *err)
{
	struct backfill_row row;

	enum status status = store_read_job_by_id(store_tx_reader(tx), arena, backfill->row.job_id, job, err);
	TRY(status);
	TRY(store_read_backfill(store_tx_reader(tx), arena, backfill->row.job_id, &row, err));
	if (row.state != BACKFILL_RUNNING || row.generation != backfill->row.generation)
		return error_set(err, ERR_NOT_FOUND, "it was cancelled");
	if (backfill->job->birth_round == backfill->pipeline->round)
		return error_set(err, ERR_BUSY, "a stream is made in this very transaction");
	struct stream_state *stream;
	for (size_t i = 0; (stream = job_stream_at(backfill->job, i)); i++)
		if (i < backfill->count && backfill->shadows[i].state->has_hole)
			return error_no_memory(err);
		else if (i >= backfill->count || !is_level(stream, backfill->shadows[i].state))
			return error_set(err, ERR_BUSY, "a stream came meanwhile, or an incident is on its way");
	return OK;
}

static enum status write_job(
	struct backfill *backfill, struct store_tx *tx, struct arena *arena, struct job_row *job, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(4 << 20);
	AUTO(json) definitions = NULL;
	struct span text;

	TRY(store_read_definitions(store_tx_reader(tx), arena, job->job_id, backfill->row.generation, &text, err));
	TRY(json_parse(&definitions, text, err));
	TRY(definitions_into_document(definitions, job->document, &document, err));
	job->document = buf_span(&document);
	job->generation = backfill->row.generation;
	job->modified_ms = clock_wall_ms();
	return store_put_job(tx, job, err);
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct backfill *backfill = context;
	AUTO(arena) arena = arena_new();
	struct incident_row *open;
	struct job_row job;
	size_t open_count;

	if (!arena)
		return error_no_memory(err);
	backfill->has_deliveries = false; /* after a commit that failed this runs again */
	TRY(check_still_wanted(backfill, tx, arena, &job, err));
	TRY(notices_read_open(tx, arena, job.job_id, &open, &open_count, err));
	for (size_t i = 0; i < backfill->count; i++) {
		struct dead_series old = shadow_numbers(backfill->shadows[i].stream, clock_wall_ms() + GRACE_MS);
		TRY(shadow_incidents(backfill, &backfill->shadows[i], tx, err));
		TRY(store_bury_series(tx, &old, err));
	}
	TRY(notices_hear_ends(
		backfill->pipeline, tx, arena, open, open_count, job.team, &backfill->has_deliveries, err));
	TRY(store_adopt_backfill(tx, job.job_id, err));
	TRY(write_job(backfill, tx, arena, &job, err));
	count(backfill);
	struct backfill_row row = backfill->row;
	row.state = BACKFILL_DONE;
	TRY(store_put_backfill(tx, &row, err));
	backfill->job->change_round = backfill->pipeline->round;
	backfill->job->change_generation = backfill->row.generation;
	return OK;
}

static void apply_change(void *context)
{
	struct backfill *backfill = context;
	struct job_state *job = backfill->job;

	atomic_fetch_add(&job->changes, 1);
	pthread_mutex_lock(&job->mutex);
	struct definitions *old = job->definitions;
	job->definitions = definitions_ref(backfill->definitions);
	pthread_mutex_unlock(&job->mutex);
	job->generation = backfill->definitions->generation;
	for (size_t i = 0; i < backfill->count; i++)
		shadow_swap(backfill, &backfill->shadows[i]);
	atomic_fetch_add(&job->changes, 1);
	definitions_unref(old);
	backfill->row.state = BACKFILL_DONE;
	atomic_store(&job->is_summary_dirty, true);
	atomic_store(&job->is_row_dirty, true);
	if (backfill->has_deliveries && backfill->pipeline->options.deliveries_due)
		backfill->pipeline->options.deliveries_due(backfill->pipeline->options.context);
}

/* While nothing is sealed: what the streams' rows say and what the shadows hold fit together then. */
static enum status change(struct backfill *backfill, struct error *err)
{
	enum status status = ERR_BUSY;

	while (status == ERR_BUSY) {
		size_t finished = 0;
		status = open_shadows(backfill, err);
		for (; finished < backfill->count && status == OK; finished++)
			if (!backfill->shadows[finished].is_finished)
				status = shadow_finish(backfill, &backfill->shadows[finished], err);
		if (status == OK)
			status = shadows_attach(backfill, err);
		if (status == OK)
			status = writer_execute_then(backfill->pipeline, write_change, apply_change, backfill, err);
	}
	return status;
}

/* ---- ends that are none ---- */

struct ending {
	struct backfill *backfill;
	enum backfill_state state;
	struct span error;
};

/* Whatever it made is taken away; a cancelled one is cancelled already. */
static enum status write_end(void *context, struct store_tx *tx, struct error *err)
{
	struct ending *ending = context;
	struct backfill *backfill = ending->backfill;
	AUTO(arena) arena = arena_new();
	struct backfill_row row;

	if (!arena)
		return error_no_memory(err);
	for (size_t i = 0; i < backfill->count; i++) {
		struct dead_series made = shadow_numbers(backfill->shadows[i].state, 0);
		TRY(store_bury_series(tx, &made, err));
	}
	TRY(store_forget_backfill(tx, backfill->row.job_id, err));
	TRY(store_read_backfill(store_tx_reader(tx), arena, backfill->row.job_id, &row, err));
	bool is_ours = row.job_id && row.generation == backfill->row.generation;
	if (!is_ours || row.state != BACKFILL_RUNNING || ending->state == BACKFILL_RUNNING)
		return OK;
	row.state = ending->state;
	row.error = ending->error;
	row.updated_ms = clock_wall_ms();
	return store_put_backfill(tx, &row, err);
}

static void clear(struct backfill *backfill, enum backfill_state state, const struct error *why)
{
	struct ending ending = {backfill, state, span_from(why ? why->text : "")};
	struct error err;

	if (why)
		log_line(LOG_ERROR, "backfill_failed", "job=\"%s\" error=\"%s\"", backfill->job->name, why->text);
	if (!atomic_load(&backfill->job->is_deleted) &&
		writer_execute(backfill->pipeline, write_end, &ending, &err) != OK)
		log_line(LOG_ERROR, "backfill_failed", "job=\"%s\" error=\"%s\"", backfill->job->name, err.text);
	backfill->row.state = state;
	backfill->row.error = ending.error;
	tell(backfill);
	backfill->row.error = SPAN(""); /* the text is the caller's */
}

/* Numbers of an older one that are not free yet; or what this one made before a crash in the midst of its change. */
static enum status wait_for_numbers(struct backfill *backfill, enum going *going, struct error *err)
{
	bool has_dead = true;

	for (*going = GO_ON; *going == GO_ON;) {
		TRY(store_has_dead_series(backfill->reader, backfill->row.job_id, &has_dead, err));
		if (!has_dead)
			return OK;
		TRY(wait_and_ask(backfill, going, err));
	}
	return OK;
}

static enum status run_loaded(struct backfill *backfill, enum going *going, struct error *err)
{
	TRY(make_definitions(backfill->pipeline, backfill->reader, backfill->job, backfill->row.generation,
		&backfill->definitions, err));
	TRY(wait_for_numbers(backfill, going, err));
	if (*going != GO_ON)
		return OK;
	TRY(open_shadows(backfill, err));
	for (size_t i = 0; i < backfill->count; i++)
		if (backfill->shadows[i].is_torn)
			return error_set(err, ERR_BUSY, "begins anew");
	TRY(catch_up(backfill, going, err));
	if (*going != GO_ON)
		return OK;
	count(backfill);
	setpriority(PRIO_PROCESS, (id_t)gettid(), 0); /* the sealer waits */
	pthread_mutex_lock(&backfill->pipeline->seal_mutex);
	enum status status = change(backfill, err);
	pthread_mutex_unlock(&backfill->pipeline->seal_mutex);
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	return status;
}

/* False: it goes on later. */
static bool run_one(struct backfill *backfill)
{
	enum going going = GO_ON;
	struct error err = {0};

	enum status status = run_loaded(backfill, &going, &err);
	if (status == ERR_UNAVAILABLE || (status == OK && going == STOP_NOW))
		return false; /* the server stops, or the disk is full */
	if (status == ERR_BUSY) {
		clear(backfill, BACKFILL_RUNNING, NULL);
	} else if (status == ERR_NOT_FOUND || (status == OK && going == END_IT)) {
		clear(backfill, BACKFILL_CANCELLED, NULL);
	} else if (status != OK) {
		clear(backfill, BACKFILL_FAILED, &err);
	} else {
		log_line(LOG_INFO, "backfill_done", "job=\"%s\" lines=%llu", backfill->job->name,
			(unsigned long long)backfill->row.lines_total);
		tell(backfill);
	}
	return true;
}

static void close_one(struct backfill *backfill)
{
	while (backfill->count)
		shadow_close(&backfill->shadows[--backfill->count]);
	mem_free(backfill->shadows);
	backfill->shadows = NULL;
	backfill->cap = 0;
	definitions_unref(backfill->definitions);
	backfill->definitions = NULL;
	if (backfill->job)
		atomic_store(&backfill->job->is_backfilled, false);
	job_unref(backfill->job);
	backfill->job = NULL;
}

/* *is_found: there was one, and there may be another. */
static enum status run_next(struct backfill *backfill, bool *is_found, struct error *err)
{
	AUTO(arena) arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	TRY(store_next_backfill(backfill->reader, arena, &backfill->row, err));
	*is_found = backfill->row.job_id != 0;
	if (!*is_found)
		return OK;
	enum status status = load(backfill, err);
	if (status == OK && backfill->job)
		*is_found = run_one(backfill);
	close_one(backfill);
	return status;
}

static enum status open_tools(struct backfill *backfill, struct error *err)
{
	TRY(store_reader_new(&backfill->reader, backfill->pipeline->options.store, err));
	backfill->zstd = zstd_new();
	backfill->scratch = regex_scratch_new();
	if (!backfill->zstd || !backfill->scratch)
		return error_no_memory(err);
	regex_scratch_limit(backfill->scratch, backfill->pipeline->options.match_steps);
	return OK;
}

static void close_tools(struct backfill *backfill)
{
	store_reader_free(backfill->reader);
	zstd_free(backfill->zstd);
	regex_scratch_free(backfill->scratch);
	extracted_list_done(&backfill->found);
	buf_done(&backfill->text);
}

void *backfill_run(void *context)
{
	struct pipeline *pipeline = context;
	struct backfill backfill = {.pipeline = pipeline, .text = BUF_INIT(JOURNAL_RECORD_MAX_BYTES)};
	struct error err;
	int64_t looked_ms = 0;

	pthread_setname_np(pthread_self(), "backfill");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS); /* live ingest first; where it is not allowed, evenly */
	enum status status = open_tools(&backfill, &err);
	if (status == OK && due_definitions_begin(pipeline, backfill.reader, &err) != OK)
		log_line(LOG_ERROR, "backfill_failed", "error=\"%s\"", err.text);
	if (status != OK)
		log_line(LOG_ERROR, "backfill_failed", "error=\"%s\"", err.text);
	while (status == OK && !control_wait_tick(pipeline, TICK_MS)) {
		bool is_due = atomic_exchange(&pipeline->backfill_due, false), is_found = false;
		if (!is_due && clock_mono_ms() - looked_ms < LOOK_MS)
			continue;
		looked_ms = clock_mono_ms();
		if (run_next(&backfill, &is_found, &err) != OK)
			log_line(LOG_WARNING, "backfill_failed", "error=\"%s\"", err.text);
		else if (is_found)
			atomic_store(&pipeline->backfill_due, true);
	}
	close_tools(&backfill);
	return NULL;
}
