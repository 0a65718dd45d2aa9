/* Where stretches of a stream's signatures are cut. */
#include "state/streams/sign_cuts.h"

#include "model/jobs/by_hand.h"
#include "state/streams/directory.h"
#include "store/carry.h"
#include "store/faults.h"
#include "store/jobs.h"

static bool has_signs(struct stream_state *stream)
{
	return stream->signs || (stream->signs = signs_new());
}

static bool add(struct stream_state *stream, uint64_t first_line, uint64_t last_line)
{
	struct sign_cuts *cuts = has_signs(stream) ? &stream->signs->cuts : NULL;

	if (!cuts || !mem_grow((void **)&cuts->at, cuts->count, &cuts->cap, sizeof *cuts->at))
		return false;
	cuts->at[cuts->count++] = (struct sign_cut){first_line, last_line};
	return true;
}

static bool add_begun(struct stream_state *stream, uint64_t line)
{
	struct sign_cuts *cuts = has_signs(stream) ? &stream->signs->cuts : NULL;

	if (!cuts || !mem_grow((void **)&cuts->begun, cuts->begun_count, &cuts->begun_cap, sizeof *cuts->begun))
		return false;
	cuts->begun[cuts->begun_count++] = line;
	return true;
}

/* One that no line is known of yet will be cleared as it comes. */
static enum status load_cleared(struct stream_state *stream, struct span text, const struct signature_hit_row *hits,
	size_t count, struct error *err)
{
	AUTO(json) document = NULL;
	struct span name;
	uint64_t line;

	if (span_find(text, SPAN("\"faults\"")) < 0)
		return OK;
	TRY(json_parse(&document, text, err));
	const struct json *faults = json_get_path(document, "by_hand.faults");
	for (const struct json *at = faults ? json_first(faults) : NULL; at; at = json_next(at)) {
		if (!by_hand_read_place(json_key_of(at), &name, &line) || !span_equal(name, span_from(stream->name)))
			continue;
		for (size_t i = 0; i < count; i++)
			if (hits[i].first_line == line && !add(stream, line, hits[i].last_line))
				return error_no_memory(err);
	}
	return OK;
}

enum status sign_cuts_load(struct store_reader *reader, struct stream_state *stream, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct signature_hit_row *hits;
	struct job_row job;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_stream_hits(reader, arena, stream->job->job_id, stream->stream_id, &hits, &count, err));
	if (!count)
		return OK;
	for (size_t i = 0; i < count; i++)
		if (hits[i].first_line >= stream->sealed_lines && !add_begun(stream, hits[i].first_line))
			return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, stream->job->job_id, &job, err));
	return load_cleared(stream, job.document, hits, count, err);
}

void sign_cuts_reset(struct stream_state *stream)
{
	if (stream->signs)
		stream->signs->cuts.count = 0;
}

bool sign_cuts_add(struct stream_state *stream, uint64_t first_line)
{
	uint64_t last_line = first_line;

	for (size_t i = 0; stream->signs && i < stream->signs->count; i++)
		if (stream->signs->items[i].count && stream->signs->items[i].first_line == first_line)
			last_line = stream->signs->items[i].last_line;
	return add(stream, first_line, last_line);
}

bool sign_cuts_are_before(const struct sign_cuts *cuts, const struct sign *sign, uint64_t line)
{
	for (size_t i = 0; i < cuts->count; i++)
		if (cuts->at[i].first_line == sign->first_line && cuts->at[i].last_line < line)
			return true;
	for (size_t i = 0; i < cuts->begun_count; i++)
		if (cuts->begun[i] == line)
			return true;
	return false;
}
