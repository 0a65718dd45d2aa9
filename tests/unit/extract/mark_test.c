/* Where on its line a value stood that became a point. */
#include "extract/line/ansi.h"
#include "helper.h"

#define TIME "2024-06-25T12:34:56.123456789Z "

static struct stream marked_stream(const char *definitions)
{
	struct stream stream = stream_of(definitions);

	extractor_want_marks(stream.extractor);
	return stream;
}

static const struct extracted_mark *newest_mark(const struct stream *stream)
{
	CHECK(stream->points.count);
	return &stream->points.items[stream->points.count - 1].mark;
}

/* wanted NULL: it is not known. */
static void check_mark(struct stream *stream, const char *line, const char *wanted)
{
	CHECK_INT(feed(stream, line), 1);
	const struct extracted_mark *mark = newest_mark(stream);
	CHECK(mark->end <= strlen(line));
	CHECK_SPAN(span_of(line + mark->start, mark->end - mark->start), span_from(wanted ? wanted : ""));
}

/* With a "^" none of them finds its value in the record as it stands. */
TEST(a_mark_is_in_the_line_as_it_came)
{
	AUTO_DONE(stream)
	s = marked_stream("[{\"Name\":\"loss\",\"Regex\":\"^step (?<step>\\\\d+)[^0-9]* loss (?<value>\\\\S+)\"}]");

	check_mark(&s, "[rank0]: step 3 \xc3\xa9 loss 2.5 ", "2.5");
	check_mark(&s, "\x1b[1mstep 4\x1b[0m loss \x1b[32m2.5\x1b[0m", "2.5");
	check_mark(&s, "step 5 loss 2\x1b[1m.5", "2\x1b[1m.5");
	check_mark(&s, "10%\rstep 6 loss 2.5\r", "2.5");
	check_mark(&s, "{\"log\": \"step 7 \\t \\u006coss 2.5\\n\", \"rank\": 3}", "2.5");
	check_mark(&s, "[rank3]: {\"log\": \"\\u001b[1mstep 8\\u001b[0m loss 2\\u001b[1m.5\"}", "2\\u001b[1m.5");
	check_mark(&s, "{\"log\":\"{\\\"msg\\\":\\\"step 9 \\\\t loss 2.5\\\"}\"}", "2.5");
	check_mark(&s, "{\"log\": \"step 10 loss \\u0032.5\"}", NULL);
	check_mark(&s, "\x1b[1m{\"log\": \"step 11 \\u001b[1mloss 2.5\"}", NULL);
	check_mark(&s, "\x1b[1m{\"log\": \"step 12 loss 2.5\"}", "2.5");
}

TEST(only_what_the_last_part_says_has_a_place)
{
	AUTO_DONE(stream) s = marked_stream(STEP_LOSS);

	CHECK_INT(feed(&s, TIME "stdout P step 1 lo"), 0);
	check_mark(&s, TIME "stdout F ss 2.5 x", "2.5");
	CHECK_INT(feed(&s, TIME "stdout P step 2 loss 2.5"), 0);
	check_mark(&s, TIME "stdout F  and more", NULL);
	CHECK_INT(feed(&s, TIME "stdout P step 3 loss 2"), 0);
	check_mark(&s, TIME "stdout F .5", NULL);
}

TEST(a_mark_says_the_step_of_its_line_or_record)
{
	AUTO_DONE(stream)
	s = marked_stream(
		"[{\"Name\":\"loss\",\"Regex\":\"(?:e(?<epoch>\\\\d+) s(?<step>\\\\d+) )?loss (?<value>\\\\S+)\"}]");

	CHECK_INT(feed(&s, "loss 3.5"), 1);
	CHECK(!newest_mark(&s)->has_step);
	for (int epoch = 0; epoch < 2; epoch++)
		for (int step = 0; step < 10; step++) {
			char line[64];
			snprintf(line, sizeof line, "e%d s%d loss 2.5", epoch, step);
			CHECK_INT(feed(&s, line), 1);
			CHECK_INT(newest_mark(&s)->step, step);
			CHECK_INT(newest(&s)->step, 10 * epoch + step);
		}
	CHECK_INT(feed(&s, "loss 1.5"), 1);
	CHECK(newest_mark(&s)->has_step);
	CHECK_INT(newest_mark(&s)->step, 9);
	CHECK_DOUBLE(newest_mark(&s)->value, 1.5);
	for (int i = 0; i < 62; i++)
		CHECK_INT(feed(&s, "chatter"), 0);
	CHECK_INT(feed(&s, "loss 1.25"), 1); /* 64 lines further down */
	CHECK(newest_mark(&s)->has_step);
	CHECK_INT(feed(&s, "loss 1.25"), 1); /* one more */
	CHECK(!newest_mark(&s)->has_step);
}

TEST(who_asks_for_no_marks_gets_none)
{
	AUTO_DONE(stream) s = stream_of(STEP_LOSS);

	CHECK_INT(feed(&s, "step 3 loss 2.5"), 1);
	CHECK_INT(newest_mark(&s)->end, 0);
}

TEST(a_byte_of_stripped_text_is_found)
{
	struct span text = SPAN("\x1b[1ma\x1b[0mb\x1b[0m");

	CHECK_INT(ansi_find_byte(text, 0), 4);
	CHECK_INT(ansi_find_byte(text, 1), 9);
	CHECK_INT(ansi_find_byte(text, 2), text.len);
	CHECK_INT(ansi_find_byte(SPAN("ab"), 1), 1);
	CHECK_INT(ansi_find_byte(SPAN(""), 0), 0);
}
