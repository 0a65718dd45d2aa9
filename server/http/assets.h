/*
 * Job: the page: embedded files with ETag, gzip and caching; index.html, or a view's own as job.html, for the page's own paths.
 * Ownership: static. Threads: any.
 */
#pragma once

#include "base/embedded.h"
#include "http/http.h"

struct assets;

/* table: what was embedded (may be empty: then "/" says that this server was built without its page), FILE.gz behind FILE
 * where the build packed it. web_root: a folder to serve instead, for development, or NULL. */
enum status assets_new(
	struct assets **out, const struct embedded_file *table, const char *web_root, struct error *err) MUST_CHECK;
void assets_free(struct assets *assets);
/* Answers GET of a path below "/": a file, or index.html for paths of the page, or 404. Sets CSP, caching and ETag; answers
 * If-None-Match by 304. May read web_root: call it from a worker when web_root is set. */
enum status assets_serve(struct assets *assets, const struct http_request *request, struct http_response *response,
	struct error *err) MUST_CHECK;
/* The page of a job, whatever Accept says. head: HTML that takes the place of its title, of those who ask alone; "": it stays. */
enum status assets_serve_job(struct assets *assets, struct span head, const struct http_request *request,
	struct http_response *response, struct error *err) MUST_CHECK;

AUTO_TYPE(assets)
