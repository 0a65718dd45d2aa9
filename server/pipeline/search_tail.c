/* The unsealed lines of a search: RAM names the journal's rows; each row is read once, whatever number of streams is in it. */
#include "pipeline/search.h"

#include <stdlib.h>

struct tail_rows {
	uint64_t *seqs;
	size_t count, cap;
	struct tail_start *starts;
	size_t start_count, start_cap;
	uint64_t *ends; /* parallel to starts: committed lines */
	size_t end_cap;
	int64_t job_id;
};

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

/* Under the stream's lock. */
static bool copy_stream(struct tail_rows *rows, const struct stream_state *stream)
{
	if (!mem_grow((void **)&rows->starts, rows->start_count, &rows->start_cap, sizeof *rows->starts) ||
		!mem_grow((void **)&rows->ends, rows->start_count, &rows->end_cap, sizeof *rows->ends))
		return false;
	rows->ends[rows->start_count] = stream->committed_line;
	rows->starts[rows->start_count++] = (struct tail_start){
		stream->stream_id, stream->range_count ? stream->ranges[0].first_line : stream->committed_line};
	for (size_t i = 0; i < stream->range_count; i++) {
		if (!mem_grow((void **)&rows->seqs, rows->count, &rows->cap, sizeof *rows->seqs))
			return false;
		rows->seqs[rows->count++] = stream->ranges[i].seq;
	}
	return true;
}

static enum status copy_job(struct searching *s, struct tail_rows *rows, struct error *err)
{
	AUTO(job_state) job = directory_find(s->pipeline->directory, s->search->job);
	struct stream_state *stream;
	bool is_whole = true;

	rows->job_id = job ? job->job_id : 0;
	for (size_t i = 0; job && is_whole && (stream = job_stream_at(job, i)); i++) {
		if (s->search->stream.len && !span_equal(s->search->stream, span_from(stream->name)))
			continue;
		pthread_mutex_lock(&stream->mutex);
		is_whole = copy_stream(rows, stream);
		pthread_mutex_unlock(&stream->mutex);
	}
	return is_whole ? OK : out_of_memory(err);
}

static int by_seq(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The texts behind each other with a newline each, as a block has them. */
static enum status scan_slice(
	struct searching *s, struct journal_slice *slice, const struct tail_rows *rows, size_t at, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);
	AUTO_DONE(buf) content = BUF_INIT(SIZE_MAX / 2);
	AUTO_MEM struct line *lines = mem_alloc((slice->line_count + 1) * sizeof *lines);
	struct line line;
	size_t count = 0;

	enum status status = journal_open_slice(slice, s->hand.zstd, &content, err);
	if (status == ERR_INVALID)
		return OK; /* damaged: the sealer says so */
	TRY(status);
	struct journal_cursor cursor = journal_lines(slice);
	if (!lines || !buf_reserve(&text, slice->text_bytes + slice->line_count + 1))
		return out_of_memory(err);
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
	search_scan_lines(s, &s->hand, slice->stream_id, slice->first_line, lines, count, rows->ends[at]);
	return OK;
}

static enum status scan_row(
	struct searching *s, uint64_t seq, const struct tail_rows *rows, bool *is_stale, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) plain = BUF_INIT(SIZE_MAX / 2);
	struct journal_slice *slices;
	struct span record;
	size_t count;

	if (!arena)
		return out_of_memory(err);
	enum status status = store_read_journal(s->reader, arena, seq, &record, err);
	*is_stale = status == ERR_NOT_FOUND;
	if (*is_stale)
		return OK;
	TRY(status);
	status = journal_unpack(record, s->hand.zstd, &plain, &slices, &count, arena, err);
	if (status == ERR_INVALID)
		return OK; /* damaged: the sealer says so */
	TRY(status);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < rows->start_count; j++)
			if (slices[i].job_id == rows->job_id && slices[i].stream_id == rows->starts[j].stream_id &&
				slices[i].first_line >= rows->starts[j].line)
				TRY(scan_slice(s, &slices[i], rows, j, err));
	return OK;
}

static enum status scan_rows(struct searching *s, struct tail_rows *rows, bool *is_stale, struct error *err)
{
	uint64_t before = UINT64_MAX;

	if (rows->count)
		qsort(rows->seqs, rows->count, sizeof *rows->seqs, by_seq);
	for (size_t i = 0; i < rows->count && !*is_stale; i++) {
		if (rows->seqs[i] != before)
			TRY(scan_row(s, rows->seqs[i], rows, is_stale, err));
		before = rows->seqs[i];
	}
	return OK;
}

enum status search_tail(
	struct searching *s, struct tail_start **starts, size_t *count, bool *is_stale, struct error *err)
{
	struct tail_rows rows = {0};

	*is_stale = false;
	enum status status = copy_job(s, &rows, err);
	if (status == OK)
		status = scan_rows(s, &rows, is_stale, err);
	mem_free(rows.seqs);
	mem_free(rows.ends);
	*starts = rows.starts; /* the caller frees them */
	*count = rows.start_count;
	return status;
}
