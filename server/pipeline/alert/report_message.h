/*
 * Job: the report of a time as one message: {"type":"fleet.report","timestamp","data":{"kind":"report","title","summary","url","severity",
 *      "from_ms","to_ms","due_ms","incidents","failed","ended","started","running","lost","lines":[{"text","url"}]}}. docs/report.md.
 * Ownership: the caller's. Threads: any that may wait for reads, but the writer.
 */
#pragma once

#include "base/buf.h"
#include "store/alerts.h"

struct pipeline;
struct report_plan;

/* Of the plan's time, as the webhook may see it: a team's of its team's jobs alone. One that is told because it is due says so (due_ms). */
enum status report_write_message(struct pipeline *pipeline, const struct webhook_row *webhook,
	const struct report_plan *plan, struct buf *out, struct error *err) MUST_CHECK;
