/* What of stored lines is taken: a copy of the stream's extractor reads them again. */
#include "pipeline/backfill/captures.h"

#include "base/clock.h"
#include "model/metrics/batch.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/resolve.h"
#include "read/logs/lines.h"
#include "state/pipeline_state.h"
#include "state/streams/directory.h"
#include "state/streams/stream_pack.h"
#include "store/jobs.h"
#include "store/streams.h"

#include <stdlib.h>

enum {
	BUDGET_MS = 2000, /* lines behind it are not read */
	BEFORE_BYTES = 1 << 20,
	NUMBERS_APART = 65, /* from what the stream said last: no record goes on over so many lines */
};

struct reading {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	struct span job, stream;
	struct extractor *extractor; /* the copy */
	struct definitions *definitions;
	struct regex_scratch *scratch;
	struct extracted_list found;
	uint64_t seen; /* lines of the stream that the extractor knows */
	uint64_t number; /* under which it is given the line `line` */
	uint64_t line;
	struct captures_view *out;
	size_t cap;
	uint8_t *counts; /* of each line that is asked for */
};

/* ---- a copy of the extractor ---- */

static enum status copy_packed(struct reading *on, struct buf *state, struct error *err)
{
	TRY(buf_status(state, err));
	struct unpacker in = unpacker_on(buf_span(state));
	return extractor_unpack(&on->extractor, &in, err);
}

/* *generation: of the definitions that it ran last. */
static enum status copy_live(struct reading *on, uint32_t *generation, struct error *err)
{
	AUTO(job_state) job = directory_find(on->pipeline->directory, on->job);
	struct stream_state *stream = job ? job_find_stream(job, on->stream) : NULL;
	AUTO_DONE(buf) state = BUF_INIT(SIZE_MAX / 2);

	if (!stream)
		return OK;
	pthread_mutex_lock(&job->mutex);
	on->definitions = definitions_ref(job->definitions);
	pthread_mutex_unlock(&job->mutex);
	pthread_mutex_lock(&stream->mutex);
	extractor_pack(stream->extractor, &state);
	*generation = stream->generation;
	on->seen = stream->extracted_lines;
	pthread_mutex_unlock(&stream->mutex);
	return copy_packed(on, &state, err);
}

/* Of a stream that is not in RAM; of a damaged state nothing. */
static enum status copy_sealed(
	struct reading *on, const struct stream_row *row, uint32_t *generation, struct error *err)
{
	struct job_row nobody = {.job_id = row->job_id, .name = on->job, .team = SPAN(""), .document = SPAN("")};
	AUTO(job_state) job = job_state_new(&nobody);
	struct stream_state *stream = job ? stream_state_new(job, row->stream_id, row->name, SPAN("")) : NULL;
	struct error why;

	if (!stream)
		return error_no_memory(err);
	enum status status = row->state.len ? stream_unpack(stream, row->state, &why) : OK;
	if (status == OK) {
		on->extractor = stream->extractor;
		stream->extractor = NULL;
		*generation = stream->generation;
		on->seen = row->sealed_lines;
	}
	stream_state_free(stream);
	return status == ERR_MEMORY ? error_no_memory(err) : OK;
}

static enum status read_definitions(struct reading *on, const struct job_row *row, struct error *err)
{
	if (on->definitions && on->definitions->generation == row->generation)
		return OK;
	AUTO(job_state) job = job_state_new(row);
	if (!job)
		return error_no_memory(err);
	definitions_unref(on->definitions);
	on->definitions = NULL;
	return make_definitions(on->pipeline, on->reader, job, row->generation, &on->definitions, err);
}

static enum status open_extractor(struct reading *on, struct error *err)
{
	struct stream_row *rows;
	uint32_t generation = 0;
	struct job_row row;
	size_t count;

	TRY(store_read_job(on->reader, on->arena, on->job, &row, err));
	TRY(copy_live(on, &generation, err));
	if (!on->extractor) {
		TRY(store_read_streams(on->reader, on->arena, row.job_id, on->stream, &rows, &count, err));
		if (count)
			TRY(copy_sealed(on, &rows[0], &generation, err));
	}
	if (!on->extractor && !(on->extractor = extractor_new()))
		return error_no_memory(err);
	TRY(read_definitions(on, &row, err));
	if (generation && generation != on->definitions->generation)
		extractor_reset_definitions(on->extractor); /* it has had no line since they changed */
	extractor_want_marks(on->extractor);
	extractor_leave_place(on->extractor);
	on->number = on->seen + NUMBERS_APART;
	return OK;
}

/* ---- lines ---- */

static enum status add(struct reading *on, const struct extracted *found, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(2 * METRIC_NAME_MAX_BYTES);
	struct captures_view *out = on->out;
	uint64_t line = on->line - (on->number - found->point.line);

	if (!found->mark.end || found->point.line > on->number || line < out->from || line >= out->end)
		return OK;
	if (on->counts[line - out->from] == CAPTURES_A_LINE)
		return OK;
	on->counts[line - out->from]++;
	extractor_series_name(on->extractor, on->definitions->set, found->series, &name);
	TRY(buf_status(&name, err));
	struct span metric = arena_copy(on->arena, buf_span(&name));
	if (!metric.ptr || !mem_grow((void **)&out->items, out->count, &on->cap, sizeof *out->items))
		return error_no_memory(err);
	out->items[out->count++] = (struct capture){line, metric, found->mark.start, found->mark.end, found->mark};
	return OK;
}

static enum status read_one(struct reading *on, const struct line_view *view, struct error *err)
{
	struct extract_line line = {view->text, view->ts_ms, on->number, (view->flags & LINE_CUT) != 0};
	uint64_t from_line;
	uint32_t from, to;

	on->line = view->number;
	on->found.count = 0;
	TRY(extract_line(on->extractor, on->definitions->set, on->scratch, &line, view->ts_ms, &on->found, err));
	(void)extractor_take_revision(on->extractor, &from_line, &from, &to);
	for (size_t i = 0; i < on->found.count; i++)
		TRY(add(on, &on->found.items[i], err));
	on->number++;
	return OK;
}

/* As many lines in front as there are, and fit. */
static enum status read_before(struct reading *on, struct error *err)
{
	uint64_t from = on->out->from, wanted = from < CAPTURES_BEFORE_LINES ? from : CAPTURES_BEFORE_LINES, total;
	struct line_view *lines;
	struct error why;
	size_t count;

	for (; wanted; wanted /= 2) {
		enum status status = lines_read(on->pipeline, on->reader, on->arena, on->job, on->stream, from - wanted,
			(size_t)wanted, BEFORE_BYTES, &lines, &count, &total, &why);
		if (status == ERR_MEMORY)
			return error_no_memory(err);
		if (status != OK || count < wanted)
			continue; /* deleted, damaged, or too long */
		for (size_t i = 0; i < count; i++)
			TRY(read_one(on, &lines[i], err));
		return OK;
	}
	return OK;
}

static enum status read_asked(struct reading *on, const struct line_view *lines, size_t count, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + BUDGET_MS;

	struct captures_view *out = on->out;

	regex_scratch_until(on->scratch, until_ms); /* one line, too */

	on->counts = arena_alloc(on->arena, (size_t)(out->end - out->from) * sizeof *on->counts);
	if (!on->counts)
		return error_no_memory(err);
	memset(on->counts, 0, (size_t)(out->end - out->from) * sizeof *on->counts);
	TRY(read_before(on, err));
	for (size_t i = 0; i < count; i++) {
		TRY(read_one(on, &lines[i], err));
		if (clock_mono_ms() <= until_ms)
			continue;
		out->end = lines[i].number + 1 < out->end ? lines[i].number + 1 : out->end;
		break;
	}
	return OK;
}

static int by_place(const void *a, const void *b)
{
	const struct capture *left = a, *right = b;

	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	return (left->mark.start > right->mark.start) - (left->mark.start < right->mark.start);
}

static size_t shown_at(struct span text, size_t at)
{
	size_t shown = at, length;

	for (size_t i = 0; i < at; i += length ? length : 1) {
		length = span_utf8_length(span_skip(text, i));
		shown += length ? 0 : sizeof "\xef\xbf\xbd" - 2;
	}
	return shown;
}

static void show(struct capture *capture, struct span text)
{
	if (span_is_utf8(text))
		return;
	capture->start = shown_at(text, capture->start);
	capture->end = shown_at(text, capture->end);
}

/* In their order, of the lines that were read. */
static enum status settle(struct reading *on, const struct line_view *lines, struct error *err)
{
	struct captures_view *out = on->out;
	struct capture *kept = arena_alloc(on->arena, out->count * sizeof *kept);
	size_t count = 0;

	if (!kept)
		return error_no_memory(err);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_place);
	for (size_t i = 0; i < out->count; i++)
		if (out->items[i].line < out->end) {
			kept[count] = out->items[i];
			show(&kept[count], lines[kept[count].line - out->from].text);
			count++;
		}
	mem_free(out->items);
	out->items = kept;
	out->count = count;
	return OK;
}

static enum status read_captures(struct reading *on, uint64_t from, size_t limit, struct error *err)
{
	struct captures_view *out = on->out;
	struct line_view *lines;
	size_t count;

	TRY(lines_read(on->pipeline, on->reader, on->arena, on->job, on->stream, from, limit + CAPTURES_BEHIND_LINES,
		CAPTURES_TEXT_BYTES, &lines, &count, &out->total, err));
	out->from = from;
	out->end = from + (count < limit ? count : limit);
	out->open_from = from + count < out->total            ? out->end
			 : out->total > CAPTURES_BEHIND_LINES ? out->total - CAPTURES_BEHIND_LINES
							      : 0;
	if (!count || !stream_is_log(on->stream))
		return OK;
	TRY(open_extractor(on, err));
	if (on->definitions->damage)
		return OK;
	TRY(read_asked(on, lines, count, err));
	return settle(on, lines, err);
}

enum status pipeline_read_captures(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, uint64_t from, size_t limit, struct captures_view *out, struct error *err)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct reading on = {.pipeline = pipeline,
		.reader = reader,
		.arena = arena,
		.job = job,
		.stream = stream,
		.scratch = scratch,
		.out = out};

	*out = (struct captures_view){0};
	if (!scratch)
		return error_no_memory(err);
	regex_scratch_limit(scratch, pipeline->options.match_steps);
	enum status status = read_captures(&on, from, limit, err);
	if (status != OK)
		mem_free(out->items); /* until they are settled they are no part of the arena */
	definitions_unref(on.definitions);
	extractor_free(on.extractor);
	extracted_list_done(&on.found);
	return status;
}
