#include "extract/line/local_tag.h"

#include "extract/line/cursor.h"
#include "extract/line/prefix.h"

static bool take_word(struct span *text)
{
	static const struct span words[] = {
		SPAN("local_rank"), SPAN("local-rank"), SPAN("local rank"), SPAN("gpu"), SPAN("device"), SPAN("cuda")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(span_cut(*text, words[i].len), words[i])) {
			*text = span_skip(*text, words[i].len);
			return true;
		}
	return false;
}

bool local_tag_take(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[")) || !take_word(&rest) || !memchr(" =:", char_at(rest, 0), 3))
		return false;
	rest = span_skip(rest, 1);
	rest = span_skip(rest, count_char(rest, ' '));
	size_t digits = count_digits(rest);
	rest = span_skip(rest, digits);
	if (!digits || digits > 3 || !span_take(&rest, SPAN("]")))
		return false;
	(void)!span_take(&rest, SPAN(":"));
	return span_take(&rest, SPAN(" ")) && (*text = rest, true);
}

bool local_tag_is_before(struct span text)
{
	struct span places[PLACES_MAX];
	size_t count = line_places(text, places);

	for (size_t i = 0; i < count; i++)
		if (local_tag_take(&places[i]))
			return true;
	return false;
}
