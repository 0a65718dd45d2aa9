/* Bad and large input to the reader of lines that no preset knows: each limit is tested at it and one past it, and what is said then. */
#include "extract/generic/generic.h"
#include "extract/generic/guess.h"
#include "extract/generic/records.h"
#include "extract/line/slot.h"
#include "extract/line/wide.h"
#include "helper.h"

enum { TEXT_BYTES = 1 << 20, STAR_NAME_BYTES = GUESS_NAME_MAX_BYTES };

static struct stream any_stream(void)
{
	return stream_by_presets(NULL);
}

/* ---- one line ---- */

struct one_line {
	struct tokens tokens;
	struct generic_line line;
};

static struct one_line *read_one(struct span text)
{
	struct one_line *one = mem_zeroed(sizeof *one);

	CHECK(one);
	tokens_find(text, &one->tokens);
	(void)generic_read(&one->tokens, &one->line);
	return one;
}

TEST(a_line_has_so_many_tokens_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
		for (size_t i = 0; i < TOKENS_MAX + past; i++)
			buf_append_text(&text, "a ");
		AUTO_MEM struct one_line *one = read_one(buf_span(&text));
		CHECK_INT(one->tokens.count, TOKENS_MAX);
		CHECK_INT(one->line.is_cut, past);
	}
}

TEST(a_line_has_so_many_bytes_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
		buf_append_text(&text, "step 1 loss: 2.5 ");
		while (text.len < TOKENS_TEXT_MAX_BYTES + past)
			buf_append_char(&text, 'a');
		AUTO_MEM struct one_line *one = read_one(buf_span(&text));
		CHECK_INT(one->line.is_cut, past);
	}
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	buf_append_text(&text, "step 1 ");
	while (text.len < TOKENS_TEXT_MAX_BYTES)
		buf_append_char(&text, ' ');
	buf_append_text(&text, "loss: 2.5");
	AUTO_MEM struct one_line *one = read_one(buf_span(&text));
	CHECK_INT(one->line.count, 0);
	CHECK(one->line.is_cut);
}

TEST(a_line_has_so_many_values_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
		buf_append_text(&text, "step 1");
		for (size_t i = 0; i < GENERIC_VALUES_MAX + past; i++)
			buf_printf(&text, " gate%zu=0.5", i);
		AUTO_MEM struct one_line *one = read_one(buf_span(&text));
		CHECK_INT(one->line.count, GENERIC_VALUES_MAX);
		CHECK_INT(one->line.is_cut, past);
	}
}

/* Names of two words, which are written anew; the last one is what still fits. */
TEST(names_of_a_line_have_so_much_room_and_no_more)
{
	size_t whole = (GENERIC_NAMES_BYTES - 1) / STAR_NAME_BYTES,
	       rest = GENERIC_NAMES_BYTES - whole * STAR_NAME_BYTES - 1;

	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
		buf_append_text(&text, "step 1");
		for (size_t i = 0; i <= whole; i++) {
			buf_append_text(&text, ", gate ");
			for (size_t j = 5; j < (i < whole ? STAR_NAME_BYTES : rest + past); j++)
				buf_append_char(&text, (char)('a' + (int)(i % 26)));
			buf_append_text(&text, "=0.5");
		}
		AUTO_MEM struct one_line *one = read_one(buf_span(&text));
		CHECK_INT(one->line.count, whole + 1 - past);
		CHECK_INT(one->line.is_cut, past);
	}
}

TEST(a_name_has_so_many_bytes_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
		buf_append_text(&text, "step 1 ");
		for (size_t i = 0; i < STAR_NAME_BYTES + past; i++)
			buf_append_char(&text, 'g');
		buf_append_text(&text, "=0.5");
		AUTO_MEM struct one_line *one = read_one(buf_span(&text));
		CHECK_INT(one->line.count, 1 - past);
		CHECK_INT(one->line.is_cut, past);
	}
}

/* ---- a stream ---- */

/* How often the health of any definition says it. */
static uint64_t limited(const struct stream *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < GENERIC_SERIES_COUNT; i++)
		sum += extractor_health(s->extractor, i).limited;
	return sum;
}

static uint64_t not_numeric(const struct stream *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < GENERIC_SERIES_COUNT; i++)
		sum += extractor_health(s->extractor, i).not_numeric;
	return sum;
}

/* Those of the definitions count, too. */
TEST(a_stream_has_so_many_names_and_no_more)
{
	AUTO_DONE(stream) s = any_stream();
	size_t taken = GENERIC_SERIES_COUNT;
	char text[64];

	CHECK_INT(feed(&s, "step 1 loss: 2.5"), 1);
	for (; taken < SLOTS_NAMED_MAX; taken++) {
		snprintf(text, sizeof text, "step 2 acc_%zu: 2.5", taken);
		CHECK_INT(feed(&s, text), 1);
	}
	CHECK_INT(limited(&s), 0);
	CHECK_INT(feed(&s, "step 2 acc_beyond: 2.5"), 0);
	CHECK_INT(limited(&s), 1);
	snprintf(text, sizeof text, "step 3 acc_%zu: 2.25 loss: 2.5", taken - 1);
	CHECK_INT(feed(&s, text), 2); /* who is there goes on */
	CHECK_INT(limited(&s), 1);
}

TEST(names_are_the_same_series_after_a_restart)
{
	AUTO_DONE(stream) s = any_stream();
	AUTO_DONE(buf) state = BUF_INIT(8 << 20);
	uint32_t series[100];
	char text[64];

	CHECK_INT(feed(&s, "step 1 loss: 2.5"), 1);
	for (size_t i = 0; i < 100; i++) {
		snprintf(text, sizeof text, "step 1 acc_%zu: 2.5", i);
		CHECK_INT(feed(&s, text), 1);
		series[i] = s.points.items[s.points.count - 1].series;
	}
	extractor_pack(s.extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(s.extractor);
	s.extractor = NULL;
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
	for (size_t i = 0; i < 100; i++) {
		snprintf(text, sizeof text, "step 2 acc_%zu: 2.25", i);
		CHECK_INT(feed(&s, text), 1);
		CHECK_INT(s.points.items[s.points.count - 1].series, series[i]);
	}
	CHECK_INT(feed(&s, "step 2 acc_new: 2.5"), 1);
	uint32_t newest_series = s.points.items[s.points.count - 1].series;
	CHECK_INT(newest_series, series[99] + 1);
}

TEST(a_line_that_is_not_read_to_its_end_is_said)
{
	AUTO_DONE(stream) s = any_stream();
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	CHECK_INT(feed(&s, "step 1 loss: 2.5"), 1);
	for (size_t i = 0; i < TOKENS_MAX; i++)
		buf_append_text(&text, "k: 1, ");
	CHECK_INT(feed_at(&s, buf_span(&text), NO_TIME), 0);
	CHECK_INT(limited(&s), 1);
}

TEST(a_header_that_is_too_large_is_said)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(stream) s = any_stream();
		AUTO_DONE(buf) columns = BUF_INIT(TEXT_BYTES);
		AUTO_DONE(buf) bytes = BUF_INIT(TEXT_BYTES);
		CHECK_INT(feed(&s, "step 1 loss: 2.5"), 1);
		buf_append_text(&columns, "step");
		for (size_t i = 1; i < CELLS_MAX + past; i++)
			buf_append_text(&columns, " | loss");
		CHECK_INT(feed_at(&s, buf_span(&columns), NO_TIME), 0);
		CHECK_INT(limited(&s), past);
		buf_append_text(&bytes, "step | loss | ");
		while (bytes.len < TABLE_HEADER_MAX_BYTES + past)
			buf_append_text(&bytes, bytes.len % 50 ? "a" : "|");
		CHECK_INT(feed_at(&s, buf_span(&bytes), NO_TIME), 0);
		CHECK_INT(limited(&s), 2 * past);
	}
}

TEST(what_is_no_number_is_said_and_no_point)
{
	static const char *const odd[] = {"step 2 loss: 0x1f", "step 2 loss: 0xaf", "step 2 loss: -0XAF",
		"step 2 loss: 1.234,5", "step 2 loss=0,04", "step 2 loss=0,040", "step 2 loss: 1.2.3"};
	AUTO_DONE(stream) s = any_stream();

	CHECK_INT(feed(&s, "step 1 loss: 2.5"), 1);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		CHECK_INT(feed(&s, odd[i]), 0);
		CHECK_INT(not_numeric(&s), i + 1);
	}
	CHECK_INT(feed(&s, "step 3 loss: 1,234.5"), 1);
	CHECK_DOUBLE(newest(&s)->value, 1234.5);
	CHECK_INT(feed(&s, "step 4 loss: nan"), 1);
	CHECK_INT(feed(&s, "step 5 port: 0x1f at: 12:30:11 rank: 1.2.3"), 0);
	CHECK_INT(not_numeric(&s), sizeof odd / sizeof *odd);
}

/* Of the last of three lines. */
static int64_t step_of(const char *format)
{
	AUTO_DONE(stream) s = any_stream();
	char text[128];

	for (int i = 11; i < 14; i++) {
		snprintf(text, sizeof text, format, i, 1.0 / i);
		(void)feed(&s, text); /* without a step, the first waits for the second */
	}
	CHECK_INT(s.points.count, 3);
	return newest(&s)->step;
}

TEST(a_date_is_no_step)
{
	CHECK_INT(step_of("step %d loss: %.3f"), 13);
	CHECK_INT(step_of("step: 2024-01-%d loss: %.3f"), 2);
	CHECK_INT(step_of("epoch 01/%d/2024 loss: %.3f"), 2);
	CHECK_INT(step_of("step 01/%d/2024 loss: %.3f"), 2);
	CHECK_INT(step_of("iteration 12:%d:33 loss: %.3f"), 2);
	CHECK_INT(step_of("iter %d.01.2024 loss: %.3f"), 2);
	CHECK_INT(step_of("step 0x%d loss: %.3f"), 2);
	CHECK_INT(step_of("epoch %d/300 loss: %.3f"), 13);
}

/* ---- UTF-16 ---- */

static void append_wide(struct buf *out, const char *text, bool is_low_first)
{
	for (; *text; text++) {
		buf_append_char(out, is_low_first ? *text : '\0');
		buf_append_char(out, is_low_first ? '\0' : *text);
	}
}

/* Lines end at the byte of the newline, as the server cuts them. */
TEST(a_log_in_utf_16_is_read)
{
	for (int is_low_first = 0; is_low_first <= 1; is_low_first++) {
		AUTO_DONE(stream) s = any_stream();
		AUTO_DONE(buf) log = BUF_INIT(TEXT_BYTES);
		buf_append_text(&log, is_low_first ? "\xff\xfe" : "\xfe\xff");
		append_wide(&log,
			"step 1 loss: 2.5\r\nstep 2 loss: \x1b[1m2.25\x1b[0m\n{\"log\":\"step 3 loss: 2.125\"}\n",
			is_low_first);
		struct span rest = buf_span(&log), line;
		for (int i = 0; i < 3; i++) {
			CHECK(span_next(&rest, '\n', &line));
			CHECK_INT(feed_at(&s, line, NO_TIME), 1);
			CHECK_INT(newest(&s)->step, i + 1);
		}
		CHECK_DOUBLE(newest(&s)->value, 2.125);
	}
}

TEST(nuls_alone_make_no_utf_16)
{
	static const struct span lines[] = {SPAN("\0\0\0\0\0"), SPAN("\0a\0\0\0b"), SPAN("\0ab\0c"), SPAN("\xff\xfe"),
		SPAN("\xff\xfe\0"), SPAN("\xff\xfe\x01\x02\x03"), SPAN("\0s\0t\x4e\x0b\0p")};
	AUTO_DONE(buf) out = BUF_INIT(TEXT_BYTES);

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		CHECK(!wide_narrow(lines[i], &out));
	CHECK_INT(out.len, 0);
	CHECK(wide_narrow(SPAN("\0a\0b\0"), &out));
	CHECK_SPAN(buf_span(&out), SPAN("ab"));
}
