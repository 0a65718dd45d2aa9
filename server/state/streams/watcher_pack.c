#include "state/streams/watcher_pack.h"

#include "state/streams/directory.h"

enum { STATE_MAX_BYTES = 1 << 20, WATCHER_MIN_BYTES = 4 };

static void pack_one(const struct watcher *watcher, uint32_t series_id, struct buf *out)
{
	AUTO_DONE(buf) state = BUF_INIT(STATE_MAX_BYTES);

	if (watcher->watch)
		watch_pack(watcher->watch, &state);
	else
		buf_append(&state, watcher->packed, watcher->packed_len);
	pack_u64(out, series_id);
	pack_i64(out, watcher->rule_id);
	pack_u64(out, watcher->since_seq);
	pack_span(out, buf_span(&state));
	if (state.failure)
		out->failure = state.failure;
}

void watchers_pack(const struct stream_state *stream, struct buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < stream->series_count; i++)
		count += stream->series[i]->watcher_count;
	if (!count)
		return;
	pack_u64(out, count);
	for (size_t i = 0; i < stream->series_count; i++)
		for (size_t j = 0; j < stream->series[i]->watcher_count; j++)
			pack_one(&stream->series[i]->watchers[j], stream->series[i]->series_id, out);
}

static enum status add(struct stream_state *stream, uint32_t series_id, const struct watcher *watcher,
	struct span state, struct error *err)
{
	struct series_state *series = NULL;

	for (size_t i = 0; i < stream->series_count && !series; i++)
		if (stream->series[i]->series_id == series_id)
			series = stream->series[i];
	if (!series)
		return error_set(
			err, ERR_IO, "the sealed state of a stream is damaged: it watches no series of its own");
	size_t cap = series->watcher_count;
	if (!mem_grow((void **)&series->watchers, series->watcher_count, &cap, sizeof *series->watchers))
		return error_no_memory(err);
	struct watcher *at = &series->watchers[series->watcher_count++];
	*at = *watcher;
	at->packed_len = state.len;
	at->packed = mem_copy_bytes(state.ptr, state.len);
	return at->packed ? OK : error_no_memory(err);
}

enum status watchers_unpack(struct stream_state *stream, struct unpacker *in, struct error *err)
{
	size_t count = in->rest.len ? unpack_count(in, WATCHER_MIN_BYTES) : 0;

	for (size_t i = 0; i < count && !in->has_failed; i++) {
		uint32_t series_id = (uint32_t)unpack_u64(in);
		struct watcher watcher = {.rule_id = unpack_i64(in), .since_seq = unpack_u64(in)};
		struct span state = unpack_span(in);
		if (!in->has_failed)
			TRY(add(stream, series_id, &watcher, state, err));
	}
	return OK;
}
