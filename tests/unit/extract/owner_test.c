/* Metrics of one name in several formats: whose the name is. And what becomes of lines that a format only seems to know. */
#include "helper.h"

/* "a 7 l 1.5", "b 7 l 1.5" and "any 7 l 1.5" all give train:loss; "bar l 1.5" is known to one that takes nothing from it. */
static const char presets_text[] =
	"{\"presets\":[{\"name\":\"a\",\"detect\":\"^a \",\"definitions\":[{\"Name\":\"train:loss\",\"Regex\":\"^a (?<step>\\\\d+) l "
	"(?<value>{N})\"}]},{\"name\":\"b\",\"detect\":\"^b \",\"definitions\":[{\"Name\":\"train:loss\",\"Regex\":\"^b (?<step>\\\\d+) l "
	"(?<value>{N})\"}]},{\"name\":\"bar\",\"detect\":\"^bar \",\"definitions\":[{\"Name\":\"x\",\"Regex\":\"^bar x (?<value>{N})\"}]},"
	"{\"name\":\"any\",\"generic\":true,\"detect\":\" l \",\"definitions\":[{\"Name\":\"train:loss\",\"Regex\":\"^\\\\w+ (?<step>\\\\d+)? "
	"?l (?<value>{N})\"}]}]}";

static struct stream new_stream(void)
{
	struct definition_set *presets = NULL, *set = NULL;

	CHECK_OK(definition_presets_new(&presets, span_from(presets_text), &err));
	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	struct stream stream = stream_on(set);
	stream.presets = presets;
	return stream;
}

static void say(struct stream *s, const char *who, int step)
{
	char text[100];

	snprintf(text, sizeof text, "%s %d l 1.5", who, step);
	CHECK_INT(feed(s, text), 1);
}

static void say_all(struct stream *s, const char *who, int first, int last)
{
	for (int step = first; step <= last; step++)
		say(s, who, step);
}

static void chatter(struct stream *s, int lines)
{
	for (int i = 0; i < lines; i++)
		CHECK_INT(feed(s, "nothing"), 0);
}

static void check_newest(struct stream *s, const char *wanted)
{
	AUTO_DONE(buf) name = BUF_INIT(1024);

	extractor_series_name(s->extractor, s->set, s->points.items[s->points.count - 1].series, &name);
	buf_append_char(&name, 0);
	CHECK_TEXT(name.ptr, wanted);
}

TEST(the_first_one_keeps_the_name)
{
	AUTO_DONE(stream) s = new_stream();

	for (int step = 1; step < 100; step++) {
		say(&s, "a", step);
		check_newest(&s, "train:loss");
		say(&s, "b", step);
		check_newest(&s, "train:loss{preset=\"b\"}");
	}
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

/* It spoke on every line: 64 + 4 * 1 lines of others are no end yet. */
TEST(one_that_has_ended_leaves_its_curve)
{
	AUTO_DONE(stream) s = new_stream();
	AUTO_DONE(stream) early = new_stream();

	say_all(&early, "a", 1, 10);
	chatter(&early, 67);
	say(&early, "b", 11);
	check_newest(&early, "train:loss{preset=\"b\"}");
	say_all(&s, "a", 1, 10);
	chatter(&s, 68);
	say_all(&s, "b", 4, 20);
	check_newest(&s, "train:loss");
	CHECK_INT(extractor_attempt(s.extractor), 2); /* as if it were one trainer that began again at 4 */
}

TEST(a_start_stands_between_two_trainers)
{
	AUTO_DONE(stream) s = new_stream();

	say_all(&s, "a", 1, 10);
	feed(&s, "Resuming from checkpoint /x/5");
	say_all(&s, "b", 6, 7);
	check_newest(&s, "train:loss");
	CHECK_INT(newest(&s)->attempt, 2);
	CHECK_INT(s.points.items[9].series == s.points.items[10].series, 0);
}

/* 15 lines of the general reading are a beginning; 16, and it has the name. */
TEST(a_specific_one_takes_the_name_from_a_generic_one_of_few_lines)
{
	AUTO_DONE(stream) few = new_stream();
	AUTO_DONE(stream) many = new_stream();

	say_all(&few, "any", 1, 7);
	say(&few, "a", 8);
	check_newest(&few, "train:loss");
	say(&few, "any", 9);
	check_newest(&few, "train:loss{preset=\"any\"}");
	say_all(&many, "any", 1, 8);
	say(&many, "a", 9);
	check_newest(&many, "train:loss{preset=\"a\"}");
	say(&many, "any", 10);
	check_newest(&many, "train:loss");
}

/* An evaluation was long, and a stray line came in it. */
TEST(one_that_comes_back_takes_its_name_again)
{
	AUTO_DONE(stream) s = new_stream();

	say_all(&s, "a", 1, 100);
	chatter(&s, 200);
	say(&s, "b", 3);
	check_newest(&s, "train:loss");
	say(&s, "a", 101);
	check_newest(&s, "train:loss");
	CHECK_INT(newest(&s)->attempt, 1);
	say(&s, "b", 4);
	check_newest(&s, "train:loss{preset=\"b\"}");
}

/* Once the general reading is settled (64 lines), it leaves eight such lines alone. */
TEST(a_line_that_a_specific_one_knows_is_none_for_the_generic_ones)
{
	AUTO_DONE(stream) s = new_stream();
	AUTO_DONE(stream) early = new_stream();

	say_all(&early, "any", 1, 63);
	CHECK_INT(feed(&early, "bar l 2"), 1);
	say_all(&s, "any", 1, 64);
	for (int i = 0; i < 8; i++)
		CHECK_INT(feed(&s, "bar l 2"), 0);
	CHECK_INT(feed(&s, "bar l 2"), 1); /* not that rare: nobody else reads them */
}

/* Lines of its own without a value. */
TEST(a_specific_one_that_speaks_keeps_its_lines)
{
	AUTO_DONE(stream) s = new_stream();

	for (int i = 0; i < 20; i++) {
		CHECK_INT(feed(&s, "bar x 1"), 1);
		CHECK_INT(feed(&s, "bar l 2"), 0);
	}
	say(&s, "any", 1);
	CHECK_INT(feed(&s, "bar l 2"), 0);
}

static void feed_until_memory_fails(long nth, bool *has_failed)
{
	static const char *const lines[] = {"a 1 l 1.5", "b 1 l 1.5", "any 1 l 2", "bar l 2", "x", "Resuming from x",
		"b 2 l 3", "any 2 l 2", "a 2 l 1.5", "bar x 1"};
	AUTO_DONE(stream) s = new_stream();
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);
	enum status status = OK;
	struct error why;

	mem_fail_at(nth);
	for (size_t i = 0; i < 2 * sizeof lines / sizeof *lines && status == OK; i++) {
		struct extract_line line = {
			.text = span_from(lines[i % (sizeof lines / sizeof *lines)]), .ts_ms = NO_TIME, .number = i};
		status = extract_line(s.extractor, s.set, s.scratch, &line, noon_ms, &s.points, &why);
	}
	mem_fail_at(0);
	*has_failed = status != OK;
	CHECK(status == OK || status == ERR_MEMORY);
	CHECK_INT(feed(&s, "a 9 l 1.5"), 1); /* it can go on */
	extractor_pack(s.extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(s.extractor);
	s.extractor = NULL;
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
}

TEST(formats_go_on_after_memory_was_out)
{
	bool has_failed = true;
	long nth = 1;
	int failures = 0;

	/* The memo, and what is only remembered, may fail without a word. */
	for (int quiet = 0; quiet < 20; nth++) {
		feed_until_memory_fails(nth, &has_failed);
		failures += has_failed;
		quiet = has_failed ? 0 : quiet + 1;
	}
	CHECK(failures > 20);
}
