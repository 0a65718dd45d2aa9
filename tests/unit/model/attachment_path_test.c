#include "model/jobs/attachment_path.h"
#include "test.h"

TEST(a_path_of_an_attachment_stays_inside)
{
	static const char *const good[] = {"a", "a/b.c", "..a", "a../b", "...", ".hidden", "a b"};
	static const char *const bad[] = {
		"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "a/..", "../a", "a\\b", "a\nb", "\x7f"};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		CHECK_OK(attachment_check_path(span_from(good[i]), &err));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_FAILS(attachment_check_path(span_from(bad[i]), &err), ERR_SEMANTIC, "path");
	CHECK_FAILS(attachment_check_path((struct span){"a\0b", 3}, &err), ERR_SEMANTIC, "control");
}

TEST(only_what_no_browser_executes_keeps_its_type)
{
	CHECK_TEXT(attachment_safe_type(SPAN("image/png")), "image/png");
	CHECK_TEXT(attachment_safe_type(SPAN("text/plain;charset=x")), "text/plain; charset=utf-8");
	CHECK_TEXT(attachment_safe_type(SPAN("image/svg+xml")), "application/octet-stream");
	CHECK_TEXT(attachment_safe_type(SPAN("text/html")), "application/octet-stream");
	CHECK_TEXT(attachment_safe_type(SPAN("image/pngx")), "application/octet-stream");
	CHECK_TEXT(attachment_safe_type(SPAN("")), "application/octet-stream");
	CHECK_SPAN(attachment_type(SPAN("a.svg"), SPAN("application/octet-stream")), SPAN("image/svg+xml"));
	CHECK_SPAN(attachment_type(SPAN("a.svg"), SPAN("image/png")), SPAN("image/png"));
}
