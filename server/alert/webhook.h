/*
 * Job: the one thread that delivers the outbox: reads what is due, POSTs it signed, reports the result; retries with backoff. One
 *      message a webhook is under way at a time, those of different webhooks beside each other: a slow one delays no other.
 *      Signatures: Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature: v1,base64(HMAC-SHA256)).
 * Ownership: new/free. Threads: its own; webhook_sender_wake from any.
 */
#pragma once

#include "base/buf.h"
#include "base/crypto.h"
#include "net/http_client.h"
#include "store/alerts.h"
#include "store/store.h"

struct webhook_sender;
struct webhook_formats;

struct delivery_limits {
	int64_t first_retry_ms, longest_retry_ms; /* 5 s, doubling to 1 h */
	int64_t give_up_ms; /* 24 h after it was written */
};

struct webhook_sender_options {
	struct store *store; /* for its own reader */
	struct http_client_options http;
	struct delivery_limits limits;
	const struct webhook_formats *formats; /* outlive it */
	struct span public_url;
	unsigned char seal_key[SEAL_KEY_BYTES];
	/* Stores the outcome durably through the writer; blocks until it is. Must be thread-safe. */
	enum status (*report)(void *context, const struct delivery_row *row, struct error *err);
	void *context;
};

enum status webhook_sender_start(
	struct webhook_sender **out, const struct webhook_sender_options *options, struct error *err) MUST_CHECK;
/* Something became due (a commit with new outbox rows). */
void webhook_sender_wake(struct webhook_sender *sender);
/* Ends the thread; a delivery under way is cut off and stays pending. */
void webhook_sender_free(struct webhook_sender *sender);

/* Pure, for tests: what becomes of a row after an attempt. code 0: no answer. 2xx: done. 4xx but 408, 425, 429: dead. Else
 * retried, with a tenth of jitter derived from the message id, and not before retry_after_s (at most the longest wait). */
void delivery_settle(struct delivery_row *row, const struct delivery_limits *limits, int code, int64_t retry_after_s,
	struct span error_text, int64_t now_ms);
/* "v1,…" into out. secret: the key's bytes. */
void webhook_sign(struct span secret, struct span message_id, int64_t timestamp_s, struct span body, struct buf *out);

AUTO_TYPE(webhook_sender)
