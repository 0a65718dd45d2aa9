#include "read/logs/log_groups.h"

#include "base/map.h"
#include "read/logs/message_key.h"
#include "store/jobs.h"
#include "store/streams.h"

#include <stdlib.h>

struct message {
	uint64_t lines;
	struct log_place first;
	int64_t last_ms;
	uint32_t *streams; /* by number */
	size_t stream_count, stream_cap;
	size_t len;
	bool is_cut;
	char text[LOG_GROUP_TEXT_BYTES];
};

struct grouping {
	struct map *by_key;
	struct message **messages;
	size_t count, cap;
	uint64_t lines, ungrouped;
	bool has_no_memory;
};

static void forget(struct grouping *grouping)
{
	for (size_t i = 0; i < grouping->count; i++) {
		mem_free(grouping->messages[i]->streams);
		mem_free(grouping->messages[i]);
	}
	map_free(grouping->by_key);
	grouping->by_key = NULL;
	grouping->count = 0;
	grouping->lines = grouping->ungrouped = 0;
}

static void grouping_done(struct grouping *grouping)
{
	forget(grouping);
	mem_free(grouping->messages);
}
AUTO_DONE_TYPE(grouping)

static void begin(void *context)
{
	struct grouping *grouping = context;

	forget(grouping);
	grouping->by_key = map_new();
	grouping->has_no_memory = !grouping->by_key;
}

static bool note_stream(struct message *message, uint32_t stream_id)
{
	size_t at = message->stream_count;

	while (at && message->streams[at - 1] > stream_id)
		at--;
	if (at && message->streams[at - 1] == stream_id)
		return true;
	if (!mem_grow(
		    (void **)&message->streams, message->stream_count, &message->stream_cap, sizeof *message->streams))
		return false;
	memmove(message->streams + at + 1, message->streams + at,
		(message->stream_count++ - at) * sizeof *message->streams);
	message->streams[at] = stream_id;
	return true;
}

static void say_first(struct message *message, const struct log_place *place, const struct line *line)
{
	struct span text = span_cut(line->text, sizeof message->text);

	message->first = *place;
	message->len = text.len;
	message->is_cut = text.len < line->text.len || line->flags & LINE_CUT;
	if (text.len)
		memcpy(message->text, text.ptr, text.len);
}

static struct message *add_message(struct grouping *grouping, struct span key, const struct log_place *place)
{
	struct message *message;

	if (!mem_grow((void **)&grouping->messages, grouping->count, &grouping->cap, sizeof *grouping->messages) ||
		!(message = mem_zeroed(sizeof *message)))
		return NULL;
	if (!map_put(grouping->by_key, key, message)) {
		mem_free(message);
		return NULL;
	}
	message->first = *place;
	message->last_ms = place->ts_ms;
	return grouping->messages[grouping->count++] = message;
}

/* Blocks come with the oldest first: what finds no room is hardly ever before what has some. */
static void take_line(void *context, uint32_t stream_id, uint64_t number, const struct line *line)
{
	struct grouping *grouping = context;
	struct log_place place = {line->ts_ms, stream_id, number};
	struct hash128 hash = message_key(line->text);
	struct span key = span_of((const char *)&hash, sizeof hash);
	struct message *message;

	if (grouping->has_no_memory)
		return;
	grouping->lines++;
	message = map_get(grouping->by_key, key);
	if (!message && grouping->count == LOG_GROUPS_MAX) {
		grouping->ungrouped++;
		return;
	}
	if (!message)
		message = add_message(grouping, key, &place);
	if (!message || !note_stream(message, stream_id)) {
		grouping->has_no_memory = true;
		return;
	}
	if (!message->lines++ || log_place_is_before(&place, &message->first))
		say_first(message, &place, line);
	message->last_ms = place.ts_ms > message->last_ms ? place.ts_ms : message->last_ms;
}

static int by_first(const void *a, const void *b)
{
	const struct log_place *left = &(*(struct message *const *)a)->first;
	const struct log_place *right = &(*(struct message *const *)b)->first;

	return log_place_is_before(left, right) ? -1 : log_place_is_before(right, left);
}

static struct span name_of(uint32_t stream_id, const struct stream_row *streams, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (streams[i].stream_id == stream_id)
			return streams[i].name;
	return SPAN("");
}

static enum status copy_message(struct arena *arena, const struct message *message, const struct stream_row *streams,
	size_t stream_count, struct log_group *out, struct error *err)
{
	*out = (struct log_group){.lines = message->lines,
		.first = message->first,
		.last_ms = message->last_ms,
		.text = arena_copy(arena, span_of(message->text, message->len)),
		.stream = name_of(message->first.stream_id, streams, stream_count),
		.is_cut = message->is_cut,
		.stream_count = message->stream_count};
	if (!out->text.ptr)
		return error_no_memory(err);
	for (size_t i = 0; i < message->stream_count && i < LOG_GROUP_STREAMS; i++)
		out->named[out->named_count++] = name_of(message->streams[i], streams, stream_count);
	return OK;
}

static enum status copy_groups(struct grouping *grouping, struct store_reader *reader, struct arena *arena,
	const struct log_search *search, struct log_groups *out, struct error *err)
{
	struct stream_row *streams;
	struct job_row job;
	size_t stream_count;

	TRY(store_read_job(reader, arena, search->job, &job, err));
	TRY(store_read_streams(reader, arena, job.job_id, SPAN(""), &streams, &stream_count, err));
	if (grouping->count)
		qsort(grouping->messages, grouping->count, sizeof(struct message *), by_first);
	out->found = grouping->count;
	out->lines = grouping->lines;
	out->ungrouped = grouping->ungrouped;
	size_t wanted = grouping->count < search->limit ? grouping->count : search->limit;
	out->groups = arena_alloc(arena, (wanted + 1) * sizeof *out->groups);
	if (!out->groups)
		return error_no_memory(err);
	for (; out->count < wanted; out->count++)
		TRY(copy_message(
			arena, grouping->messages[out->count], streams, stream_count, &out->groups[out->count], err));
	return OK;
}

enum status log_groups_find(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct log_search *search, struct log_groups *out, struct error *err)
{
	AUTO_DONE(grouping) grouping = {0};
	struct log_counter counter = {.begin = begin, .take = take_line, .context = &grouping};
	struct log_search all = *search;
	struct log_search_result result;

	*out = (struct log_groups){0};
	all.oldest_first = true;
	all.wants_histogram = false;
	all.limit = 0;
	all.counter = &counter;
	TRY(log_search_run(pipeline, reader, arena, &all, &result, err));
	if (grouping.has_no_memory)
		return error_no_memory(err);
	out->is_partial = result.is_partial;
	out->limited = result.limited;
	return copy_groups(&grouping, reader, arena, search, out, err);
}
