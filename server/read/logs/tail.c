#include "read/logs/tail.h"

#include "base/clock.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/journal.h"

#include <stdlib.h>

struct rows {
	uint64_t *seqs;
	size_t count, cap;
	size_t stream_cap;
	int64_t job_id;
};

void tail_done(struct tail *tail)
{
	mem_free(tail->streams);
	tail->streams = NULL;
	tail->stream_count = 0;
}

static int by_stream(const void *a, const void *b)
{
	uint32_t left = ((const struct tail_stream *)a)->stream_id, right = ((const struct tail_stream *)b)->stream_id;

	return (left > right) - (left < right);
}

const struct tail_stream *tail_find(const struct tail *tail, uint32_t stream_id)
{
	struct tail_stream key = {.stream_id = stream_id};

	return tail->stream_count ? bsearch(&key, tail->streams, tail->stream_count, sizeof key, by_stream) : NULL;
}

/* Under the stream's lock. */
static bool copy_stream(struct tail *tail, struct rows *rows, const struct stream_state *stream)
{
	if (!mem_grow((void **)&tail->streams, tail->stream_count, &rows->stream_cap, sizeof *tail->streams))
		return false;
	tail->streams[tail->stream_count++] = (struct tail_stream){stream->stream_id,
		stream->range_count ? stream->ranges[0].first_line : stream->committed_line, stream->committed_line};
	for (size_t i = 0; i < stream->range_count; i++) {
		if (!mem_grow((void **)&rows->seqs, rows->count, &rows->cap, sizeof *rows->seqs))
			return false;
		rows->seqs[rows->count++] = stream->ranges[i].seq;
	}
	return true;
}

static enum status copy_job(struct tail *tail, struct rows *rows, struct error *err)
{
	AUTO(job_state) job = directory_find(tail->pipeline->directory, tail->job);
	struct stream_state *stream;
	bool is_whole = true;

	rows->job_id = job ? job->job_id : 0;
	for (size_t i = 0; job && is_whole && (stream = job_stream_at(job, i)); i++) {
		if (tail->stream.len && !span_equal(tail->stream, span_from(stream->name)))
			continue;
		pthread_mutex_lock(&stream->mutex);
		is_whole = copy_stream(tail, rows, stream);
		pthread_mutex_unlock(&stream->mutex);
	}
	if (tail->stream_count)
		qsort(tail->streams, tail->stream_count, sizeof *tail->streams, by_stream);
	return is_whole ? OK : error_no_memory(err);
}

static int by_seq(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The texts behind each other with a newline each, as a block has them. */
static enum status take_slice(
	struct tail *tail, const struct tail_stream *stream, struct journal_slice *slice, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) content = BUF_INIT(SIZE_MAX / 2);
	AUTO_MEM struct line *lines = mem_alloc((slice->line_count + 1) * sizeof *lines);
	struct line line;
	size_t count = 0;

	enum status status = journal_open_slice(slice, tail->zstd, &content, err);
	if (status == ERR_INVALID)
		return OK; /* damaged: the sealer says so */
	TRY(status);
	struct journal_cursor cursor = journal_lines(slice);
	if (!lines || !buf_reserve(&text, slice->text_bytes + slice->line_count + 1))
		return error_no_memory(err);
	while (count < slice->line_count && journal_next_line(&cursor, &line)) {
		lines[count] = line;
		lines[count].ts_ms = line_effective_ms(&line, slice->arrival_ms);
		lines[count].text.ptr = (const char *)text.len; /* an offset until the buffer rests */
		count++;
		buf_append_span(&text, line.text);
		buf_append_char(&text, '\n');
	}
	TRY(buf_status(&text, err));
	for (size_t i = 0; i < count; i++)
		lines[i].text.ptr = text.ptr + (size_t)lines[i].text.ptr;
	if (slice->first_line + count > stream->end)
		count = stream->end > slice->first_line ? (size_t)(stream->end - slice->first_line) : 0;
	return tail->take(tail->context, stream, slice->first_line, lines, count, err);
}

static enum status take_row(struct tail *tail, uint64_t seq, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	struct span record;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_journal(tail->reader, arena, seq, &record, err);
	tail->is_stale = status == ERR_NOT_FOUND;
	if (tail->is_stale)
		return OK;
	TRY(status);
	status = journal_unpack(record, tail->zstd, &plain, &slices, &count, arena, err);
	if (status == ERR_INVALID)
		return OK; /* damaged: the sealer says so */
	TRY(status);
	for (size_t i = 0; i < count; i++) {
		const struct tail_stream *stream =
			slices[i].job_id == job_id ? tail_find(tail, slices[i].stream_id) : NULL;
		if (stream && slices[i].kind != JOURNAL_POINTS && slices[i].first_line >= stream->start)
			TRY(take_slice(tail, stream, &slices[i], err));
	}
	return OK;
}

static enum status take_rows(struct tail *tail, struct rows *rows, struct error *err)
{
	uint64_t before = UINT64_MAX;

	if (rows->count)
		qsort(rows->seqs, rows->count, sizeof *rows->seqs, by_seq);
	for (size_t i = 0; i < rows->count && !tail->is_stale; i++) {
		if (rows->seqs[i] == before)
			continue;
		before = rows->seqs[i];
		tail->is_partial =
			i > 0 &&
			clock_mono_ms() > tail->until_ms; /* a short tail is read however little time there is */
		if (tail->is_partial)
			return OK;
		TRY(take_row(tail, before, rows->job_id, err));
	}
	return OK;
}

enum status tail_walk(struct tail *tail, struct error *err)
{
	struct rows rows = {0};

	tail_done(tail);
	tail->is_stale = tail->is_partial = false;
	enum status status = copy_job(tail, &rows, err);
	if (status == OK)
		status = take_rows(tail, &rows, err);
	mem_free(rows.seqs);
	return status;
}
