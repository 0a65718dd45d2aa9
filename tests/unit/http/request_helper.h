/* Requests as the other tests of this folder need them: parsed, without a connection. */
#pragma once

#include "http/request.h"
#include "test.h"

static inline void http_request_done(struct http_request *request)
{
	request_done(request);
}
AUTO_DONE_TYPE(http_request)

static inline struct http_request request_for(const char *method, const char *target)
{
	struct http_request request;

	CHECK_OK(request_init(&request, &err));
	request_set_method(&request, span_from(method));
	CHECK_OK(request_parse_target(&request, span_from(target), &err));
	return request;
}

static inline void give_header(struct http_request *request, const char *name, const char *value)
{
	CHECK_OK(request_add_header(request, span_from(name), span_from(value), &err));
}
