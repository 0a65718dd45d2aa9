/* Start-up: the journal rows that are not sealed are consumed again, in order; the consumers are deterministic. */
#include "pipeline/consume/recover.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/consume/consume.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/journal.h"

struct recovery {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct regex_scratch *scratch;
	struct extracted_list found;
	struct buf text; /* of one slice */
};

static enum status add_range(
	struct stream_state *stream, uint64_t seq, const struct journal_slice *slice, struct error *err)
{
	if (!mem_grow((void **)&stream->ranges, stream->range_count, &stream->range_cap, sizeof *stream->ranges))
		return error_no_memory(err);
	stream->ranges[stream->range_count++] = (struct tail_range){seq, slice->first_line, slice->line_count,
		slice->text_bytes, slice->arrival_ms, slice->first_point, slice->point_count, NULL};
	stream->unsealed_bytes += slice->text_bytes;
	stream->committed_line = stream->planned_line = slice->first_line + slice->line_count;
	stream->committed_byte = stream->planned_byte = slice->first_byte + slice->sent_bytes;
	if (slice->kind == JOURNAL_POINTS)
		stream->committed_point = stream->planned_point = slice->first_point + slice->point_count;
	stream->last_arrival_ms = slice->arrival_ms;
	stream->heard_mono_ms = clock_mono_ms();
	atomic_store(&stream->job->touched_ms, slice->arrival_ms);
	return OK;
}

/* Of a stream whose state is damaged it may not be known how many points are sealed: a commit's are so together. */
static bool is_sealed(const struct stream_state *stream, uint64_t seq, const struct journal_slice *slice)
{
	if (slice->kind == JOURNAL_POINTS && stream->damage && !stream->sealed_sent_points && seq <= stream->sealed_seq)
		return true;
	return slice->kind == JOURNAL_POINTS ? slice->first_point < stream->sealed_sent_points
					     : slice->first_line < stream->sealed_lines;
}

static enum status replay_slice(struct recovery *recovery, uint64_t seq, struct journal_slice *slice, struct error *err)
{
	struct stream_state *stream;
	struct definitions *definitions;

	TRY(resolve_by_id(recovery->pipeline, recovery->reader, slice->job_id, slice->stream_id, &stream, err));
	if (!stream)
		return OK; /* deleted */
	atomic_store(&stream->job->is_summary_dirty, true);
	if (is_sealed(stream, seq, slice))
		return OK; /* while others of its commit were not, or its summary was not written yet */
	if (slice->first_line < stream->committed_line)
		return error_set(err, ERR_IO,
			"journal row %llu continues stream '%s' of job '%s' at line %llu, which stands at %llu",
			(unsigned long long)seq, stream->name, stream->job->name, (unsigned long long)slice->first_line,
			(unsigned long long)stream->committed_line);
	/* Where lines are missing, their record was damaged, and named below; the sealer says so in their place. */
	TRY(add_range(stream, seq, slice, err));
	if (journal_open_slice(slice, recovery->pipeline->zstd, &recovery->text, err) != OK) {
		log_line(LOG_ERROR, "journal_damaged", "seq=%llu job=\"%s\" stream=\"%s\" error=\"%s\"",
			(unsigned long long)seq, stream->job->name, stream->name, err->text);
		if (err->status == ERR_MEMORY)
			return ERR_MEMORY;
		consume_pass_over(
			stream, seq, slice); /* it gives no points; the sealer must get past it all the same */
		return OK;
	}
	/* its state may be of newer ones: a back-fill took its place while these lines were in the journal */
	uint32_t generation = slice->generation > stream->generation ? slice->generation : stream->generation;
	TRY(resolve_definitions(recovery->pipeline, recovery->reader, stream->job, generation, &definitions, err));
	enum status status = consume_slice(
		recovery->pipeline, stream, definitions, seq, slice, recovery->scratch, &recovery->found, err);
	definitions_unref(definitions);
	if (status == ERR_MEMORY)
		return status;
	if (status != OK) /* as in extract_run: the lines are safe, and a server that does not start helps nobody */
		log_line(LOG_ERROR, "extraction_failed", "job=\"%s\" stream=\"%s\" first_line=%llu error=\"%s\"",
			stream->job->name, stream->name, (unsigned long long)slice->first_line, err->text);
	return OK;
}

static enum status replay_row(
	struct recovery *recovery, struct zstd *zstd, uint64_t seq, struct span record, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	size_t count = 0;

	if (!arena)
		return error_no_memory(err);
	enum status status = journal_unpack(record, zstd, &plain, &slices, &count, arena, err);
	if (status == ERR_INVALID) { /* harms its own lines alone: a server that does not start helps nobody */
		log_line(LOG_ERROR, "journal_damaged", "seq=%llu error=\"%s\"", (unsigned long long)seq, err->text);
		return OK;
	}
	for (size_t i = 0; i < count && status == OK; i++)
		status = replay_slice(recovery, seq, &slices[i], err);
	if (status != OK)
		error_prefix(err, "journal row %llu", (unsigned long long)seq);
	return status;
}

static enum status replay(struct recovery *recovery, uint64_t newest, struct error *err)
{
	for (uint64_t seq = 1; seq <= newest; seq++) {
		AUTO(arena) arena = arena_new();
		struct span record;
		if (!arena)
			return error_no_memory(err);
		TRY(store_next_journal(recovery->reader, arena, &seq, &record, err));
		if (!record.ptr) /* not its length: a damaged record may be empty, and others follow it */
			break;
		TRY(replay_row(recovery, recovery->pipeline->zstd, seq, record, err));
	}
	return OK;
}

enum status recover_journal(struct pipeline *pipeline, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct recovery recovery = {.pipeline = pipeline, .scratch = scratch, .text = BUF_INIT(SIZE_MAX / 2)};
	uint64_t newest, oldest, bytes;
	int64_t start_ms = clock_mono_ms();

	if (!scratch)
		return error_no_memory(err);
	regex_scratch_limit(scratch, pipeline->options.match_steps);
	TRY(store_reader_new(&reader, pipeline->options.store, err));
	recovery.reader = reader;
	TRY(store_journal_figures(reader, &newest, &oldest, &bytes, err));
	pipeline->is_recovering = true;
	enum status status = replay(&recovery, newest, err);
	pipeline->is_recovering = false;
	extracted_list_done(&recovery.found);
	buf_done(&recovery.text);
	TRY(status);
	pipeline->next_seq = newest + 1;
	atomic_store(&pipeline->figures.committed_seq, newest);
	atomic_store(&pipeline->figures.extracted_seq, newest);
	atomic_store(&pipeline->figures.journal_bytes, bytes);
	hub_set_seq(pipeline->options.hub, newest);
	log_line(LOG_INFO, "recovered", "journal_bytes=%llu seq=%llu ms=%lld", (unsigned long long)bytes,
		(unsigned long long)newest, (long long)(clock_mono_ms() - start_ms));
	return OK;
}
