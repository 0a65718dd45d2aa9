#include "pipeline/jobs/incident_hosts.h"

#include "base/json/json_read.h"
#include "pipeline/alert/incident_rename.h"
#include "state/known_fault.h"
#include "store/faults.h"
#include "store/streams.h"

enum { PLACE_MAX_BYTES = 16 << 10 };

struct following {
	struct store_tx *tx;
	struct arena *arena;
	const struct job_row *job;
	const struct incident_row *row;
	const struct json *facts;
};

/* Whose its first line is now; "": that is not asked, or nobody's. */
static enum status find_host(const struct following *f, struct span *out, struct error *err)
{
	struct store_reader *reader = store_tx_reader(f->tx);
	struct span stream = json_string_of(json_get(f->facts, "stream"));
	struct span signature = json_string_of(json_get(f->facts, "fault"));
	struct stream_row *rows;
	size_t count;
	bool is_shared;

	*out = SPAN("");
	TRY(store_read_streams(reader, f->arena, f->row->job_id, stream, &rows, &count, err));
	if (!count)
		return OK;
	if (!signature.len)
		signature = json_string_of(json_get(f->facts, "signature"));
	struct signature_hit_row hit = {.job_id = f->row->job_id,
		.stream_id = rows[0].stream_id,
		.signature = signature,
		.first_line = f->row->incident.line,
		.host = SPAN("")};
	TRY(store_find_signature_hit(reader, f->arena, &hit, err));
	if (!hit.incident_id || hit.host.len || hit.is_of_nobody)
		return OK;
	TRY(stream_line_host(
		reader, f->arena, hit.job_id, hit.stream_id, stream, hit.first_line, out, &is_shared, err));
	if (out->len || is_shared)
		return OK;
	AUTO_DONE(buf) place = BUF_INIT(PLACE_MAX_BYTES); /* of a machine that nobody names that is all */
	buf_printf(&place, "%.*s/%.*s", SPAN_ARGS(f->job->name), SPAN_ARGS(stream));
	TRY(buf_status(&place, err));
	*out = arena_copy(f->arena, buf_span(&place));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status follow(struct following *f, struct error *err)
{
	AUTO(json) facts = NULL;
	struct span host;

	if (f->row->incident.line == NO_LINE || !incident_read_machine(f->row, &facts).len)
		return OK;
	f->facts = facts;
	TRY(find_host(f, &host, err));
	return host.len && !span_equal(host, json_string_of(json_get(facts, "host")))
		       ? incident_rename(f->tx, f->row, f->facts, host, err)
		       : OK;
}

static enum status follow_row(void *context, const struct incident_row *row, struct error *err)
{
	struct following *f = context;

	f->row = row;
	return follow(f, err);
}

enum status incident_hosts_follow(struct store_tx *tx, const struct job_row *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct following f = {.tx = tx, .arena = arena, .job = job};

	if (!arena)
		return error_no_memory(err);
	return incidents_of_machines(tx, arena, job->job_id, follow_row, &f, err);
}
