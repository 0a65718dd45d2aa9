#include "store/pack/log_filter.h"
#include "test.h"

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
