#include "state/nccl_likely.h"

#include "fleet/nccl_work.h"
#include "model/metrics/stream_name.h"
#include "state/streams/directory.h"
#include "store/faults.h"
#include "store/stream_hosts.h"

enum {
	LINES_MAX = 1024, /* with more nothing is said: it would be of a part of the ranks */
	TEXT_BYTES = 1024,
	TIMEOUT_MOST_MS = 2 * 60 * 60 * 1000 /* so long before the first complaint the one that hangs was heard of */
};

static const struct span signatures[] = {{"nccl_timeout", 12}, {"nccl_watchdog", 13}};

struct looking {
	struct arena *arena;
	struct job_state *job; /* NULL: it is not in memory */
	struct stream_host_row *hosts; /* by stream and number */
	size_t host_count;
	struct said_hit *hits; /* of both signatures, by time */
	struct span *places; /* of each: its machine, or else its stream */
	size_t count;
};

bool nccl_likely_is_asked(struct span signature)
{
	return span_equal(signature, signatures[0]) || span_equal(signature, signatures[1]);
}

/* ---- whose a line is ---- */

/* "": nobody says, or several send it. */
static struct span host_of(const struct looking *in, uint32_t stream_id, uint64_t line)
{
	const struct stream_host_row *last = NULL;

	for (size_t i = 0; i < in->host_count; i++)
		if (in->hosts[i].stream_id == stream_id && in->hosts[i].from_line <= line)
			last = &in->hosts[i];
	return last && !last->is_shared ? last->host : SPAN("");
}

static enum status read_places(struct looking *in, struct error *err)
{
	in->places = arena_alloc(in->arena, (in->count + 1) * sizeof *in->places);
	if (!in->places)
		return error_no_memory(err);
	for (size_t i = 0; i < in->count; i++) {
		struct span host = host_of(in, in->hits[i].row.stream_id, in->hits[i].row.first_line);
		in->places[i] = host.len ? host : in->hits[i].stream;
	}
	return OK;
}

static bool complains(const struct looking *in, struct span place)
{
	for (size_t i = 0; i < in->count; i++)
		if (span_equal(in->places[i], place))
			return true;
	return false;
}

/* One alone, beside one that is heard of late, says nothing of the other. */
static bool do_several_complain(const struct looking *in)
{
	for (size_t i = 1; i < in->count; i++)
		if (!span_equal(in->places[i], in->places[0]))
			return true;
	return false;
}

/* ---- who says nothing ---- */

struct silent {
	struct span host, stream;
	size_t machines;
};

static enum status look_at(
	const struct looking *in, struct stream_state *stream, int64_t since_ms, struct silent *out, struct error *err)
{
	struct span name = span_from(stream->name), host = host_of(in, stream->stream_id, NO_LINE);

	pthread_mutex_lock(&stream->mutex);
	int64_t last_ms = stream->last_ms;
	pthread_mutex_unlock(&stream->mutex);
	if (stream_is_system(name) || last_ms < since_ms || complains(in, host.len ? host : name))
		return OK;
	if (out->machines && host.len && span_equal(out->host, host))
		return OK;
	out->machines++;
	out->host = host;
	out->stream = arena_copy(in->arena, name);
	return out->stream.ptr ? OK : error_no_memory(err);
}

/* Of streams that are in memory; those that were silent long before are none that hang. */
static enum status find_silent(const struct looking *in, struct silent *out, struct error *err)
{
	int64_t since_ms = in->hits[0].row.first_ms - TIMEOUT_MOST_MS;
	struct stream_state *stream;

	*out = (struct silent){.host = SPAN("")};
	if (!in->job || !do_several_complain(in))
		return OK;
	for (size_t i = 0; out->machines < 2 && (stream = job_stream_at(in->job, i)); i++)
		TRY(look_at(in, stream, since_ms, out, err));
	return OK;
}

/* ---- who stopped first ---- */

static enum status find_behind(const struct looking *in, struct nccl_behind *out, const struct said_hit **of,
	int64_t *rank, bool *is_found, struct error *err)
{
	struct nccl_rank *rows = arena_alloc(in->arena, (in->count + 1) * sizeof *rows);
	const struct said_hit **hits = arena_alloc(in->arena, (in->count + 1) * sizeof *hits);
	size_t count = 0;

	if (!rows || !hits)
		return error_no_memory(err);
	for (size_t i = 0; i < in->count; i++) {
		if (!nccl_work_read(in->hits[i].row.text, &rows[count].work))
			continue;
		rows[count].place = in->places[i];
		hits[count++] = &in->hits[i];
	}
	*is_found = nccl_work_find_behind(rows, count, out);
	if (*is_found) {
		*of = hits[out->at];
		*rank = rows[out->at].work.rank;
	}
	return OK;
}

/* ---- in words ---- */

static void say_behind(struct buf *out, const struct nccl_behind *behind, int64_t rank)
{
	if (behind->ranks > 1)
		buf_printf(out, "%zu ranks", behind->ranks);
	else
		buf_printf(out, "rank %lld", (long long)rank);
	buf_printf(out, " stopped at work %lld, ", (long long)behind->completed);
	if (behind->others > 1)
		buf_printf(out, "the %zu others at %lld", behind->others, (long long)behind->others_least);
	else
		buf_printf(out, "the other one at %lld", (long long)behind->others_least);
	if (behind->others_most > behind->others_least)
		buf_printf(out, " to %lld", (long long)behind->others_most);
}

static enum status name(const struct looking *in, const struct said_hit *behind, const struct silent *silent,
	struct buf *text, struct nccl_likely *out, struct error *err)
{
	out->host = behind ? host_of(in, behind->row.stream_id, behind->row.first_line) : silent->host;
	out->stream = behind ? behind->stream : silent->stream;
	out->place = out->host.len ? out->host : out->stream;
	TRY(buf_status(text, err));
	out->text = arena_copy(in->arena, buf_span(text));
	return out->text.ptr ? OK : error_no_memory(err);
}

static enum status judge(const struct looking *in, struct nccl_likely *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	const struct said_hit *of = NULL;
	struct nccl_behind behind;
	struct silent silent;
	int64_t rank = 0;
	bool is_behind;

	TRY(find_behind(in, &behind, &of, &rank, &is_behind, err));
	TRY(find_silent(in, &silent, err));
	if (is_behind)
		say_behind(&text, &behind, rank);
	if (silent.machines == 1)
		buf_printf(&text, "%s%.*s says nothing of it%s", is_behind ? "; " : "",
			SPAN_ARGS(silent.host.len ? silent.host : silent.stream), is_behind ? "" : ", all others do");
	return text.len ? name(in, of, &silent, &text, out, err) : OK;
}

enum status nccl_likely_find(struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_state *job,
	int64_t from_ms, int64_t to_ms, struct nccl_likely *out, struct error *err)
{
	struct looking in = {.arena = arena, .job = job};

	*out = (struct nccl_likely){SPAN(""), SPAN(""), SPAN(""), SPAN("")};
	TRY(store_read_hits_of(reader, arena, job_id, signatures, from_ms, to_ms, LINES_MAX, &in.hits, &in.count, err));
	if (!in.count || in.count == LINES_MAX)
		return OK;
	TRY(store_read_stream_hosts(reader, arena, job_id, 0, &in.hosts, &in.host_count, err));
	TRY(read_places(&in, err));
	return judge(&in, out, err);
}

void nccl_likely_write(const struct nccl_likely *likely, struct json_writer *w)
{
	if (!likely->place.len)
		return;
	json_key(w, "likely");
	json_object(w);
	if (likely->host.len)
		json_put_span(w, "host", likely->host);
	json_put_span(w, "stream", likely->stream);
	json_put_span(w, "text", likely->text);
	json_object_end(w);
}
