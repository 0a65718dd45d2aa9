/* Which stream is rank 0's: what the log says of it goes before what can be guessed. */
#include "read/charts/rank_0.h"

#include "model/metrics/stream_name.h"
#include "state/streams/job_view.h"
#include "store/job_facts.h"

enum { REASON_BYTES = 1024 };

/* node-3.cluster.local is node-3. */
static bool is_host(struct span name, struct span host)
{
	ptrdiff_t dot = span_find_char(host, '.');

	return name.len && (span_equal(name, host) || (dot > 0 && span_equal(name, span_of(host.ptr, (size_t)dot))));
}

/* algo-4 has been algo-4-1600000000 and is algo-4-1700000000: the newest is meant. */
static bool is_made_of(struct span name, struct span host)
{
	return stream_cut_suffix(&name).len && is_host(name, host);
}

static const struct stream_view *of_host(const struct job_view *view, struct span host)
{
	const struct stream_view *newest = NULL;

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		if (stream_is_system(stream->name))
			continue;
		if (is_host(stream->name, host) || is_host(stream->host, host))
			return stream;
		if (is_made_of(stream->name, host) && (!newest || span_compare(newest->name, stream->name) < 0))
			newest = stream;
	}
	return newest;
}

static const struct setting_row *find_setting(const struct setting_row *rows, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].key, span_from(key)))
			return &rows[i];
	return NULL;
}

static enum status say(struct rank_0 *out, struct arena *arena, const struct stream_view *stream,
	const struct buf *reason, struct error *err)
{
	out->stream = stream->name;
	out->reason = arena_copy(arena, buf_span(reason));
	return out->reason.ptr ? OK : error_no_memory(err);
}

static enum status find_named(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct rank_0 *out, struct error *err)
{
	static const char *const keys[] = {"master_hostname", "MASTER_ADDR", "master_addr", "connect_to"};
	AUTO_DONE(buf) reason = BUF_INIT(REASON_BYTES);
	struct setting_row *rows;
	size_t count;

	TRY(store_read_settings(reader, arena, view->row.job_id, &rows, &count, err));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct setting_row *row = find_setting(rows, count, keys[i]);
		const struct stream_view *stream = row ? of_host(view, row->value) : NULL;
		if (!stream)
			continue;
		buf_printf(&reason, "%.*s says %s %.*s in line %llu", SPAN_ARGS(row->stream), keys[i],
			SPAN_ARGS(row->value), (unsigned long long)row->line);
		return say(out, arena, stream, &reason, err);
	}
	return OK;
}

static bool has_loss(const struct stream_view *stream)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i].role == ROLE_LOSS && stream->series[i].summary.count)
			return true;
	return false;
}

/* algo-10 comes behind algo-9. */
static bool is_before(struct span a, struct span b)
{
	return a.len != b.len ? a.len < b.len : memcmp(a.ptr, b.ptr, a.len) < 0;
}

static enum status guess(struct arena *arena, const struct job_view *view, struct rank_0 *out, struct error *err)
{
	const struct stream_view *speaker = NULL, *first = NULL;
	AUTO_DONE(buf) reason = BUF_INIT(REASON_BYTES);
	size_t speakers = 0, ranks = 0;

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		if (stream_is_system(stream->name))
			continue;
		ranks++;
		if (has_loss(stream)) {
			speaker = stream;
			speakers++;
		}
		if (!first || is_before(stream->name, first->name))
			first = stream;
	}
	if (!ranks)
		return OK;
	if (ranks == 1)
		buf_append_text(&reason, "the only stream");
	else if (speakers == 1)
		buf_append_text(&reason, "it alone prints the loss");
	else
		buf_append_text(&reason, "the first by its name; the log does not say");
	return say(out, arena, speakers == 1 ? speaker : first, &reason, err);
}

enum status rank_0_find(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct rank_0 *out, struct error *err)
{
	*out = (struct rank_0){SPAN(""), SPAN("")};
	if (!view->stream_count)
		return OK;
	TRY(find_named(reader, arena, view, out, err));
	return out->stream.len ? OK : guess(arena, view, out, err);
}
