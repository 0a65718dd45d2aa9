#include "extract/line/kernel_event.h"

#include "base/text/line_time.h"
#include "extract/line/kernel_line.h"
#include "extract/line/local_tag.h"
#include "extract/line/part.h"
#include "extract/line/prefix.h"

bool kernel_event_time(struct span text, int64_t arrival_ms, int64_t *ts_ms)
{
	struct span places[PLACES_MAX], host;
	size_t count = line_places(text, places);

	while (count-- > 0)
		if ((kernel_line_has_header(places[count], &host) || kernel_line_is(places[count])) &&
			line_time_parse(places[count], arrival_ms, ts_ms))
			return true;
	return false;
}

/* Ten digits are seconds since 1970. */
static bool begins_with_uptime(struct span text)
{
	enum { DIGITS_MAX = 9 };

	if (!span_take(&text, SPAN("[")))
		return false;
	text = span_skip(text, count_char(text, ' '));
	size_t digits = count_digits(text);
	return digits && digits <= DIGITS_MAX && char_at(text, digits) == '.' && is_digit(char_at(text, digits + 1));
}

struct span kernel_event_uptime(struct span text)
{
	struct span places[PLACES_MAX], host;
	size_t count = line_places(text, places);

	for (size_t i = 0; i < count; i++) {
		if (kernel_line_has_header(places[i], &host))
			return SPAN("");
		ptrdiff_t end = begins_with_uptime(places[i]) ? span_find_char(places[i], ']') : -1;
		if (end > 0)
			return span_cut(places[i], (size_t)end + 1);
	}
	return SPAN("");
}

/* Behind the innermost of what hands it on. */
static struct span words_of(struct span text)
{
	struct span places[PLACES_MAX];
	size_t count = line_places(text, places);

	for (size_t i = 0; i < count; i++) {
		(void)!local_tag_take(&places[i]);
		if (kernel_line_is(places[i]))
			return span_trim(kernel_line_peel(places[i]));
	}
	return span_trim(kernel_line_peel(text));
}

bool kernel_event_has_same_words(struct span a, struct span b)
{
	return span_equal(words_of(a), words_of(b));
}

/* "5555.123456" of the last uptime in front of the words, whatever header is in front of that; "": there is none. */
static struct span uptime_before(struct span text, struct span words)
{
	struct span head = span_cut(text, words.ptr ? (size_t)(words.ptr - text.ptr) : 0);

	for (size_t at = head.len; at-- > 0;) {
		struct span part = span_skip(head, at);
		if (!begins_with_uptime(part))
			continue;
		part = span_skip(part, 1);
		part = span_skip(part, count_char(part, ' '));
		size_t whole = count_digits(part) + 1;
		return span_cut(part, whole + count_digits(span_skip(part, whole)));
	}
	return SPAN("");
}

struct kernel_event kernel_event_of(struct span text)
{
	struct span words = words_of(text);

	return (struct kernel_event){words, uptime_before(text, words)};
}

bool kernel_event_is_same(const struct kernel_event *a, const struct kernel_event *b)
{
	return a->uptime.len && span_equal(a->uptime, b->uptime) && span_equal(a->words, b->words);
}

/* It goes on with what is said from then on. */
static bool follows(struct span command)
{
	static const struct span options[] = {SPAN(" -w"), SPAN(" -W"), SPAN(" --follow"), SPAN(" -f"), SPAN(" -kf")};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (span_find(command, options[i]) >= 0)
			return true;
	return false;
}

bool kernel_event_is_dump_begun(struct span text)
{
	struct span places[PLACES_MAX];

	if (span_find(text, SPAN("+ ")) < 0 ||
		(span_find(text, SPAN("dmesg")) < 0 && span_find(text, SPAN("journalctl")) < 0))
		return false;
	struct span last = places[line_places(text, places) - 1];
	size_t signs = count_char(last, '+');
	return signs && char_at(last, signs) == ' ' && !follows(last);
}
