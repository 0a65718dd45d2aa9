/*
 * Which machine sends a stream, as its batches state it: a row when that changes, in the transaction of their lines. Machines that come
 * and go in turns share the stream, and nobody knows which of its lines are whose.
 */
#include "base/hash128.h"
#include "base/text/line_time.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/ingest.h"
#include "pipeline/commit/machine_join.h"
#include "pipeline/commit/plan.h"
#include "state/streams/directory.h"
#include "state/streams/host_lines.h"
#include "store/hosts_by_hand.h"

enum {
	/* So soon does nobody give a job its old machine back: whoever is heard again was never gone. */
	SHARED_MS = 15 * 60 * 1000,
	HOSTS_MAX = 1000 /* of a stream; with more it is shared */
};

/* Of one slice, whatever many hosts are stated of it: what is known of the stream is looked up when it is needed first. */
struct noting {
	struct plan *plan;
	const struct plan_slice *slice;
	const struct batch *batch;
	struct stream_state *stream;
	struct arena *arena; /* of the rows */
	struct stream_host_row *rows;
	size_t count, cap;
	bool has_rows; /* as they are now */
	struct stream_host_row stated; /* what each host's row begins with */
	struct stream_host_row next; /* the host that is stated now */
	int64_t last_ms; /* when the newest line before that came */
	bool is_first; /* nothing was sent before */
	bool is_by_hand; /* whose it is was set: what is told changes nothing of that */
};

static enum status put(const struct noting *noting, const struct stream_host_row *row, struct error *err)
{
	return (noting->is_by_hand ? store_put_told_host : store_put_stream_host)(noting->plan->tx, row, err);
}

static uint64_t hash_of(struct span host)
{
	struct hash128 hash = {0};

	for (size_t i = 0; i < host.len; i++) /* names have no case */
		hash128_add_number(&hash, (uint64_t)(unsigned char)span_fold(host.ptr[i]));
	return hash.low | 1;
}

static bool is_of_run(const struct noting *noting)
{
	for (size_t i = noting->count; i-- > 0 && noting->rows[i].is_shared;)
		if (span_equal_fold(noting->rows[i].host, noting->next.host))
			return true;
	return false;
}

/* With which row another machine took over from row i, or from all of those that share with it. */
static const struct stream_host_row *successor(const struct noting *noting, size_t i)
{
	for (size_t j = i + 1; j < noting->count; j++)
		if (!noting->rows[i].is_shared || !noting->rows[j].is_shared)
			return &noting->rows[j];
	return &noting->next;
}

/* It was written before it came. */
static bool is_past(const struct stream_host_row *row)
{
	return row->from_ms && row->from_ms <= row->since_ms;
}

/*
 * A log of the past comes within seconds: by its own times the machine may have been away for long. They count where they rise along all
 * three rows; clocks that differ do not do so for long.
 */
static bool was_away_long(
	const struct stream_host_row *old, const struct stream_host_row *other, const struct stream_host_row *back)
{
	return is_past(other) && is_past(back) && old->from_ms <= other->from_ms &&
	       back->from_ms - other->from_ms >= SHARED_MS;
}

/* The newest row of that host whose lines ended just now; count: there is none. */
static size_t find_return(const struct noting *noting)
{
	for (size_t i = noting->count; i-- > 0;) {
		const struct stream_host_row *row = &noting->rows[i];
		if (!span_equal_fold(row->host, noting->next.host))
			continue;
		const struct stream_host_row *other = successor(noting, i);
		bool is_soon = row->until_ms && noting->next.since_ms - other->since_ms < SHARED_MS &&
			       !was_away_long(row, other, &noting->next);
		return is_soon ? i : noting->count;
	}
	return noting->count;
}

static enum status set_present(struct noting *noting, struct error *err)
{
	struct stream_state *stream = noting->stream;
	struct span host = noting->next.is_shared ? SPAN("") : noting->next.host;

	if (noting->is_by_hand)
		return OK;
	char *planned = mem_copy_bytes(host.ptr, host.len);
	if (!planned)
		return error_no_memory(err);
	mem_free(stream->hosts.planned);
	stream->hosts.planned = planned;
	stream->hosts.is_shared = noting->next.is_shared;
	return store_set_present_host(noting->plan->tx, noting->next.job_id, noting->next.stream_id, host, err);
}

static enum status share(const struct noting *noting, size_t from, struct error *err)
{
	for (size_t i = from; i < noting->count; i++) {
		noting->rows[i].is_shared = true;
		noting->rows[i].until_ms = 0;
		TRY(put(noting, &noting->rows[i], err));
		if (!noting->is_by_hand)
			TRY(store_drop_node_faults(noting->plan->tx, &noting->rows[i], err));
	}
	return OK;
}

/* The last row, or all of those that share, end with the stream's newest line. */
static enum status end_rows(const struct noting *noting, struct error *err)
{
	bool is_run = noting->count && noting->rows[noting->count - 1].is_shared;

	for (size_t i = noting->count; i-- > 0 && (noting->rows[i].is_shared || i + 1 == noting->count);) {
		noting->rows[i].until_ms =
			noting->last_ms > noting->rows[i].since_ms ? noting->last_ms : noting->rows[i].since_ms;
		TRY(put(noting, &noting->rows[i], err));
		if (!is_run)
			break;
	}
	return OK;
}

/* Rows are read once a slice, whatever many hosts it tells of. */
static enum status keep_next(struct noting *noting, struct error *err)
{
	if (noting->count >= noting->cap) {
		size_t cap = 2 * noting->count + 8;
		struct stream_host_row *rows = arena_alloc(noting->arena, cap * sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		for (size_t i = 0; i < noting->count; i++)
			rows[i] = noting->rows[i];
		noting->rows = rows;
		noting->cap = cap;
	}
	noting->rows[noting->count++] = noting->next;
	return OK;
}

static enum status add(struct noting *noting, struct error *err)
{
	size_t back = find_return(noting);

	noting->next.number = noting->count ? noting->rows[noting->count - 1].number + 1 : 0;
	if (noting->is_first) {
		noting->next.number = 0;
		noting->next.from_ms = 0;
	} else if (noting->count >= HOSTS_MAX) {
		noting->next.is_shared = true;
		TRY(share(noting, noting->count - 1, err));
		return set_present(noting, err);
	} else if (back < noting->count) {
		noting->next.is_shared = true;
		TRY(share(noting, back + 1, err));
	} else {
		TRY(end_rows(noting, err));
	}
	TRY(put(noting, &noting->next, err));
	if (!host_lines_add(noting->stream, noting->next.from_line))
		return error_no_memory(err);
	TRY(keep_next(noting, err));
	return set_present(noting, err);
}

/* All of it or nothing: the batch may be the only one of its group that fails. */
static enum status add_whole(struct noting *noting, struct error *err)
{
	TRY(store_tx_savepoint(noting->plan->tx, err));
	enum status status = add(noting, err);
	noting->has_rows = status == OK;
	if (status == OK)
		return store_tx_release(noting->plan->tx, err);
	store_tx_undo(noting->plan->tx);
	return status;
}

/* As of the slices in front of this one, of which only those of earlier commits are published. */
static int64_t last_arrival_ms(const struct plan *plan, const struct plan_slice *slice)
{
	struct stream_state *stream = slice->stream;

	for (const struct plan_slice *at = slice; at-- > plan->slices;)
		if (at->stream == stream)
			return at->range.arrival_ms;
	pthread_mutex_lock(&stream->mutex);
	int64_t last_ms = stream->last_arrival_ms;
	pthread_mutex_unlock(&stream->mutex);
	return last_ms;
}

/* Of the first line that has a time, or shows one. */
static int64_t time_of(const struct batch *batch, const struct plan_slice *slice)
{
	const struct batch_part *part = &batch->parts[slice->part];
	int64_t ts_ms;

	for (size_t i = part->count - slice->range.line_count; i < part->count; i++) {
		const struct line *line = &part->lines[i];
		if (line->ts_ms != NO_TIME)
			return line->ts_ms;
		if (line_time_parse(line->text, batch->arrival_ms, &ts_ms))
			return ts_ms;
	}
	return batch->written_ms ? batch->written_ms : batch->arrival_ms;
}

/* It may have been set by hand in this very transaction. */
static enum status read_rows(struct noting *noting, struct error *err)
{
	const struct stream_host_row *stated = &noting->stated;
	struct store_reader *reader = store_tx_reader(noting->plan->tx);

	arena_free(noting->arena);
	noting->cap = 0;
	if (!(noting->arena = arena_new()))
		return error_no_memory(err);
	TRY(store_has_host_by_hand(reader, stated->job_id, stated->stream_id, &noting->is_by_hand, err));
	TRY((noting->is_by_hand ? store_read_told_hosts : store_read_stream_hosts)(
		reader, noting->arena, stated->job_id, stated->stream_id, &noting->rows, &noting->count, err));
	noting->has_rows = true;
	return OK;
}

static enum status begin(struct noting *noting, struct error *err)
{
	const struct plan_slice *slice = noting->slice;

	if (noting->has_rows)
		return OK;
	if (noting->arena)
		return read_rows(noting, err);
	noting->stated = (struct stream_host_row){.job_id = noting->stream->job->job_id,
		.stream_id = noting->stream->stream_id,
		.from_line = slice->range.first_line,
		.from_ms = time_of(noting->batch, slice),
		.since_ms = slice->range.arrival_ms};
	noting->last_ms = last_arrival_ms(noting->plan, slice);
	return read_rows(noting, err);
}

static enum status look(struct noting *noting, struct span host, bool is_change, struct error *err)
{
	struct stream_state *stream = noting->stream;
	struct span known;

	TRY(begin(noting, err));
	noting->next = noting->stated;
	noting->next.host = host;
	bool is_shared = noting->count && noting->rows[noting->count - 1].is_shared;
	if (noting->is_by_hand && noting->count && !is_shared &&
		span_equal_fold(noting->rows[noting->count - 1].host, host))
		return OK;
	bool is_alone = !is_change && noting->next.since_ms - stream->hosts.changed_ms > SHARED_MS;
	stream->hosts.is_shared = is_shared;
	if ((is_of_run(noting) && !is_alone) || (is_shared && noting->count >= HOSTS_MAX))
		return OK;
	TRY(store_find_spelling(store_tx_reader(noting->plan->tx), noting->arena, host, &known, err));
	noting->next.host = known.len ? known : host;
	TRY(machine_join(noting->plan->tx, noting->next.host, span_from(noting->stream->job->team), err));
	return add_whole(noting, err);
}

static enum status note(struct noting *noting, struct span host, bool is_other, struct error *err)
{
	struct stream_state *stream = noting->stream;
	const struct tail_range *range = &noting->slice->range;
	uint64_t hash = hash_of(host);
	bool is_change = hash != stream->hosts.said_hash;
	struct span present = span_from(stream->hosts.planned ? stream->hosts.planned : stream->host);

	if (is_change) {
		stream->hosts.said_hash = hash;
		stream->hosts.changed_ms = range->arrival_ms;
	}
	/* A machine's own stream bears its name, whoever hands it on. */
	if (present.len && stream_is_system(span_from(stream->name)))
		return OK;
	if (stream->hosts.is_by_hand ? !is_change : span_equal_fold(host, present))
		return OK;
	if (stream->hosts.is_shared && !is_change && range->arrival_ms - stream->hosts.changed_ms <= SHARED_MS)
		return OK;
	noting->is_first = !is_other && !range->first_line && !range->first_point;
	return look(noting, host, is_change, err);
}

static enum status note_all(struct noting *noting, const struct batch_part *part, struct span host, struct error *err)
{
	TRY(note(noting, host, false, err));
	for (size_t i = 0; i < part->other_host_count; i++)
		TRY(note(noting, part->other_hosts[i], true, err));
	return part->other_host_count ? note(noting, host, true, err) : OK;
}

/* Records name their machines where those before them named none: a program's may be of a database that it asks. */
static bool is_late(const struct plan_slice *slice, const struct batch_part *part)
{
	const struct stream_state *stream = slice->stream;
	const char *present = stream->hosts.planned ? stream->hosts.planned : stream->host;

	return part->is_host_of_records && slice->range.first_line && !present[0] && !stream->hosts.is_shared;
}

enum status hosts_note(struct plan *plan, const struct ingest *ingest, size_t first_slice, struct error *err)
{
	const struct batch *batch = ingest->batch;

	for (size_t i = first_slice; i < plan->slice_count; i++) {
		const struct plan_slice *slice = &plan->slices[i];
		const struct batch_part *part = &batch->parts[slice->part];
		struct span host = batch_part_host(batch, part);
		if (!host.len || is_late(slice, part))
			continue;
		struct noting noting = {.plan = plan, .slice = slice, .batch = batch, .stream = slice->stream};
		enum status status = note_all(&noting, part, host, err);
		arena_free(noting.arena);
		TRY(status);
	}
	return OK;
}

void hosts_publish(struct stream_state *stream)
{
	char *before = NULL;

	pthread_mutex_lock(&stream->mutex);
	if (stream->hosts.planned) {
		before = stream->host;
		stream->host = stream->hosts.planned;
	}
	stream->host_lines.count += stream->host_lines.planned;
	stream->host_lines.planned = 0;
	pthread_mutex_unlock(&stream->mutex);
	stream->hosts.planned = NULL;
	mem_free(before);
}

void hosts_abandon(struct stream_state *stream)
{
	mem_free(stream->hosts.planned);
	stream->hosts.planned = NULL;
	stream->hosts.is_shared = false; /* read again */
	pthread_mutex_lock(&stream->mutex);
	stream->host_lines.planned = 0;
	pthread_mutex_unlock(&stream->mutex);
}
