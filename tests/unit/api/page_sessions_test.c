#include "api/core/page_sessions.h"
#include "test.h"

enum { NOW_MS = 1000000 };

static const struct span key = {"a key that seals", 16}, hash = {"what is stored of the token", 27};

TEST(a_page_session_is_its_tokens_and_lasts_so_long)
{
	struct page_session session = page_session_make(key, 7, hash, NOW_MS), read;
	AUTO_DONE(buf) text = BUF_INIT(512);
	int64_t end_ms = NOW_MS + 1000LL * PAGE_SESSION_SECONDS;

	page_session_print(&session, &text);
	CHECK(page_session_parse(buf_span(&text), &read));
	CHECK(read.id == session.id && read.token_id == 7);
	CHECK(page_session_is_good(&read, key, hash, end_ms - 1));
	CHECK(!page_session_is_good(&read, key, hash, end_ms));
	CHECK(!page_session_is_good(&read, key, SPAN("of another token"), NOW_MS));
	CHECK(!page_session_is_good(&read, SPAN("another key"), hash, NOW_MS));
	read.until_s++;
	CHECK(!page_session_is_good(&read, key, hash, NOW_MS));
}

TEST(what_is_no_page_session_is_refused)
{
	struct page_session session = page_session_make(key, 7, hash, NOW_MS), read;
	AUTO_DONE(buf) text = BUF_INIT(512);

	page_session_print(&session, &text);
	struct span whole = buf_span(&text);
	CHECK(!page_session_parse(SPAN(""), &read));
	CHECK(!page_session_parse(span_of(whole.ptr, whole.len - 1), &read));
	CHECK(!page_session_parse(span_skip(whole, 1), &read));
	text.ptr[whole.len - 1] = 'x';
	CHECK(!page_session_parse(whole, &read));
}
