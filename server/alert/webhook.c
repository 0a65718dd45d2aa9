/* The thread of the outbox. It reads, lets go of the database, posts, and reports: no snapshot is held during a post. */
#include "alert/rule.h"
#include "alert/webhook.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { DELIVERIES_AT_ONCE = 64, LONGEST_WAIT_MS = 60000, AFTER_FAILURE_MS = 1000, SECRET_MAX_BYTES = 1024 };

struct webhook_sender {
	struct webhook_sender_options options;
	struct store_reader *reader;
	struct http_client *client;
	int64_t silent[DELIVERIES_AT_ONCE]; /* webhooks that gave no answer in this round */
	size_t silent_count;
	pthread_t thread;
	pthread_mutex_t mutex; /* over the next two */
	pthread_cond_t changed;
	bool is_woken;
	bool must_end;
};

static bool must_end(struct webhook_sender *sender)
{
	pthread_mutex_lock(&sender->mutex);
	bool answer = sender->must_end;
	pthread_mutex_unlock(&sender->mutex);
	return answer;
}

/* Until something becomes due, a wake, or the stop. */
static void wait_ms(struct webhook_sender *sender, int64_t ms)
{
	struct timespec deadline = clock_deadline(ms);
	int failed = 0;

	pthread_mutex_lock(&sender->mutex);
	while (!sender->is_woken && !sender->must_end && !failed)
		failed = pthread_cond_clockwait(&sender->changed, &sender->mutex, CLOCK_MONOTONIC, &deadline);
	sender->is_woken = false;
	pthread_mutex_unlock(&sender->mutex);
}

/* The key, and then the signature; nothing for a webhook without a secret. */
static enum status sign(const struct webhook_sender *sender, const struct webhook_row *webhook,
	const struct delivery_row *row, int64_t timestamp_s, struct buf *signature, struct error *err)
{
	AUTO_DONE(buf) secret = BUF_INIT(SECRET_MAX_BYTES);
	AUTO_DONE(buf) key = BUF_INIT(SECRET_MAX_BYTES);

	if (webhook->sealed_secret.len == 0)
		return OK;
	TRY(crypto_unseal(sender->options.seal_key, webhook->sealed_secret, &secret, err));
	/* Sealed is the text as it was given or shown ("whsec_…"), or the bare key. */
	bool is_text = webhook_secret_parse(buf_span(&secret), &key);
	webhook_sign(
		is_text ? buf_span(&key) : buf_span(&secret), row->message_id, timestamp_s, row->payload, signature);
	return buf_status(signature, err);
}

static enum status post(struct webhook_sender *sender, const struct webhook_row *webhook,
	const struct delivery_row *row, int *code, struct error *err)
{
	AUTO_DONE(buf) signature = BUF_INIT(SECRET_MAX_BYTES);
	struct http_client_header headers[4] = {{"Content-Type", "application/json"}};
	int64_t timestamp_s = clock_wall_ms() / 1000;
	AUTO_DONE(buf) texts = BUF_INIT(1 << 16);
	char timestamp[24];
	size_t count = 3;

	TRY(sign(sender, webhook, row, timestamp_s, &signature, err));
	snprintf(timestamp, sizeof timestamp, "%" PRId64, timestamp_s);
	/* libcurl wants texts that end by NUL: both in one buffer, url first. */
	buf_append_span(&texts, webhook->url);
	buf_append_char(&texts, 0);
	buf_append_span(&texts, row->message_id);
	buf_append_char(&texts, 0);
	TRY(buf_status(&texts, err));
	headers[1] = (struct http_client_header){"webhook-id", texts.ptr + webhook->url.len + 1};
	headers[2] = (struct http_client_header){"webhook-timestamp", timestamp};
	if (signature.len) {
		buf_append_char(&signature, 0);
		TRY(buf_status(&signature, err));
		headers[count++] = (struct http_client_header){"webhook-signature", signature.ptr};
	}
	return http_client_post(sender->client, texts.ptr, headers, count, row->payload, code, NULL, err);
}

/* One that gives no answer costs a timeout a round, not one a message: the others wait behind it. */
static enum status post_unless_silent(struct webhook_sender *sender, const struct webhook_row *webhook,
	const struct delivery_row *row, int *code, struct error *err)
{
	for (size_t i = 0; i < sender->silent_count; i++)
		if (sender->silent[i] == row->webhook_id)
			return error_set(err, ERR_IO, "not tried, because the message before it got no answer");
	enum status status = post(sender, webhook, row, code, err);
	if (status == ERR_IO)
		sender->silent[sender->silent_count++] = row->webhook_id;
	return status;
}

/* *is_settled false: the webhook was deleted or switched off since the row was read, and the row is gone or waits. */
static enum status attempt(struct webhook_sender *sender, struct delivery_row *row, struct arena *arena,
	bool *is_settled, struct error *err)
{
	struct webhook_row webhook;
	struct error failure = {0};
	int code = 0;

	*is_settled = false;
	enum status status = store_read_webhook(sender->reader, arena, row->webhook_id, &webhook, err);
	if (status == ERR_NOT_FOUND || (status == OK && !webhook.is_enabled))
		return OK;
	TRY(status);
	status = post_unless_silent(sender, &webhook, row, &code, &failure);
	if (status == ERR_UNAVAILABLE || status == ERR_MEMORY) /* cut off by the stop: the row stays as it was */
		return error_set(err, status, "%s", failure.text);
	if (status == OK && (code < 200 || code >= 300))
		error_set(&failure, ERR_IO, "the answer was %d", code);
	struct span reason = arena_copy(arena, span_from(failure.text));
	delivery_settle(row, code, reason.ptr ? reason : SPAN(""), clock_wall_ms());
	*is_settled = true;
	return OK;
}

static enum status deliver(
	struct webhook_sender *sender, struct delivery_row *row, struct arena *arena, struct error *err)
{
	bool is_settled;

	TRY(attempt(sender, row, arena, &is_settled, err));
	if (!is_settled)
		return OK;
	if (row->state == DELIVERY_DEAD)
		log_line(LOG_WARNING, "webhook_dead", "webhook=%" PRId64 " delivery=%" PRId64 " reason=\"%.*s\"",
			row->webhook_id, row->delivery_id, SPAN_ARGS(row->last_error));
	enum status status = sender->options.report(sender->options.context, row, err);
	return status == ERR_NOT_FOUND ? OK : status; /* deleted during the post */
}

/* All that is due by now; *wait: until the next. */
static enum status deliver_due(struct webhook_sender *sender, int64_t *wait, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct delivery_row *rows;
	int64_t next_ms;
	size_t count;

	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(store_read_due_deliveries(sender->reader, arena, clock_wall_ms(), DELIVERIES_AT_ONCE, &rows, &count, err));
	sender->silent_count = 0;
	for (size_t i = 0; i < count && !must_end(sender); i++)
		TRY(deliver(sender, &rows[i], arena, err));
	TRY(store_next_delivery_ms(sender->reader, &next_ms, err));
	/* At most a minute, because the wall clock may be set meanwhile. */
	int64_t left_ms = next_ms == INT64_MAX ? LONGEST_WAIT_MS : next_ms - clock_wall_ms();
	*wait = left_ms < 0 ? 0 : left_ms > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : left_ms;
	return OK;
}

static void *run(void *context)
{
	struct webhook_sender *sender = context;

	pthread_setname_np(pthread_self(), "webhook");
	while (!must_end(sender)) {
		struct error err = {0};
		int64_t wait = AFTER_FAILURE_MS;
		if (deliver_due(sender, &wait, &err) && !must_end(sender))
			log_line(LOG_WARNING, "webhook_failed", "reason=\"%s\"", err.text);
		if (wait)
			wait_ms(sender, wait);
	}
	return NULL;
}

static void destroy(struct webhook_sender *sender)
{
	http_client_free(sender->client);
	store_reader_free(sender->reader);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->mutex);
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
		return error_set(err, ERR_MEMORY, "out of memory");
	sender->options = *options;
	pthread_mutex_init(&sender->mutex, NULL);
	pthread_cond_init(&sender->changed, NULL);
	enum status status = start(sender, err);
	if (status != OK)
		destroy(sender);
	else
		*out = sender;
	return status;
}

void webhook_sender_wake(struct webhook_sender *sender)
{
	pthread_mutex_lock(&sender->mutex);
	sender->is_woken = true;
	pthread_cond_signal(&sender->changed);
	pthread_mutex_unlock(&sender->mutex);
}

void webhook_sender_free(struct webhook_sender *sender)
{
	if (!sender)
		return;
	pthread_mutex_lock(&sender->mutex);
	sender->must_end = true;
	pthread_cond_signal(&sender->changed);
	pthread_mutex_unlock(&sender->mutex);
	http_client_cancel(sender->client);
	pthread_join(sender->thread, NULL);
	destroy(sender);
}
