/*
 * The thread of the outbox. It reads, lets go of the database, posts, and reports: no snapshot is held during a post. A webhook
 * that gives no answer is left alone for a while, so that its other messages do not cost a timeout each.
 */
#include "alert/webhook.h"

#include "alert/format.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/alerts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
	UNDER_WAY_MAX = 64,
	LONGEST_WAIT_MS = 60000,
	LONGEST_PAUSE_MS = 5 * 60000,
	AFTER_FAILURE_MS = 1000,
	SECRET_MAX_BYTES = 1024,
	BODY_MAX_BYTES = 1 << 20,
	REFUSED = 503 /* as which an answer counts that says so in its body alone */
};

/* What is known of a webhook since the start. */
struct endpoint {
	int64_t webhook_id;
	bool is_busy;
	unsigned silences; /* in a row */
	int64_t paused_until_mono_ms;
};

/* One message under way; its row lives in its own arena. */
struct attempt {
	struct endpoint *endpoint;
	struct arena *arena;
	struct delivery_row row;
	struct span format;
};

struct webhook_sender {
	struct webhook_sender_options options;
	struct store_reader *reader;
	struct http_client *client;
	struct endpoint **endpoints;
	size_t endpoint_count, endpoint_cap;
	size_t under_way;
	pthread_t thread;
	atomic_bool is_woken;
	atomic_bool must_end;
};

static void attempt_free(struct attempt *attempt)
{
	if (!attempt)
		return;
	arena_free(attempt->arena);
	mem_free(attempt);
}
AUTO_TYPE(attempt)

static struct endpoint *find_endpoint(struct webhook_sender *sender, int64_t webhook_id)
{
	for (size_t i = 0; i < sender->endpoint_count; i++)
		if (sender->endpoints[i]->webhook_id == webhook_id)
			return sender->endpoints[i];
	struct endpoint *endpoint = mem_zeroed(sizeof *endpoint);
	if (!endpoint || !mem_grow((void **)&sender->endpoints, sender->endpoint_count, &sender->endpoint_cap,
				 sizeof *sender->endpoints)) {
		mem_free(endpoint);
		return NULL;
	}
	endpoint->webhook_id = webhook_id;
	sender->endpoints[sender->endpoint_count++] = endpoint;
	return endpoint;
}

/* ---- out ---- */

/* What a message is sent with; libcurl wants texts that end by NUL. */
struct outgoing {
	struct buf url, id, secret, signature, body;
	const char *content_type;
	char timestamp[24];
};

static void outgoing_done(struct outgoing *o)
{
	struct buf *const bufs[] = {&o->url, &o->id, &o->secret, &o->signature, &o->body};

	for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
		buf_done(bufs[i]);
}
AUTO_DONE_TYPE(outgoing)

/* The key, and then the signature; nothing for a webhook without a secret, or whose secret is the receiver's own. */
static enum status sign(const struct webhook_sender *sender, const struct webhook_row *webhook,
	const struct delivery_row *row, int64_t timestamp_s, struct outgoing *o, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(SECRET_MAX_BYTES);
	enum webhook_secret kind = webhook_format_secret(sender->options.formats, webhook->format);

	if (!o->secret.len || kind == WEBHOOK_SECRET_TEXT || kind == WEBHOOK_SECRET_REQUIRED)
		return OK;
	/* Sealed is the text as it was given or shown ("whsec_…"), or the bare key. */
	bool is_text = webhook_secret_parse(buf_span(&o->secret), &key);
	webhook_sign(is_text ? buf_span(&key) : buf_span(&o->secret), row->message_id, timestamp_s, buf_span(&o->body),
		&o->signature);
	buf_append_char(&o->signature, 0);
	return buf_status(&o->signature, err);
}

static enum status compose(const struct webhook_sender *sender, const struct webhook_row *webhook,
	const struct delivery_row *row, struct outgoing *o, struct error *err)
{
	AUTO_DONE(buf) suffix = BUF_INIT(SECRET_MAX_BYTES);
	int64_t now_ms = clock_wall_ms();

	*o = (struct outgoing){.url = BUF_INIT(1 << 14), .id = BUF_INIT(1 << 12), .secret = BUF_INIT(SECRET_MAX_BYTES)};
	o->signature = BUF_INIT(SECRET_MAX_BYTES);
	o->body = BUF_INIT(BODY_MAX_BYTES);
	snprintf(o->timestamp, sizeof o->timestamp, "%" PRId64, now_ms / 1000);
	if (webhook->sealed_secret.len)
		TRY(crypto_unseal(sender->options.seal_key, webhook->sealed_secret, &o->secret, err));
	struct webhook_shape shape = {webhook->format, row->payload, row->message_id, buf_span(&o->secret),
		sender->options.public_url, now_ms};
	TRY(webhook_render(sender->options.formats, &shape, &o->body, &o->content_type, &suffix, err));
	TRY(sign(sender, webhook, row, now_ms / 1000, o, err));
	buf_append_span(&o->url, webhook->url);
	if (suffix.len && span_find_char(webhook->url, '?') < 0)
		suffix.ptr[0] = '?';
	buf_append_span(&o->url, buf_span(&suffix));
	buf_append_char(&o->url, 0);
	buf_append_span(&o->id, row->message_id);
	buf_append_char(&o->id, 0);
	TRY(buf_status(&o->url, err));
	return buf_status(&o->id, err);
}

static enum status post(
	struct webhook_sender *sender, const struct webhook_row *webhook, struct attempt *attempt, struct error *err)
{
	AUTO_DONE(outgoing) o = {0};

	TRY(compose(sender, webhook, &attempt->row, &o, err));
	attempt->format = arena_copy(attempt->arena, webhook->format);
	struct http_client_header headers[] = {{"Content-Type", o.content_type}, {"webhook-id", o.id.ptr},
		{"webhook-timestamp", o.timestamp}, {"webhook-signature", o.signature.ptr}};
	size_t count = sizeof headers / sizeof *headers - !o.signature.len;
	struct http_client_request request = {
		.url = o.url.ptr, .headers = headers, .header_count = count, .body = buf_span(&o.body)};
	return http_client_start(sender->client, &request, attempt, err);
}

/* ---- back ---- */

static enum status report(struct webhook_sender *sender, struct delivery_row *row, struct error *err)
{
	if (row->state == DELIVERY_DEAD)
		log_line(LOG_WARNING, "webhook_dead", "webhook=%" PRId64 " delivery=%" PRId64 " reason=\"%.*s\"",
			row->webhook_id, row->delivery_id, SPAN_ARGS(row->last_error));
	enum status status = sender->options.report(sender->options.context, row, err);
	return status == ERR_NOT_FOUND ? OK : status; /* deleted during the post */
}

/* No answer, one that nobody can note down, or one that says when to come again: the messages behind this one wait as well. */
static void pause_endpoint(struct webhook_sender *sender, struct endpoint *endpoint, bool is_silent, int64_t asked_s)
{
	int64_t pause_ms = sender->options.limits.first_retry_ms;

	endpoint->silences = is_silent ? endpoint->silences + 1 : 0;
	for (unsigned i = 1; i < endpoint->silences && pause_ms < LONGEST_PAUSE_MS; i++)
		pause_ms *= 2;
	if (!is_silent)
		pause_ms = asked_s < LONGEST_PAUSE_MS / 1000 ? asked_s * 1000 : LONGEST_PAUSE_MS;
	pause_ms = pause_ms < LONGEST_PAUSE_MS ? pause_ms : LONGEST_PAUSE_MS;
	endpoint->paused_until_mono_ms = clock_mono_ms() + pause_ms;
}

static enum status settle(struct webhook_sender *sender, struct attempt *attempt, int code, int64_t retry_after_s,
	struct span reason, struct error *err)
{
	struct span kept = arena_copy(attempt->arena, reason);

	delivery_settle(&attempt->row, &sender->options.limits, code, retry_after_s, kept.ptr ? kept : SPAN(""),
		clock_wall_ms());
	enum status status = report(sender, &attempt->row, err);
	bool is_silent = code == 0 || status != OK; /* what cannot be kept would be sent again, and again */
	pause_endpoint(sender, attempt->endpoint, is_silent, code == 429 || code == 503 ? retry_after_s : 0);
	return status;
}

static enum status take_answer(
	struct webhook_sender *sender, const struct http_client_answer *answer, struct error *err)
{
	AUTO(attempt) attempt = answer->context;
	struct error failure = answer->err;

	attempt->endpoint->is_busy = false;
	sender->under_way--;
	if (answer->status == ERR_MEMORY) /* nothing was sent: the row stays as it was */
		return error_set(err, ERR_MEMORY, "%s", failure.text);
	int code = answer->status == OK ? answer->code : 0;
	if (code && (code < 200 || code >= 300))
		error_set(&failure, ERR_IO, "the answer was %d%s", code,
			code >= 300 && code < 400 ? ", and redirects are not followed" : "");
	else if (code && webhook_is_refused(sender->options.formats, attempt->format, answer->reply, &failure))
		code = REFUSED;
	return settle(sender, attempt, code, answer->retry_after_s, span_from(failure.text), err);
}

/* ---- round ---- */

/* Reads the webhook's next message, and begins to send it. */
static enum status begin(
	struct webhook_sender *sender, const struct webhook_row *webhook, struct endpoint *endpoint, struct error *err)
{
	AUTO(attempt) attempt = mem_zeroed(sizeof *attempt);
	struct error failure = {0};
	struct delivery_row *rows;
	size_t count;

	if (!attempt || !(attempt->arena = arena_new()))
		return error_no_memory(err);
	TRY(store_read_due_deliveries(
		sender->reader, attempt->arena, webhook->webhook_id, clock_wall_ms(), 1, &rows, &count, err));
	if (!count)
		return OK;
	attempt->row = rows[0];
	attempt->endpoint = endpoint;
	if (post(sender, webhook, attempt, &failure) != OK)
		return settle(sender, attempt, 0, 0, span_from(failure.text), err);
	attempt = NULL;
	endpoint->is_busy = true;
	sender->under_way++;
	return OK;
}

/* *wait_ms: until it has something to send, if that is sooner. */
static enum status look_at(
	struct webhook_sender *sender, const struct webhook_row *webhook, int64_t *wait_ms, struct error *err)
{
	struct endpoint *endpoint = find_endpoint(sender, webhook->webhook_id);
	int64_t next_ms;

	if (!endpoint)
		return error_no_memory(err);
	if (endpoint->is_busy || sender->under_way >= UNDER_WAY_MAX || !webhook->is_enabled)
		return OK;
	int64_t pause_ms = endpoint->paused_until_mono_ms - clock_mono_ms();
	if (pause_ms <= 0)
		TRY(begin(sender, webhook, endpoint, err));
	if (endpoint->is_busy)
		return OK;
	TRY(store_next_delivery_ms(sender->reader, webhook->webhook_id, &next_ms, err));
	if (next_ms == INT64_MAX)
		return OK;
	int64_t left_ms = next_ms - clock_wall_ms();
	pause_ms = endpoint->paused_until_mono_ms - clock_mono_ms();
	left_ms = left_ms > pause_ms ? left_ms : pause_ms;
	left_ms = left_ms < 0 ? 0 : left_ms;
	*wait_ms = left_ms < *wait_ms ? left_ms : *wait_ms;
	return OK;
}

/* Whatever may be sent by now is under way after it; *wait_ms: until there is more. */
static enum status begin_due(struct webhook_sender *sender, int64_t *wait_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct webhook_row *webhooks;
	size_t count;

	*wait_ms = LONGEST_WAIT_MS; /* at most, because the wall clock may be set meanwhile */
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_webhooks(sender->reader, arena, &webhooks, &count, err));
	for (size_t i = 0; i < count && !atomic_load(&sender->must_end); i++)
		TRY(look_at(sender, &webhooks[i], wait_ms, err));
	return OK;
}

static enum status take_answers(struct webhook_sender *sender, int64_t wait_ms, struct error *err)
{
	struct http_client_answer answer;
	int64_t until_ms = clock_mono_ms() + wait_ms;

	while (!atomic_load(&sender->must_end)) {
		if (http_client_wait(sender->client, wait_ms, &answer))
			return take_answer(sender, &answer, err);
		wait_ms = until_ms - clock_mono_ms();
		if (atomic_exchange(&sender->is_woken, false) || wait_ms <= 0)
			return OK;
	}
	return OK;
}

static void *run(void *context)
{
	struct webhook_sender *sender = context;

	pthread_setname_np(pthread_self(), "webhook");
	while (!atomic_load(&sender->must_end)) {
		struct error err = {0};
		int64_t wait_ms;
		enum status status = begin_due(sender, &wait_ms, &err);
		if (status == OK)
			status = take_answers(sender, wait_ms, &err);
		if (status == OK || atomic_load(&sender->must_end))
			continue;
		log_line(LOG_WARNING, "webhook_failed", "reason=\"%s\"", err.text);
		if (take_answers(sender, AFTER_FAILURE_MS, &err) != OK)
			log_line(LOG_WARNING, "webhook_failed", "reason=\"%s\"", err.text);
	}
	return NULL;
}

/* What was under way stays as it was, and goes out again at the next start. */
static void drop_under_way(struct webhook_sender *sender)
{
	void *context;

	while (sender->client && (context = http_client_drop(sender->client)))
		attempt_free(context);
}

static void destroy(struct webhook_sender *sender)
{
	drop_under_way(sender);
	http_client_free(sender->client);
	store_reader_free(sender->reader);
	for (size_t i = 0; i < sender->endpoint_count; i++)
		mem_free(sender->endpoints[i]);
	mem_free(sender->endpoints);
	mem_free(sender);
}

static enum status start(struct webhook_sender *sender, struct error *err)
{
	TRY(store_reader_new(&sender->reader, sender->options.store, err));
	TRY(http_client_new(&sender->client, &sender->options.http, err));
	if (pthread_create(&sender->thread, NULL, run, sender) != 0)
		return error_set(err, ERR_MEMORY, "cannot start the thread of the webhooks");
	return OK;
}

enum status webhook_sender_start(
	struct webhook_sender **out, const struct webhook_sender_options *options, struct error *err)
{
	struct webhook_sender *sender = mem_zeroed(sizeof *sender);

	if (!sender)
		return error_no_memory(err);
	sender->options = *options;
	enum status status = start(sender, err);
	if (status != OK)
		destroy(sender);
	else
		*out = sender;
	return status;
}

void webhook_sender_wake(struct webhook_sender *sender)
{
	atomic_store(&sender->is_woken, true);
	http_client_wake(sender->client);
}

void webhook_sender_free(struct webhook_sender *sender)
{
	if (!sender)
		return;
	atomic_store(&sender->must_end, true);
	http_client_cancel(sender->client);
	pthread_join(sender->thread, NULL);
	destroy(sender);
}
