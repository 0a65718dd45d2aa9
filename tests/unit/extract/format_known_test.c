/*
 * Lines that nobody reads are remembered by their shape. What differs from one by a byte is another shape and must be read;
 * what differs by its digits alone is the same.
 */
#include "extract/format.h"
#include "helper.h"

static const char known[] = "Epoch:[1/3] [20/400]  eta: 0:01:02  step: 20  loss: 0.5  lr: 0.001";

enum { KNOWN = sizeof known - 1 };

static struct definition_set *small_presets(void)
{
	static const char json[] =
		"{\"presets\":[{\"name\":\"a\",\"detect\":\"^Epoch:\\\\[\\\\d+/\\\\d+\\\\] \\\\[\\\\d+/\\\\d+\\\\]  eta: \\\\d+:\\\\d+:\\\\d+  "
		"step: \\\\d+  loss: \\\\d+\\\\.\\\\d+  lr: \\\\d+\\\\.\\\\d+$\",\"definitions\":[{\"Name\":\"loss\","
		"\"Regex\":\"^Epoch:.*  loss: ({N})  lr\"}]}]}";
	struct definition_set *presets = NULL;

	CHECK_OK(definition_presets_new(&presets, span_from(json), &err));
	return presets;
}

static struct stream small_stream(void)
{
	struct definition_set *presets = small_presets(), *set = NULL;

	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	struct stream stream = stream_on(set);
	stream.presets = presets;
	return stream;
}

/* The line with longer numbers, by `more` digits each: the same shape, and all bytes elsewhere. */
static void lengthen(const char *line, int more, char *out)
{
	for (; *line; line++) {
		*out++ = *line;
		bool is_end = *line >= '0' && *line <= '9' && !(line[1] >= '0' && line[1] <= '9');
		for (int i = 0; is_end && i < more; i++)
			*out++ = (char)('1' + i % 9);
	}
	*out = '\0';
}

TEST(line_that_differs_by_a_byte_from_one_that_nobody_reads_is_read)
{
	char other[KNOWN + 1], lines[2][12 * KNOWN];

	for (size_t i = 0; i < KNOWN; i++) {
		if (known[i] >= '0' && known[i] <= '9')
			continue;
		for (int more = 0; more < 10; more++) {
			AUTO_DONE(stream) s = small_stream();
			memcpy(other, known, sizeof other);
			other[i] = '#';
			lengthen(other, more, lines[0]);
			lengthen(known, 9 - more, lines[1]);
			for (int n = 0; n < 3; n++)
				CHECK_INT(feed(&s, lines[0]), 0);
			CHECK_INT(feed(&s, lines[1]), 1);
		}
	}
}

TEST(line_that_goes_on_where_one_that_nobody_reads_ends_is_read)
{
	for (size_t i = 1; i < KNOWN; i++) {
		AUTO_DONE(stream) s = small_stream();
		bool is_whole = i + 4 >= KNOWN; /* "lr: 0" is one, too */
		for (int n = 0; n < 3 && !is_whole; n++)
			CHECK_INT(feed_at(&s, span_of(known, i), NO_TIME), 0);
		CHECK_INT(feed(&s, known), 1);
	}
}

/* A number that is none, or commas that are no thousands': what nobody read of the one is not what nobody reads of the other. */
TEST(line_whose_numbers_are_none_says_nothing_of_those_with_numbers)
{
	static const char *const odd[] = {"step=850367162588565472759 step_time=33", "step=1,2 step_time=33"};
	static const char *const plain[] = {"step=%d step_time=%d", "step=1,00%d step_time=%d"};
	char text[96];

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		AUTO_DONE(stream) with = stream_by_presets(NULL), without = stream_by_presets(NULL);
		for (int n = 0; n < 3; n++)
			(void)feed(&with, odd[i]);
		size_t before = with.points.count;
		for (int n = 1; n < 9; n++) {
			snprintf(text, sizeof text, plain[i], n, 3 + n % 5);
			(void)feed(&with, text);
			(void)feed(&without, text);
		}
		CHECK(without.points.count > 0);
		CHECK_INT(with.points.count - before, without.points.count);
	}
}

/* The shipped presets say where the step is. Of a shape that the reader knows it looks at one line; the steps are those of each. */
TEST(lines_of_a_shape_that_is_read_each_have_their_step)
{
	AUTO_DONE(stream) s = stream_by_presets("[{\"Name\":\"loss\",\"Regex\":\"loss=([0-9.]+)\"}]");
	char text[96];

	for (int i = 1; i <= 40; i++) {
		snprintf(text, sizeof text, "shard %d took %d.5 s, lr %d.25", i * 7, i, i);
		CHECK_INT(feed(&s, text), 0);
		snprintf(text, sizeof text, i % 2 ? "Epoch 1 batch %d/57 loss=1.5" : "iter %d: loss=2.5 acc 0.5", i);
		CHECK_INT(feed(&s, text), 1);
		CHECK_INT(newest(&s)->step, i);
	}
}

/* Which preset takes the lines is half of it: another one that takes such a line may have rivals. */
TEST(shape_that_one_preset_alone_knows_is_remembered_with_that_preset)
{
	struct formats formats;

	formats_init(&formats);
	(void)formats_see(&formats, SPAN("step 1 loss 0.5"));
	CHECK(!formats_is_alone(&formats, 3));
	formats_note_alone(&formats, 3);
	(void)formats_see(&formats, SPAN("step 22 loss 10.25"));
	CHECK(formats_is_alone(&formats, 3));
	CHECK(!formats_is_alone(&formats, 4));
	(void)formats_see(&formats, SPAN("step 22 lose 10.25"));
	CHECK(!formats_is_alone(&formats, 3));
	(void)formats_see(&formats, SPAN("step 22 loss 10.25"));
	formats_forget_dull(&formats);
	CHECK(!formats_is_alone(&formats, 3));
	formats_done(&formats);
}
