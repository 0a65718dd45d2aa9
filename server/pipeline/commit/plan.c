#include "pipeline/commit/plan.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/metrics/batch_points.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/backdate.h"
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/life/stall.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

#include <stdlib.h>

enum { BUSY_RETRY_S = 10 };

enum status plan_open(
	struct plan *plan, struct pipeline *pipeline, struct store_tx *tx, uint64_t seq, struct error *err)
{
	*plan = (struct plan){.pipeline = pipeline, .tx = tx, .seq = seq};
	plan->new_jobs = map_new();
	plan->new_streams = map_new();
	if (plan->new_jobs && plan->new_streams)
		return OK;
	plan_abandon(plan);
	return error_no_memory(err);
}

static void close_plan(struct plan *plan)
{
	map_free(plan->new_jobs);
	map_free(plan->new_streams);
	mem_free(plan->slices);
	*plan = (struct plan){0};
}

void plan_abandon(struct plan *plan)
{
	void *value;

	for (size_t i = 0; i < plan->slice_count; i++)
		definitions_unref(plan->slices[i].definitions);
	for (struct stream_state *stream = plan->touched; stream; stream = stream->next_touched) {
		stream->planned_line = stream->committed_line;
		stream->planned_byte = stream->committed_byte;
		stream->planned_point = stream->committed_point;
		stream->planned_count = COUNT_IS_UNKNOWN;
		hosts_abandon(stream);
		stream->is_touched = false;
	}
	if (plan->new_streams)
		for (size_t at = 0; map_next(plan->new_streams, &at, NULL, &value);)
			stream_state_free(value);
	if (plan->new_jobs)
		for (size_t at = 0; map_next(plan->new_jobs, &at, NULL, &value);)
			job_unref(value);
	close_plan(plan);
}

/* Lines behind a deletion in one transaction would go down with the job: they come again, and make another job. */
static enum status refuse_gone(struct plan *plan, const struct job_state *job, struct error *err)
{
	bool is_gone;

	TRY(control_check_job_gone(plan->pipeline, plan->tx, job, &is_gone, err));
	if (!is_gone)
		return OK;
	error_set(err, ERR_BUSY, "job '%s' is being deleted; send the lines again", job->name);
	err->retry_after_s = 1;
	return ERR_BUSY;
}

/* A job costs kilobytes until it was silent for a while: names without end must not become memory without end. */
static enum status check_room(const struct plan *plan, struct span name, struct error *err)
{
	struct directory *directory = plan->pipeline->directory;
	size_t count = directory_count(directory) + map_count(plan->new_jobs);

	if (count < plan->pipeline->options.max_jobs || directory_peek(directory, name))
		return OK;
	error_set(err, ERR_BUSY, "%zu jobs are being written already (--max-jobs)", count);
	err->retry_after_s = BUSY_RETRY_S;
	return ERR_BUSY;
}

static enum status plan_job(struct plan *plan, struct ingest *ingest, const struct batch_part *part,
	struct job_state **out, struct error *err)
{
	struct claim claim = {ingest->batch->team, part->team};
	struct span name = part->job;
	bool is_new;

	if ((*out = map_get(plan->new_jobs, name))) {
		TRY(check_team(span_from((*out)->team), name, claim.team, err));
		return refuse_gone(plan, *out, err);
	}
	TRY(check_room(plan, name, err));
	TRY(resolve_job(plan->pipeline, plan->tx, name, &claim, ingest->batch->arrival_ms, out, &is_new, err));
	if (is_new && !map_put(plan->new_jobs, name, *out)) {
		job_unref(*out);
		return error_no_memory(err);
	}
	return refuse_gone(plan, *out, err);
}

static struct span stream_key(struct arena *arena, const struct job_state *job, struct span name)
{
	char *key = arena_alloc(arena, sizeof job->job_id + name.len);

	if (!key)
		return span_of(NULL, 0);
	memcpy(key, &job->job_id, sizeof job->job_id);
	memcpy(key + sizeof job->job_id, name.ptr, name.len);
	return span_of(key, sizeof job->job_id + name.len);
}

static enum status plan_stream(struct plan *plan, struct ingest *ingest, const struct batch_part *part,
	struct stream_state **out, struct error *err)
{
	struct job_state *job;
	bool is_new;

	TRY(plan_job(plan, ingest, part, &job, err));
	struct span key = stream_key(ingest->batch->arena, job, part->stream);
	if (!key.ptr)
		return error_no_memory(err);
	if ((*out = map_get(plan->new_streams, key)))
		return OK;
	TRY(resolve_stream(plan->pipeline, plan->tx, job, part->stream, batch_part_host(ingest->batch, part),
		ingest->batch->arrival_ms, out, &is_new, err));
	if (is_new && !map_put(plan->new_streams, key, *out)) {
		stream_state_free(*out);
		return error_no_memory(err);
	}
	return OK;
}

static void touch(struct plan *plan, struct stream_state *stream)
{
	if (stream->is_touched)
		return;
	stream->is_touched = true;
	stream->next_touched = plan->touched;
	plan->touched = stream;
}

static enum status refuse_offset(const struct ingest *ingest, const struct stream_state *stream, uint64_t standing,
	const char *why, struct error *err)
{
	struct span source = ingest->batch->source;

	error_set_field(err, ERR_CONFLICT, "offset",
		"offset %lld %s: %s%.*s%sstream '%s' stands at %s %llu; send from there",
		(long long)ingest->batch->offset, why, source.len ? "source '" : "", SPAN_ARGS(source),
		source.len ? "' of " : "", stream->name, ingest->batch->point_count ? "point" : "byte",
		(unsigned long long)standing);
	err->member = "next_offset";
	err->member_value = (int64_t)standing;
	return ERR_CONFLICT;
}

/* With an offset: which lines are new. Overlap is dropped whole lines at a time; a gap is a conflict that says where to go on. */
static enum status check_offset(const struct ingest *ingest, const struct stream_state *stream, uint64_t standing,
	size_t *skip, struct error *err)
{
	const struct batch *batch = ingest->batch;
	uint64_t at = (uint64_t)batch->offset;

	*skip = 0;
	if (batch->offset < 0)
		return OK;
	if (at > standing)
		return refuse_offset(ingest, stream, standing, "leaves a gap", err);
	while (*skip < batch->parts[0].count && at < standing)
		at += batch->parts[0].lines[(*skip)++].sent_bytes;
	if (at > standing)
		return refuse_offset(ingest, stream, standing, "overlaps what is stored in the middle of a line", err);
	return OK;
}

/* The same of points, which are one body: the sender sends it again as it was, so all of it is there, or nothing. */
static enum status check_point_offset(const struct ingest *ingest, const struct stream_state *stream,
	const struct batch_part *part, uint64_t standing, bool *is_known, struct error *err)
{
	int64_t offset = ingest->batch->offset;

	if (offset < 0 || !part->point_count || (uint64_t)offset == standing)
		return OK;
	if ((uint64_t)offset > standing)
		return refuse_offset(ingest, stream, standing, "leaves a gap", err);
	if ((uint64_t)offset + part->point_count > standing)
		return refuse_offset(ingest, stream, standing, "overlaps what is stored in the middle of a body", err);
	*is_known = true;
	return OK;
}

/* A stream that is made behind a back-fill's change, in one transaction with it, has no shadow: its first line is by the new. */
static uint32_t generation_of(const struct plan *plan, const struct stream_state *stream)
{
	const struct job_state *job = stream->job;
	bool is_new = !stream->committed_line && !stream->committed_point;

	return is_new && job->change_round == plan->pipeline->round ? job->change_generation : job->generation;
}

/* The lines that are new; a batch that was packed stays a block as long as all of it is. */
static struct journal_slice make_slice(const struct plan *plan, const struct ingest *ingest,
	const struct batch_part *part, const struct stream_state *stream, size_t skip)
{
	const struct batch *batch = ingest->batch;
	enum journal_kind kind = part->point_count           ? JOURNAL_POINTS
				 : batch->block.len && !skip ? JOURNAL_BLOCK
							     : JOURNAL_LINES;
	struct journal_slice slice = {.kind = kind,
		.job_id = stream->job->job_id,
		.stream_id = stream->stream_id,
		.generation = generation_of(plan, stream),
		.first_line = stream->planned_line,
		.first_byte = stream->planned_byte,
		.arrival_ms = batch->arrival_ms,
		.line_count = part->count - skip,
		.block = buf_span(&batch->block),
		.body = buf_span(&part->points),
		.first_point = stream->planned_point,
		.point_count = part->point_count,
		.text_bytes = part->points.len,
		.first_ms = INT64_MAX,
		.last_ms = INT64_MIN};

	for (size_t i = skip; i < part->count; i++) {
		const struct line *line = &part->lines[i];
		slice.text_bytes += line->text.len + 1;
		slice.sent_bytes += line->sent_bytes;
		slice.first_ms = line->ts_ms < slice.first_ms ? line->ts_ms : slice.first_ms;
		slice.last_ms = line->ts_ms > slice.last_ms ? line->ts_ms : slice.last_ms;
	}
	return slice;
}

static enum status add_slice(struct plan *plan, struct ingest *ingest, const struct batch_part *part,
	struct stream_state *stream, size_t skip, struct error *err)
{
	struct journal_slice slice = make_slice(plan, ingest, part, stream, skip);
	struct plan_slice planned = {.stream = stream,
		.batch = ingest->batch,
		.part = (size_t)(part - ingest->batch->parts),
		.sent_bytes = slice.sent_bytes};

	if (!mem_grow((void **)&plan->slices, plan->slice_count, &plan->slice_cap, sizeof *plan->slices))
		return error_no_memory(err);
	TRY(resolve_definitions(
		plan->pipeline, store_tx_reader(plan->tx), stream->job, slice.generation, &planned.definitions, err));
	planned.range = (struct tail_range){plan->seq, slice.first_line, slice.line_count, slice.text_bytes,
		slice.arrival_ms, slice.first_point, slice.point_count, NULL};
	planned.body_at = journal_add(&plan->pipeline->journal, &slice, part->lines + skip);
	slice.body.len = plan->pipeline->journal.plain.len - planned.body_at;
	planned.slice = slice;
	plan->slices[plan->slice_count++] = planned;
	stream->planned_line += slice.line_count;
	stream->planned_byte += planned.sent_bytes;
	stream->planned_point += slice.point_count;
	return OK;
}

struct plan_mark { /* where a batch began */
	size_t slices, plain_bytes, block_bytes, journal_slices;
};

static struct plan_mark mark(const struct plan *plan)
{
	const struct journal_writer *journal = &plan->pipeline->journal;

	return (struct plan_mark){plan->slice_count, journal->plain.len, journal->blocks.len, journal->slice_count};
}

/* Undoes the slices of one batch whose later part failed. */
static void go_back(struct plan *plan, const struct plan_mark *to)
{
	while (plan->slice_count > to->slices) {
		struct plan_slice *slice = &plan->slices[--plan->slice_count];
		slice->stream->planned_line -= slice->range.line_count;
		slice->stream->planned_byte -= slice->sent_bytes;
		slice->stream->planned_point -= slice->range.point_count;
		definitions_unref(slice->definitions);
	}
	journal_writer_cut(&plan->pipeline->journal, to->plain_bytes, to->block_bytes, to->journal_slices);
}

/* Points of new series for which the stream has no room, as far as is known: what waits for extraction may take more. */
static size_t count_refused(const struct plan *plan, struct stream_state *stream, const struct batch_part *part)
{
	const struct pipeline_options *options = &plan->pipeline->options;
	size_t refused = 0;

	pthread_mutex_lock(&stream->mutex);
	size_t count = stream->series_count - stream->derived_count;
	for (size_t i = 0; i < part->series_count; i++) {
		size_t most = part->series[i].form == SERIES_SAMPLES ? options->max_sampled_series
								     : options->max_series_a_stream;
		if (count + part->series_count <= most || part->series[i].form == SERIES_BEGIN)
			continue; /* there is room for all, new or not */
		bool is_known = stream_find_series(stream, part->series[i].metric) != NULL;
		if (!is_known && part->series[i].count && count++ >= most)
			refused += batch_series_points(&part->series[i]);
	}
	pthread_mutex_unlock(&stream->mutex);
	return refused;
}

/* A tracker's post has lines, too: they are read knowing what its points tell. */
static enum status note_told(
	const struct batch *batch, struct stream_state *stream, const struct batch_part *part, struct error *err)
{
	struct job_state *job = stream->job;

	for (size_t i = 0; i < part->series_count && batch->file_count; i++) {
		const struct batch_series *sent = &part->series[i];
		struct told_when when = told_metrics_when(sent, atomic_load(&job->life));
		if (series_is_of_steps(sent, span_from(stream->name)) &&
			told_metrics_is_since(sent, atomic_load(&job->began_ms)) &&
			!told_metrics_add(&job->told, sent->metric, series_role(sent), &when))
			return error_no_memory(err);
	}
	return OK;
}

/* What is new of a part becomes a slice; the result counts. */
static enum status plan_part(struct plan *plan, struct ingest *ingest, const struct batch_part *part, struct error *err)
{
	struct ingest_result *result = &ingest->result;
	struct stream_state *stream;
	uint64_t standing;
	bool is_known;
	size_t skip;

	TRY(plan_stream(plan, ingest, part, &stream, err));
	touch(plan, stream);
	TRY(source_find(plan, ingest, stream, &standing, err));
	result->next_offset = standing;
	TRY(push_is_known(plan, ingest, part, stream, &is_known, err));
	TRY(check_point_offset(ingest, stream, part, standing, &is_known, err));
	if (is_known) {
		result->duplicate += part->count + part->point_count;
		result->duplicate_pushes += part->is_push;
		return OK;
	}
	TRY(check_offset(ingest, stream, standing, &skip, err));
	if (part->count > skip)
		TRY(source_part(plan, ingest, stream, err));
	uint64_t before = stream->planned_byte;
	result->duplicate += skip;
	size_t refused = part->point_count ? count_refused(plan, stream, part) : 0;
	result->refused += refused + part->left_points;
	atomic_fetch_add(
		&plan->pipeline->figures.refused_points, part->left_points); /* the others when they are consumed */
	result->accepted += part->count - skip + part->point_count - refused;
	TRY(note_told(ingest->batch, stream, part, err));
	if (part->count > skip || part->point_count)
		TRY(add_slice(plan, ingest, part, stream, skip, err));
	result->next_offset = standing + (stream->planned_byte - before) + part->point_count;
	return OK;
}

/* Is it so for as long as nothing is changed here, and of this part alone? Then its sender need not know before others go on. */
static bool is_refusal(enum status status)
{
	return status == ERR_TOO_LARGE || status == ERR_FORBIDDEN || status == ERR_INVALID || status == ERR_SEMANTIC;
}

/* One of a batch that is stored in part. */
static enum status plan_one(struct plan *plan, struct ingest *ingest, const struct batch_part *part, struct error *err)
{
	struct error reason = {0};

	if (!ingest->batch->is_partial)
		return plan_part(plan, ingest, part, err);
	bool has_room = map_get(plan->new_jobs, part->job) || check_room(plan, part->job, &reason) == OK;
	enum status status = has_room ? plan_part(plan, ingest, part, &reason) : ERR_TOO_LARGE;
	if (is_refusal(status)) {
		ingest->result.refused += part->count + part->point_count;
		atomic_fetch_add(&plan->pipeline->figures.refused_points, part->point_count);
		return OK;
	}
	if (status != OK)
		*err = reason;
	return status;
}

static enum status plan_parts(struct plan *plan, struct ingest *ingest, struct error *err)
{
	size_t first_slice = plan->slice_count;

	for (size_t i = 0; i < ingest->batch->part_count; i++) {
		const struct batch_part *part = &ingest->batch->parts[i];
		if (part->count || part->point_count) /* labels without an entry make no stream */
			TRY(plan_one(plan, ingest, part, err));
	}
	TRY(buf_status(&plan->pipeline->journal.plain, err));
	TRY(buf_status(&plan->pipeline->journal.blocks, err));
	TRY(push_note(plan, ingest, first_slice, err));
	TRY(hosts_note(plan, ingest, first_slice, err));
	TRY(files_note(plan, ingest, first_slice, err));
	return source_note(plan, ingest, err);
}

enum status plan_batch(struct plan *plan, struct ingest *ingest, struct error *err)
{
	struct plan_mark before = mark(plan);

	ingest->result = (struct ingest_result){.seq = plan->seq};
	ingest->source.job_id = 0; /* after a commit that failed the batch is planned again */
	enum status status = plan_parts(plan, ingest, err);
	if (status == OK)
		return OK;
	/* What the batch made (a job, a stream) stays in the transaction and in the plan: empty, and harmless. */
	go_back(plan, &before);
	uint64_t next_offset = ingest->result.next_offset;
	ingest->result = (struct ingest_result){.status = status, .err = *err, .next_offset = next_offset};
	return status;
}

/* After the commit there is no way back: the database is ahead of this process, a restart repairs it. */
static void *must_have(void *pointer)
{
	if (!pointer) {
		log_line(LOG_ERROR, "out_of_memory",
			"where=\"after a commit\" action=\"stopping; nothing is lost, restart\"");
		abort();
	}
	return pointer;
}

static void publish_states(struct plan *plan)
{
	void *value;

	for (size_t at = 0; map_next(plan->new_jobs, &at, NULL, &value);)
		must_have(directory_add(plan->pipeline->directory, value) ? value : NULL);
	for (size_t at = 0; map_next(plan->new_streams, &at, NULL, &value);) {
		struct stream_state *stream = value;
		must_have(job_add_stream(stream->job, stream) ? stream : NULL);
	}
}

static void publish_range(struct pipeline *pipeline, const struct plan_slice *slice)
{
	struct stream_state *stream = slice->stream;

	pthread_mutex_lock(&stream->mutex);
	must_have(mem_grow((void **)&stream->ranges, stream->range_count, &stream->range_cap, sizeof *stream->ranges)
			  ? stream
			  : NULL);
	struct tail_range *range = &stream->ranges[stream->range_count++];
	*range = slice->range;
	if (slice->slice.kind == JOURNAL_BLOCK)
		range->filter = kept_filter_new(&pipeline->kept_filter_bytes, buf_span(&slice->batch->filter));
	stream->unsealed_bytes += slice->range.text_bytes;
	stream->committed_line = slice->range.first_line + slice->range.line_count;
	stream->committed_byte += slice->sent_bytes;
	stream->committed_point += slice->range.point_count;
	stream->last_arrival_ms = slice->range.arrival_ms;
	backdate_note(stream, slice->batch, &slice->batch->parts[slice->part]);
	stream->heard_mono_ms = clock_mono_ms();
	pthread_mutex_unlock(&stream->mutex);
	if (!stream_is_system(span_from(stream->name))) /* a machine measures on while its training hangs */
		stall_note_commit(stream->job, stream->heard_mono_ms);
	atomic_store(&stream->job->touched_ms, slice->range.arrival_ms);
}

/* The content of a block moves from its batch to the group. */
static void take_slice(struct group *group, size_t at, struct plan_slice *planned)
{
	struct journal_slice *slice = &group->slices[at];

	*slice = planned->slice;
	slice->block = SPAN(""); /* is in the journal, and goes with its batch */
	if (slice->kind == JOURNAL_BLOCK) {
		group->contents[at] = planned->batch->content;
		planned->batch->content = BUF_INIT(JOURNAL_RECORD_MAX_BYTES);
		slice->body = buf_span(&group->contents[at]);
		group->bytes += group->contents[at].cap;
	} else {
		slice->body.ptr = group->plain.ptr + planned->body_at;
	}
	group->streams[at] = planned->stream;
	group->definitions[at] = planned->definitions;
	job_ref(planned->stream->job);
}

static struct group *make_group(struct plan *plan, struct buf *plain)
{
	struct group *group = must_have(mem_zeroed(sizeof *group));

	group->seq = plan->seq;
	group->plain = *plain;
	group->bytes = plain->cap;
	*plain = BUF_INIT(plain->max_bytes);
	group->arena = must_have(arena_new());
	group->count = plan->slice_count;
	group->slices = must_have(arena_alloc(group->arena, group->count * sizeof *group->slices));
	group->streams = must_have(arena_alloc(group->arena, group->count * sizeof *group->streams));
	group->definitions = must_have(arena_alloc(group->arena, group->count * sizeof *group->definitions));
	group->contents = must_have(arena_alloc(group->arena, group->count * sizeof *group->contents));
	memset(group->contents, 0, group->count * sizeof *group->contents);
	for (size_t i = 0; i < group->count; i++)
		take_slice(group, i, &plan->slices[i]);
	return group;
}

struct group *plan_publish(struct plan *plan, struct buf *plain)
{
	struct group *group = NULL;

	publish_states(plan);
	for (struct stream_state *stream = plan->touched; stream; stream = stream->next_touched) {
		hosts_publish(stream);
		stream->is_touched = false;
	}
	for (size_t i = 0; i < plan->slice_count; i++)
		publish_range(plan->pipeline, &plan->slices[i]);
	if (plan->slice_count)
		group = make_group(plan, plain);
	close_plan(plan);
	return group;
}
