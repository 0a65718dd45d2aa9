/* The last stretch of a back-fill: what is in the journal yet, until live extraction feeds shadows and streams alike. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/backfill/backfill.h"
#include "pipeline/consume/consume.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/journal.h"

enum { PATIENCE_MS = 60 * 1000 };

struct attaching {
	struct backfill *backfill;
	uint64_t oldest_seq; /* that some stream still has unsealed text or points in */
	uint64_t fed_seq; /* what was consumed up to here was given to the shadows */
	bool is_level;
};

static struct shadow *find(struct backfill *backfill, uint32_t stream_id)
{
	for (size_t i = 0; i < backfill->count; i++)
		if (backfill->shadows[i].state->stream_id == stream_id)
			return &backfill->shadows[i];
	return NULL;
}

/* Is the slice behind what the shadow has, and has the stream itself consumed it? What comes later, live extraction brings. */
static bool is_wanted(const struct shadow *shadow, const struct journal_slice *slice)
{
	const struct stream_state *stream = shadow->stream, *state = shadow->state;

	if (slice->kind == JOURNAL_POINTS)
		return slice->first_point >= state->extracted_points && slice->first_point < stream->extracted_points;
	return slice->first_line >= state->extracted_lines && slice->first_line < stream->extracted_lines;
}

/* What cannot be read gives no points, as at a start. */
static void pass_over(struct stream_state *state, const struct journal_slice *slice)
{
	state->extracted_lines = slice->first_line + slice->line_count;
	if (slice->kind == JOURNAL_POINTS)
		state->extracted_points = slice->first_point + slice->point_count;
}

static enum status feed(
	struct backfill *backfill, struct shadow *shadow, uint64_t seq, struct journal_slice *slice, struct error *err)
{
	pthread_mutex_lock(&shadow->stream->mutex);
	bool must = is_wanted(shadow, slice);
	enum status status = OK;
	if (must)
		status = journal_open_slice(slice, backfill->zstd, &backfill->text, err);
	if (must && status == OK)
		status = consume_slice(backfill->pipeline, shadow->state, backfill->definitions, seq, slice,
			backfill->scratch, &backfill->found, err);
	if (status == ERR_INVALID) {
		log_line(LOG_ERROR, "journal_damaged", "seq=%llu job=\"%s\" stream=\"%s\" error=\"%s\"",
			(unsigned long long)seq, shadow->stream->job->name, shadow->stream->name, err->text);
		pass_over(shadow->state, slice);
		status = OK;
	}
	pthread_mutex_unlock(&shadow->stream->mutex);
	return status;
}

static enum status feed_row(struct backfill *backfill, uint64_t seq, struct span record, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	size_t count = 0;

	if (!arena)
		return error_no_memory(err);
	enum status status = journal_unpack(record, backfill->zstd, &plain, &slices, &count, arena, err);
	for (size_t i = 0; i < count && status == OK; i++) {
		struct shadow *shadow =
			slices[i].job_id == backfill->row.job_id ? find(backfill, slices[i].stream_id) : NULL;
		if (shadow)
			status = feed(backfill, shadow, seq, &slices[i], err);
	}
	if (status == ERR_INVALID) { /* as at a start: it harms its own lines alone */
		log_line(LOG_ERROR, "journal_damaged", "seq=%llu error=\"%s\"", (unsigned long long)seq, err->text);
		return OK;
	}
	return status;
}

static void look(struct attaching *attaching)
{
	struct backfill *backfill = attaching->backfill;

	attaching->is_level = true;
	attaching->oldest_seq = UINT64_MAX;
	for (size_t i = 0; i < backfill->count; i++) {
		struct stream_state *stream = backfill->shadows[i].stream, *state = backfill->shadows[i].state;
		pthread_mutex_lock(&stream->mutex);
		stream->shadow = state;
		bool is_level = state->extracted_lines == stream->extracted_lines &&
				state->extracted_points == stream->extracted_points;
		if (!is_level && stream->range_count && stream->ranges[0].seq < attaching->oldest_seq)
			attaching->oldest_seq = stream->ranges[0].seq;
		attaching->is_level = attaching->is_level && is_level;
		pthread_mutex_unlock(&stream->mutex);
	}
}

/*
 * All rows, once for all streams: a commit holds slices of many. What is consumed while they are walked through is left to the
 * next round: each has less to do, as long as walking is faster than what comes.
 */
static enum status feed_rows(struct attaching *attaching, struct error *err)
{
	struct backfill *backfill = attaching->backfill;
	uint64_t newest = atomic_load(&backfill->pipeline->figures.extracted_seq);
	uint64_t seq = attaching->oldest_seq > attaching->fed_seq ? attaching->oldest_seq : attaching->fed_seq + 1;

	for (; seq <= newest; seq++) {
		AUTO(arena) arena = arena_new();
		struct span record;
		if (!arena)
			return error_no_memory(err);
		TRY(store_next_journal(backfill->reader, arena, &seq, &record, err));
		if (!record.ptr || seq > newest)
			break;
		TRY(feed_row(backfill, seq, record, err));
	}
	attaching->fed_seq = newest;
	return OK;
}

enum status shadows_attach(struct backfill *backfill, struct error *err)
{
	const struct pipeline *pipeline = backfill->pipeline;
	struct attaching attaching = {.backfill = backfill};
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;

	/* meanwhile nothing is sealed: before the journal is full, ingest is worth more */
	while (atomic_load(&pipeline->figures.journal_bytes) <= pipeline->options.journal_bytes / 4 * 3 &&
		clock_mono_ms() < until_ms) {
		if (control_wait_tick(backfill->pipeline, 0))
			return error_set(err, ERR_UNAVAILABLE, "the server is stopping");
		look(&attaching);
		if (attaching.is_level)
			return OK;
		TRY(feed_rows(&attaching, err));
	}
	return error_set(err, ERR_INTERNAL,
		"lines came faster than they could be extracted twice, or the journal is damaged; try it when there is less to do");
}
