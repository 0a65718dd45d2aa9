/*
 * Job: what a server answers that has no database yet: it is starting, or waits for the end of the one that has it.
 * Ownership: static. Threads: any; never blocks.
 */
#pragma once

#include "http/http.h"

/* /healthz is 200, for it runs. "/", and a GET that accepts HTML, is a page that asks again; all else is 503 with Retry-After. */
enum status standby_answer(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err) MUST_CHECK;
