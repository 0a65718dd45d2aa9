/* Authorization headers: the first line; then headers, "name:value" a line, up to an empty one; then the body. */
#include "aws/protocol/sigv4.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = span_of((const char *)data, size), first, line, name;
	struct http_header headers[SIGV4_HEADERS_MAX];
	struct sigv4_authorization authorization;
	struct error err = {0};
	size_t count = 0;

	if (!size || !span_next(&rest, '\n', &first))
		return 0;
	while (count < SIGV4_HEADERS_MAX && span_next(&rest, '\n', &line) && line.len) {
		if (!span_next(&line, ':', &name))
			break;
		headers[count++] = (struct http_header){name, line.ptr ? line : SPAN("")};
	}
	const struct sigv4_request request = {.method = SPAN("POST"),
		.path = SPAN("/"),
		.body = rest.ptr ? rest : SPAN(""),
		.headers = headers,
		.header_count = count};
	enum status status = sigv4_parse(&authorization, first, &err);
	if (status == OK)
		status = sigv4_verify(&authorization, &request, SPAN("secret"), 1440938160000, 300000, &err);
	if (status != OK && (status != ERR_UNAUTHORIZED || !err.code || !err.text[0]))
		abort();
	return 0;
}
