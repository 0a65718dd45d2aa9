/* A state of the version that gave each stream one preset: it goes on as if it had never stopped. */
#include "helper.h"

enum { LINES = 20 };

struct old_state {
	const char *name;
	int series; /* of train:loss; -1: none yet */
	const char *hex;
};

static const struct old_state states[] = {
#include "old_states.h"
};

static int nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void bytes_of(const struct old_state *state, struct buf *out)
{
	for (const char *c = state->hex; *c; c += 2)
		buf_append_char(out, (char)(nibble(c[0]) << 4 | nibble(c[1])));
}

static struct stream restored(size_t index, const char *definitions, uint64_t lines)
{
	AUTO_DONE(buf) bytes = BUF_INIT(1 << 20);

	struct stream stream = stream_by_presets(definitions);
	extractor_free(stream.extractor);
	bytes_of(&states[index], &bytes);
	struct unpacker in = unpacker_on(buf_span(&bytes));
	CHECK_OK(extractor_unpack(&stream.extractor, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
	stream.lines = lines;
	stream.now_ms += (int64_t)lines * 1000;
	return stream;
}

static void say_nanogpt(struct stream *s, int step)
{
	char text[100];

	snprintf(text, sizeof text, "iter %d: loss %d.5, time 100.0ms, mfu 12.50%%", step, 50 - step);
	feed(s, text);
}

/* Steps LINES + 1 to 2 * LINES of the series that had the others. */
static void check_loss(struct stream *s, int series)
{
	int64_t step = LINES;

	for (size_t i = 0; i < s->points.count; i++) {
		const struct extracted *item = &s->points.items[i];
		AUTO_DONE(buf) name = BUF_INIT(1024);
		extractor_series_name(s->extractor, s->set, item->series, &name);
		if (!span_equal(buf_span(&name), SPAN("train:loss")))
			continue;
		CHECK_INT(item->series, series);
		CHECK_INT(item->point.step, ++step);
		CHECK_INT(item->point.attempt, 1);
		CHECK_DOUBLE(item->point.value, 50.5 - (double)step);
	}
	CHECK_INT(step, 2 * LINES);
}

static void check_preset(struct stream *s, const char *wanted)
{
	const char *name = definition_set_preset_name(s->set, extractor_preset(s->extractor));

	CHECK_TEXT(name ? name : "none", wanted);
}

static void check_nanogpt(size_t index, const char *definitions, const char *preset)
{
	AUTO_DONE(stream) s = restored(index, definitions, LINES);

	check_preset(&s, preset);
	CHECK_INT(extractor_last_step(s.extractor), LINES);
	for (int step = LINES + 1; step <= 2 * LINES; step++)
		say_nanogpt(&s, step);
	check_loss(&s, states[index].series);
	check_preset(&s, preset);
	CHECK(extractor_health(s.extractor, 0).matched >= 2 * LINES - 1);
}

TEST(an_old_state_of_a_preset_goes_on)
{
	check_nanogpt(0, NULL, "nanogpt");
}

TEST(an_old_state_of_a_preset_with_another_goes_on)
{
	AUTO_DONE(stream) s = restored(1, NULL, 2 * LINES);
	char text[200];

	for (int step = LINES + 1; step <= 2 * LINES; step++) {
		snprintf(text, sizeof text, " 25%%|## | %d/2000 [02:25<16:26, 4.04it/s]", step);
		feed(&s, text);
		snprintf(text, sizeof text,
			"{'loss': %d.5, 'grad_norm': 0.5, 'learning_rate': 4.98e-05, 'epoch': 0.01}", 50 - step);
		feed(&s, text);
	}
	check_loss(&s, states[1].series);
	check_preset(&s, "hf-trainer");
}

TEST(an_old_state_of_a_revised_choice_goes_on)
{
	check_nanogpt(2, NULL, "nanogpt");
}

TEST(an_old_state_that_knows_no_preset_yet_remembers_its_lines)
{
	AUTO_DONE(stream) s = restored(3, NULL, 2);

	check_preset(&s, "none");
	feed(&s, "5/5 [====] - 1s - loss: 0.5");
	check_preset(&s, "keras");
	CHECK_INT(newest(&s)->step, 1); /* of the epoch that it read before */
}

TEST(an_old_state_of_definitions_goes_on)
{
	check_nanogpt(4, "[{\"Name\":\"train:loss\",\"Regex\":\"loss ([0-9.]+)\"}]", "none");
}

TEST(an_old_state_of_a_preset_that_was_asked_for_goes_on)
{
	check_nanogpt(5, "[{\"Preset\":\"nanogpt\"}]", "nanogpt");
}

/* A stray line does to a restored stream what it does to any. */
TEST(an_old_state_takes_stray_lines)
{
	AUTO_DONE(stream) s = restored(0, NULL, LINES);

	for (int step = LINES + 1; step <= 2 * LINES; step++) {
		say_nanogpt(&s, step);
		feed(&s, "{'loss': 9.25, 'grad_norm': 3.5, 'learning_rate': 0.5, 'epoch': 1.0}");
	}
	check_loss(&s, states[0].series);
	CHECK_INT(extractor_format_count(s.extractor), 2);
	check_preset(&s, "nanogpt");
}

/* Nothing is known of the lines before: there may have been some without a number. */
TEST(numbers_that_count_batches_of_an_epoch_are_no_ranks_behind_an_older_state)
{
	AUTO_DONE(stream) s = restored(0, NULL, LINES);
	char text[64];

	for (int i = 0; i < 6; i++) {
		snprintf(text, sizeof text, "%d: epoch %d loss: %d.5", i % 3, 30 + i / 3, i);
		feed(&s, text);
	}
	for (size_t i = 0; i < s.points.count; i++) {
		AUTO_DONE(buf) name = BUF_INIT(1024);
		extractor_series_name(s.extractor, s.set, s.points.items[i].series, &name);
		CHECK_INT(span_find(buf_span(&name), SPAN("rank")), -1);
	}
}
