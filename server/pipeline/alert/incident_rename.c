#include "pipeline/alert/incident_rename.h"

#include "base/json/json_write.h"
#include "model/incident.h"

enum { FACTS_MAX_BYTES = 16 << 10, INCIDENTS_MAX = 1000 };

struct span incident_read_machine(const struct incident_row *row, struct json **facts)
{
	AUTO_DONE(buf) text = BUF_INIT(2 * FACTS_MAX_BYTES);

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	if (text.failure || json_parse(facts, buf_span(&text), NULL) != OK)
		return SPAN("");
	return json_string_of(json_get(*facts, "host"));
}

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

static enum status write_facts(const struct json *facts, struct span host, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	struct span old = json_string_of(json_get(facts, "host"));

	json_object(&w);
	for (const struct json *at = json_first(facts); at; at = json_next(at)) {
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

enum status incident_rename(struct store_tx *tx, const struct incident_row *row, const struct json *facts,
	struct span host, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	const struct incident *incident = &row->incident;
	uint64_t ordinal = incident->kind == INCIDENT_NODE_SUSPECT ? incident_ordinal_of(host, incident->opened_ms)
								   : incident->opened_ordinal;

	TRY(write_facts(facts, host, &text, err));
	return store_rename_incident(
		tx, row->job_id, row->incident_id, ordinal, span_of(text.ptr + 1, text.len - 2), err);
}

enum status incidents_of_machines(struct store_tx *tx, struct arena *arena, int64_t job_id, incident_visit *visit,
	void *context, struct error *err)
{
	static const enum incident_kind kinds[] = {INCIDENT_NODE_SUSPECT, INCIDENT_LOG_SIGNATURE};
	struct incident_row *rows;
	struct span unused;
	size_t count;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct incident_filter filter = {.has_all = true,
			.job_id = job_id,
			.state = -1,
			.kind = (int)kinds[i],
			.cursor = SPAN(""),
			.limit = INCIDENTS_MAX};
		TRY(store_read_incidents(store_tx_reader(tx), arena, &filter, &rows, &count, &unused, err));
		for (size_t k = 0; k < count; k++)
			TRY(visit(context, &rows[k], err));
	}
	return OK;
}
