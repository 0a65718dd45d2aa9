#include "state/streams/stream_rebuild.h"

#include "state/streams/directory.h"
#include "state/streams/stream_head.h"
#include "store/points.h"
#include "store/streams.h"

/* Of which half its numbers are; the other one may have a back-fill's, or what is to be taken away yet. */
static uint32_t choose_base(const struct series_row *rows, size_t count, const struct stream_view *head)
{
	uint64_t points[2] = {0};

	for (size_t i = 0; i < count; i++)
		points[(rows[i].series_id & SERIES_HALF) != 0] += rows[i].sealed_points;
	bool is_head_plausible = head && (head->series_base == 0 || head->series_base == SERIES_HALF);
	if (is_head_plausible && points[head->series_base != 0])
		return head->series_base;
	return points[1] > points[0] ? SERIES_HALF : 0;
}

/* How many points of it are sealed: its chunks know. What has none is made again by the replay, in its order. */
static enum status count_points(
	struct store_reader *reader, struct arena *arena, struct series_row *rows, size_t count, struct error *err)
{
	struct chunk_row last;

	for (size_t i = 0; i < count; i++) {
		TRY(store_read_last_chunk(reader, arena, rows[i].job_id, rows[i].series_id, &last, err));
		rows[i].sealed_points = last.point_count ? last.first_ordinal + last.point_count : 0;
	}
	return OK;
}

static void add_series(const struct stream_row *stream, const struct series_row *row, struct stream_view *out)
{
	out->series[out->series_count++] = (struct series_view){.series_id = row->series_id,
		.metric = row->metric,
		.unit = row->unit,
		.role = row->role,
		.summary = row->sealed,
		.min_step = row->sealed.first_step,
		.max_step = row->sealed.last_step,
		.min_ms = stream->first_ms,
		.max_ms = stream->last_ms,
		.sealed_points = row->sealed_points};
}

/* What stands before the damage, where the whole beginning can be read. */
static void take_head(const struct stream_view *head, uint64_t points, struct stream_view *out)
{
	out->stretches = head->stretches;
	out->last_arrival_ms = head->last_arrival_ms;
	out->sent_points = head->sent_points <= points ? head->sent_points : 0;
}

static void take_rough(struct stream_view *out)
{
	out->stretches = (struct stretches){.is_rough = true};
	if (out->first_ms || out->last_ms)
		stretches_add_stretch(
			&out->stretches, &(struct time_cluster){out->first_ms, out->last_ms, 0, STRETCH_COUNTS_FROM});
}

enum status stream_rebuild_view(struct store_reader *reader, const struct stream_row *row, const struct error *why,
	struct arena *arena, struct stream_view *out, struct error *err)
{
	struct stream_view head = *out;
	struct series_row *rows;
	uint64_t points = 0;
	size_t count;

	enum status status = stream_unpack_view(row->state, arena, &head, NULL);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	bool has_head = status == OK;
	TRY(store_read_series(reader, arena, row->job_id, row->stream_id, SPAN(""), &rows, &count, err));
	TRY(count_points(reader, arena, rows, count, err));
	out->damage = arena_copy(arena, span_from(why->text));
	out->series = arena_alloc(arena, (count + 1) * sizeof *out->series);
	if (!out->damage.ptr || !out->series)
		return error_no_memory(err);
	out->attempt = 1;
	out->last_arrival_ms = row->last_ms;
	out->series_base = choose_base(rows, count, has_head ? &head : NULL);
	for (size_t i = 0; i < count; i++) {
		bool is_shown = (rows[i].series_id & SERIES_HALF) == out->series_base && rows[i].sealed_points;
		if (is_shown)
			add_series(row, &rows[i], out);
		points += is_shown ? rows[i].sealed_points : 0;
	}
	if (has_head)
		take_head(&head, points, out);
	else
		take_rough(out);
	return OK;
}
