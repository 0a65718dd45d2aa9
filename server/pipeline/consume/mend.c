#include "pipeline/consume/mend.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/consume/consume.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_swap.h"
#include "store/journal.h"
#include "store/streams.h"

enum {
	MOST_WAIT_MS = 5 * 60 * 1000,
	ROUNDS = 8, /* through what came meanwhile */
};

struct mending {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct zstd *zstd;
	struct regex_scratch *scratch;
	struct extracted_list found;
	struct buf text; /* of one slice */
	struct definitions *definitions; /* of the slice before, mostly those of the next; NULL: none yet */
};

void mend_hasten(struct job_state *job)
{
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++)
		atomic_store(&stream->mend_due_ms, 0);
}

/* ---- back to what is sealed ---- */

/* Neither while a back-fill is about to take its place, nor while what its detectors said is on its way. */
static bool may_begin(const struct stream_state *stream, const struct stream_state *sealed)
{
	return stream->has_hole && !stream->pending_incidents && !atomic_load(&stream->job->is_backfilled) &&
	       stream->sealed_lines == sealed->sealed_lines && stream->series_base == sealed->series_base;
}

static bool go_back(struct stream_state *stream, struct stream_state *sealed)
{
	pthread_mutex_lock(&stream->mutex);
	bool may = may_begin(stream, sealed);
	if (may) {
		atomic_fetch_add(&stream->job->changes, 1);
		stream_swap_consumers(stream, sealed);
		stream->extracted_seq = stream->sealed_seq;
		stream->extracted_lines = stream->sealed_lines;
		stream->extracted_bytes = stream->sealed_bytes;
		stream->extracted_points = stream->sealed_sent_points;
		atomic_fetch_add(&stream->job->changes, 1);
	}
	pthread_mutex_unlock(&stream->mutex);
	return may;
}

static enum status read_sealed(
	struct mending *m, struct stream_state *stream, struct stream_state **out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stream_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_streams(m->reader, arena, stream->job->job_id, span_from(stream->name), &rows, &count, err));
	return count ? load_stream(m->reader, stream->job, &rows[0], out, err)
		     : error_set(err, ERR_NOT_FOUND, "the stream has no row");
}

/* ---- and through the journal again ---- */

static enum status find_definitions(
	struct mending *m, const struct stream_state *stream, uint32_t generation, struct error *err)
{
	if (m->definitions && m->definitions->generation == generation)
		return OK;
	definitions_unref(m->definitions);
	m->definitions = NULL;
	return make_definitions(m->pipeline, m->reader, stream->job, generation, &m->definitions, err);
}

static enum status take_slice(
	struct mending *m, struct stream_state *stream, uint64_t seq, struct journal_slice *slice, struct error *err)
{
	if (consume_has(stream, slice))
		return OK;
	enum status status = journal_open_slice(slice, m->zstd, &m->text, err);
	if (status == ERR_INVALID) { /* harms itself alone, as at a start */
		log_line(LOG_ERROR, "journal_damaged", "seq=%llu job=\"%s\" stream=\"%s\" error=\"%s\"",
			(unsigned long long)seq, stream->job->name, stream->name, err->text);
		consume_pass_over(stream, seq, slice);
		return OK;
	}
	TRY(status);
	uint32_t generation = slice->generation > stream->generation ? slice->generation : stream->generation;
	TRY(find_definitions(m, stream, generation, err));
	return consume_again(m->pipeline, stream, m->definitions, seq, slice, m->scratch, &m->found, err);
}

static enum status take_row(
	struct mending *m, struct stream_state *stream, uint64_t seq, struct span record, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	size_t count = 0;

	if (!arena)
		return error_no_memory(err);
	enum status status = journal_unpack(record, m->zstd, &plain, &slices, &count, arena, err);
	if (status == ERR_INVALID)
		return OK; /* said at the start */
	for (size_t i = 0; i < count && status == OK; i++)
		if (slices[i].job_id == stream->job->job_id && slices[i].stream_id == stream->stream_id)
			status = take_slice(m, stream, seq, &slices[i], err);
	return status;
}

static enum status take_rows(
	struct mending *m, struct stream_state *stream, uint64_t from, uint64_t to, struct error *err)
{
	for (uint64_t seq = from; seq <= to; seq++) {
		AUTO(arena) arena = arena_new();
		struct span record;
		if (!arena)
			return error_no_memory(err);
		TRY(store_next_journal(m->reader, arena, &seq, &record, err));
		if (!record.ptr || seq > to)
			return OK;
		TRY(take_row(m, stream, seq, record, err));
		if (control_wait_tick(m->pipeline, 0) || atomic_load(&stream->job->is_backfilled))
			return error_set(err, ERR_UNAVAILABLE, "the server is stopping, or a back-fill has begun");
	}
	return OK;
}

static enum status mend(struct mending *m, struct stream_state *stream, struct error *err)
{
	struct stream_state *sealed;

	TRY(read_sealed(m, stream, &sealed, err));
	bool may = go_back(stream, sealed);
	pthread_mutex_lock(&stream->mutex);
	uint64_t from = stream->range_count ? stream->ranges[0].seq : UINT64_MAX;
	pthread_mutex_unlock(&stream->mutex);
	stream_state_free(sealed);
	if (!may)
		return error_set(err, ERR_BUSY, "an incident of it is on its way, or a back-fill of its job");
	for (int i = 0; i < ROUNDS && stream->has_hole; i++) {
		uint64_t to = atomic_load(&m->pipeline->figures.committed_seq);
		TRY(take_rows(m, stream, from, to, err));
		if (consume_close_hole(stream))
			return OK;
		from = to + 1;
	}
	return stream->has_hole ? error_set(err, ERR_BUSY, "lines come faster than they are extracted") : OK;
}

static void try_stream(struct mending *m, struct stream_state *stream)
{
	struct error err = {0};
	enum status status = mend(m, stream, &err);
	int64_t wait_ms = 2 * stream->mend_wait_ms;

	definitions_unref(m->definitions);
	m->definitions = NULL;
	if (status == OK) {
		log_line(LOG_INFO, "extraction_goes_on", "job=\"%s\" stream=\"%s\" lines=%llu", stream->job->name,
			stream->name, (unsigned long long)stream->extracted_lines);
		directory_mark(m->pipeline->directory, STREAMS_DIRTY, stream);
		return;
	}
	stream->mend_wait_ms = wait_ms < MOST_WAIT_MS ? wait_ms : MOST_WAIT_MS;
	atomic_store(&stream->mend_due_ms, clock_mono_ms() + stream->mend_wait_ms);
	log_line(LOG_WARNING, "extraction_held_up", "job=\"%s\" stream=\"%s\" error=\"%s\" next_try_s=%lld",
		stream->job->name, stream->name, err.text, (long long)stream->mend_wait_ms / 1000);
}

static void try_job(struct mending *m, struct job_state *job)
{
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(job, i)) && !atomic_load(&job->is_deleted); i++)
		if (stream->has_hole && atomic_load(&stream->mend_due_ms) <= clock_mono_ms())
			try_stream(m, stream);
}

void mend_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd)
{
	AUTO_MEM struct job_state **jobs = NULL;
	AUTO(regex_scratch) scratch = NULL;
	struct mending m = {.pipeline = pipeline, .reader = reader, .zstd = zstd, .text = BUF_INIT(SIZE_MAX / 2)};
	size_t count;

	if (!pipeline_held_up_streams(pipeline) || directory_list(pipeline->directory, &jobs, &count, NULL) != OK)
		return;
	if ((m.scratch = scratch = regex_scratch_new()))
		regex_scratch_limit(scratch, pipeline->options.match_steps);
	for (size_t i = 0; i < count; i++) {
		if (scratch)
			try_job(&m, jobs[i]);
		job_unref(jobs[i]);
	}
	extracted_list_done(&m.found);
	buf_done(&m.text);
}

uint64_t pipeline_held_up_streams(struct pipeline *pipeline)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct stream_state *stream;
	uint64_t held_up = 0;
	size_t count;

	if (directory_list(pipeline->directory, &jobs, &count, NULL) != OK)
		return 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t at = 0; (stream = job_stream_at(jobs[i], at)); at++)
			held_up += atomic_load(&stream->has_hole) && !atomic_load(&jobs[i]->is_deleted);
		job_unref(jobs[i]);
	}
	return held_up;
}
