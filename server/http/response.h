/*
 * Job: what every reply has beside its handler's part: the security headers, compression, and the bare text of a reply
 *      that has to leave before the request's body has ended.
 * Ownership: the caller's. Threads: one at a time.
 */
#pragma once

#include "base/codec/inflate.h"
#include "http/http.h"

void response_init(struct http_response *response);
void response_done(struct http_response *response);
/* As http_response_problem, for the codes that no status stands for (405). */
void response_problem_as(struct http_response *response, int code, const struct error *err);
/* What a handler returned: its error, or its body's failure, become a problem, which is in *err then. True: they did. */
bool response_settle(struct http_response *response, enum status status, struct error *err);

bool response_accepts_gzip(struct span accept_encoding);
/* How a long reply of a text type is packed while it is made: gzip, which everybody knows, else zstd; says Vary. */
enum encoding response_choose_encoding(struct http_response *response, struct span accept_encoding);
/*
 * Larger than 1 KiB, of a text type, not encoded yet: becomes zstd, which costs a half to a quarter of gzip and is shorter, where that is
 * accepted by name, else gzip where that is. Costs CPU: a worker's task.
 */
void response_compress(struct http_response *response, struct span accept_encoding);

typedef void response_visit(void *context, const char *name, const char *value);
/* All headers but those of the transport (Date, Connection, Content-Length). */
void response_each_header(const struct http_response *response, response_visit *visit, void *context);
/* The whole reply as HTTP/1.1 text that closes the connection. */
void response_write(const struct http_response *response, bool without_body, struct buf *out);
