#include "cli/http/url.h"
#include "test.h"

static void check_url(const char *text, const char *host, const char *port, const char *prefix, const char *header)
{
	struct url url = {0};
	AUTO_DONE(buf) out = BUF_INIT(1000);
	CHECK_OK(url_parse(&url, span_from(text), &err));
	CHECK_TEXT(url.host, host);
	CHECK_TEXT(url.port, port);
	CHECK_TEXT(url.prefix, prefix);
	url_put_host(&url, &out);
	CHECK_SPAN(buf_span(&out), span_from(header));
}

TEST(url_forms)
{
	check_url("http://a.example:8080", "a.example", "8080", "", "a.example:8080");
	check_url("HTTPS://a/x/y//", "a", "443", "/x/y", "a");
	check_url("a:81", "a", "81", "", "a:81");
	check_url("http://[::1]:8080/", "::1", "8080", "", "[::1]:8080");
	check_url("http://[fe80::1]", "fe80::1", "80", "", "[fe80::1]");
}

static void check_canonical(const char *text, const char *expected)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	url_put_canonical(text, &out);
	CHECK_SPAN(buf_span(&out), span_from(expected));
}

TEST(an_address_has_one_canonical_spelling)
{
	check_canonical("http://a:8080", "http://a:8080");
	check_canonical("A.Example:080/", "http://a.example");
	check_canonical("HTTPS://A:443/X/y//", "https://a/X/y");
	check_canonical("https://a:80", "https://a:80");
	check_canonical("http://[FE80::1]:80", "http://[fe80::1]");
	check_canonical("ftp://A/", "ftp://A/");
	check_canonical(" A:80 , b:81", "http://a"); /* of several the first */
}

TEST(url_mistakes_name_the_text)
{
	struct url url;
	CHECK_FAILS(url_parse(&url, SPAN("ftp://a"), &err), ERR_INVALID, "'ftp://a'");
	CHECK_FAILS(url_parse(&url, SPAN("http://"), &err), ERR_INVALID, "http://HOST:PORT");
	CHECK_FAILS(url_parse(&url, SPAN("http://a:0"), &err), ERR_INVALID, "http://HOST:PORT");
	CHECK_FAILS(url_parse(&url, SPAN("http://a:65536"), &err), ERR_INVALID, "http://HOST:PORT");
	CHECK_FAILS(url_parse(&url, SPAN("http://[::1"), &err), ERR_INVALID, "http://HOST:PORT");
	CHECK_FAILS(url_parse(&url, SPAN("http://a b"), &err), ERR_INVALID, "http://HOST:PORT");
	CHECK_FAILS(url_parse(&url, SPAN("http://a/?q=1"), &err), ERR_INVALID, "no query");
	CHECK_FAILS(url_parse(&url, SPAN("http://a\r\nX: 1"), &err), ERR_INVALID, "a");
}

TEST(url_encodes_all_but_the_plain)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	buf_append_percent_encoded(&out, SPAN("a/b c%\xc3\xa4-._~+"));
	CHECK_SPAN(buf_span(&out), SPAN("a%2Fb%20c%25%C3%A4-._~%2B"));
}
