/* Where on its line a value stands that was found in a text made of it, for who shows what was taken. */
#include "extract/line/ansi.h"
#include "extract/state.h"

static bool is_within(struct span part, struct span whole)
{
	uintptr_t at = (uintptr_t)part.ptr, from = (uintptr_t)whole.ptr;

	return part.len && at >= from && at - from <= whole.len && part.len <= whole.len - (at - from);
}

/* Of a text that was stripped to `plain`. */
static struct span find_stripped(struct span text, struct span plain, struct span value)
{
	size_t at = (size_t)(value.ptr - plain.ptr), start = ansi_find_byte(text, at);

	return span_of(text.ptr + start, ansi_find_byte(text, at + value.len - 1) + 1 - start);
}

/* What of the record it was. Of two texts that were stripped the first one is gone. */
static bool find_in_record(const struct run *run, struct span *value)
{
	struct span plain = buf_span(&run->extractor->plain);
	bool is_stripped = is_within(*value, plain);

	if (is_stripped)
		*value = find_stripped(run->message, plain, *value);
	return unwrap_trace_find(&run->extractor->trace, *value, value) && !(is_stripped && is_within(*value, plain));
}

/* Of the text that is read as the line. */
static bool find_in_line(const struct run *run, struct span value, size_t *start, size_t *end)
{
	struct span line = run->line->text, plain = buf_span(&run->extractor->plain);

	if (run->is_narrowed)
		return false;
	if (run->message.ptr && !is_within(value, line) && !find_in_record(run, &value))
		return false;
	if (is_within(value, plain))
		value = find_stripped(line, plain, value);
	if (!is_within(value, line))
		return false;
	*start = (size_t)(value.ptr - line.ptr);
	*end = *start + value.len;
	return true;
}

/* Parts are joined by their ends: what the last one says ends the whole. */
static bool find_in_part(const struct run *run, size_t *start, size_t *end)
{
	size_t whole = run->line->text.len, last = partial_text(run->given).len;

	if (whole - *start > last)
		return false;
	*start += run->given.len - whole;
	*end += run->given.len - whole;
	return true;
}

/* A step further up than a record goes is no part of it. */
static void find_step(const struct run *run, const struct found *found, struct extracted_mark *mark)
{
	const struct step_seen *seen = run_step(run);

	mark->has_step = found->has_step || (seen && run->line->number - seen->line <= RECORD_LINES);
	if (mark->has_step)
		mark->step = found->has_step ? found->step : seen->raw;
}

struct extracted_mark mark_found(const struct run *run, const struct found *found)
{
	struct extracted_mark mark = {.value = found->value};
	size_t start, end;

	bool is_there = find_in_line(run, span_trim(found->text), &start, &end);
	if (is_there && run->given.ptr != run->line->text.ptr)
		is_there = find_in_part(run, &start, &end);
	if (is_there && end <= UINT32_MAX) {
		mark.start = (uint32_t)start;
		mark.end = (uint32_t)end;
	}
	find_step(run, found, &mark);
	return mark;
}
