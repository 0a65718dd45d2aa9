/*
 * Job: the Model Context Protocol at /mcp, for agents that read: JSON-RPC (mcp.c), and tools each of which is one of our own GET routes
 *      (mcp_tools.c), so that an agent sees what everybody sees.
 *
 *   Eras      2026-07-28 says the version in _meta of each request and knows no session; up to 2025-11-25 `initialize` chooses one,
 *             and nothing has to be kept of it either.
 *   Answers   at most MCP_ANSWER_BYTES, with a link to the page. What jobs say of themselves stands between marks that nobody can know.
 *
 * Ownership: of the request. Threads: a worker.
 * Source: modelcontextprotocol.io, revisions 2025-11-25 and 2026-07-28.
 */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"

enum { MCP_ANSWER_BYTES = 8 << 10 };

/* What is asked, and on whose behalf. */
struct mcp_call {
	struct api *api;
	void *worker;
	const struct http_request *request;
};

/* The members of the result of tools/list: "tools". */
void mcp_write_tools(struct json_writer *w);
/* The members of the result of tools/call. ERR_NOT_FOUND: there is no such tool; what else is wrong is said to the model in the result. */
enum status mcp_call_tool(const struct mcp_call *call, struct span name, const struct json *arguments,
	struct json_writer *w, struct error *err) MUST_CHECK;
