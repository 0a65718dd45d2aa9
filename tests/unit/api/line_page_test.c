#include "api/logs/line_page.h"
#include "base/json/json_read.h"
#include "http/response.h"
#include "model/metrics/batch.h"
#include "test.h"

#include <stdio.h>

enum { LINES = 9 };

/* {"n":1,"ts_ms":2,"stream":"s","text":"xxx"} */
enum { LINE_BYTES = 43, HEAD_BYTES = 10 };

struct page {
	struct http_response response;
	struct merged_line lines[LINES];
	struct line_page page;
};

static void page_init(struct page *page, size_t count, size_t before_count, size_t max_bytes, bool is_ndjson)
{
	*page = (struct page){
		.response = {.status = 200, .content_type = "application/json", .body = BUF_INIT(1 << 20)}};
	for (size_t i = 0; i < count; i++)
		page->lines[i] = (struct merged_line){
			.stream = SPAN("s"), .line = {.number = (uint64_t)i, .ts_ms = 2, .text = SPAN("xxx")}};
	page->page = (struct line_page){.response = &page->response,
		.max_bytes = max_bytes,
		.is_ndjson = is_ndjson,
		.lines = page->lines,
		.count = count,
		.before_count = before_count};
}

/* The numbers of the lines that were written, and that the reply is what its type says. */
static void check_page(struct page *page, const char *numbers, bool has_before, bool has_after)
{
	char got[64] = "";

	line_page_write(&page->page);
	line_page_end(&page->page);
	CHECK_INT(page->response.body.failure, OK);
	struct span rest = buf_span(&page->response.body), one;
	AUTO(json) object = NULL;
	if (!page->page.is_ndjson)
		CHECK_OK(json_parse(&object, rest, &err));
	const struct json *line = object ? json_first(json_get(object, "lines")) : NULL;
	for (size_t i = 0; i < page->page.count; i++, line = line ? json_next(line) : NULL) {
		AUTO(json) own = NULL;
		double n = -1;
		if (page->page.is_ndjson) {
			CHECK(span_next(&rest, '\n', &one));
			CHECK_OK(json_parse(&own, one, &err));
		}
		CHECK(json_number_of(json_get(own ? own : line, "n"), &n));
		CHECK_INT(n, page->page.lines[i].line.number);
		snprintf(got + strlen(got), sizeof got - strlen(got), "%.0f", n);
	}
	CHECK(!line && (object || !rest.len));
	CHECK_TEXT(got, numbers);
	CHECK_INT(page->page.has_more_before, has_before);
	CHECK_INT(page->page.has_more_after, has_after);
	buf_done(&page->response.body);
}

TEST(a_page_of_lines_ends_where_it_is_full)
{
	struct page page;

	/* three lines and two commas */
	page_init(&page, 5, 0, HEAD_BYTES + 3 * LINE_BYTES + 2, false);
	check_page(&page, "012", false, true);
	page_init(&page, 5, 0, HEAD_BYTES + 3 * LINE_BYTES + 1, false);
	check_page(&page, "01", false, true);
	page_init(&page, 3, 0, HEAD_BYTES + 3 * LINE_BYTES + 2, false);
	check_page(&page, "012", false, false);
	page_init(&page, 5, 0, 1, false); /* one line there is always, or a reader would never come past it */
	check_page(&page, "0", false, true);
	page_init(&page, 0, 0, 1, false);
	check_page(&page, "", false, false);
}

TEST(a_page_of_lines_as_ndjson)
{
	struct page page;

	page_init(&page, 5, 0, 3 * (LINE_BYTES + 1), true);
	check_page(&page, "012", false, true);
	page_init(&page, 5, 0, 3 * (LINE_BYTES + 1) - 1, true);
	check_page(&page, "01", false, true);
	page_init(&page, 0, 0, 1, true);
	check_page(&page, "", false, false);
}

/* What precedes the cursor: the lines nearest to it are kept. */
TEST(a_page_before_a_place_loses_its_first_lines)
{
	struct page page;

	/* the head, and each line with its comma */
	page_init(&page, 5, 5, HEAD_BYTES + 1 + 3 * (LINE_BYTES + 1), false);
	check_page(&page, "234", true, false);
	page_init(&page, 5, 5, HEAD_BYTES + 3 * (LINE_BYTES + 1), false);
	check_page(&page, "34", true, false);
	page_init(&page, 5, 5, HEAD_BYTES + 1 + 5 * (LINE_BYTES + 1), false);
	check_page(&page, "01234", false, false);
	page_init(&page, 5, 5, 1, false);
	check_page(&page, "4", true, false);
}

TEST(a_page_around_a_place_has_half_of_it_before)
{
	struct page page;
	size_t half = HEAD_BYTES + 1 + 2 * (LINE_BYTES + 1);

	page_init(&page, 8, 4, 2 * half, false); /* 198 bytes: two lines before, and 10 + 4 * 43 + 3 = 185 of all */
	check_page(&page, "2345", true, true);
	page_init(&page, 8, 4, 2 * half - 1, false);
	check_page(&page, "3456", true, true);
	page_init(&page, 8, 4, 20, false); /* the line in question comes before those in front of it */
	check_page(&page, "4", true, true);
	page_init(&page, 8, 4, 10000, false);
	check_page(&page, "01234567", false, false);
}

TEST(members_of_a_page_are_headers_of_ndjson)
{
	struct page page;

	page_init(&page, 1, 0, 1000, false);
	page.lines[0].line.flags = LINE_CUT;
	line_page_write(&page.page);
	line_page_put_u64(&page.page, "total", "X-Total", UINT64_MAX);
	line_page_put_text(&page.page, "at_stream", "X-At-Stream", SPAN("a\"b"));
	line_page_end(&page.page);
	CHECK_SPAN(buf_span(&page.response.body),
		SPAN("{\"lines\":[{\"n\":0,\"ts_ms\":2,\"stream\":\"s\",\"text\":\"xxx\",\"cut\":true}],"
		     "\"total\":18446744073709551615,\"at_stream\":\"a\\\"b\"}"));
	CHECK_INT(page.response.header_count, 0);
	buf_done(&page.response.body);
	page_init(&page, 0, 0, 1000, true);
	line_page_write(&page.page);
	line_page_put_u64(&page.page, "total", "X-Total", 7);
	line_page_put_text(&page.page, "at_stream", "X-At-Stream", SPAN("s"));
	line_page_end(&page.page);
	CHECK_INT(page.response.body.len, 0);
	CHECK_INT(page.response.header_count, 2);
	CHECK_TEXT(page.response.headers[0].name, "X-Total");
	CHECK_TEXT(page.response.headers[0].value, "7");
	CHECK_TEXT(page.response.headers[1].value, "s");
	response_done(&page.response);
}
