#include "pipeline/exits.h"

#include "model/stream_name.h"

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
