#include "state/nccl_likely.h"

#include "fleet/nccl_work.h"
#include "state/jobs/history.h"
#include "store/faults.h"
#include "store/stream_hosts.h"
#include "store/transitions.h"

enum {
	LINES_MAX = 1024, /* with more nothing is said: it would be of a part of the ranks */
	TEXT_BYTES = 1024,
	APART_MAX_MS = 2 * 60 * 1000, /* ranks time out seconds apart */
	SETTLED_MS = 30 * 1000
};

static const struct span signatures[] = {{"nccl_timeout", 12}, {"nccl_watchdog", 13}};

struct looking {
	struct arena *arena;
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

/* ---- what may be compared ---- */

static int64_t attempt_began_ms(const struct transition_row *rows, size_t count)
{
	while (count-- > 0)
		if (phase_is_resume(rows[count].status))
			return rows[count].start_ms;
	return 0;
}

/* All of one attempt and moment, the last of it long enough ago that no rank is still to come. */
static bool is_settled(const struct looking *in, int64_t began_ms, int64_t now_ms)
{
	int64_t first_ms = in->hits[0].row.first_ms, last_ms = first_ms; /* they are by time */

	for (size_t i = 0; i < in->count; i++)
		last_ms = in->hits[i].row.last_ms > last_ms ? in->hits[i].row.last_ms : last_ms;
	return first_ms >= began_ms && last_ms - first_ms <= APART_MAX_MS && last_ms + SETTLED_MS <= now_ms;
}

/* Does somebody say that it is a collective, and nobody that it is not? */
static bool are_collectives(const struct looking *in)
{
	bool is_told, is_any_told = false;

	for (size_t i = 0; i < in->count; i++) {
		bool is_collective = nccl_work_is_collective(in->hits[i].row.text, &is_told);
		if (is_told && !is_collective)
			return false;
		is_any_told = is_any_told || is_told;
	}
	return is_any_told;
}

static enum status find_behind(const struct looking *in, struct nccl_behind *out, bool *is_found, struct error *err)
{
	struct nccl_rank *rows = arena_alloc(in->arena, (in->count + 1) * sizeof *rows);
	size_t count = 0;

	if (!rows)
		return error_no_memory(err);
	for (size_t i = 0; i < in->count; i++) {
		if (!nccl_work_read(in->hits[i].row.text, &rows[count].work))
			continue;
		rows[count].hit = i;
		rows[count++].place = in->places[i];
	}
	*is_found = nccl_work_find_behind(rows, count, out);
	return OK;
}

/* ---- in words ---- */

static void say(struct buf *out, const struct nccl_behind *behind)
{
	if (behind->ranks > 1)
		buf_printf(out, "%zu ranks", behind->ranks);
	else
		buf_printf(out, "rank %lld", (long long)behind->first->work.rank);
	buf_printf(out, " stopped at work %lld, the %zu others at %lld", (long long)behind->first->work.completed,
		behind->others, (long long)behind->others_least);
	if (behind->others_most > behind->others_least)
		buf_printf(out, " to %lld", (long long)behind->others_most);
}

static enum status judge(const struct looking *in, struct nccl_likely *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	struct nccl_behind behind;
	bool is_found;

	TRY(find_behind(in, &behind, &is_found, err));
	if (!is_found)
		return OK;
	say(&text, &behind);
	TRY(buf_status(&text, err));
	out->text = arena_copy(in->arena, buf_span(&text));
	if (behind.is_alone) {
		const struct said_hit *hit = &in->hits[behind.first->hit];
		out->host = host_of(in, hit->row.stream_id, hit->row.first_line);
		out->stream = hit->stream;
	}
	return out->text.ptr ? OK : error_no_memory(err);
}

enum status nccl_likely_find(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, int64_t now_ms, struct nccl_likely *out, struct error *err)
{
	struct looking in = {.arena = arena};
	struct transition_row *transitions;
	size_t transition_count;

	*out = (struct nccl_likely){SPAN(""), SPAN(""), SPAN("")};
	TRY(store_read_hits_of(
		reader, arena, job_id, signatures, from_ms - APART_MAX_MS, to_ms, LINES_MAX, &in.hits, &in.count, err));
	if (!in.count || in.count == LINES_MAX)
		return OK;
	TRY(store_read_transitions(reader, arena, job_id, &transitions, &transition_count, err));
	if (!is_settled(&in, attempt_began_ms(transitions, transition_count), now_ms))
		return OK;
	TRY(store_read_stream_hosts(reader, arena, job_id, 0, &in.hosts, &in.host_count, err));
	TRY(read_places(&in, err));
	return are_collectives(&in) ? judge(&in, out, err) : OK;
}

void nccl_likely_write(const struct nccl_likely *likely, struct json_writer *w)
{
	if (!likely->text.len)
		return;
	json_key(w, "likely");
	json_object(w);
	if (likely->host.len)
		json_put_span(w, "host", likely->host);
	if (likely->stream.len)
		json_put_span(w, "stream", likely->stream);
	json_put_span(w, "text", likely->text);
	json_object_end(w);
}
