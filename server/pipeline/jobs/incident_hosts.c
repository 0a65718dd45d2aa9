#include "pipeline/jobs/incident_hosts.h"

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "state/known_fault.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/streams.h"

enum { FACTS_MAX_BYTES = 16 << 10, INCIDENTS_MAX = 1000 };

struct following {
	struct store_tx *tx;
	struct arena *arena;
	const struct job_row *job;
	const struct incident_row *row;
	const struct json *facts;
};

/* "Xid 79: … on gpu017": the name is its end. */
static enum status put_summary(
	struct json_writer *w, struct span summary, struct span old, struct span host, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);

	if (span_ends_with(summary, old)) {
		buf_append(&text, summary.ptr, summary.len - old.len);
		buf_append_span(&text, host);
		summary = buf_span(&text);
	}
	TRY(buf_status(&text, err));
	json_put_span(w, "summary", summary);
	return OK;
}

static enum status write_facts(const struct following *f, struct span host, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	struct span old = json_string_of(json_get(f->facts, "host"));

	json_object(&w);
	for (const struct json *at = json_first(f->facts); at; at = json_next(at)) {
		AUTO_DONE(buf) value = BUF_INIT(FACTS_MAX_BYTES);
		struct span key = json_key_of(at);
		if (span_equal(key, SPAN("host"))) {
			json_put_span(&w, "host", host);
		} else if (span_equal(key, SPAN("summary"))) {
			TRY(put_summary(&w, json_string_of(at), old, host, err));
		} else {
			json_print(at, &value);
			TRY(buf_status(&value, err));
			json_key_span(&w, key);
			json_raw(&w, buf_span(&value));
		}
	}
	json_object_end(&w);
	return buf_status(out, err);
}

static enum status rename_one(const struct following *f, struct span host, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	const struct incident *incident = &f->row->incident;
	uint64_t ordinal = incident->kind == INCIDENT_NODE_SUSPECT ? incident_ordinal_of(host, incident->opened_ms)
								   : incident->opened_ordinal;

	TRY(write_facts(f, host, &text, err));
	return store_rename_incident(
		f->tx, f->row->job_id, f->row->incident_id, ordinal, span_of(text.ptr + 1, text.len - 2), err);
}

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
	AUTO_DONE(buf) place = BUF_INIT(FACTS_MAX_BYTES); /* of a machine that nobody names that is all */
	buf_printf(&place, "%.*s/%.*s", SPAN_ARGS(f->job->name), SPAN_ARGS(stream));
	TRY(buf_status(&place, err));
	*out = arena_copy(f->arena, buf_span(&place));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status follow(struct following *f, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(2 * FACTS_MAX_BYTES);
	AUTO(json) facts = NULL;
	struct span host;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(f->row->facts));
	if (text.failure || json_parse(&facts, buf_span(&text), NULL) != OK || !json_get(facts, "host") ||
		f->row->incident.line == NO_LINE)
		return OK;
	f->facts = facts;
	TRY(find_host(f, &host, err));
	return host.len && !span_equal(host, json_string_of(json_get(facts, "host"))) ? rename_one(f, host, err) : OK;
}

enum status incident_hosts_follow(struct store_tx *tx, const struct job_row *job, struct error *err)
{
	static const enum incident_kind kinds[] = {INCIDENT_NODE_SUSPECT, INCIDENT_LOG_SIGNATURE};
	AUTO(arena) arena = arena_new();
	struct following f = {.tx = tx, .arena = arena, .job = job};
	struct incident_row *rows;
	struct span unused;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct incident_filter filter = {.has_all = true,
			.job_id = job->job_id,
			.state = -1,
			.kind = (int)kinds[i],
			.cursor = SPAN(""),
			.limit = INCIDENTS_MAX};
		TRY(store_read_incidents(store_tx_reader(tx), arena, &filter, &rows, &count, &unused, err));
		for (size_t k = 0; k < count; k++) {
			f.row = &rows[k];
			TRY(follow(&f, err));
		}
	}
	return OK;
}
