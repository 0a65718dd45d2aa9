/*
 * Job: what a workspace may hold: every field known and of its kind, and where it is not. web/src/lib/workspace/document.ts does the
 *      same in the page; tests/support/workspaces.json has documents that both take and refuse.
 * Ownership: nothing is kept. Threads: any.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_read.h"

/* ERR_SEMANTIC with the place as its field: "panels[2].width". Times of queries are relative to now_ms. */
enum status workspace_check(const struct json *document, int64_t now_ms, struct error *err) MUST_CHECK;
