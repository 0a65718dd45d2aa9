#include "request_helper.h"

static void check_segments(const char *target, size_t count, const char *const *want)
{
	AUTO_DONE(http_request) request = request_for("GET", target);

	CHECK_INT(request.segment_count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_SPAN(request.segments[i], span_from(want[i]));
}

TEST(paths_are_split_before_they_are_decoded)
{
	check_segments("/", 0, NULL);
	check_segments("/jobs/a%2Fb/points", 3, (const char *[]){"jobs", "a/b", "points"});
	check_segments("/jobs/a%2fb/", 2, (const char *[]){"jobs", "a/b"});
	check_segments("/jobs/../..", 3, (const char *[]){"jobs", "..", ".."});
	check_segments("/jobs/%2E%2e", 2, (const char *[]){"jobs", ".."});
	check_segments("/a%25b/100%25", 2, (const char *[]){"a%b", "100%"});
	check_segments("/a+b", 1, (const char *[]){"a+b"});
	check_segments("/%F0%9F%9A%80/\xf0\x9f\x9a\x80", 2, (const char *[]){"\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80"});
	check_segments("/a//b", 3, (const char *[]){"a", "", "b"});
	check_segments("http://host:1/x?y", 1, (const char *[]){"x"});
	check_segments("http://host", 0, NULL);
}

TEST(the_whole_path_is_decoded)
{
	AUTO_DONE(http_request) request = request_for("GET", "/a%2Fb/c%20d/?q=1");

	CHECK_SPAN(http_request_path(&request), SPAN("/a/b/c d/"));
}

static void check_refused(const char *target, const char *words)
{
	struct http_request request;

	CHECK_OK(request_init(&request, &err));
	CHECK_FAILS(request_parse_target(&request, span_from(target), &err), ERR_INVALID, words);
	request_done(&request);
}

TEST(bad_targets_are_refused)
{
	check_refused("/jobs/%", "two hexadecimal digits");
	check_refused("/jobs/%4", "two hexadecimal digits");
	check_refused("/jobs/%zz", "'%zz'");
	check_refused("/jobs/a%00b", "NUL");
	check_refused("/jobs/%ff", "UTF-8");
	check_refused("/jobs/%C0%AF", "UTF-8");
	check_refused("/jobs/%ED%A0%80", "UTF-8");
	check_refused("/jobs?a=%00", "NUL");
	check_refused("/jobs?a=%f", "two hexadecimal digits");
	check_refused("/jobs?%ff=1", "UTF-8");
	check_refused("", "begin with '/'");
	check_refused("*", "begin with '/'");
	check_refused("jobs", "begin with '/'");
}

static void check_query(const char *target, const char *name, const char *want)
{
	AUTO_DONE(http_request) request = request_for("GET", target);
	struct span value = SPAN("");
	bool is_there = http_request_query(&request, name, &value);

	CHECK_INT(is_there, want != NULL);
	CHECK_SPAN(value, span_from(want ? want : ""));
}

TEST(query_parameters)
{
	check_query("/x?a=1&b=2", "b", "2");
	check_query("/x?a=1&a=2", "a", "1");
	check_query("/x?a=x+y%2B%26", "a", "x y+&");
	check_query("/x?a", "a", "");
	check_query("/x?a=", "a", "");
	check_query("/x?&&a=1&", "a", "1");
	check_query("/x?a=b=c", "a", "b=c");
	check_query("/x?a%3Db=1", "a=b", "1");
	check_query("/x?a=/p?q", "a", "/p?q");
	check_query("/x", "a", NULL);
	check_query("/x?", "a", NULL);
}

TEST(typed_query_parameters)
{
	AUTO_DONE(http_request) request = request_for("GET", "/x?n=7&zero=0&big=11&word=ten&yes=true&no=0&maybe=maybe");
	int64_t n = 3, absent = 4;
	bool yes = false, no = true;

	CHECK_OK(http_query_i64(&request, "n", 1, 10, &n, &err));
	CHECK_INT(n, 7);
	CHECK_OK(http_query_i64(&request, "absent", 1, 10, &absent, &err));
	CHECK_INT(absent, 4);
	CHECK_FAILS(http_query_i64(&request, "zero", 1, 10, &n, &err), ERR_INVALID, "from 1 to 10");
	CHECK_FAILS(http_query_i64(&request, "big", 1, 10, &n, &err), ERR_INVALID, "not '11'");
	CHECK_FAILS(http_query_i64(&request, "word", 1, 10, &n, &err), ERR_INVALID, "'word' must be an integer");
	CHECK_OK(http_query_bool(&request, "yes", &yes, &err));
	CHECK_OK(http_query_bool(&request, "no", &no, &err));
	CHECK(yes && !no);
	CHECK_FAILS(http_query_bool(&request, "maybe", &yes, &err), ERR_INVALID, "true or false");
}

TEST(headers_ignore_case)
{
	AUTO_DONE(http_request) request = request_for("HEAD", "/");

	give_header(&request, "Content-TYPE", "text/plain");
	CHECK_SPAN(http_request_header(&request, "content-type"), SPAN("text/plain"));
	CHECK_SPAN(http_request_header(&request, "absent"), SPAN(""));
	CHECK_INT(http_request_method(&request), HTTP_GET);
	CHECK(request.is_head);
}
