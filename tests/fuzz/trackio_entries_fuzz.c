/* Bodies of bulk_log: whatever they are, the batch counts what it holds, an entry is a part of its own, and an error has a text. */
#include "model/metrics/batch_points.h"
#include "trackio/points_in.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taking {
	struct points_in in;
	struct arena *arena;
	size_t entries, marked;
};

static enum status take(void *context, struct json_scan *s, struct error *err)
{
	struct taking *taking = context;
	struct trackio_entry entry = {.list = "logs", .at = taking->entries++};

	TRY(trackio_entry_read(s, taking->arena, &entry, err));
	if (!entry.project.len || !entry.run.len)
		abort();
	taking->in.is_system = entry.step == NO_STEP;
	taking->marked += entry.log_id.len && entry.metrics.len;
	return entry.metrics.len ? points_in_add(&taking->in, &entry, err) : OK;
}

static void check(const struct taking *taking)
{
	const struct batch *batch = taking->in.batch;
	size_t points = 0, marked = 0;

	for (size_t i = 0; i < batch->part_count; i++) {
		const struct batch_part *part = &batch->parts[i];
		marked += part->is_push;
		if (part->series_count > taking->in.max_series)
			abort();
		for (size_t j = 0; j < part->series_count; j++)
			points += part->series[j].count;
	}
	if (points != batch->point_count || marked != taking->marked || batch->part_count > taking->entries)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(batch) batch = batch_new(INT64_C(1700000000000));
	AUTO(arena) arena = arena_new();
	struct taking taking = {.in = {.batch = batch,
					.job = SPAN("p/r"),
					.stream = SPAN("s"),
					.now_ms = INT64_C(1700000000000),
					.max_series = 3},
		.arena = arena};
	struct span body = span_of((const char *)data, size), text;
	struct error err = {0};

	if (!batch || !arena)
		return 0;
	enum status status = trackio_each_entry(body, "logs", take, &taking, &err);
	if (status != OK && !err.text[0])
		abort();
	if (status == OK)
		check(&taking);
	err = (struct error){0};
	if (trackio_text(body, "project", arena, TRACKIO_NAME_MAX_BYTES, &text, &err) == OK
			? text.len > TRACKIO_NAME_MAX_BYTES
			: !err.text[0])
		abort();
	return 0;
}
