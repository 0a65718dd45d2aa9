#include "cli/search/search_logs.h"

#include "base/json/json_write.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/table/table.h"

#include <errno.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 64 << 10, MAX_PAGE_BYTES = 256 << 20 };

static void put_hit(const struct search_logs *search, struct span job, const struct json *hit, struct buf *out)
{
	struct span stream = json_string_of(json_get(hit, "stream")), text = json_string_of(json_get(hit, "text"));
	double number = 0;

	json_number_of(json_get(hit, "n"), &number);
	if (search->is_ndjson) {
		struct json_writer w = json_writer_on(out);
		json_object(&w);
		json_put_span(&w, "job", job);
		json_put_span(&w, "stream", stream);
		json_put_double(&w, "n", number);
		json_key(&w, "ts_ms");
		double ts_ms = 0;
		json_number_of(json_get(hit, "ts_ms"), &ts_ms);
		json_double(&w, ts_ms);
		json_put_span(&w, "text", text);
		json_object_end(&w);
	} else {
		text_put_safe(out, job);
		buf_append_char(out, '/');
		text_put_safe(out, stream);
		buf_printf(out, ":%.0f: ", number);
		if (search->is_terminal)
			text_put_safe(out, text);
		else
			buf_append_span(out, text);
	}
	buf_append_char(out, '\n');
}

static enum status print_page(
	struct search_logs *search, struct span job, struct buf *cursor, bool *has_more, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) out = BUF_INIT(MAX_PAGE_BYTES);
	AUTO(json) page = NULL;

	url_put_value(&path, "/api/v1/jobs/", job);
	url_put_value(
		&path, "/logs/search?regex=true&order=oldest&limit=1000&histogram=false&q=", span_from(search->regex));
	if (cursor->len)
		url_put_value(&path, "&cursor=", buf_span(cursor));
	TRY(client_get_json(search->client, &path, &page, err));
	if (json_kind(json_get(page, "hits")) != JSON_ARRAY)
		return error_set(err, ERR_UNAVAILABLE, "the reply is no list of lines: is this an smfleet server?");
	for (const struct json *hit = json_first(json_get(page, "hits")); hit; hit = json_next(hit)) {
		put_hit(search, job, hit, &out);
		search->found++;
	}
	search->is_partial |= json_is_true(json_get(page, "partial"));
	TRY(buf_status(&out, err));
	if (out.len && (fwrite(out.ptr, 1, out.len, stdout) != out.len || fflush(stdout)))
		return error_set(err, ERR_IO, "cannot write the result: %s", strerror(errno));
	struct span next = json_string_of(json_get(page, "next_cursor"));
	buf_reset(cursor);
	buf_append_span(cursor, next);
	*has_more = next.len != 0;
	return buf_status(cursor, err);
}

enum status search_logs_print(struct search_logs *search, struct span job, struct error *err)
{
	AUTO_DONE(buf) cursor = BUF_INIT(MAX_PATH_BYTES);
	bool has_more = true;

	while (has_more)
		TRY(print_page(search, job, &cursor, &has_more, err));
	return OK;
}
