/* The thread that sends: what earlier ones left, then what this training says, in order, each request until the server has it. */
#include "base/clock.h"
#include "cli/relay/relay_core.h"

#include <stdio.h>

enum {
	TAKE_BYTES = 256 << 10,
	BODY_MAX_BYTES = 64 << 20,
	GATHER_MS = 250, /* points of a fast loop go together */
	FIRST_BACKOFF_MS = 200,
	MAX_BACKOFF_MS = 5000,
	MAX_FOREIGN = 16,
	UNKNOWN_CODE = 401,
};

struct delivery {
	struct relay_core *core;
	struct relay_journal *journal; /* that is sent */
	struct buf records;
	struct relay_sending sending;
	int64_t backoff_ms;
	bool is_away; /* and that was said */
	bool is_unknown; /* our token or certificate is none, or none any more */
	uint64_t refused;
	bool is_foreign; /* what an earlier one left needs another token than ours */
	struct relay_journal *foreign[MAX_FOREIGN]; /* held until the end, so that they are not found again */
	size_t foreign_count;
};

/* Who waits for the end of a training does not wait for another token. */
static bool is_over(const struct delivery *d)
{
	int64_t give_up_ms = atomic_load(&d->core->shared->give_up_ms);

	return (give_up_ms && clock_mono_ms() >= give_up_ms) || (d->is_unknown && atomic_load(&d->core->is_ending));
}

/* Until the time, or until it is told to end; with `hurries`, until somebody waits. */
static void pause_for(struct relay_core *core, int64_t ms, bool hurries)
{
	struct timespec until = clock_deadline(ms);
	bool was_ending;

	pthread_mutex_lock(&core->mutex);
	was_ending = core->is_ending;
	while (core->is_ending == was_ending && !(hurries && (core->hurried || core->is_ending)) &&
		pthread_cond_timedwait(&core->changed, &core->mutex, &until) == 0)
		continue;
	pthread_mutex_unlock(&core->mutex);
}

/* False: it is told to end, and there is nothing. */
static bool wait_for_records(struct relay_core *core)
{
	bool has;

	pthread_mutex_lock(&core->mutex);
	while (!(has = relay_journal_waiting(core->own) > 0) && !core->is_ending)
		pthread_cond_wait(&core->changed, &core->mutex);
	pthread_mutex_unlock(&core->mutex);
	return has;
}

static void pass(struct delivery *d)
{
	struct error err;

	if (relay_journal_pass(d->journal, d->sending.bytes, &err) != OK)
		client_say(d->core->program, "%s", err.text);
	pthread_mutex_lock(&d->core->mutex);
	pthread_cond_broadcast(&d->core->changed);
	pthread_mutex_unlock(&d->core->mutex);
}

/* The server's words, of whichever form. */
static void read_refusal(const struct http_reply *reply, struct error *err)
{
	AUTO(json) document = NULL;
	struct span message = {0};

	if (json_parse(&document, buf_span(&reply->body), NULL) == OK)
		message = json_string_of(json_get(document, "message"));
	if (document && !message.len)
		message = json_string_of(json_get(document, "detail"));
	if (message.len)
		error_fill(err, ERR_SEMANTIC, "%.*s", SPAN_ARGS(span_cut(message, 400)));
	else
		error_fill(err, ERR_SEMANTIC, "the server answered with status %d", reply->status_code);
}

enum outcome { TAKEN, REFUSED, NOT_ALLOWED, AGAIN };

/* A token that is none today may be one tomorrow, and so may one that may not send, or whose certificate has ended. */
static enum outcome outcome_of(const struct delivery *d, const struct http_reply *reply)
{
	int code = reply->status_code;

	if (code >= 200 && code < 300)
		return TAKEN;
	if (code == 403 && (d->journal != d->core->own || !reply->lacks_scope))
		return NOT_ALLOWED;
	bool is_passing = code < 400 || (code >= 500 && code != 501) || code == UNKNOWN_CODE || code == 403 ||
			  code == 408 || code == 421 || code == 429;
	return is_passing ? AGAIN : REFUSED;
}

static enum outcome send_request(struct delivery *d, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	const struct http_request request = {.method = d->sending.method,
		.path = buf_span(&d->sending.path),
		.content_type = d->sending.is_file ? NULL : "application/json",
		.headers = d->sending.headers.ptr,
		.body = buf_span(&d->sending.body)};
	int64_t give_up_ms = atomic_load(&d->core->shared->give_up_ms);

	http_client_give_up_at(d->core->sender, give_up_ms);
	if (http_client_send(d->core->sender, &request, &reply, err) != OK)
		return AGAIN;
	enum outcome outcome = outcome_of(d, &reply);
	d->is_unknown = reply.status_code == UNKNOWN_CODE || (outcome == AGAIN && reply.lacks_scope);
	if (outcome != TAKEN)
		read_refusal(&reply, err);
	return outcome;
}

/* Whether sm-ship, whose job the journal's is, still says what becomes of that. */
static bool is_shipped(const struct delivery *d)
{
	return d->journal == d->core->own && !atomic_load(&d->core->is_alone) &&
	       !atomic_load(&d->core->shared->has_no_job);
}

static enum status compose(struct delivery *d, struct error *err)
{
	struct span rest = buf_span(&d->records), name;
	const struct relay_terms terms = {.job = relay_journal_job(d->journal),
		.is_shipped = is_shipped(d) || relay_journal_is_shipped(d->journal),
		.has_system = is_shipped(d) && d->core->has_system,
		.has_log = relay_journal_path(d->journal)[0] != 0};

	(void)span_next(&rest, ' ', &name);
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++)
		if (span_equal(name, span_from(relay_dialects[i]->name)))
			return relay_dialects[i]->compose(buf_span(&d->records), &terms, &d->sending, err);
	return relay_dialects[RELAY_MLFLOW]->compose(buf_span(&d->records), &terms, &d->sending, err); /* damaged */
}

static enum status prepare(struct delivery *d, struct error *err)
{
	char key[RELAY_KEY_BYTES];
	struct relay_sending *sending = &d->sending;

	buf_reset(&sending->path);
	buf_reset(&sending->headers);
	buf_reset(&sending->body);
	sending->method = "POST";
	sending->needs_job = sending->is_run = sending->is_keyed_by_path = sending->is_file = false;
	TRY(compose(d, err));
	TRY(relay_journal_note(d->journal, sending->bytes, key, err));
	if (sending->is_keyed_by_path)
		buf_printf(&sending->path, "&relay_key=%s", key);
	else
		buf_printf(&sending->body, ",\"idempotency_key\":\"%s\"}", key);
	buf_append_char(&sending->headers, 0);
	TRY(buf_status(&sending->path, err));
	TRY(buf_status(&sending->headers, err));
	return buf_status(&sending->body, err);
}

static void tell_refused(struct delivery *d, const struct error *err)
{
	if (d->refused++ == 0)
		client_say(d->core->program, "%s does not take what the training tells its tracker: %s",
			d->core->server, err->text);
}

static void tell_away(struct delivery *d, const struct error *err)
{
	if (!d->is_away)
		client_say(d->core->program, "%s; what the training tells its tracker is kept and sent when %s",
			err->text, d->is_unknown ? "the server takes it" : "the server is back");
	d->is_away = true;
}

/* The first run of the training is the job that sm-ship sends lines to, by the name that the server gave that. */
static void learn_job(struct delivery *d)
{
	struct relay_shared *shared = d->core->shared;

	if (d->journal == d->core->own && atomic_load(&shared->has_job) &&
		strcmp(relay_journal_job(d->journal), shared->job) != 0)
		relay_journal_set_job(d->journal, shared->job);
}

static void attempt(struct delivery *d)
{
	struct error err = {0};
	enum outcome outcome = send_request(d, &err);

	if (outcome == AGAIN) {
		tell_away(d, &err);
		atomic_store(&d->core->away_until_ms, clock_mono_ms() + d->backoff_ms);
		pause_for(d->core, d->backoff_ms, false);
		d->backoff_ms = d->backoff_ms * 2 < MAX_BACKOFF_MS ? d->backoff_ms * 2 : MAX_BACKOFF_MS;
		return;
	}
	if (outcome == NOT_ALLOWED && d->journal != d->core->own) {
		d->is_foreign = true;
		return;
	}
	if (d->sending.needs_job && d->journal == d->core->own)
		atomic_store(&d->core->shared->has_run, true);
	if (d->sending.is_run && d->journal == d->core->own)
		atomic_fetch_add(&d->core->shared->made_runs, 1);
	if (outcome != TAKEN && !d->sending.is_file)
		tell_refused(d, &err);
	d->is_away = false;
	d->backoff_ms = FIRST_BACKOFF_MS;
	atomic_store(&d->core->away_until_ms, 0);
	pass(d);
}

/* One request of the journal; false: nothing is left in it, or it cannot be read. */
static bool deliver_next(struct delivery *d)
{
	struct error err = {0};

	learn_job(d);
	if (relay_journal_take(d->journal, TAKE_BYTES, &d->records, &err) != OK) {
		d->sending.bytes = relay_journal_waiting(d->journal); /* no later try would read it */
		tell_refused(d, &err);
		pass(d);
		return false;
	}
	if (!d->records.len)
		return false;
	enum status status = prepare(d, &err);
	if (status == ERR_INVALID) {
		tell_refused(d, &err);
		pass(d);
	} else if (status != OK) {
		client_say(d->core->program, "%s", err.text);
		pause_for(d->core, MAX_BACKOFF_MS, false);
	} else if (d->sending.needs_job && is_shipped(d) && !atomic_load(&d->core->shared->has_job)) {
		pause_for(d->core, FIRST_BACKOFF_MS, false); /* sm-ship is asking for it */
	} else {
		attempt(d);
	}
	return true;
}

static void deliver_left(struct delivery *d)
{
	struct error err;

	while (!is_over(d) && d->foreign_count < MAX_FOREIGN) {
		if (relay_journal_adopt(&d->journal, d->core->folder, d->core->server, &err) != OK || !d->journal)
			return;
		d->is_foreign = false;
		while (!is_over(d) && !d->is_foreign && deliver_next(d))
			continue;
		if (d->is_foreign)
			d->foreign[d->foreign_count++] = TAKE(d->journal);
		else
			relay_journal_free(TAKE(d->journal));
	}
}

static void deliver_own(struct delivery *d)
{
	d->journal = d->core->own;
	while (!is_over(d) && wait_for_records(d->core)) {
		pause_for(d->core, GATHER_MS, true);
		while (!is_over(d) && deliver_next(d))
			continue;
		if (!relay_journal_waiting(d->core->own)) /* it may go on with a run that was made elsewhere */
			atomic_store(&d->core->shared->has_run, true);
	}
}

static void tell_left(struct delivery *d)
{
	if (d->refused > 1)
		client_say(d->core->program, "%llu requests of the training's tracker were not taken",
			(unsigned long long)d->refused);
	if (d->core->lost_records)
		client_say(d->core->program, "%llu messages of the training to its tracker were dropped",
			(unsigned long long)d->core->lost_records);
	if (relay_journal_waiting(d->core->own))
		client_say(d->core->program,
			"%llu bytes that the training told its tracker are kept in '%s'; the next sm-ship with this --spool "
			"sends them",
			(unsigned long long)relay_journal_waiting(d->core->own), relay_journal_path(d->core->own));
}

void *relay_deliver(void *core)
{
	struct delivery d = {.core = core,
		.backoff_ms = FIRST_BACKOFF_MS,
		.records = BUF_INIT(BODY_MAX_BYTES),
		.sending = {.path = BUF_INIT(RELAY_HEAD_MAX_BYTES),
			.headers = BUF_INIT(RELAY_HEAD_MAX_BYTES),
			.body = BUF_INIT(BODY_MAX_BYTES)}};

	deliver_left(&d);
	deliver_own(&d);
	tell_left(&d);
	for (size_t i = 0; i < d.foreign_count; i++)
		relay_journal_free(d.foreign[i]);
	buf_done(&d.records);
	buf_done(&d.sending.path);
	buf_done(&d.sending.headers);
	buf_done(&d.sending.body);
	return NULL;
}
