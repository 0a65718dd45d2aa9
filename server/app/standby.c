#include "app/standby.h"

enum { PAGE_AGAIN_S = 2, AGAIN_S = 1 };

/* Nothing in it needs a script or a style, which the pages' policy would not let it have inline. */
static const char PAGE[] =
	"<!doctype html>\n"
	"<html lang=\"en\">\n"
	"<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<meta http-equiv=\"refresh\" content=\"2\">\n"
	"<title>smfleet: taking over</title>\n"
	"<h1>Taking over</h1>\n"
	"<p role=\"status\">This server has no database yet: it is starting, or waits until another server has "
	"ended. This page loads itself again every 2 seconds.</p>\n"
	"</html>\n";

static bool wants_page(const struct http_request *request)
{
	return http_request_method(request) == HTTP_GET &&
	       (span_equal(http_request_path(request), SPAN("/")) ||
		       span_find(http_request_header(request, "Accept"), SPAN("text/html")) >= 0);
}

enum status standby_answer(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct span path = http_request_path(request);

	(void)context;
	(void)worker;
	if (http_request_method(request) == HTTP_GET && span_equal(path, SPAN("/healthz"))) {
		response->content_type = "text/plain; charset=utf-8";
		buf_append_text(&response->body, "ok\n");
		return OK;
	}
	if (wants_page(request) && !span_equal(path, SPAN("/readyz"))) {
		response->status = 503;
		response->content_type = "text/html; charset=utf-8";
		http_response_header(response, "Retry-After", "%d", PAGE_AGAIN_S);
		buf_append_text(&response->body, PAGE);
		return OK;
	}
	error_set(err, ERR_UNAVAILABLE,
		"this server has no database yet: it is starting, or waits until another server has ended");
	err->retry_after_s = AGAIN_S;
	return ERR_UNAVAILABLE;
}
