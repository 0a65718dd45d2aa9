#include "cli/sender/sender.h"

#include "base/clock.h"
#include "cli/sender/sender_state.h"
#include "cli/sender/stored_points.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

enum {
	FIRST_BACKOFF_MS = 250,
	MAX_BACKOFF_MS = 10000,
	MAX_RETRY_AFTER_MS = 300000,
	AWAIT_MS = 200,
	MAX_BODY_BYTES = 32 << 20, /* a batch whose every byte needs an escape */
};

bool sender_is_over(const struct sender *sender)
{
	int64_t give_up_ms = atomic_load(&sender->give_up_ms);

	return give_up_ms && clock_mono_ms() >= give_up_ms;
}

void sender_tell_of_loss(struct sender *sender)
{
	static const struct {
		unsigned lost_to;
		const char *text;
	} told[] = {
		{SPOOL_LOST_TO_BOUND,
			"the spool is full (see --spool-bytes): new lines are dropped until the server takes some"},
		{SPOOL_LOST_TO_DISK,
			"the disk of the spool is full (see --spool): new lines are dropped until the server takes some"},
		{SPOOL_LOST_TO_MEMORY, "memory has run out: new lines are dropped until there is some"},
	};
	unsigned news = spool_totals(sender->options.spool).lost_to & ~sender->told_lost_to;

	sender->told_lost_to |= news;
	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		if (news & told[i].lost_to)
			client_say(sender->options.program, "%s", told[i].text);
}

void sender_pause(struct sender *sender, int64_t ms)
{
	int64_t until_ms = clock_mono_ms() + ms;

	for (int64_t rest_ms = ms; rest_ms > 0 && !sender_is_over(sender); rest_ms = until_ms - clock_mono_ms()) {
		poll(NULL, 0, rest_ms < 200 ? (int)rest_ms : 200);
		sender_tell_of_loss(sender);
	}
}

/* A session makes a job of what it says; one that is there stays what it is. */
static enum status state_again(struct sender *sender, const struct json *document, struct error *err)
{
	const struct identity *identity = sender->options.identity;
	struct job_stated stated = {.program = sender->options.program,
		.job = sender->job,
		.document = document,
		.tags = identity->tags,
		.hyper_parameters = identity->hyper_parameters,
		.metrics = *sender->options.metrics,
		.says = sender->options.is_import ? "--hp says" : "what goes on with it says"};

	if (sender->options.is_import) {
		stated.tags.count -= sender->options.own_tags;
	} else { /* what it was started with, and where, is of its first start */
		stated.tags.count = 0;
		stated.kept = &sender->other_settings;
		buf_reset(stated.kept);
	}
	return document ? job_send_stated(sender->options.client, &stated, err) : OK;
}

/* Who may not know what a job states sends its lines all the same. An import compares, and goes by what it is told. */
static enum status read_stated(struct sender *sender, struct json **document, struct error *err)
{
	enum status status = job_read_document(sender->options.client, sender->job, document, err);

	if (status == OK || client_is_passing(status) || sender->options.is_import)
		return status;
	client_say(sender->options.program, "the server does not say what job '%s' states, which stays as it is: %s",
		sender->job, err->text);
	return OK;
}

/* Of a job that is made of what is said here it is no news. */
static enum status state_machines(struct sender *sender, struct error *err)
{
	const struct identity *identity = sender->options.identity;
	AUTO(json) document = NULL;
	struct job_machines machines = {.program = sender->options.program,
		.job = sender->job,
		.type = identity->said_type,
		.count = identity->said_count};

	if (!machines.type && !machines.count)
		return OK;
	TRY(read_stated(sender, &document, err));
	machines.document = document;
	return document ? job_send_machines(sender->options.client, &machines, err) : OK;
}

/* An import compares with what is there: who may not read that is told before there is a job. */
static enum status want_readable(struct sender *sender, struct error *err)
{
	struct job_imported imported;

	if (!sender->options.is_import)
		return OK;
	enum status status =
		job_read_imported(sender->options.client, sender->job, sender->options.streams[0], &imported, err);
	return status == ERR_NOT_FOUND ? OK : status;
}

static enum status step_create(struct sender *sender, struct error *err)
{
	AUTO(json) document = NULL;
	struct session_told told = {0};
	struct session_asked asked = {.identity = sender->options.identity,
		.metrics = sender->options.metrics,
		.job = sender->job,
		.run_key = sender->options.identity->run_key,
		.resumes = sender->options.resumes,
		.is_past = sender_is_of_past(sender),
		.commands_after = -1};

	TRY(want_readable(sender, err));
	if (sender->options.is_import || (sender->options.resumes && !sender->options.rest))
		TRY(read_stated(sender, &document, err));
	if (sender->options.has_one_stream)
		TRY(sender_open_stream(sender, 0, true, err));
	else
		TRY(sender_ask_session(sender, &asked, &told, err));
	if (strcmp(sender->job, sender->options.identity->job) != 0)
		client_say(sender->options.program,
			"job '%s' has ended: this run is '%s' (--resume would go on with it)",
			sender->options.identity->job, sender->job);
	TRY(state_again(sender, document, err));
	TRY(state_machines(sender, err));
	sender->has_job = true;
	if (sender->options.tell_job)
		sender->options.tell_job(sender->options.tell_context, sender->job, sender->streams[0].offset);
	sender->phase = PHASE_START;
	return OK;
}

/* An import that has nothing to tell because its files are damaged makes no job. */
static enum status step_await(struct sender *sender)
{
	enum spool_state state =
		sender->options.is_import ? spool_wait(sender->options.spool, 1, 0, AWAIT_MS) : SPOOL_HAS_BATCH;

	if (state == SPOOL_HAS_ENDED && sender->is_unreadable)
		sender->phase = PHASE_DONE;
	else if (state != SPOOL_IS_EMPTY)
		sender->phase = PHASE_CREATE;
	return OK;
}

/* What is left of a job that has its end already is lines and nothing else. */
static enum status step_rest(struct sender *sender, struct error *err)
{
	bool is_over = false;

	TRY(job_read_is_over(sender->options.client, sender->job, &is_over, err));
	sender->streams[0].is_sessionless = is_over;
	sender->has_job = true;
	sender->phase = PHASE_LINES;
	return OK;
}

/* A status that the server does not take is no reason to keep the lines from it. */
static enum status tell(struct sender *sender, const struct job_change *change, struct error *err)
{
	enum status status = job_transition(sender->options.client, sender->job, change, err);

	if (status == OK || client_is_passing(status))
		return status;
	if (status != ERR_CONFLICT || !change->unless) /* a conflict: another process was first */
		client_say(sender->options.program, "the server did not take the job's status: %s", err->text);
	return OK;
}

enum { BEGAN_BYTES = SENDER_OTHER_SETTINGS_BYTES + 64 };
#define BEGAN "sm-ship began" /* by its beginning the server knows whose word it is (HISTORY_SHIPPED_BEGAN) */

static const char *const ended[] = {"Completed", "Failed", "Stopped", NULL};

static enum status step_start(struct sender *sender, struct error *err)
{
	char message[BEGAN_BYTES];

	if (sender->options.is_import || sender->options.reads_files) { /* when it was is known from its lines */
		sender->phase = PHASE_LINES;
		return OK;
	}
	snprintf(message, sizeof message, BEGAN "%s%.*s", sender->other_settings.len ? " with " : "",
		SPAN_ARGS(buf_span(&sender->other_settings)));
	TRY(tell(sender,
		&(struct job_change){.secondary_status = "Training",
			.message = message,
			.time_ms = sender->options.started_ms,
			.unless = sender->options.resumes ? NULL : ended},
		err));
	sender->phase = PHASE_LINES;
	return OK;
}

/* Its log is all that is known of it: the server has to have read that, and says when it began and ended. */
static enum status end_import(struct sender *sender, struct error *err)
{
	struct job_change change = {
		.secondary_status = sender->end_status, .time_ms = sender->end_ms, .is_assumed = true};
	int64_t first_ms = 0, last_ms = 0;

	TRY(job_read_times(sender->options.client, sender->job, &first_ms, &last_ms, err));
	TRY(tell(sender, &change, err));
	sender->phase = PHASE_CLOSE;
	return OK;
}

/*
 * The job ends with its first process, and fails with the first that fails: that one is named. A process whose rank nobody knows does
 * not complete the job: it tells the server how it ended, and the server waits for all of them (state/jobs/exits.h). Who goes on with a
 * job by a file ends it again, whatever its rank: there is no other process that would.
 */
static enum status step_end(struct sender *sender, struct error *err)
{
	static const char *const failed[] = {"Failed", "Stopped", NULL};
	const struct identity *identity = sender->options.identity;
	bool is_failure = strcmp(sender->end_status, "Failed") == 0;
	bool is_stop =
		strcmp(sender->end_status, "Stopped") == 0; /* it was asked for: how its process ended is the exit's */
	char reason[1024];
	if (sender->options.rest && (!sender->options.rest->has_end || sender->streams[0].is_sessionless)) {
		sender->phase = PHASE_CLOSE;
		return OK;
	}
	struct job_change change = {.secondary_status = sender->end_status,
		.reason = is_stop ? NULL : sender->end_reason,
		.time_ms = sender->options.reads_files ? 0 : sender->end_ms,
		.unless = failed};

	if (is_failure && identity->process_count > 1) {
		char rank[32] = "";
		if (identity->has_rank_number)
			snprintf(rank, sizeof rank, " (rank %" PRId64 ")", identity->rank);
		snprintf(reason, sizeof reason, "%s on %s%s: %s", identity->stream, identity->host, rank,
			sender->end_reason ? sender->end_reason : "failed");
		change.reason = reason;
	}
	bool waits = !identity->has_rank && sender->has_exit && strcmp(sender->end_status, "Completed") == 0;
	bool has_opened = sender->options.reads_files && sender->options.resumes; /* a job that had ended, perhaps */
	if (is_failure || has_opened || (identity->rank == 0 && !waits))
		TRY(tell(sender, &change, err));
	sender->phase = PHASE_CLOSE;
	return OK;
}

static enum status step(struct sender *sender, struct error *err)
{
	switch (sender->phase) {
	case PHASE_AWAIT:
		return step_await(sender);
	case PHASE_REST:
		return step_rest(sender, err);
	case PHASE_CREATE:
		return step_create(sender, err);
	case PHASE_START:
		return step_start(sender, err);
	case PHASE_LINES:
		return sender_send_lines(sender, err);
	case PHASE_END:
		return sender->options.is_import ? end_import(sender, err) : step_end(sender, err);
	case PHASE_CLOSE:
		return sender_close_next(sender, err);
	case PHASE_DONE:
		break;
	}
	return OK;
}

static void wait_and_retry(struct sender *sender, const struct error *err)
{
	int64_t wait_ms = sender->backoff_ms, stated_ms = (int64_t)err->retry_after_s * 1000;

	if (!sender->is_away && err->status != ERR_BUSY)
		client_say(sender->options.program, "%s; lines are kept in the spool and sent when the server is back",
			err->text);
	sender->is_away = true;
	sender->err = *err;
	if (stated_ms > wait_ms)
		wait_ms = stated_ms < MAX_RETRY_AFTER_MS ? stated_ms : MAX_RETRY_AFTER_MS;
	sender->backoff_ms = sender->backoff_ms * 2 < MAX_BACKOFF_MS ? sender->backoff_ms * 2 : MAX_BACKOFF_MS;
	sender_pause(sender, wait_ms);
}

/* The user's files stay where they are; what nobody else has waits for --send-rest. */
static void refuse(struct sender *sender, const struct error *err)
{
	client_say(sender->options.program, "%s refuses: %s; nothing more is sent", sender->options.server, err->text);
	sender->result = err->status;
	sender->err = *err;
	if (!sender->options.has_one_stream)
		spool_discard(sender->options.spool);
}

static void run_phases(struct sender *sender)
{
	while (sender->phase != PHASE_DONE && !sender_is_over(sender)) {
		struct error err = {0};
		enum phase before = sender->phase;
		bool had_batch = sender->has_batch;
		enum status status = step(sender, &err);
		err.status = status;
		if (status == OK) {
			bool has_talked = before != PHASE_LINES || had_batch;
			if (has_talked) {
				sender->is_away = false;
				sender->backoff_ms = FIRST_BACKOFF_MS;
			}
		} else if (client_is_passing(status)) {
			wait_and_retry(sender, &err);
		} else if (sender_may_drop(sender, status)) {
			sender_drop_batch(sender, &err);
		} else {
			refuse(sender, &err);
			return;
		}
	}
	sender->result = sender->phase == PHASE_DONE ? OK : ERR_UNAVAILABLE;
}

static void *run(void *argument)
{
	struct sender *sender = argument;

	run_phases(sender);
	atomic_store(&sender->is_done, true);
	pthread_kill(sender->options.waiter, SIGCHLD);
	return NULL;
}

enum status sender_start(struct sender **out, const struct sender_options *options, struct error *err)
{
	struct sender *sender = mem_zeroed(sizeof *sender);
	struct stream_state *streams = mem_zeroed(options->max_streams * sizeof *streams);

	if (!sender || !streams) {
		mem_free(sender);
		mem_free(streams);
		return error_no_memory(err);
	}
	sender->options = *options;
	sender->streams = streams;
	sender->other_settings = BUF_INIT(SENDER_OTHER_SETTINGS_BYTES);
	sender->compare_room = options->compare_points;
	sender->done_command = -1;
	sender->begun_ms = clock_mono_ms();
	sender->end_status = "Completed";
	sender->backoff_ms = FIRST_BACKOFF_MS;
	sender->body = BUF_INIT(MAX_BODY_BYTES);
	spool_batch_init(&sender->batch);
	snprintf(sender->job, sizeof sender->job, "%s", options->identity->job);
	if (options->ledger && ledger_job(options->ledger)) { /* it is known, and ours, whatever has become of it */
		snprintf(sender->job, sizeof sender->job, "%s", ledger_job(options->ledger));
		sender->phase = PHASE_LINES;
	}
	for (size_t i = 0; options->source && i < options->max_streams; i++)
		snprintf(streams[i].imported.source, sizeof streams[i].imported.source, "%s", options->source);
	if (options->rest && options->rest->job) {
		snprintf(sender->job, sizeof sender->job, "%s", options->rest->job);
		streams[0].offset = options->rest->base;
		streams[0].is_known = true;
		sender->phase = PHASE_REST;
	}
	int failure = pthread_create(&sender->thread, NULL, run, sender);
	if (failure) {
		sender->is_joined = true;
		sender_free(sender);
		return error_set(err, ERR_MEMORY, "cannot start a thread: %s", strerror(failure));
	}
	*out = sender;
	return OK;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	if (!sender->is_joined) {
		sender_give_up_at(sender, 1);
		pthread_join(sender->thread, NULL);
	}
	for (size_t i = 0; i < sender->options.max_streams; i++)
		stored_points_free(sender->streams[i].stored_points);
	spool_batch_done(&sender->batch);
	buf_done(&sender->body);
	buf_done(&sender->other_settings);
	mem_free(sender->streams);
	mem_free(sender);
}

void sender_set_exit(struct sender *sender, int code, int number)
{
	sender->has_exit = true;
	sender->exit_code = code;
	sender->exit_signal = number;
}

void sender_set_outcome(struct sender *sender, const char *secondary_status, const char *reason, int64_t time_ms)
{
	sender->end_status = secondary_status; /* spool_end's lock makes them visible to the thread */
	sender->end_reason = reason;
	sender->end_ms = time_ms;
}

void sender_set_unreadable(struct sender *sender)
{
	sender->is_unreadable = true;
}

void sender_give_up_at(struct sender *sender, int64_t mono_ms)
{
	atomic_store(&sender->give_up_ms, mono_ms);
	http_client_give_up_at(sender->options.client, mono_ms);
}

bool sender_is_done(struct sender *sender)
{
	return atomic_load(&sender->is_done);
}

enum status sender_join(struct sender *sender, struct error *err)
{
	pthread_join(sender->thread, NULL);
	sender->is_joined = true;
	if (sender->result != OK && err)
		*err = sender->err;
	return sender->result;
}

uint64_t sender_sent_lines(const struct sender *sender)
{
	return atomic_load(&sender->sent_lines);
}

uint64_t sender_dropped_lines(const struct sender *sender)
{
	return sender->dropped_lines;
}

void sender_count_new(const struct sender *sender, uint64_t *there_before, uint64_t *new_to_server)
{
	*there_before = atomic_load(&sender->there_before);
	*new_to_server = atomic_load(&sender->new_to_server);
}

bool sender_has_job(const struct sender *sender)
{
	return sender->has_job;
}

const char *sender_job(const struct sender *sender)
{
	return sender->job;
}

bool sender_base(const struct sender *sender, unsigned stream, uint64_t *base)
{
	if (sender->streams[stream].is_known)
		*base = sender->streams[stream].offset;
	return sender->streams[stream].is_known;
}

uint64_t sender_sent_bytes(const struct sender *sender, unsigned stream)
{
	return sender->streams[stream].sent_bytes;
}
