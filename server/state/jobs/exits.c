#include "state/jobs/exits.h"

#include "model/metrics/stream_name.h"
#include "store/transitions.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool exits_is_rank_0(struct span stream)
{
	size_t end = stream.len, at;

	if (span_starts_with(stream, SPAN("algo-")))
		return span_equal(stream, SPAN("algo-1")) || span_equal(stream, SPAN("algo-1-r0"));
	for (at = end; at && is_digit(stream.ptr[at - 1]);)
		at--;
	for (; at < end; at++)
		if (stream.ptr[at] != '0')
			return false;
	return end && is_digit(stream.ptr[end - 1]);
}

static bool has_failed(const struct held_row *row)
{
	return row->code || row->signal;
}

static bool counts(const struct held_row *row, int64_t run_ms)
{
	/* whose session was opened in this run has ended in it, whatever its clock says */
	return !stream_is_system(row->stream) && !(row->has_exit && row->exit_ms < run_ms && row->opened_ms < run_ms);
}

/* Of those that must end: is one still at work, and when did the last one end? */
static bool find_end(
	const struct held_row *held, size_t count, int64_t run_ms, bool of_rank_0, const struct held_row **out)
{
	*out = NULL;
	for (size_t i = 0; i < count; i++) {
		if (!counts(&held[i], run_ms) || (of_rank_0 && !exits_is_rank_0(held[i].stream)))
			continue;
		if (!held[i].has_exit)
			return false;
		if (!*out || held[i].exit_ms > (*out)->exit_ms)
			*out = &held[i];
	}
	return *out != NULL;
}

static const struct held_row *first_failed(const struct held_row *held, size_t count, int64_t run_ms, int64_t until_ms)
{
	const struct held_row *first = NULL;

	for (size_t i = 0; i < count; i++)
		if (counts(&held[i], run_ms) && held[i].has_exit && has_failed(&held[i]) &&
			held[i].exit_ms <= until_ms && (!first || held[i].exit_ms < first->exit_ms))
			first = &held[i];
	return first;
}

bool exits_decide(const struct held_row *held, size_t count, int64_t run_ms, bool was_stopped, struct told_row *out)
{
	const struct held_row *end;

	if (!find_end(held, count, run_ms, true, &end) && !find_end(held, count, run_ms, false, &end))
		return false;
	const struct held_row *failed = first_failed(held, count, run_ms, end->exit_ms);
	*out = (struct told_row){.status = was_stopped ? SPAN("Stopped")
					   : failed    ? SPAN("Failed")
						       : SPAN("Completed"),
		.message = SPAN("its processes ended"),
		.reason = failed && !was_stopped ? failed->reason : SPAN(""),
		.start_ms = end->exit_ms,
		.source = SOURCE_EXIT};
	return true;
}

/* "algo-2 on n7 (rank 1): exit code 1" in front of the rank and behind it; false: no rank is named. */
static bool split_rank(struct span reason, struct span *place, struct span *words)
{
	ptrdiff_t at = span_find(reason, SPAN(" (rank "));
	size_t end = at < 0 ? reason.len : (size_t)at + strlen(" (rank ");

	while (end < reason.len && is_digit(reason.ptr[end]))
		end++;
	*place = span_of(reason.ptr, at < 0 ? 0 : (size_t)at);
	*words = span_of(reason.ptr + end, reason.len - end);
	if (!span_starts_with(*words, SPAN("): ")))
		return false;
	*words = span_of(words->ptr + 3, words->len - 3);
	return true;
}

/* A sender that knows of no other process names itself to nobody; here it is named: "algo-1 on n6: ". */
static bool is_without_name(const struct held_row *row, struct span reason)
{
	struct span named = row->reason;
	size_t place_len = row->stream.len + (row->host.len ? strlen(" on ") + row->host.len : 0) + strlen(": ");

	return named.len == place_len + reason.len && span_starts_with(named, row->stream) &&
	       span_ends_with(named, reason);
}

static bool says(const struct held_row *row, struct span reason)
{
	struct span named = row->reason, place, words;

	if (!row->has_exit || !has_failed(row))
		return false;
	if (span_equal(named, reason) || is_without_name(row, reason))
		return true;
	if (!split_rank(reason, &place, &words))
		return false;
	return span_equal(named, words) ||
	       (named.len == place.len + 2 + words.len && span_starts_with(named, place) &&
		       memcmp(named.ptr + place.len, ": ", 2) == 0 && span_ends_with(named, words));
}

bool exits_say(const struct held_row *held, size_t count, struct span reason)
{
	for (size_t i = 0; i < count; i++)
		if (says(&held[i], reason))
			return true;
	return false;
}

/* "137", and of a signal's number "9 (SIGKILL)", and no more. */
static bool is_number_alone(struct span words, bool is_signal)
{
	size_t digits = 0;

	while (digits < words.len && is_digit(words.ptr[digits]))
		digits++;
	struct span rest = span_skip(words, digits);
	bool is_named = is_signal && span_starts_with(rest, SPAN(" (SIG")) &&
			span_find_char(rest, ')') == (ptrdiff_t)rest.len - 1;
	return digits && (!rest.len || is_named);
}

bool exits_is_how_one_ended(struct span reason)
{
	static const struct span code = SPAN("exit code "), signal = SPAN("killed by signal ");
	struct span words = reason;

	for (ptrdiff_t at; (at = span_find(words, SPAN(": "))) >= 0;)
		words = span_skip(words, (size_t)at + strlen(": "));
	return (span_starts_with(words, code) && is_number_alone(span_skip(words, code.len), false)) ||
	       (span_starts_with(words, signal) && is_number_alone(span_skip(words, signal.len), true));
}
