#include "cli/relay/relay_core.h"

#include "base/clock.h"

#include <stdio.h>

enum {
	ASK_MS = 1500, /* a training waits for it */
	AWAY_MS = 5000, /* then it is asked again */
	AWAIT_SENT_MS = 2000,
	RECORD_MAX_BYTES = 32 << 20,
};

void relay_lose(struct relay_core *core, const struct error *err)
{
	pthread_mutex_lock(&core->mutex);
	bool is_first = !core->has_told_loss;
	core->has_told_loss = true;
	core->lost_records++;
	pthread_mutex_unlock(&core->mutex);
	if (is_first)
		client_say(core->program, "what the training tells its tracker is dropped for now: %s", err->text);
}

void relay_put(struct relay_core *core, enum relay_dialect_id dialect, const char *call, bool is_run, struct span body)
{
	AUTO_DONE(buf) record = BUF_INIT(RECORD_MAX_BYTES);
	struct error err = {0};

	buf_printf(&record, "%s %s ", relay_dialects[dialect]->name, call);
	buf_append_span(&record, body);
	for (size_t i = 0; i < record.len; i++)
		if (record.ptr[i] == '\n' || record.ptr[i] == '\r')
			record.ptr[i] = ' '; /* between values: in the texts of JSON they are escaped */
	enum status status = buf_status(&record, &err);
	if (status == OK)
		status = relay_journal_put(core->own, buf_span(&record), &err);
	if (status != OK) {
		relay_lose(core, &err);
		return;
	}
	atomic_fetch_add(&core->shared->begun_runs, is_run);
	atomic_store(&core->shared->has_put, true);
	pthread_mutex_lock(&core->mutex);
	core->has_told_loss = false;
	pthread_cond_broadcast(&core->changed);
	pthread_mutex_unlock(&core->mutex);
}

enum status relay_ask(struct relay_core *core, const char *method, struct span path, struct span body,
	struct http_reply *reply, struct error *err)
{
	struct http_request request = {.method = method, .path = path, .body = body};

	http_reply_init(reply, RELAY_REPLY_MAX_BYTES);
	if (clock_mono_ms() < atomic_load(&core->away_until_ms))
		return error_set(err, ERR_UNAVAILABLE, "the server is away");
	request.content_type = body.len ? "application/json" : NULL;
	pthread_mutex_lock(&core->read_mutex);
	http_client_give_up_at(core->reader, clock_mono_ms() + ASK_MS);
	enum status status = http_client_send(core->reader, &request, reply, err);
	pthread_mutex_unlock(&core->read_mutex);
	bool is_away = status != OK || reply->status_code == 502 || reply->status_code == 503 ||
		       reply->status_code == 504 || reply->status_code == 429;
	if (!is_away)
		return OK;
	atomic_store(&core->away_until_ms, clock_mono_ms() + AWAY_MS);
	return status != OK ? error_same_(ERR_UNAVAILABLE, status)
			    : error_set(err, ERR_UNAVAILABLE, "the server answered with status %d", reply->status_code);
}

bool relay_await_sent(struct relay_core *core)
{
	struct timespec until = clock_deadline(AWAIT_SENT_MS);
	bool is_sent = false, is_late = false;

	pthread_mutex_lock(&core->mutex);
	core->hurried++;
	pthread_cond_broadcast(&core->changed);
	while (!is_late && !(is_sent = relay_journal_waiting(core->own) == 0) &&
		clock_mono_ms() >= atomic_load(&core->away_until_ms))
		is_late = pthread_cond_timedwait(&core->changed, &core->mutex, &until) != 0;
	core->hurried--;
	pthread_mutex_unlock(&core->mutex);
	return is_sent;
}
