/* What the sender decides about one delivery; pure. Source: Standard Webhooks specification 1.0. */
#include "alert/rule.h"
#include "alert/webhook.h"
#include "store/alerts.h"

#include <inttypes.h>

enum { SIGNED_PREFIX_MAX_BYTES = 1024 };

static bool is_done(int code)
{
	return code >= 200 && code < 300;
}

/* The receiver understood and will never want it. */
static bool is_hopeless(int code)
{
	return code >= 400 && code < 500 && code != 408 && code != 425 && code != 429;
}

/* 5 s, 10 s, … 1 h, and up to a tenth more, so that many that failed together do not come back together. */
static int64_t backoff_ms(const struct delivery_row *row, const struct delivery_limits *limits)
{
	int64_t delay_ms = limits->first_retry_ms;
	uint64_t spice = span_hash(row->message_id) + row->attempts * 0x9e3779b97f4a7c15u;

	for (uint32_t i = 1; i < row->attempts && delay_ms < limits->longest_retry_ms; i++)
		delay_ms *= 2;
	if (delay_ms > limits->longest_retry_ms)
		delay_ms = limits->longest_retry_ms;
	return delay_ms + delay_ms * (int64_t)((spice >> 32) % 1000) / 10000;
}

void delivery_settle(struct delivery_row *row, const struct delivery_limits *limits, int code, int64_t retry_after_s,
	struct span error_text, int64_t now_ms)
{
	row->attempts++;
	row->last_code = code;
	row->last_error = error_text;
	if (is_done(code)) {
		row->state = DELIVERY_DONE;
		row->done_ms = now_ms;
	} else if (is_hopeless(code) || now_ms - row->created_ms >= limits->give_up_ms) {
		row->state = DELIVERY_DEAD;
		row->done_ms = now_ms;
	} else {
		int64_t wait_ms = backoff_ms(row, limits), asked_s = limits->longest_retry_ms / 1000;
		asked_s = retry_after_s < asked_s ? retry_after_s : asked_s;
		row->next_ms = now_ms + (wait_ms > asked_s * 1000 ? wait_ms : asked_s * 1000);
	}
}

void webhook_sign(struct span secret, struct span message_id, int64_t timestamp_s, struct span body, struct buf *out)
{
	AUTO_DONE(buf) content = BUF_INIT(body.len + SIGNED_PREFIX_MAX_BYTES);
	unsigned char digest[SHA256_BYTES];

	buf_append_span(&content, message_id);
	buf_printf(&content, ".%" PRId64 ".", timestamp_s);
	buf_append_span(&content, body);
	if (content.failure) {
		out->failure = content.failure;
		return;
	}
	crypto_hmac_sha256(secret, buf_span(&content), digest);
	buf_append_text(out, "v1,");
	crypto_base64(span_of((const char *)digest, sizeof digest), out);
}

bool webhook_secret_parse(struct span text, struct buf *key)
{
	struct span prefix = SPAN("whsec_");

	return span_starts_with(text, prefix) && text.len > prefix.len &&
	       crypto_unbase64(span_skip(text, prefix.len), key);
}
