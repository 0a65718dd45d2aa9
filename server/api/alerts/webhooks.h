/* Job: nothing of it says where a webhook is: its URL may be a secret. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/alerts.h"

#define WEBHOOK_MEMBERS                                                                                                \
	"url format team secret minimum_severity enabled events heartbeat_s per_minute report_at report_tz"
/* What it says beside, as it was read, here or in the audit log: taken back unread. */
#define WEBHOOK_READ_MEMBERS " id webhook_id has_secret created_ms next_report_ms beat_ms report_due_ms"

struct api;
struct delivery_row;
/* As nobody has said anything of it yet, and what a body says of it, into that; *secret: as given, "" for none. */
struct webhook_row api_new_webhook(int64_t now_ms);
enum status api_read_webhook(const struct api *api, const struct json *body, struct webhook_row *row,
	struct span *secret, struct error *err) MUST_CHECK;

void api_write_delivery(struct json_writer *w, const struct delivery_row *row);
