#include "read/said_faults.h"

#include "model/jobs/by_hand.h"
#include "state/known_fault.h"
#include "store/jobs.h"

enum status said_faults_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct span host, int64_t from_ms, int64_t to_ms, struct node_fault_row **out,
	size_t *count, struct error *err)
{
	struct said_hit *hits;
	size_t hit_count;

	*count = 0;
	TRY(store_read_hits_between(reader, arena, job->job_id, from_ms, to_ms, &hits, &hit_count, err));
	*out = arena_alloc(arena, (hit_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = hit_count; i-- > 0;) {
		const struct signature_hit_row *hit = &hits[i].row;
		bool is_drain, is_shared;
		struct span sender;
		if (!known_fault_is_of_machine(pipeline, hit->signature, &is_drain))
			continue;
		TRY(stream_line_host(reader, arena, job->job_id, hit->stream_id, hits[i].stream, hit->first_line,
			&sender, &is_shared, err));
		if (is_shared || !span_equal(sender, host) ||
			by_hand_find_fault(arena, job->document, hits[i].stream, hit->first_line).len)
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
