/* One stream of a back-fill: what is sealed is extracted again, block by block; points go into chunks as with the sealer. */
#include "base/clock.h"
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/notices.h"
#include "pipeline/backfill/backfill.h"
#include "pipeline/consume/consume.h"
#include "pipeline/seal/seal.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_head.h"
#include "state/streams/stream_pack.h"
#include "state/streams/stream_swap.h"
#include "store/alerts.h"
#include "store/backfills.h"
#include "store/blocks.h"
#include "store/pack/chunk.h"
#include "store/points.h"
#include "store/retention.h"
#include "store/streams.h"

enum {
	FLUSH_POINTS = 128 * 1024,
	FLUSH_POINTS_MOST = 8 * FLUSH_POINTS, /* when it is not decided whether an attempt opened */
	FLUSH_BYTES = 32 << 20,
};

/* ---- its life ---- */

static enum status restore(struct backfill *backfill, struct shadow *shadow, struct error *err)
{
	struct stream_state *state = shadow->state;
	AUTO(arena) arena = arena_new();
	struct backfill_stream_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_backfill_stream(backfill->reader, arena, state->job->job_id, state->stream_id, &row, err));
	shadow->is_torn = row.stream_id && (row.is_final || row.generation != backfill->row.generation);
	if (!row.stream_id || shadow->is_torn)
		return OK;
	TRY(stream_unpack(state, row.state, err));
	state->extracted_lines = row.next_line;
	return said_list_unpack(state->said, row.incidents, err);
}

enum status shadow_open(struct backfill *backfill, struct stream_state *stream, struct shadow *out, struct error *err)
{
	struct stream_state *state =
		stream_state_new(stream->job, stream->stream_id, span_from(stream->name), SPAN(""));

	if (!state)
		return error_no_memory(err);
	*out = (struct shadow){.stream = stream, .state = state};
	pthread_mutex_lock(&stream->mutex);
	state->series_base = stream->series_base ^ SERIES_HALF;
	bool is_crowded = stream->series_count > SERIES_HALF;
	pthread_mutex_unlock(&stream->mutex);
	if (is_crowded)
		return error_set(err, ERR_TOO_LARGE, "stream '%s' has more than %d series", stream->name, SERIES_HALF);
	state->generation = backfill->definitions->generation;
	state->own_definitions = definitions_ref(backfill->definitions);
	state->said = said_list_new();
	return state->said ? restore(backfill, out, err) : error_no_memory(err);
}

void shadow_detach(struct shadow *shadow)
{
	pthread_mutex_lock(&shadow->stream->mutex);
	shadow->stream->shadow = NULL;
	pthread_mutex_unlock(&shadow->stream->mutex);
}

void shadow_close(struct shadow *shadow)
{
	if (shadow->state)
		shadow_detach(shadow);
	stream_state_free(shadow->state);
	*shadow = (struct shadow){0};
}

struct dead_series shadow_numbers(const struct stream_state *state, int64_t not_before_ms)
{
	uint32_t first = state->stream_id << SERIES_BITS | state->series_base;

	return (struct dead_series){state->job->job_id, first, first + SERIES_HALF - 1, not_before_ms};
}

/* ---- what it made goes to the store ---- */

struct flush {
	struct backfill *backfill;
	struct shadow *shadow;
	struct seal *seal;
	struct unit *unit;
	struct buf incidents;
	bool is_final;
};

static enum status write_flush(void *context, struct store_tx *tx, struct error *err)
{
	struct flush *flush = context;
	struct backfill *backfill = flush->backfill;
	const struct stream_state *state = flush->shadow->state;
	bool is_gone;

	TRY(control_check_job_gone(backfill->pipeline, tx, state->job, &is_gone, err));
	if (is_gone)
		return error_set(err, ERR_NOT_FOUND, "the job was deleted");
	TRY(seal_write_chunks(flush->unit, tx, err));
	struct backfill_stream_row row = {.job_id = state->job->job_id,
		.stream_id = state->stream_id,
		.generation = backfill->row.generation,
		.next_line = state->extracted_lines,
		.is_final = flush->is_final,
		.state = buf_span(&flush->unit->state),
		.incidents = buf_span(&flush->incidents)};
	return store_put_backfill_stream(tx, &row, err);
}

static enum status store_made(struct flush *flush, struct error *err)
{
	struct stream_state *state = flush->shadow->state;

	consume_forget_waiting(state);
	if (!seal_copy_series(flush->seal, flush->unit))
		return error_no_memory(err);
	stream_pack(state, &flush->unit->state);
	TRY(buf_status(&flush->unit->state, err));
	said_list_pack(state->said, &flush->incidents);
	TRY(buf_status(&flush->incidents, err));
	TRY(seal_make_chunks(flush->seal, 0, 1, err));
	TRY(writer_execute(flush->backfill->pipeline, write_flush, flush, err));
	seal_drop_points(flush->unit);
	flush->shadow->flushed_bytes = flush->shadow->bytes;
	return OK;
}

/* Nobody else feeds the shadow yet, so its lock is not needed. */
static enum status flush_shadow(struct backfill *backfill, struct shadow *shadow, bool is_final, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct seal *seal = mem_zeroed(sizeof *seal);
	struct flush flush = {.backfill = backfill, .shadow = shadow, .seal = seal, .is_final = is_final};

	if (!arena || !seal)
		return error_no_memory(err);
	*seal = (struct seal){.pipeline = backfill->pipeline,
		.reader = backfill->reader,
		.zstd = backfill->zstd,
		.arena = arena,
		.group_arena = arena};
	flush.unit = &seal->units[0];
	*flush.unit = (struct unit){.stream = shadow->state, .is_whole = true, .state = BUF_INIT(SIZE_MAX / 2)};
	seal->count = 1;
	flush.incidents = BUF_INIT(SIZE_MAX / 2);
	enum status status = store_made(&flush, err);
	buf_done(&flush.unit->state);
	buf_done(&flush.incidents);
	return status;
}

static bool is_flush_due(const struct shadow *shadow)
{
	const struct stream_state *state = shadow->state;
	size_t points = 0;

	for (size_t i = 0; i < state->series_count; i++)
		points += state->series[i]->tail_count;
	if (extractor_is_undecided(state->extractor) && points < FLUSH_POINTS_MOST)
		return false;
	return points >= FLUSH_POINTS || shadow->bytes - shadow->flushed_bytes >= FLUSH_BYTES;
}

/* ---- extraction of what is sealed ---- */

/* Between the lines looked at and the next block lines are missing: deleted ones would leave points out. */
static enum status pass_gap(
	struct backfill *backfill, struct shadow *shadow, struct arena *arena, uint64_t to, struct error *err)
{
	struct stream_state *state = shadow->state;
	struct expired_text *expired;
	size_t count;

	TRY(store_read_expired(backfill->reader, arena, state->job->job_id, state->stream_id, &expired, &count, err));
	if (count && expired[0].first_kept_line > state->extracted_lines)
		return error_set(err, ERR_GONE,
			"text of stream '%s' before line %llu was deleted by a limit meanwhile: its points could not be made again",
			state->name, (unsigned long long)expired[0].first_kept_line);
	state->extracted_lines = to; /* damaged: they gave no points the first time either */
	return OK;
}

/* Lines first..end of a block as the content of one of their own. */
static enum status cut_block(struct backfill *backfill, struct arena *arena, const struct block_row *row,
	uint64_t first, uint64_t end, struct buf *out, struct error *err)
{
	struct line *lines;
	size_t count;

	TRY(block_unpack(row->data, backfill->zstd, &backfill->text, arena, &lines, &count, err));
	if (count != row->line_count)
		return error_set(err, ERR_INVALID, "the block holds %zu lines, its row says %llu", count,
			(unsigned long long)row->line_count);
	return block_lay_out(lines + (first - row->first_line), (size_t)(end - first), out, err);
}

static enum status extract_block_lines(struct backfill *backfill, struct shadow *shadow, struct arena *arena,
	const struct block_row *row, uint64_t end, struct error *err)
{
	AUTO_DONE(buf) part = BUF_INIT(JOURNAL_RECORD_MAX_BYTES);
	struct stream_state *state = shadow->state;
	uint64_t first = state->extracted_lines;
	bool is_whole = first == row->first_line && end == row->first_line + row->line_count;
	struct journal_slice slice = {.kind = JOURNAL_BLOCK,
		.job_id = row->job_id,
		.stream_id = row->stream_id,
		.generation = backfill->definitions->generation,
		.first_line = first,
		.line_count = (size_t)(end - first),
		.arrival_ms = row->last_ms};

	enum status status = is_whole ? block_decompress(row->data, backfill->zstd, &backfill->text, err)
				      : cut_block(backfill, arena, row, first, end, &part, err);
	if (status == ERR_INVALID) { /* harms itself alone, as when it is read */
		log_line(LOG_ERROR, "block_damaged", "job=\"%s\" stream=\"%s\" first_line=%llu error=\"%s\"",
			state->job->name, state->name, (unsigned long long)row->first_line, err->text);
		state->extracted_lines = end;
		return OK;
	}
	TRY(status);
	slice.body = is_whole ? buf_span(&backfill->text) : buf_span(&part);
	return consume_slice(
		backfill->pipeline, state, backfill->definitions, 0, &slice, backfill->scratch, &backfill->found, err);
}

enum status shadow_settle(struct backfill *backfill, struct shadow *shadow, struct error *err)
{
	const struct stream_state *state = shadow->state;
	bool has_points = false;

	for (size_t i = 0; i < state->series_count; i++)
		has_points = has_points || state->series[i]->tail_count;
	return has_points && !extractor_is_undecided(state->extractor) ? flush_shadow(backfill, shadow, false, err)
								       : OK;
}

enum status shadow_step(struct backfill *backfill, struct shadow *shadow, bool *is_level, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stream_state *state = shadow->state;
	struct block_row row;

	if (!arena)
		return error_no_memory(err);
	pthread_mutex_lock(&shadow->stream->mutex);
	uint64_t sealed = shadow->stream->sealed_lines;
	pthread_mutex_unlock(&shadow->stream->mutex);
	*is_level = state->extracted_lines >= sealed;
	if (*is_level)
		return OK;
	TRY(store_read_block(
		backfill->reader, arena, state->job->job_id, state->stream_id, state->extracted_lines, &row, err));
	bool has_one = row.line_count && row.first_line < sealed;
	if (!has_one || row.first_line > state->extracted_lines)
		TRY(pass_gap(backfill, shadow, arena, has_one ? row.first_line : sealed, err));
	if (!has_one)
		return OK;
	uint64_t end = row.first_line + row.line_count;
	TRY(extract_block_lines(backfill, shadow, arena, &row, end < sealed ? end : sealed, err));
	shadow->bytes += row.raw_bytes;
	return is_flush_due(shadow) ? flush_shadow(backfill, shadow, false, err) : OK;
}

/* ---- points that were sent as such ---- */

struct copying {
	struct backfill *backfill;
	struct shadow *shadow;
	const struct series_row *row;
	struct series_state *into; /* made once a point for it was seen: most series hold none */
	struct point *points; /* scratch: of a chunk */
};

static enum status copy_point(struct copying *copying, struct point *point, struct error *err)
{
	struct pipeline *pipeline = copying->backfill->pipeline;
	struct stream_state *state = copying->shadow->state;
	const struct series_row *row = copying->row;
	struct metric_definition definition = {.name = row->metric,
		.unit = row->unit,
		.role = row->role,
		.is_sampled = true}; /* whatever it is: it was let in */
	uint32_t newest = extractor_attempt(state->extractor);

	if (!copying->into)
		TRY(consume_find_series(pipeline, state, &definition, &copying->into, err));
	if (!copying->into)
		return OK;
	if (point->attempt > newest) /* of one that these definitions do not see */
		point->attempt = newest;
	struct summary before = copying->into->summary;
	TRY(consume_point(pipeline, state, copying->into, point, point->ts_ms, err));
	if (consume_is_made_again(state, copying->into, point))
		copying->into->summary = before;
	return OK;
}

static enum status copy_chunk(struct copying *copying, uint64_t *ordinal, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct chunk_row chunk;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_chunk(copying->backfill->reader, arena, copying->row->job_id, copying->row->series_id, *ordinal,
		&chunk, err));
	*ordinal = chunk.point_count ? chunk.first_ordinal + chunk.point_count : UINT64_MAX;
	if (!chunk.point_count)
		return OK;
	TRY(chunk_unpack(chunk.data, copying->backfill->zstd, copying->points, &count, err));
	for (size_t i = 0; i < count; i++)
		if (copying->points[i].line == NO_LINE)
			TRY(copy_point(copying, &copying->points[i], err));
	return OK;
}

/* There may be more of them than memory. */
static enum status copy_and_flush(struct copying *copying, uint64_t *ordinal, struct error *err)
{
	TRY(copy_chunk(copying, ordinal, err));
	return is_flush_due(copying->shadow) ? flush_shadow(copying->backfill, copying->shadow, true, err) : OK;
}

static enum status copy_sent_points(struct backfill *backfill, struct shadow *shadow, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct point *points = mem_zeroed(CHUNK_MAX_POINTS * sizeof *points);
	struct dead_series numbers = shadow_numbers(shadow->stream, 0);
	struct series_row *rows;
	size_t count;

	if (!arena || !points)
		return error_no_memory(err);
	TRY(store_read_series(
		backfill->reader, arena, numbers.job_id, shadow->state->stream_id, SPAN(""), &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct copying copying = {backfill, shadow, &rows[i], NULL, points};
		bool is_shown = rows[i].series_id >= numbers.first_id && rows[i].series_id <= numbers.last_id;
		for (uint64_t ordinal = 0; is_shown && ordinal != UINT64_MAX;)
			TRY(copy_and_flush(&copying, &ordinal, err));
	}
	return OK;
}

/* What comes next of a distribution goes on from what was sealed. */
static void copy_totals(struct stream_state *state, const struct stream_view *view)
{
	for (size_t i = 0; i < view->series_count; i++)
		for (size_t j = 0; j < state->series_count && view->series[i].totals.is_known; j++)
			if (span_equal(view->series[i].metric, span_from(state->series[j]->metric)))
				state->series[j]->totals = view->series[i].totals;
}

static bool has_starts_of(const struct stream_state *state, const struct stream_view *view)
{
	const int64_t *starts;
	size_t count = extractor_attempt_starts(state->extractor, &starts);

	return count && count == view->attempt_start_count &&
	       !memcmp(starts, view->attempt_starts, count * sizeof *starts);
}

/* Of what was copied, and not judged here: where its attempts began on an axis of its own, if they are the same ones. */
static enum status copy_axes(struct stream_state *state, const struct stream_view *view, struct error *err)
{
	for (size_t i = 0; i < view->series_count && has_starts_of(state, view); i++) {
		struct series_state *series = stream_find_series(state, view->series[i].metric);
		if (!series || !view->series[i].axis.count || !series->axis.awaited || series->axis.count)
			continue;
		if (!own_axis_copy(&series->axis, &view->series[i].axis))
			return error_no_memory(err);
		consume_rebuild_summary(state, series);
	}
	return OK;
}

/* Times are no matter of definitions: as they were sealed, also of lines whose text was deleted since. */
static enum status copy_sealed(struct backfill *backfill, struct shadow *shadow, bool has_points, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stream_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_streams(backfill->reader, arena, shadow->state->job->job_id, span_from(shadow->state->name),
		&rows, &count, err));
	shadow->state->stretches = (struct stretches){0};
	if (!count || !rows[0].state.len)
		return OK;
	struct stream_view view = {.first_ms = rows[0].first_ms, .last_ms = rows[0].last_ms};
	enum status status = stream_unpack_view(rows[0].state, arena, &view, err);
	if (status == ERR_MEMORY)
		return status;
	if (status != OK) { /* what it was loaded with instead */
		pthread_mutex_lock(&shadow->stream->mutex);
		shadow->state->stretches = shadow->stream->stretches;
		pthread_mutex_unlock(&shadow->stream->mutex);
		return OK;
	}
	shadow->state->stretches = view.stretches;
	if (has_points)
		copy_totals(shadow->state, &view);
	return has_points ? copy_axes(shadow->state, &view, err) : OK;
}

enum status shadow_finish(struct backfill *backfill, struct shadow *shadow, struct error *err)
{
	struct stream_state *state = shadow->state;

	for (bool is_level = false; !is_level;)
		TRY(shadow_step(backfill, shadow, &is_level, err));
	pthread_mutex_lock(&shadow->stream->mutex);
	uint64_t sent = shadow->stream->sealed_sent_points;
	bool may_have_sent = sent || shadow->stream->damage; /* how many there are was lost with its state */
	state->extracted_seq = shadow->stream->sealed_seq;
	state->extracted_lines = shadow->stream->sealed_lines;
	state->extracted_bytes = shadow->stream->sealed_bytes;
	state->last_arrival_ms = shadow->stream->last_arrival_ms;
	enum status kept = extractor_keep_sent(state->extractor, shadow->stream->extractor, err);
	pthread_mutex_unlock(&shadow->stream->mutex);
	TRY(kept);
	if (may_have_sent)
		TRY(copy_sent_points(backfill, shadow, err));
	TRY(copy_sealed(backfill, shadow, sent != 0, err));
	state->extracted_points = sent;
	TRY(flush_shadow(backfill, shadow, true, err));
	shadow->is_finished = true;
	return OK;
}

/* ---- the change: on the writer's thread ---- */

static struct series_state *series_of(const struct stream_state *state, uint32_t series_id)
{
	for (size_t i = 0; i < state->series_count; i++)
		if (state->series[i]->series_id == series_id)
			return state->series[i];
	return NULL;
}

/* It was over, and is open after all. */
static enum status tell_again(struct backfill *backfill, const struct incident_row *found,
	const struct incident_news *news, struct store_tx *tx, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_row row;
	bool has_deliveries = false;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_incident(store_tx_reader(tx), arena, found->job_id, found->incident_id, &row, err));
	TRY(notices_enqueue(
		backfill->pipeline, tx, arena, &row, news, span_from(backfill->job->team), &has_deliveries, err));
	backfill->has_deliveries |= has_deliveries;
	return OK;
}

/* Its series may have no row yet: all of its points may be in the journal. */
static enum status put_series(struct store_tx *tx, const struct stream_state *state, const struct said_incident *said,
	struct incident_row *out, struct error *err)
{
	const struct series_state *series = series_of(state, said->series_id);

	if (!series)
		return error_set(err, ERR_INTERNAL, "an incident is of series %u, which there is not",
			(unsigned)said->series_id);
	struct series_row row = {.job_id = state->job->job_id,
		.series_id = series->series_id,
		.stream_id = state->stream_id,
		.metric = span_from(series->metric),
		.labels = SPAN(""),
		.unit = span_from(series->unit),
		.role = series->role,
		.sealed_points = series->sealed_points,
		.sealed = series->summary};
	*out = (struct incident_row){.job_id = row.job_id,
		.series_id = series->series_id,
		.stream_id = state->stream_id,
		.metric = row.metric,
		.incident = said->incident};
	return store_put_series(tx, &row, err);
}

/* Those that are the same as what was known, as `sameness` says, of those that are not written yet. */
static enum status write_same(struct backfill *backfill, struct stream_state *state, const struct dead_series *old,
	enum incident_sameness sameness, struct store_tx *tx, struct error *err)
{
	for (size_t i = 0; i < state->said->count; i++) {
		struct said_incident *said = &state->said->items[i];
		struct incident_row incident;
		struct incident_news news;
		bool is_same;
		if (said->is_written)
			continue;
		TRY(put_series(tx, state, said, &incident, err));
		TRY(store_replace_incident(tx, old, sameness, &incident, &news, &is_same, err));
		said->is_written = is_same || sameness == SAME_AS_NONE;
		if (news.is_new)
			TRY(tell_again(backfill, &incident, &news, tx, err));
	}
	return OK;
}

/* The strictest sameness first: of two metrics that were NaN on one line each is to find its own. */
enum status shadow_incidents(struct backfill *backfill, struct shadow *shadow, struct store_tx *tx, struct error *err)
{
	struct stream_state *state = shadow->state;
	struct dead_series old = shadow_numbers(shadow->stream, 0);
	enum status status = OK;

	pthread_mutex_lock(&state->mutex);
	for (size_t i = 0; i < state->said->count; i++)
		state->said->items[i].is_written = false; /* in a transaction that was not committed */
	for (unsigned sameness = 0; sameness < SAMENESS_COUNT && status == OK; sameness++)
		status = write_same(backfill, state, &old, (enum incident_sameness)sameness, tx, err);
	pthread_mutex_unlock(&state->mutex);
	TRY(status);
	return store_part_incidents(tx, &old, clock_wall_ms(), err);
}

void shadow_swap(struct backfill *backfill, struct shadow *shadow)
{
	struct stream_state *stream = shadow->stream, *state = shadow->state;
	struct error err;

	pthread_mutex_lock(&stream->mutex);
	pthread_mutex_lock(&state->mutex);
	stream_swap_derived(stream, state);
	stream->shadow = NULL;
	mem_free(stream->damage);
	stream->damage = NULL;
	for (size_t i = 0; i < stream->series_count; i++) { /* nobody is sent the past as if it were new */
		stream->series[i]->published = stream->series[i]->sealed_points + stream->series[i]->tail_count;
		stream->series[i]->life = 0;
	}
	for (size_t i = 0; i < state->said->count; i++) { /* said since the transaction was put together */
		struct said_incident *item = &state->said->items[i];
		item->incident.is_historic = item->incident.opened_ms < clock_wall_ms() - HISTORIC_MS;
		struct series_state *series = series_of(stream, item->series_id);
		if (!item->is_written && series &&
			incidents_hand_over(backfill->pipeline, stream, series, &item->incident, &err) != OK)
			log_line(LOG_ERROR, "incident_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err.text);
	}
	pthread_mutex_unlock(&state->mutex);
	pthread_mutex_unlock(&stream->mutex);
}
