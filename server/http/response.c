#include "http/response.h"

#include "base/codec/zstd.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	LARGEST_REPLY_BYTES = 256 << 20,
	LEAST_COMPRESSED_BYTES = 1024,
	GZIP_LEVEL = 1,
	ZSTD_LEVEL = 1,
	HEADER_VALUE_BYTES = 512,
};

static const struct {
	enum status status;
	int code;
} codes[] = {
	{OK, 200},
	{ERR_INVALID, 400},
	{ERR_SEMANTIC, 422},
	{ERR_UNAUTHORIZED, 401},
	{ERR_FORBIDDEN, 403},
	{ERR_NOT_FOUND, 404},
	{ERR_CONFLICT, 409},
	{ERR_PRECONDITION, 412},
	{ERR_GONE, 410},
	{ERR_TOO_LARGE, 413},
	{ERR_UNSUPPORTED, 415},
	{ERR_MISDIRECTED, 421},
	{ERR_BUSY, 429},
	{ERR_UNAVAILABLE, 503},
	{ERR_IO, 500},
	{ERR_MEMORY, 503},
	{ERR_INTERNAL, 500},
};

static const struct {
	int code;
	const char *title;
} titles[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{303, "See Other"},
	{304, "Not Modified"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{409, "Conflict"},
	{410, "Gone"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{415, "Unsupported Media Type"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{429, "Too Many Requests"},
	{500, "Internal Server Error"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
};

#define PAGE_POLICY                                                                                                    \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "          \
	"worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
static const char page_policy[] = PAGE_POLICY "'none'";
static const char data_policy[] = "default-src 'none'; frame-ancestors 'none'";

int http_status_of(enum status status)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].status == status)
			return codes[i].code;
	return 500;
}

static const char *title_of(int code)
{
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (titles[i].code == code)
			return titles[i].title;
	return "Error";
}

void response_init(struct http_response *response)
{
	response->status = 200;
	response->content_type = "application/json";
	response->body = BUF_INIT(LARGEST_REPLY_BYTES);
	response->header_count = 0;
	response->location = NULL;
	response->producer = NULL;
	response->producer_state = NULL;
}

static void drop_headers(struct http_response *response)
{
	while (response->header_count)
		mem_free(response->headers[--response->header_count].value);
}

static void drop_producer(struct http_response *response)
{
	if (response->producer)
		response->producer->free(response->producer_state);
	response->producer = NULL;
}

void response_done(struct http_response *response)
{
	buf_done(&response->body);
	drop_headers(response);
	mem_free(TAKE(response->location));
	drop_producer(response);
}

static const char *find_header(const struct http_response *response, const char *name)
{
	for (unsigned i = 0; i < response->header_count; i++)
		if (span_equal_fold(span_from(response->headers[i].name), span_from(name)))
			return response->headers[i].value;
	return NULL;
}

/* What came from a client must not become a header of its own. */
static void clean(char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ')
			*value = ' ';
}

static void put_header(
	struct http_response *response, unsigned at, const char *name, const char *format, va_list arguments)
{
	char value[HEADER_VALUE_BYTES];

	if (at == sizeof response->headers / sizeof *response->headers)
		return;
	vsnprintf(value, sizeof value, format, arguments);
	clean(value);
	char *copy = mem_copy_string(value);
	if (!copy) {
		response->body.failure = ERR_MEMORY;
		return;
	}
	if (at < response->header_count)
		mem_free(response->headers[at].value);
	else
		response->header_count++;
	response->headers[at].name = name;
	response->headers[at].value = copy;
}

void http_response_header(struct http_response *response, const char *name, const char *format, ...)
{
	unsigned at = 0;
	va_list arguments;

	while (at < response->header_count && !span_equal_fold(span_from(response->headers[at].name), span_from(name)))
		at++;
	va_start(arguments, format);
	put_header(response, at, name, format, arguments);
	va_end(arguments);
}

void http_response_cookie(struct http_response *response, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_header(response, response->header_count, "Set-Cookie", format, arguments);
	va_end(arguments);
}

void http_response_redirect(struct http_response *response, struct span location)
{
	char *copy = mem_copy_bytes(location.ptr, location.len);

	if (!copy) {
		response->body.failure = ERR_MEMORY;
		return;
	}
	clean(copy);
	mem_free(response->location);
	response->location = copy;
	response->status = 303;
}

void http_response_frames(struct http_response *response, const char *ancestors)
{
	http_response_header(response, "Content-Security-Policy", PAGE_POLICY "%s", ancestors);
}

static void write_problem(struct buf *out, int code, const struct error *err)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_text(&w, "type", "about:blank");
	json_put_i64(&w, "status", code);
	json_put_text(&w, "title", title_of(code));
	json_put_text(&w, "detail", err->text);
	if (err->field[0])
		json_put_text(&w, "field", err->field);
	if (err->line)
		json_put_i64(&w, "line", err->line);
	if (err->column)
		json_put_i64(&w, "column", err->column);
	if (err->member)
		json_put_i64(&w, err->member, err->member_value);
	json_object_end(&w);
}

void http_response_explain(struct http_response *response, const struct error *err, const char *challenge)
{
	int code = response->status;

	drop_headers(response);
	if (err->retry_after_s > 0)
		http_response_header(response, "Retry-After", "%d", err->retry_after_s);
	else if (code == 429 || code == 503)
		http_response_header(response, "Retry-After", "1");
	if (code == 401)
		http_response_header(response, "WWW-Authenticate", "%s", challenge);
	else if (code == 403 && err->is_of_caller) /* RFC 6750 */
		http_response_header(response, "WWW-Authenticate", "Bearer error=\"insufficient_scope\"");
}

void response_problem_as(struct http_response *response, int code, const struct error *err)
{
	buf_reset(&response->body);
	response->status = code;
	response->content_type = "application/problem+json";
	drop_headers(response);
	mem_free(TAKE(response->location));
	drop_producer(response); /* else the rest of what was to be said would follow */
	write_problem(&response->body, code, err);
	if (response->body.failure) { /* half a document is none: a short one fits into what there is, or nothing */
		struct error brief = {0};
		buf_reset(&response->body);
		(void)error_set(&brief, err->status, "no memory is left to say why");
		write_problem(&response->body, code, &brief);
	}
	if (response->body.failure)
		buf_reset(&response->body);
	http_response_explain(response, err, "Bearer");
}

void http_response_problem(struct http_response *response, const struct error *err)
{
	response_problem_as(response, http_status_of(err->status), err);
}

bool response_settle(struct http_response *response, enum status status, struct error *err)
{
	if (status == OK && response->body.failure)
		status = error_set(err, ERR_INTERNAL,
			response->body.failure == ERR_TOO_LARGE ? "the reply is larger than 256 MiB; ask for less"
								: "no memory is left for the reply");
	if (status == OK)
		return false;
	err->status = status;
	http_response_problem(response, err);
	return true;
}

/* One element of Accept-Encoding: "gzip;q=0.5". */
static double read_element(struct span element, struct span *name)
{
	struct span parameter;
	double quality = 1;

	if (!span_next(&element, ';', name))
		return 0;
	*name = span_trim(*name);
	while (span_next(&element, ';', &parameter)) {
		parameter = span_trim(parameter);
		if (span_starts_with(parameter, SPAN("q=")) && !span_parse_double(span_skip(parameter, 2), &quality))
			quality = 0;
	}
	return quality;
}

/* 0: it is not accepted. A star is whatever has no name there. */
static double quality_of(struct span accept_encoding, struct span encoding, bool is_known_to_all)
{
	struct span element, name = {0};
	double of_star = 0;

	while (span_next(&accept_encoding, ',', &element)) {
		double quality = read_element(element, &name);
		if (span_equal_fold(name, encoding))
			return quality;
		if (is_known_to_all && span_equal(name, SPAN("*")))
			of_star = quality;
	}
	return of_star;
}

static double quality_of_gzip(struct span accept_encoding)
{
	return quality_of(accept_encoding, SPAN("gzip"), true);
}

/* By name: who takes anything (a lone star) means what is known to all. */
static double quality_of_zstd(struct span accept_encoding)
{
	return quality_of(accept_encoding, SPAN("zstd"), false);
}

bool response_accepts_gzip(struct span accept_encoding)
{
	return quality_of_gzip(accept_encoding) > 0;
}

static bool is_text(const char *content_type)
{
	struct span type = span_from(content_type);

	return span_starts_with(type, SPAN("text/")) || span_find(type, SPAN("json")) >= 0 ||
	       span_find(type, SPAN("xml")) >= 0 || span_find(type, SPAN("javascript")) >= 0;
}

enum encoding response_choose_encoding(struct http_response *response, struct span accept_encoding)
{
	const unsigned room = sizeof response->headers / sizeof *response->headers;

	if (!is_text(response->content_type) || find_header(response, "Content-Encoding") ||
		response->header_count + 2 > room)
		return ENCODING_IDENTITY;
	http_response_header(response, "Vary", "Accept-Encoding");
	if (response_accepts_gzip(accept_encoding))
		return ENCODING_GZIP;
	return quality_of_zstd(accept_encoding) > 0 ? ENCODING_ZSTD : ENCODING_IDENTITY;
}

static enum status pack(enum encoding encoding, struct span plain, struct buf *packed)
{
	if (encoding == ENCODING_GZIP)
		return deflate_gzip(plain, GZIP_LEVEL, packed, NULL);
	AUTO(zstd) zstd = zstd_new();
	return zstd ? zstd_pack(zstd, plain, ZSTD_LEVEL, packed, NULL) : ERR_MEMORY;
}

void response_compress(struct http_response *response, struct span accept_encoding)
{
	const unsigned room = sizeof response->headers / sizeof *response->headers;

	if (response->body.len <= LEAST_COMPRESSED_BYTES || !is_text(response->content_type) ||
		find_header(response, "Content-Encoding") || response->header_count + 2 > room)
		return;
	http_response_header(response, "Vary", "Accept-Encoding");
	double of_zstd = quality_of_zstd(accept_encoding), of_gzip = quality_of_gzip(accept_encoding);
	bool is_zstd = of_zstd > 0 && of_zstd >= of_gzip;
	if (!is_zstd && !(of_gzip > 0))
		return;
	AUTO_DONE(buf) packed = BUF_INIT(response->body.len);
	if (pack(is_zstd ? ENCODING_ZSTD : ENCODING_GZIP, buf_span(&response->body), &packed) != OK)
		return; /* did not become smaller */
	struct buf plain = response->body;
	response->body = packed;
	packed = plain;
	http_response_header(response, "Content-Encoding", is_zstd ? "zstd" : "gzip");
}

void response_each_header(const struct http_response *response, response_visit *visit, void *context)
{
	/* a worker lives under the policy of its own script, not of the page: without this it may open no connection */
	struct span type = span_from(response->content_type);
	bool is_page = span_starts_with(type, SPAN("text/html")) || span_starts_with(type, SPAN("text/javascript"));

	if (response->status != 204 && response->status != 304)
		visit(context, "Content-Type", response->content_type);
	visit(context, "X-Content-Type-Options", "nosniff");
	visit(context, "Referrer-Policy", "no-referrer");
	if (!find_header(response, "Content-Security-Policy"))
		visit(context, "Content-Security-Policy", is_page ? page_policy : data_policy);
	if (!find_header(response, "Cache-Control"))
		visit(context, "Cache-Control", "no-store");
	if (response->location)
		visit(context, "Location", response->location);
	for (unsigned i = 0; i < response->header_count; i++)
		visit(context, response->headers[i].name, response->headers[i].value);
}

static void write_header(void *context, const char *name, const char *value)
{
	buf_printf(context, "%s: %s\r\n", name, value);
}

void response_write(const struct http_response *response, bool without_body, struct buf *out)
{
	buf_printf(out, "HTTP/1.1 %d %s\r\n", response->status, title_of(response->status));
	response_each_header(response, write_header, out);
	buf_printf(out, "Connection: close\r\nContent-Length: %zu\r\n\r\n", response->body.len);
	if (!without_body)
		buf_append_span(out, buf_span(&response->body));
}
