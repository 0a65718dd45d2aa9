/*
 * Job: owned bytes that grow up to a hard maximum. Appending past it, or out of memory, marks the buffer as failed and
 *      appends nothing; callers check once, by buf_status, after a run of appends.
 * Ownership: the buf owns ptr; buf_take hands it over. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

struct buf {
	char *ptr;
	size_t len;
	size_t cap;
	size_t max_bytes;
	enum status failure; /* OK, ERR_TOO_LARGE or ERR_MEMORY */
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *b);
void buf_reset(struct buf *b); /* empty again, keeps its memory, forgets a failure */

void buf_append(struct buf *b, const void *bytes, size_t len);
void buf_append_span(struct buf *b, struct span s);
void buf_append_text(struct buf *b, const char *text);
void buf_append_char(struct buf *b, char c);
/* All but RFC 3986's unreserved characters as %XX: one segment of a path, or one value of a query. */
void buf_append_percent_encoded(struct buf *b, struct span s);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Room for len more bytes behind the end, and one for a NUL that is not counted; NULL: marked as failed. buf_advance says
 * how many were written.
 */
char *buf_reserve(struct buf *b, size_t len);
void buf_advance(struct buf *b, size_t len);

struct span buf_span(const struct buf *b);
enum status buf_status(const struct buf *b, struct error *err) MUST_CHECK;
/* The bytes, freed by mem_free; the buf is empty afterwards. NULL when nothing was ever appended. */
char *buf_take(struct buf *b, size_t *len);

AUTO_DONE_TYPE(buf)
