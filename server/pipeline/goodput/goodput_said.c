#include "pipeline/goodput/goodput_said.h"

#include "base/json/json_read.h"
#include "model/incident.h"
#include "state/known_fault.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_ends.h"
#include "store/alerts.h"
#include "store/faults.h"

#include <stdlib.h>

enum { SAID_SIGNATURES_A_JOB = 10000, FAILURES_MAX = 100, FACTS_MAX_BYTES = 32 << 10 };

static int by_time(const void *a, const void *b)
{
	const struct said_signature *x = a, *y = b;

	if (x->first_ms != y->first_ms)
		return x->first_ms < y->first_ms ? -1 : 1;
	return span_compare(x->signature, y->signature);
}

/* Its machine's fault, in the log of another job: in an imported job's incident alone, where that log and the ledger did not come with it. */
static enum status read_known(const struct incident_row *row, struct arena *arena, struct said_signature *out,
	bool *is_known, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	AUTO(json) facts = NULL;
	double ts_ms;

	*is_known = false;
	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	if (text.failure || json_parse(&facts, buf_span(&text), NULL) != OK)
		return OK;
	const struct json *fault = json_get(facts, "fault");
	struct span signature = json_string_of(json_get(fault, "signature"));
	if (!signature.len || json_get(fault, "stream") || !json_number_of(json_get(fault, "ts_ms"), &ts_ms))
		return OK;
	*out = (struct said_signature){.first_ms = (int64_t)ts_ms,
		.last_ms = (int64_t)ts_ms,
		.signature = arena_copy(arena, signature),
		.severity = SEVERITY_CRITICAL};
	*is_known = true;
	return out->signature.ptr ? OK : error_no_memory(err);
}

enum status said_read(struct said *said, struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, struct error *err)
{
	const struct stream_ends ends = stream_ends_of(pipeline->directory, FAULT_BROKE_OFF_MS);
	const struct incident_filter failures = {.has_all = true,
		.job_id = job_id,
		.state = -1,
		.kind = INCIDENT_JOB_FAILED,
		.cursor = SPAN(""),
		.limit = FAILURES_MAX};
	struct said_signature *own, *all;
	struct said_hit *others;
	struct incident_row *rows;
	struct span unused;
	size_t own_count, other_count, row_count;
	bool is_known;

	*said = (struct said){.pipeline = pipeline};
	TRY(store_read_said_signatures(reader, arena, job_id, SAID_SIGNATURES_A_JOB, &own, &own_count, err));
	TRY(store_read_told_elsewhere(reader, arena, &ends, job_id, SPAN(""), INT64_MIN, INT64_MAX,
		SAID_SIGNATURES_A_JOB, &others, &other_count, err));
	TRY(store_read_incidents(reader, arena, &failures, &rows, &row_count, &unused, err));
	if (!(all = arena_alloc(arena, (own_count + other_count + row_count + 1) * sizeof *all)))
		return error_no_memory(err);
	for (size_t i = 0; i < own_count; i++)
		all[said->count++] = own[i];
	for (size_t i = 0; i < other_count; i++)
		all[said->count++] = (struct said_signature){.first_ms = others[i].row.first_ms,
			.last_ms = others[i].row.last_ms,
			.signature = others[i].row.signature,
			.severity = SEVERITY_CRITICAL}; /* its signature's, at most */
	for (size_t i = 0; i < row_count; i++) {
		TRY(read_known(&rows[i], arena, &all[said->count], &is_known, err));
		said->count += is_known;
	}
	if (said->count)
		qsort(all, said->count, sizeof *all, by_time);
	said->items = all;
	return OK;
}
