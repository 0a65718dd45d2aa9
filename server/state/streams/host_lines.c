/* From which lines on another machine sends a stream, for those who read its lines. */
#include "state/streams/host_lines.h"

#include "state/streams/directory.h"
#include "store/hosts_by_hand.h"

bool host_lines_add(struct stream_state *stream, uint64_t from_line)
{
	struct host_lines *lines = &stream->host_lines;

	pthread_mutex_lock(&stream->mutex);
	bool has_room = mem_grow((void **)&lines->at, lines->count + lines->planned, &lines->cap, sizeof *lines->at);
	if (has_room)
		lines->at[lines->count + lines->planned++] = from_line;
	pthread_mutex_unlock(&stream->mutex);
	return has_room;
}

enum status host_lines_load(struct store_reader *reader, struct stream_state *stream, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stream_host_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_has_host_by_hand(reader, stream->job->job_id, stream->stream_id, &stream->hosts.is_by_hand, err));
	TRY((stream->hosts.is_by_hand ? store_read_told_hosts : store_read_stream_hosts)(
		reader, arena, stream->job->job_id, stream->stream_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		if (rows[i].from_line && !host_lines_add(stream, rows[i].from_line))
			return error_no_memory(err);
	stream->host_lines.count += stream->host_lines.planned;
	stream->host_lines.planned = 0;
	return OK;
}

void host_lines_set_host(struct stream_state *stream, char *host, bool is_by_hand)
{
	pthread_mutex_lock(&stream->mutex);
	char *before = stream->host;
	stream->host = host;
	pthread_mutex_unlock(&stream->mutex);
	mem_free(before);
	mem_free(stream->hosts.planned); /* of lines before the change, in the same transaction */
	stream->hosts.planned = NULL;
	stream->hosts.is_by_hand = is_by_hand;
	stream->hosts.is_shared = false; /* read again */
	stream->hosts.said_hash = 0;
}

bool host_lines_change_within(const struct stream_state *stream, uint64_t behind, uint64_t line)
{
	for (size_t i = stream->host_lines.count; i-- > 0;)
		if (stream->host_lines.at[i] > behind && stream->host_lines.at[i] <= line)
			return true;
	return false;
}

uint32_t host_lines_number(const struct stream_state *stream, uint64_t line)
{
	size_t number = stream->host_lines.count;

	while (number && stream->host_lines.at[number - 1] > line)
		number--;
	return (uint32_t)number;
}
