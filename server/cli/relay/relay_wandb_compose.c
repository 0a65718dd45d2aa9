/* Records as requests to the server, one each. Of the parameters server/wandb/relayed.c says what they mean. */
#include "cli/relay/relay_wandb.h"

#include "base/crypto.h"

struct record {
	struct span ms, writer, path, body;
	size_t bytes; /* with its line end */
};

static bool read_parts(struct span line, struct record *out)
{
	struct span name;
	int64_t ms;

	return span_next(&line, ' ', &name) && span_equal(name, SPAN("wandb")) && span_next(&line, ' ', &out->ms) &&
	       span_parse_i64(out->ms, &ms) && ms > 0 && span_next(&line, ' ', &out->writer) && out->writer.len &&
	       span_next(&line, ' ', &out->path) && span_starts_with(out->path, SPAN("/")) &&
	       ((out->body = line).len || span_starts_with(out->path, SPAN("/files/")));
}

static enum status read_record(struct span records, struct record *out, struct error *err)
{
	struct span line, rest = records;

	*out = (struct record){0};
	if (span_next(&rest, '\n', &line)) {
		out->bytes = line.len + 1 <= records.len ? line.len + 1 : records.len;
		if (read_parts(line, out))
			return OK;
	}
	return error_set(err, ERR_INVALID, "a record of the spool is damaged");
}

/* The path has no parameters but the operation's name. */
static void put_path(const struct record *record, const struct relay_terms *terms, struct relay_sending *out)
{
	bool has_query = span_find_char(record->path, '?') >= 0;

	buf_append_span(&out->path, record->path);
	buf_printf(&out->path, "%crelay_ms=%.*s", has_query ? '&' : '?', SPAN_ARGS(record->ms));
	bool is_job = terms->is_shipped || out->needs_job;
	if (is_job || terms->has_log) {
		buf_append_text(&out->path, is_job ? "&relay_job=" : "&relay_log=");
		buf_append_percent_encoded(&out->path, span_from(terms->job));
	}
	if (terms->has_system)
		buf_append_text(&out->path, "&relay_system=true");
}

static bool is_upsert(struct span path)
{
	return span_equal(path, SPAN("/graphql?operation=UpsertBucket"));
}

/* An end has this member; within a text its quotes are escaped. */
bool relay_wandb_is_run(struct span path, struct span body)
{
	return is_upsert(path) ||
	       (span_ends_with(path, SPAN("/file_stream")) && span_find(body, SPAN("\"complete\":true")) >= 0);
}

enum status relay_wandb_compose(
	struct span records, const struct relay_terms *terms, struct relay_sending *out, struct error *err)
{
	struct record record;
	enum status status = read_record(records, &record, err);

	out->bytes = record.bytes ? record.bytes : records.len;
	TRY(status);
	bool is_call =
		span_starts_with(record.path, SPAN("/graphql")) || span_ends_with(record.path, SPAN("/file_stream"));
	out->method = is_call ? "POST" : "PUT";
	out->is_file = !is_call;
	out->is_keyed_by_path = true;
	out->needs_job = is_upsert(record.path);
	out->is_run = relay_wandb_is_run(record.path, record.body);
	put_path(&record, terms, out);
	if (!span_equal(record.writer, SPAN("-")))
		buf_printf(&out->headers, WANDB_WRITER_HEADER ": %.*s\r\n", SPAN_ARGS(record.writer));
	if (is_call)
		buf_append_span(&out->body, record.body);
	else if (!crypto_unbase64(record.body, &out->body))
		return error_set(err, ERR_INVALID, "a record of the spool is damaged");
	return OK;
}
