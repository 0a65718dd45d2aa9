#include "cli/search/row_diff.h"
#include "test.h"

TEST(news_are_new_names_and_new_texts)
{
	AUTO(changes) changes = changes_new();
	AUTO_DONE(buf) name = BUF_INIT(100);
	bool is_news;

	CHECK(changes);
	CHECK(changes_note(changes, SPAN("a"), SPAN("1"), &is_news) && is_news);
	CHECK(changes_note(changes, SPAN("b"), SPAN(""), &is_news) && is_news);
	CHECK(!changes_next_gone(changes, &name));
	CHECK(changes_note(changes, SPAN("a"), SPAN("1"), &is_news) && !is_news);
	CHECK(changes_note(changes, SPAN("b"), SPAN("2"), &is_news) && is_news);
	CHECK(!changes_next_gone(changes, &name));
	CHECK(changes_note(changes, SPAN("b"), SPAN("2"), &is_news) && !is_news);
	CHECK(changes_next_gone(changes, &name));
	CHECK_SPAN(buf_span(&name), SPAN("a"));
	CHECK(!changes_next_gone(changes, &name));
	CHECK(changes_note(changes, SPAN("a"), SPAN("1"), &is_news) && is_news);
}
