#include "wandb/sent_console.h"

#include "test.h"

enum { NEXT = 10 }; /* where it plays no part */

static struct sent_consoles of(const struct sent_consoles *before, int64_t begun_ms, int64_t session, bool is_sync)
{
	struct sent_consoles out = *before;

	out.begun_ms = begun_ms;
	out.session = session;
	out.is_sync = is_sync;
	out.has_changed = false;
	return out;
}

TEST(what_a_process_sends_again_has_the_numbers_that_it_had)
{
	struct sent_consoles c = {0};

	c = of(&c, 100, 1, true);
	CHECK_INT(sent_consoles_place(&c, 0, NEXT), 0);
	CHECK(c.has_changed);
	CHECK_INT(sent_consoles_place(&c, 9, NEXT), 9);
	c = of(&c, 200, 2, true); /* another one, behind its ten lines */
	CHECK_INT(sent_consoles_place(&c, 10, NEXT), 10);
	CHECK_INT(sent_consoles_place(&c, 14, NEXT), 14);
	c = of(&c, 200, 3, true); /* the client counts it behind all fifteen */
	CHECK_INT(sent_consoles_place(&c, 15, NEXT), 10);
	CHECK_INT(sent_consoles_place(&c, 19, NEXT), 14);
	CHECK_INT(sent_consoles_place(&c, 20, NEXT), 15); /* what was not sent before */
	CHECK_INT(sent_consoles_place(&c, 3, NEXT), 3); /* no line of its own */
	c = of(&c, 100, 4, true);
	CHECK_INT(sent_consoles_place(&c, 16, NEXT), 0);
	c = of(&c, 200, 5, true); /* by the one before, which counted otherwise */
	CHECK_INT(sent_consoles_place(&c, 16, NEXT), 10);
}

TEST(of_processes_that_count_from_0_each_one_is_behind_the_other)
{
	struct sent_consoles c = {0};

	c = of(&c, 100, 1, true);
	CHECK_INT(sent_consoles_place(&c, 0, 0), 0);
	c = of(&c, 200, 2, true);
	CHECK_INT(sent_consoles_place(&c, 0, 10), 10);
	CHECK_INT(sent_consoles_place(&c, 4, 10), 14);
	CHECK_INT(sent_consoles_place(&c, 5, 15), 15);
	for (int64_t session = 3; session < 6; session++) {
		c = of(&c, 200, session, true);
		CHECK_INT(sent_consoles_place(&c, 0, 16), 10);
		c = of(&c, 100, session, true);
		CHECK_INT(sent_consoles_place(&c, 0, 16), 0);
	}
	c = of(&c, 300, 6, false); /* one that is at work, and begins the run anew */
	CHECK_INT(sent_consoles_place(&c, 0, 16), 0);
}

TEST(who_is_no_sync_or_says_not_when_it_began_is_counted_as_it_counts)
{
	struct sent_consoles c = {0};

	c = of(&c, 100, 1, false);
	CHECK_INT(sent_consoles_place(&c, 5, NEXT), 5);
	c = of(&c, 100, 2, false);
	CHECK_INT(sent_consoles_place(&c, 8, NEXT), 8);
	c = of(&c, 0, 3, true);
	CHECK_INT(sent_consoles_place(&c, 20, NEXT), 20);
	CHECK(!c.has_changed);
	CHECK_INT(c.count, 2);
}

TEST(so_many_are_kept_and_each_process_longest_of_all)
{
	struct sent_consoles c = {0};

	for (int64_t i = 0; i < 70; i++) {
		c = of(&c, i < 2 ? i + 1 : 2, 10 + i, true);
		(void)sent_consoles_place(&c, (uint64_t)i * 10, NEXT);
	}
	CHECK_INT(c.count, SENT_CONSOLES_MAX);
	c = of(&c, 1, 1000, true);
	CHECK_INT(sent_consoles_place(&c, 5000, NEXT), 0);
	c = of(&c, 2, 1001, true);
	CHECK_INT(sent_consoles_place(&c, 5000, NEXT), 10);
}

TEST(what_is_kept_is_read_again)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);
	struct json_writer w = json_writer_on(&text);
	struct sent_consoles c = {.begun_ms = 1796000000123, .session = 1796000000456, .is_sync = true}, again;
	AUTO(json) document = NULL;

	(void)sent_consoles_place(&c, 7, NEXT);
	json_object(&w);
	sent_consoles_write(&c, "console", &w);
	json_object_end(&w);
	CHECK_OK(json_parse(&document, buf_span(&text), &err));
	sent_consoles_read(&again, json_get(document, "console"), 1796000000123, 9);
	again.is_sync = true;
	CHECK_INT(sent_consoles_place(&again, 30, NEXT), 7);
	json_free(document);
	document = NULL;
	CHECK_OK(json_parse(&document, SPAN("[[1,2,3],[1,2,\"a\",0],[1,2,-1,0],5]"), &err));
	sent_consoles_read(&again, document, 1, 2);
	CHECK_INT(again.count, 0);
}
