#include "base/codec/inflate.h"
#include "http/response.h"
#include "request_helper.h"

static inline void http_response_done(struct http_response *response)
{
	response_done(response);
}
AUTO_DONE_TYPE(http_response)

TEST(scopes)
{
	enum http_scope scope = SCOPE_PUBLIC;

	CHECK(http_scope_parse(SPAN("write"), &scope) && scope == SCOPE_WRITE);
	CHECK(!http_scope_parse(SPAN("root"), &scope));
	CHECK_TEXT(http_scope_name(SCOPE_ADMIN), "admin");
	for (enum http_scope needs = SCOPE_PUBLIC; needs <= SCOPE_ADMIN; needs++)
		for (enum http_scope has = SCOPE_PUBLIC; has <= SCOPE_ADMIN; has++)
			for (int is_person = 0; is_person < 2; is_person++) {
				struct principal who = {.scope = has, .is_person = is_person};
				bool reads_by_writing = is_person && has == SCOPE_WRITE && needs == SCOPE_READ;
				CHECK_INT(http_may(&who, needs), needs == SCOPE_PUBLIC || has == SCOPE_ADMIN ||
									 has == needs || reads_by_writing);
			}
}

TEST(problems)
{
	AUTO_DONE(http_response) response;
	struct error err = {0};

	response_init(&response);
	buf_append_text(&response.body, "half a reply");
	error_set_field(&err, ERR_SEMANTIC, "q", "no \"such\" field");
	err.line = 2;
	err.column = 7;
	http_response_problem(&response, &err);
	CHECK_INT(response.status, 422);
	CHECK_TEXT(response.content_type, "application/problem+json");
	CHECK_SPAN(buf_span(&response.body),
		SPAN("{\"type\":\"about:blank\",\"status\":422,\"title\":\"Unprocessable Content\","
		     "\"detail\":\"no \\\"such\\\" field\",\"field\":\"q\",\"line\":2,\"column\":7}"));
}

static const char *header_of(const struct http_response *response, const char *name)
{
	for (unsigned i = 0; i < response->header_count; i++)
		if (strcmp(response->headers[i].name, name) == 0)
			return response->headers[i].value;
	return "";
}

TEST(every_status_has_a_code)
{
	static const int codes[] = {
		200, 400, 422, 401, 403, 404, 409, 412, 410, 413, 415, 421, 429, 503, 500, 503, 500};

	for (enum status status = OK; status < STATUS_COUNT; status++)
		CHECK_INT(http_status_of(status), codes[status]);
}

TEST(busy_says_when_to_come_back)
{
	AUTO_DONE(http_response) response;

	response_init(&response);
	http_response_problem(&response, &(struct error){.status = ERR_BUSY, .retry_after_s = 7});
	CHECK_TEXT(header_of(&response, "Retry-After"), "7");
	http_response_problem(&response, &(struct error){.status = ERR_UNAVAILABLE});
	CHECK_TEXT(header_of(&response, "Retry-After"), "1");
	http_response_problem(&response, &(struct error){.status = ERR_UNAUTHORIZED});
	CHECK_TEXT(header_of(&response, "WWW-Authenticate"), "Bearer");
	CHECK_TEXT(header_of(&response, "Retry-After"), "");
}

TEST(headers_cannot_be_split_and_are_replaced)
{
	AUTO_DONE(http_response) response;

	response_init(&response);
	http_response_header(&response, "ETag", "%s", "a\r\nSet-Cookie: x");
	CHECK_TEXT(header_of(&response, "ETag"), "a  Set-Cookie: x");
	http_response_header(&response, "ETag", "b");
	CHECK_INT(response.header_count, 1);
	CHECK_TEXT(header_of(&response, "ETag"), "b");
	for (int i = 0; i < 10; i++)
		http_response_header(
			&response, (const char *[]){"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}[i], "x");
	CHECK_INT(response.header_count, 8);
}

static void append_header(void *context, const char *name, const char *value)
{
	buf_printf(context, "%s: %s\n", name, value);
}

TEST(a_redirect_is_as_long_as_it_is_and_cookies_stand_beside_each_other)
{
	AUTO_DONE(http_response) response;
	AUTO_DONE(buf) address = BUF_INIT(4096), text = BUF_INIT(1 << 16);
	struct error err = {0};

	buf_append_text(&address, "https://id.example.org/?");
	while (address.len < 3000)
		buf_append_char(&address, 'x');
	buf_append_text(&address, "\r\nX-Other: y");
	response_init(&response);
	http_response_cookie(&response, "a=%d", 1);
	http_response_cookie(&response, "b=%d", 2);
	http_response_redirect(&response, SPAN("/first"));
	http_response_redirect(&response, buf_span(&address));
	response_each_header(&response, append_header, &text);
	CHECK_INT(response.status, 303);
	CHECK(span_find(buf_span(&text), SPAN("Set-Cookie: a=1\nSet-Cookie: b=2\n")) >= 0);
	CHECK(span_find(buf_span(&text), SPAN("xxx  X-Other: y\n")) >= 0 && text.len > 3000);
	CHECK(span_find(buf_span(&text), SPAN("/first")) < 0);
	error_set(&err, ERR_INVALID, "no");
	http_response_problem(&response, &err);
	buf_reset(&text);
	response_each_header(&response, append_header, &text);
	CHECK(span_find(buf_span(&text), SPAN("Location")) < 0 && span_find(buf_span(&text), SPAN("Set-Cookie")) < 0);
}

TEST(accepted_encodings)
{
	CHECK(response_accepts_gzip(SPAN("gzip")));
	CHECK(response_accepts_gzip(SPAN("br, GZIP;q=0.1")));
	CHECK(response_accepts_gzip(SPAN("*")));
	CHECK(!response_accepts_gzip(SPAN("")));
	CHECK(!response_accepts_gzip(SPAN("br, zstd")));
	CHECK(!response_accepts_gzip(SPAN("gzip;q=0")));
	CHECK(!response_accepts_gzip(SPAN("gzip; q=0.000, br")));
	CHECK(!response_accepts_gzip(SPAN("gzip;q=0, *"))); /* a star is all that is not named */
	CHECK(!response_accepts_gzip(SPAN("*, gzip;q=0")));
	CHECK(response_accepts_gzip(SPAN("*;q=0, gzip")));
	CHECK(!response_accepts_gzip(SPAN("*;q=0")));
}

TEST(only_large_texts_are_compressed)
{
	AUTO_DONE(http_response) response;
	char text[2000];

	memset(text, 'x', sizeof text);
	response_init(&response);
	buf_append(&response.body, text, 1024);
	response_compress(&response, SPAN("gzip"));
	CHECK_INT(response.body.len, 1024);
	buf_append(&response.body, text, 1000);
	response_compress(&response, SPAN("br"));
	CHECK_INT(response.body.len, 2024);
	CHECK_TEXT(header_of(&response, "Vary"), "Accept-Encoding");
	response.content_type = "image/png";
	response_compress(&response, SPAN("gzip"));
	CHECK_INT(response.body.len, 2024);
	response.content_type = "text/csv";
	response_compress(&response, SPAN("gzip"));
	CHECK(response.body.len < 200);
	CHECK_TEXT(header_of(&response, "Content-Encoding"), "gzip");
}

static void check_encoding(struct span accepted, const char *encoding)
{
	AUTO_DONE(http_response) response;
	char text[2000];

	memset(text, 'x', sizeof text);
	response_init(&response);
	buf_append(&response.body, text, sizeof text);
	response_compress(&response, accepted);
	CHECK_TEXT(header_of(&response, "Content-Encoding"), encoding);
}

TEST(who_takes_zstd_gets_it)
{
	check_encoding(SPAN("gzip, deflate, br, zstd"), "zstd");
	check_encoding(SPAN("ZSTD"), "zstd");
	check_encoding(SPAN("zstd;q=0, gzip"), "gzip");
	check_encoding(SPAN("gzip, zstd;q=0.5"), "gzip");
	check_encoding(SPAN("gzip;q=0, zstd;q=0.5"), "zstd");
	check_encoding(SPAN("gzip, *"), "gzip");
	check_encoding(SPAN("*"), "gzip");
}

TEST(pages_have_their_policy)
{
	AUTO_DONE(http_response) response;
	AUTO_DONE(buf) text = BUF_INIT(4096);

	response_init(&response);
	response.content_type = "text/html; charset=utf-8";
	response_write(&response, false, &text);
	CHECK(span_starts_with(buf_span(&text), SPAN("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n")));
	CHECK(span_find(buf_span(&text),
		      SPAN("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
			   "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n")) >
		0);
	CHECK(span_find(buf_span(&text), SPAN("\r\nX-Content-Type-Options: nosniff\r\n")) > 0);
	CHECK(span_find(buf_span(&text), SPAN("\r\nReferrer-Policy: no-referrer\r\n")) > 0);
	CHECK(span_ends_with(buf_span(&text), SPAN("\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")));
}
