/*
 * Job: says at the end of a run that the server found no metric in its lines, and where definitions for them are ready.
 * Ownership: nothing is kept. Threads: those of the client.
 */
#pragma once

#include "cli/http/client.h"

enum { UNREAD_LINES_LEAST = 200 /* sent; fewer are hardly a training */ };

/* OK: it was said, or there is nothing to say. ERR_BUSY: the server has not looked at all lines yet. */
enum status unread_tell(struct http_client *client, const char *program, const char *job, struct error *err) MUST_CHECK;
