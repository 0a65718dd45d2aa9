#include "store/pack/log_filter.h"
#include "test.h"
#include "../../support/log_filter_definition.h"

static bool may_hold(struct span filter, const char *text, bool is_regex)
{
	AUTO(log_needles) needles = NULL;

	CHECK_OK(log_needles_new(&needles, span_from(text), is_regex, false, &err));
	return !needles || log_filter_may_hold(filter, needles);
}

static void pack(const char *const *texts, size_t count, struct buf *out)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);

	for (size_t i = 0; i < count; i++) {
		buf_append_text(&text, texts[i]);
		buf_append_char(&text, '\n');
	}
	CHECK_OK(log_filter_pack(buf_span(&text), out, &err));
}

TEST(what_is_there_is_never_denied_and_what_is_not_mostly_is)
{
	static const char *const texts[] = {"iteration 8841873/ 9000000 | lm loss: 2.345678E+00 |",
		"WARN: NCCL timeout on rank 17 after 600.25 s", "CUDA Out of Memory", "x", ""};
	static const char *const held[] = {"NCCL timeout", "nccl TIMEOUT", " 8841873/", "rank 17 after",
		": 2.345678E+00 ", "Out of", "x", "600.25 s", "E+00"};
	static const char *const denied[] = {"segfault", " 8841874/", "rank 18 after", "Connection reset"};
	AUTO_DONE(buf) filter = BUF_INIT(1 << 20);

	pack(texts, 5, &filter);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		CHECK(may_hold(buf_span(&filter), held[i], false));
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		CHECK(!may_hold(buf_span(&filter), denied[i], false));
	CHECK(may_hold(buf_span(&filter), "\\b8841873\\b", true) && may_hold(buf_span(&filter), "\\b345678e\\b", true));
	CHECK(may_hold(buf_span(&filter), "segfault|(?i)out of memory", true));
	CHECK(!may_hold(buf_span(&filter), "segfault|abort", true));
	CHECK(!may_hold(buf_span(&filter), "NCCL.*abort", true));
}

TEST(no_filter_and_an_unknown_or_damaged_one_may_hold_anything)
{
	static const char *const texts[] = {"some text"};
	AUTO_DONE(buf) filter = BUF_INIT(1 << 20);

	pack(texts, 1, &filter);
	CHECK(!may_hold(buf_span(&filter), "other", false));
	CHECK(may_hold(SPAN(""), "other", false));
	for (size_t len = 0; len < filter.len; len++)
		CHECK(may_hold(span_of(filter.ptr, len), "other", false));
	filter.ptr[0] = 2;
	CHECK(may_hold(buf_span(&filter), "other", false));
}

TEST(every_part_of_every_line_is_found)
{
	enum { COUNT = 300 };
	AUTO_DONE(buf) filter = BUF_INIT(1 << 20);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	uint32_t state = 3;

	for (size_t i = 0; i < COUNT; i++) {
		buf_printf(&text, "step %zu, Loss=%u.%06u (lr 1e-%u) node_%u: Ok\n", i, state % 7, state % 999983,
			state % 9, state % 64);
		state = state * 1664525u + 1013904223u;
	}
	CHECK_OK(log_filter_pack(buf_span(&text), &filter, &err));
	for (struct span rest = buf_span(&text), line; span_next(&rest, '\n', &line);)
		for (size_t from = 0; from < line.len; from += 3)
			for (size_t len = 1; from + len <= line.len; len += 5) {
				AUTO(log_needles) needles = NULL;
				CHECK_OK(log_needles_new(&needles, span_of(line.ptr + from, len), false, false, &err));
				CHECK(!needles || log_filter_may_hold(buf_span(&filter), needles));
			}
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Parts that come again and again with something else between them, cut anywhere: numbers of each length, other letters, high bytes. */
static void append_parts(struct buf *text, uint32_t *state, size_t count)
{
	static const char *const parts[] = {" | lm loss: ", "iteration ", ".", "\n", " ", "\n[rank1]: ", "Error_x",
		"aaaaaaaaaaaaaaaaaaaa", "==================", "\xc3\xbc\xff\xfe\x80\xff\xfe\x80", "E+00",
		"[2026-01-05 00:00:02] ", "..", "a.b.c.d.e.f.g.h.",
		"global batch size: ", "GLOBAL BATCH SIZE: ", "\n\n", "_"};

	for (size_t i = 0; i < count; i++) {
		struct span part = span_from(parts[next_random(state) % (sizeof parts / sizeof *parts)]);
		size_t cut = next_random(state) % 4 ? 0 : next_random(state) % (part.len + 1);
		buf_append(text, part.ptr + cut, part.len - cut);
		for (unsigned digits = next_random(state) % 3 ? 0 : next_random(state) % 20; digits; digits--)
			buf_append_char(text, (char)('0' + next_random(state) % 10));
	}
}

TEST(it_is_what_its_definition_says_to_the_bit)
{
	uint32_t state = 11;

	for (size_t round = 0; round < 60; round++) {
		AUTO_DONE(buf) text = BUF_INIT(1 << 20);
		AUTO_DONE(buf) filter = BUF_INIT(1 << 20);
		AUTO_DONE(buf) defined = BUF_INIT(1 << 20);
		append_parts(&text, &state, round < 40 ? round : 20 * round);
		CHECK_OK(log_filter_pack(buf_span(&text), &filter, &err));
		CHECK(log_filter_define(buf_span(&text), &defined));
		CHECK_SPAN(buf_span(&filter), buf_span(&defined));
	}
}
