/*
 * Lines without a time of their own: a stack trace belongs to the line that it follows. Of the past (an upload that says so, or a
 * body whose lines show it) each has the time of the dated line before it; in a live body those have directly behind one, until
 * a line shows a value: from there on, that of arrival is nearer.
 */
#include "pipeline/commit/backdate.h"

#include "base/text/line_time.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

#include <ctype.h>

/* Of the body before this one, or of the slice before it: a file comes in many. NO_TIME: none was known, or the stream is not
 * in RAM. */
static int64_t known_before(struct pipeline *pipeline, const struct batch *batch, const struct batch_part *part)
{
	struct job_state *job = directory_find(pipeline->directory, part->job);
	struct stream_state *stream = job ? job_find_stream(job, part->stream) : NULL;
	uint64_t source = span_hash(batch->source);
	int64_t past_ms = 0;

	if (stream) {
		pthread_mutex_lock(&stream->mutex);
		for (size_t i = 0; i < PAST_SOURCES; i++)
			past_ms = stream->past[i].source == source ? stream->past[i].past_ms : past_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return past_ms ? past_ms : NO_TIME;
}

void backdate_note(struct stream_state *stream, const struct batch *batch, const struct batch_part *part)
{
	uint64_t source = span_hash(batch->source);
	size_t at = 0;

	while (at < PAST_SOURCES && stream->past[at].source != source)
		at++;
	if (at == PAST_SOURCES) { /* the one that was noted longest ago */
		memmove(&stream->past[0], &stream->past[1], (PAST_SOURCES - 1) * sizeof *stream->past);
		at = PAST_SOURCES - 1;
	}
	stream->past[at] = (struct past_source){source, part->past_ms};
}

static bool find_time(const struct line *line, const struct batch *batch, int64_t *ts_ms)
{
	*ts_ms = line->ts_ms;
	return line->ts_ms != NO_TIME || line_time_parse(line->text, batch->arrival_ms, ts_ms);
}

/* ---- of the past, as its sender says ---- */

static void fill_part(const struct batch *batch, struct batch_part *part, int64_t known_ms)
{
	size_t first = 0; /* lines before it wait for the first time that is known */
	int64_t ts_ms;

	for (size_t i = 0; i < part->count; i++) {
		/* of a batch that the writer had no room for they were filled before */
		if (i >= part->past_untimed && find_time(&part->lines[i], batch, &ts_ms)) {
			for (; known_ms == NO_TIME && first < i; first++)
				part->lines[first].ts_ms = ts_ms;
			known_ms = ts_ms;
		} else if (known_ms != NO_TIME) {
			part->lines[i].ts_ms = known_ms;
		}
	}
	part->past_ms = known_ms != NO_TIME ? known_ms : 0;
	part->past_untimed = known_ms == NO_TIME ? part->count : 0;
	if (known_ms == NO_TIME)
		for (size_t i = 0; i < part->count; i++)
			part->lines[i].ts_ms = batch->written_ms;
}

/* ---- bodies that say nothing ---- */

/* "loss: 2.5", "lr=1e-4": a name, and a number that stands for itself. */
static bool is_value_at(struct span text, size_t at)
{
	size_t next = at + 1, end;

	while (next < text.len && text.ptr[next] == ' ')
		next++;
	end = next;
	while (end < text.len && (isalnum((unsigned char)text.ptr[end]) || strchr("+-.%", text.ptr[end])))
		end++;
	size_t digits = next < end && strchr("+-.", text.ptr[next]) ? next + 1 : next;
	bool is_number = digits < end && isdigit((unsigned char)text.ptr[digits]);
	bool is_whole = end == text.len || strchr(" ,;|/)]}\t\r", text.ptr[end]);
	size_t name = at;
	while (name > 0 && (text.ptr[name - 1] == ' ' || text.ptr[name - 1] == '"' || text.ptr[name - 1] == '\''))
		name--;
	return is_number && is_whole && name > 0 && isalnum((unsigned char)text.ptr[name - 1]);
}

/* Would it give a metric? Definitions are not looked at here, nor need they be: all that hangs on it is a time of a second ago or
 * so. What stands further in belongs to what is above it: code in a stack trace, settings. */
static bool shows_value(struct span text)
{
	static const char *const words[] = {"step", "iter", "iteration", "epoch", "loss"};

	if (span_starts_with(text, SPAN("  ")) || span_starts_with(text, SPAN("\t")))
		return false;
	for (size_t i = 1; i < text.len; i++)
		if ((text.ptr[i] == ':' || text.ptr[i] == '=') && is_value_at(text, i))
			return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		ptrdiff_t at = span_find(text, span_from(words[i]));
		size_t next = at < 0 ? text.len : (size_t)at + strlen(words[i]);
		if (next + 1 < text.len && text.ptr[next] == ' ' && isdigit((unsigned char)text.ptr[next + 1]))
			return true;
	}
	return false;
}

/* More than one time: a lone old date says nothing of what comes behind it. *first_ms: the first one, of the line *first; NO_TIME: none. */
static bool has_course(const struct batch *batch, const struct batch_part *part, size_t *first, int64_t *first_ms)
{
	int64_t ts_ms;

	*first = part->count;
	*first_ms = NO_TIME;
	for (size_t i = 0; i < part->count; i++) {
		if (!find_time(&part->lines[i], batch, &ts_ms))
			continue;
		if (*first_ms == NO_TIME) {
			*first_ms = ts_ms;
			*first = i;
		} else if (ts_ms != *first_ms) {
			return true;
		}
	}
	return false;
}

static bool is_old(const struct batch *batch, int64_t ts_ms)
{
	return ts_ms != NO_TIME && ts_ms < batch->arrival_ms - HISTORIC_MS;
}

/* What was filled of a batch that the writer had no room for counts as stated when it comes again. */
static void fill_body(const struct batch *batch, struct batch_part *part, int64_t before_ms)
{
	int64_t first_ms, ts_ms, known_ms = before_ms;
	size_t first;
	bool is_of_past = has_course(batch, part, &first, &first_ms) || before_ms != NO_TIME, is_behind = false;

	if (known_ms == NO_TIME && is_of_past && is_old(batch, first_ms))
		known_ms = first_ms; /* of the lines in front */
	for (size_t i = 0; i < part->count; i++) {
		struct line *line = &part->lines[i];
		if (i >= first && find_time(line, batch, &ts_ms)) {
			known_ms = ts_ms;
			is_behind = true;
			continue;
		}
		is_behind = is_behind && !shows_value(line->text);
		if (is_behind || (is_of_past && is_old(batch, known_ms)))
			line->ts_ms = known_ms;
	}
	part->past_ms = is_of_past && is_old(batch, known_ms) ? known_ms : 0;
}

/* Where the sender says the zone of times that state none: resolved here, so that nobody behind needs to know. */
static void fill_zone(struct batch_part *part, int64_t zone_ms, int64_t arrival_ms)
{
	int64_t ts_ms;

	for (size_t i = 0; i < part->count; i++)
		if (part->lines[i].ts_ms == NO_TIME &&
			line_time_parse_in(part->lines[i].text, arrival_ms, zone_ms, &ts_ms))
			part->lines[i].ts_ms = ts_ms;
}

void backdate_fill_times(struct pipeline *pipeline, struct batch *batch)
{
	for (size_t i = 0; batch->zone_ms && i < batch->part_count; i++)
		fill_zone(&batch->parts[i], batch->zone_ms, batch->arrival_ms);
	for (size_t i = 0; i < batch->part_count; i++) {
		struct batch_part *part = &batch->parts[i];
		bool goes_on = batch->written_ms || batch->follows_full;
		int64_t before_ms = goes_on ? known_before(pipeline, batch, part) : NO_TIME;
		if (batch->written_ms)
			fill_part(batch, part, before_ms);
		else
			fill_body(batch, part, before_ms);
	}
}
