/*
 * Job: which webhooks hear of an incident, and what they are told. Pure.
 * Ownership: the caller's buffers. Threads: values.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

/* Told are the opening (or its reaching the webhook's severity) and the end. Historic incidents and those below the webhook's severity are not told; a team's webhook hears of its team's jobs only. */
bool rule_wants(const struct webhook_row *webhook, const struct incident_row *incident,
	const struct incident_news *news, struct span job_team);

/*
 * The message: {"type":"incident.opened"|"incident.recovered","timestamp":ISO 8601,"data":{the incident as in the API,
 * "summary": one sentence for a phone, "url": the page}}. public_url: origin for links, without a slash at the end.
 * Source: Standard Webhooks specification, "payload structure".
 */
void rule_write_message(const struct incident_row *incident, struct span public_url, int64_t now_ms, struct buf *out);

/* "whsec_" + base64 -> key bytes. */
bool webhook_secret_parse(struct span text, struct buf *key);

/* The incident as the REST API shows it; used by api/ as well. */
struct json_writer;
void incident_write_json(const struct incident_row *row, struct json_writer *w);
