/*
 * Job: SageMaker's Search request from a file, and the pages of its answer.
 * Ownership: the documents are the caller's. Threads: one.
 */
#pragma once

#include "base/json/json_read.h"
#include "cli/http/http_post.h"

#include <stdio.h>

/* Until its end. ERR_INVALID: it has more than the buffer holds, which may be without end, or cannot be read. */
enum status search_read_whole(FILE *file, const char *name, struct buf *out, struct error *err) MUST_CHECK;

/* path "-": standard input. A SearchExpression alone is put into a request. ERR_INVALID with line and column. */
enum status search_document_read(const char *path, struct json **out, struct error *err) MUST_CHECK;
/* rows: at most so many in one page (100 is the most that SageMaker gives). token: "" or the last page's NextToken. */
enum status search_document_send(struct http_client *client, struct json *request, uint64_t rows, struct span token,
	struct json **page, struct error *err) MUST_CHECK;
