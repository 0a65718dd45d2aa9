#include "base/buf.h"
#include "test.h"

TEST(buf_appends)
{
	AUTO_DONE(buf) b = BUF_INIT(1000);

	buf_append_text(&b, "a");
	buf_append_char(&b, 'b');
	buf_append_span(&b, SPAN("cd"));
	buf_append_span(&b, (struct span){NULL, 0});
	buf_append(&b, "efg", 2);
	buf_printf(&b, "%d-%s", 12, "x");
	CHECK_SPAN(buf_span(&b), SPAN("abcdef12-x"));
	CHECK_OK(buf_status(&b, &err));
}

TEST(buf_at_the_limit_and_one_past_it)
{
	AUTO_DONE(buf) b = BUF_INIT(4);

	buf_append_text(&b, "abc");
	buf_append_text(&b, "d");
	CHECK_OK(buf_status(&b, &err));
	buf_append_text(&b, "e");
	CHECK_FAILS(buf_status(&b, &err), ERR_TOO_LARGE, "4 bytes");
	CHECK_SPAN(buf_span(&b), SPAN("abcd"));
	buf_reset(&b);
	CHECK_OK(buf_status(&b, &err));
	buf_append_text(&b, "abcde");
	CHECK_INT(b.len, 0);
	buf_append_text(&b, "a"); /* a failed buf takes nothing, so that no piece is missing in the middle */
	CHECK_INT(b.len, 0);
}

TEST(buf_printf_fills_to_the_limit)
{
	AUTO_DONE(buf) b = BUF_INIT(4);

	buf_printf(&b, "%s", "abcd");
	CHECK_OK(buf_status(&b, &err));
	CHECK_SPAN(buf_span(&b), SPAN("abcd"));
	buf_printf(&b, "%s", "");
	CHECK_OK(buf_status(&b, &err));
	buf_printf(&b, "%d", 1);
	CHECK_FAILS(buf_status(&b, &err), ERR_TOO_LARGE, "4");
}

TEST(buf_limit_beyond_the_first_block)
{
	AUTO_DONE(buf) b = BUF_INIT(1000);

	for (int i = 0; i < 1000; i++)
		buf_append_char(&b, 'x');
	CHECK_OK(buf_status(&b, &err));
	CHECK_INT(b.len, 1000);
	buf_append_char(&b, 'x');
	CHECK_FAILS(buf_status(&b, &err), ERR_TOO_LARGE, "1000");
}

TEST(buf_reserve_and_advance)
{
	AUTO_DONE(buf) b = BUF_INIT(10);

	CHECK(buf_reserve(&b, 0) != NULL);
	char *room = buf_reserve(&b, 10);
	CHECK(room != NULL);
	memcpy(room, "0123456789", 11);
	buf_advance(&b, 10);
	CHECK_SPAN(buf_span(&b), SPAN("0123456789"));
	CHECK(buf_reserve(&b, 0) != NULL);
	CHECK(!buf_reserve(&b, 1));
	CHECK(!buf_reserve(&b, SIZE_MAX));
	CHECK_FAILS(buf_status(&b, &err), ERR_TOO_LARGE, "10");
}

TEST(buf_without_limit_survives_absurd_sizes)
{
	AUTO_DONE(buf) b = BUF_INIT(SIZE_MAX);

	buf_append_text(&b, "a");
	CHECK(!buf_reserve(&b, SIZE_MAX - 1));
	CHECK_FAILS(buf_status(&b, &err), ERR_MEMORY, "memory");
	CHECK_SPAN(buf_span(&b), SPAN("a"));
}

TEST(buf_take_hands_over)
{
	AUTO_DONE(buf) b = BUF_INIT(10);
	size_t len = 99;

	CHECK(!buf_take(&b, &len));
	CHECK_INT(len, 0);
	buf_append_text(&b, "abc");
	AUTO_MEM char *bytes = buf_take(&b, &len);
	CHECK_SPAN(span_of(bytes, len), SPAN("abc"));
	CHECK_SPAN(buf_span(&b), SPAN(""));
	buf_append_text(&b, "0123456789");
	CHECK_OK(buf_status(&b, &err));
}

TEST(buf_out_of_memory_keeps_what_was_there)
{
	for (long nth = 1;; nth++) {
		AUTO_DONE(buf) b = BUF_INIT(100000);
		mem_fail_at(nth);
		for (int i = 0; i < 100; i++)
			buf_printf(&b, "%099d\n", i);
		mem_fail_at(0);
		CHECK_INT(b.len % 100, 0);
		if (buf_status(&b, NULL) == OK)
			break;
		CHECK_FAILS(buf_status(&b, &err), ERR_MEMORY, "memory");
		CHECK(nth < 100);
	}
}
