/* Which machine sends a stream, and which did before: members of the stream's object. */
#include "api/core/hosts.h"

#include "base/json/json_write.h"
#include "state/streams/job_view.h"
#include "store/hosts_by_hand.h"

enum status api_read_hosts(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct api_hosts *out, struct error *err)
{
	TRY(store_read_hosts_by_hand(reader, arena, job_id, &out->set, &out->set_count, err));
	return store_read_stream_hosts(reader, arena, job_id, 0, &out->rows, &out->count, err);
}

/* They come by stream. */
static const struct stream_host_row *find(const struct api_hosts *hosts, uint32_t stream_id, size_t *count)
{
	size_t low = 0, high = hosts->count;

	while (low < high) {
		size_t at = low + (high - low) / 2;
		if (hosts->rows[at].stream_id < stream_id)
			low = at + 1;
		else
			high = at;
	}
	for (*count = 0; low + *count < hosts->count && hosts->rows[low + *count].stream_id == stream_id;)
		++*count;
	return hosts->rows + low;
}

/* A change came with a line: when that was written, where it says so; of the stream's first one, when it begins. */
static int64_t change_ms(const struct stream_host_row *row, const struct stream_view *stream)
{
	if (row->from_ms)
		return row->from_ms;
	return stream->first_ms && stream->first_ms < row->since_ms ? stream->first_ms : row->since_ms;
}

/* When another one took over from rows[at], or from all of those that share with it. */
static int64_t end_ms(const struct stream_host_row *rows, size_t count, size_t at, const struct stream_view *stream)
{
	for (size_t i = at + 1; i < count; i++)
		if (rows[i].since_ms >= rows[at].until_ms && !(rows[at].is_shared && rows[i].is_shared))
			return change_ms(&rows[i], stream);
	return rows[at].until_ms;
}

static void write_row(const struct stream_host_row *rows, size_t count, size_t at, const struct stream_view *stream,
	struct json_writer *w)
{
	const struct stream_host_row *row = &rows[at];

	json_object(w);
	json_put_span(w, "host", row->host);
	json_put_i64(w, "from_line", (int64_t)row->from_line);
	json_put_i64(w, "since_ms", change_ms(row, stream));
	if (row->until_ms)
		json_put_i64(w, "until_ms", end_ms(rows, count, at, stream));
	if (row->is_shared)
		json_put_bool(w, "shared", true);
	json_object_end(w);
}

uint64_t api_write_hosts(struct json_writer *w, const struct api_hosts *hosts, const struct stream_view *stream)
{
	size_t count;
	const struct stream_host_row *rows = find(hosts, stream->stream_id, &count);

	json_put_span(w, "host", stream->host);
	for (size_t i = 0; i < hosts->set_count; i++)
		if (hosts->set[i].stream_id == stream->stream_id)
			json_put_text(w, "host_from", "by_hand");
	if (!count || (count == 1 && !rows->from_line))
		return 0;
	const struct stream_host_row *last = &rows[count - 1];
	if (last->is_shared)
		json_put_bool(w, "shared", true);
	json_key(w, "hosts");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		write_row(rows, count, i, stream, w);
	json_array_end(w);
	return last->is_shared ? UINT64_MAX : last->from_line;
}
