#include "read/said_faults.h"

#include "base/text/host_list.h"
#include "model/jobs/by_hand.h"
#include "state/known_fault.h"
#include "store/jobs.h"

enum { HITS_MAX = 10000 };

static enum status is_of_host(struct store_reader *reader, struct arena *arena, const struct said_hit *hit,
	struct span host, bool *out, struct error *err)
{
	struct span said, *names;
	bool is_shared;
	size_t count;

	*out = false;
	TRY(said_hit_host(reader, arena, hit, &said, &is_shared, err));
	if (is_shared)
		return OK;
	*out = span_equal(said, host);
	TRY(host_list_expand(arena, hit->row.host, &names, &count, err));
	for (size_t i = 0; i < count && !*out; i++)
		*out = span_equal(names[i], host);
	return OK;
}

enum status said_faults_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct span host, int64_t from_ms, int64_t to_ms, struct node_fault_row **out,
	size_t *count, struct error *err)
{
	struct said_hit *hits;
	size_t hit_count;

	*count = 0;
	TRY(store_read_every_hit(reader, arena, job->job_id, from_ms, to_ms, HITS_MAX, &hits, &hit_count, err));
	*out = arena_alloc(arena, (hit_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = hit_count; i-- > 0;) {
		const struct signature_hit_row *hit = &hits[i].row;
		bool is_drain, is_its;
		if (!known_fault_is_of_machine(pipeline, hit->signature, &is_drain))
			continue;
		TRY(is_of_host(reader, arena, &hits[i], host, &is_its, err));
		if (!is_its || by_hand_find_fault(arena, job->document, hits[i].stream, hit->first_line).len)
			continue;
		(*out)[(*count)++] = (struct node_fault_row){.host = host,
			.ts_ms = hit->first_ms,
			.job_id = job->job_id,
			.stream_id = hit->stream_id,
			.line = hit->first_line,
			.signature = hit->signature,
			.is_drain = is_drain,
			.count = hit->count,
			.last_ms = hit->last_ms,
			.text = hit->text};
	}
	return OK;
}
