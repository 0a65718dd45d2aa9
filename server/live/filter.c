#include "live/filter.h"
#include "base/clock.h"
#include "live/lines_event.h"

#include <inttypes.h>

enum { QUOTED_MAX_BYTES = 1 << 20, LINES_BETWEEN_CLOCKS = 16 };

struct filter {
	bool has_stream;
	struct span stream, text; /* in `bytes` */
	struct regex *regex; /* NULL: the text as it is */
	char bytes[];
};

/* Lines come out of JSON, so that they are UTF-8. */
static enum status compile(struct filter *filter, const struct filter_spec *spec, struct error *err)
{
	AUTO_DONE(buf) quoted = BUF_INIT(QUOTED_MAX_BYTES);
	unsigned flags = REGEX_UTF | (spec->ignores_case ? REGEX_IGNORE_CASE : 0);

	if (!span_is_utf8(spec->text))
		return error_set_field(err, ERR_INVALID, "filter", "'filter' is not valid UTF-8");
	if (!spec->is_regex)
		regex_quote(spec->text, &quoted);
	TRY(buf_status(&quoted, err));
	enum status status = regex_new(&filter->regex, spec->is_regex ? spec->text : buf_span(&quoted), flags, err);
	if (status != ERR_SEMANTIC || !err)
		return status;
	struct error why = *err;
	error_set_field(err, ERR_INVALID, "filter", "'filter' is %.400s", why.text);
	err->column = why.column;
	return ERR_INVALID;
}

enum status filter_new(struct filter **out, const struct filter_spec *spec, struct error *err)
{
	AUTO(filter) filter = mem_zeroed(sizeof *filter + spec->stream.len + spec->text.len);

	if (!filter)
		return error_no_memory(err);
	filter->has_stream = spec->stream.ptr != NULL;
	filter->stream = span_of(filter->bytes, spec->stream.len);
	filter->text = span_of(filter->bytes + spec->stream.len, spec->text.len);
	if (spec->stream.ptr && spec->stream.len)
		memcpy(filter->bytes, spec->stream.ptr, spec->stream.len);
	if (spec->text.len)
		memcpy(filter->bytes + spec->stream.len, spec->text.ptr, spec->text.len);
	if (spec->text.len && (spec->is_regex || spec->ignores_case))
		TRY(compile(filter, spec, err));
	*out = TAKE(filter);
	return OK;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	regex_free(filter->regex);
	mem_free(filter);
}

static enum regex_result match(const struct filter *filter, struct filter_work *work)
{
	struct span text = work->text.len ? buf_span(&work->text) : SPAN(""), groups[REGEX_MAX_GROUPS];

	if (filter->regex)
		return regex_search(filter->regex, work->scratch, text, 0, groups);
	return !filter->text.len || span_find(text, filter->text) >= 0 ? REGEX_MATCH : REGEX_NO_MATCH;
}

struct tally {
	uint64_t read, matched, limited;
};

static void filter_lines(const struct filter *filter, struct filter_work *work, struct lines_event *event,
	struct tally *tally, struct buf *out)
{
	int64_t end_ms = clock_mono_ms() + work->event_ms;
	struct span object;

	regex_scratch_until(work->scratch, end_ms); /* one line's match, too */
	while (tally->read % LINES_BETWEEN_CLOCKS || clock_mono_ms() <= end_ms) {
		buf_reset(&work->text);
		if (!lines_event_next(event, &object, &work->text))
			return;
		tally->read++;
		enum regex_result result = match(filter, work);
		tally->limited += result == REGEX_LIMIT;
		if (result != REGEX_MATCH)
			continue;
		if (tally->matched++)
			buf_append_char(out, ',');
		buf_append_span(out, object);
	}
}

void filter_event(const struct filter *filter, struct filter_work *work, struct span event, struct buf *out)
{
	static const struct span data = SPAN("\ndata: ");
	ptrdiff_t at = span_find(event, data);
	size_t before = out->len;
	struct lines_event lines;
	struct tally tally = {0};

	buf_reset(&work->stream);
	if (at < 0 || !lines_event_open(&lines, span_skip(event, (size_t)at + data.len), &work->stream))
		return;
	if (filter->has_stream && !span_equal(filter->stream, buf_span(&work->stream)))
		return;
	buf_append(out, event.ptr, (size_t)(lines.head.ptr + lines.head.len - event.ptr));
	filter_lines(filter, work, &lines, &tally, out);
	uint64_t unread = lines.count > tally.read ? lines.count - tally.read : 0;
	buf_append_char(out, ']');
	if (unread)
		buf_printf(out, ",\"unread\":%" PRIu64, unread);
	if (tally.limited)
		buf_printf(out, ",\"limited\":%" PRIu64, tally.limited);
	buf_append_text(out, "}\n\n");
	if (!tally.matched && !unread && !tally.limited)
		out->len = before;
}
