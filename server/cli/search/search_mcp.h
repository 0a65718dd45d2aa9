/*
 * Job: the Model Context Protocol on standard input and output, for agents that start their servers as programs: each line goes to the
 *      server's /mcp, which is where the tools are, and its answer comes back as a line.
 * Ownership: nothing is kept. Threads: one.
 * Source: modelcontextprotocol.io, transport stdio; the headers of revision 2026-07-28 are made from the message.
 */
#pragma once

#include "cli/http/http_post.h"

/* Until standard input ends. An answer that the server does not give is an error of JSON-RPC, so that the agent hears of it. */
enum status search_mcp_relay(struct http_client *client, struct error *err) MUST_CHECK;
