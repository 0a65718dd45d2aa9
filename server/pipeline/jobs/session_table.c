#include "pipeline/jobs/session_table.h"

#include "base/clock.h"
#include "base/map.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { SWEEP_COUNT = 256, FORGOTTEN_AFTER_LEASES = 10, KEY_BYTES = 8 + SESSION_NAME_BYTES, COMMAND_BYTES = 16 };

struct delivery {
	int64_t command_id;
	int64_t at_ms;
};

struct session {
	struct session_facts facts;
	int64_t seen_ms; /* on the monotonic clock */
	struct session *next, *previous; /* of the same job */
	struct delivery *deliveries; /* not answered yet */
	size_t delivery_count, delivery_cap;
};

struct command {
	int64_t command_id;
	char command[COMMAND_BYTES];
	char stream[SESSION_NAME_BYTES];
	int64_t created_ms;
};

struct session_job {
	int64_t job_id;
	struct session *sessions; /* a job goes with its last one */
	struct command *commands; /* by id */
	size_t count, cap;
};

struct session_table {
	pthread_mutex_t mutex;
	int64_t lease_ms;
	size_t most;
	int64_t swept_ms;
	struct map *by_id; /* -> session; owns them */
	struct map *by_stream; /* job id and name -> session */
	struct map *jobs; /* job id -> session_job; owns them */
};

static struct span stream_key(const struct session_facts *facts, char out[KEY_BYTES])
{
	size_t len = strlen(facts->stream);

	memcpy(out, &facts->job_id, sizeof facts->job_id);
	memcpy(out + sizeof facts->job_id, facts->stream, len);
	return span_of(out, sizeof facts->job_id + len);
}

static struct span job_key(const int64_t *job_id)
{
	return span_of((const char *)job_id, sizeof *job_id);
}

static void session_free(struct session *session)
{
	mem_free(session->deliveries);
	mem_free(session);
}

static void session_job_free(struct session_job *job)
{
	mem_free(job->commands);
	mem_free(job);
}

struct session_table *session_table_new(int64_t lease_ms, size_t most)
{
	struct session_table *table = mem_zeroed(sizeof *table);

	if (!table)
		return NULL;
	pthread_mutex_init(&table->mutex, NULL);
	table->lease_ms = lease_ms;
	table->most = most;
	table->by_id = map_new();
	table->by_stream = map_new();
	table->jobs = map_new();
	if (table->by_id && table->by_stream && table->jobs)
		return table;
	session_table_free(table);
	return NULL;
}

void session_table_free(struct session_table *table)
{
	void *value;

	if (!table)
		return;
	for (size_t at = 0; table->by_id && map_next(table->by_id, &at, NULL, &value);)
		session_free(value);
	for (size_t at = 0; table->jobs && map_next(table->jobs, &at, NULL, &value);)
		session_job_free(value);
	map_free(table->by_id);
	map_free(table->by_stream);
	map_free(table->jobs);
	pthread_mutex_destroy(&table->mutex);
	mem_free(table);
}

/* ---- under the lock ---- */

static struct session *find(struct session_table *table, struct span id)
{
	return map_get(table->by_id, id);
}

static void drop(struct session_table *table, struct session *session)
{
	char key[KEY_BYTES];
	struct session_job *job = map_get(table->jobs, job_key(&session->facts.job_id));

	map_remove(table->by_id, span_from(session->facts.id));
	map_remove(table->by_stream, stream_key(&session->facts, key));
	if (session->next)
		session->next->previous = session->previous;
	if (session->previous)
		session->previous->next = session->next;
	else if (job)
		job->sessions = session->next;
	if (job && !job->sessions) {
		map_remove(table->jobs, job_key(&job->job_id));
		session_job_free(job);
	}
	session_free(session);
}

/* Those that nobody renewed for long, some at a time: others wait for the lock; and a map must not change while it is walked. */
static void sweep(struct session_table *table, int64_t now_ms)
{
	struct session *forgotten[SWEEP_COUNT];
	size_t count = 0;
	void *value;

	if (now_ms - table->swept_ms < table->lease_ms)
		return;
	for (size_t at = 0; count < SWEEP_COUNT && map_next(table->by_id, &at, NULL, &value);) {
		struct session *session = value;
		if (now_ms - session->seen_ms > FORGOTTEN_AFTER_LEASES * table->lease_ms)
			forgotten[count++] = session;
	}
	if (count < SWEEP_COUNT)
		table->swept_ms = now_ms; /* else there may be more */
	while (count)
		drop(table, forgotten[--count]);
}

static struct session_job *have_job(struct session_table *table, int64_t job_id)
{
	struct session_job *job = map_get(table->jobs, job_key(&job_id));

	if (job)
		return job;
	job = mem_zeroed(sizeof *job);
	if (!job)
		return NULL;
	job->job_id = job_id;
	if (map_put(table->jobs, job_key(&job_id), job))
		return job;
	mem_free(job);
	return NULL;
}

static enum status refuse_live(
	const struct session_table *table, const struct session *live, int64_t now_ms, struct error *err)
{
	int64_t left_ms = live->seen_ms + table->lease_ms - now_ms;

	error_set_field(err, ERR_CONFLICT, "stream",
		"stream '%s' of job '%s' is being sent by another session, from host '%s'; it is free when that was silent for another %" PRId64
		" ms",
		live->facts.stream, live->facts.job, live->facts.host, left_ms);
	if (err) {
		err->member = "expires_in_ms";
		err->member_value = left_ms;
	}
	return ERR_CONFLICT;
}

static enum status refuse_foreign(const struct session *session, struct error *err)
{
	return error_set_field(
		err, ERR_FORBIDDEN, "session", "session '%s' was opened by another team's token", session->facts.id);
}

static enum status add(struct session_table *table, const struct session_facts *facts, struct error *err)
{
	struct session *session = mem_zeroed(sizeof *session);
	struct session_job *job = have_job(table, facts->job_id);
	char key[KEY_BYTES];

	if (!session || !job) {
		mem_free(session);
		return error_no_memory(err);
	}
	session->facts = *facts;
	session->seen_ms = clock_mono_ms();
	session->next = job->sessions;
	if (job->sessions)
		job->sessions->previous = session;
	job->sessions = session;
	if (map_put(table->by_id, span_from(session->facts.id), session) &&
		map_put(table->by_stream, stream_key(facts, key), session))
		return OK;
	drop(table, session);
	return error_no_memory(err);
}

static enum status refuse_full(const struct session_table *table, struct error *err)
{
	error_set(err, ERR_BUSY, "there are %zu sessions already (--max-sessions)", table->most);
	if (err)
		err->retry_after_s = 10;
	return ERR_BUSY;
}

static enum status open_locked(struct session_table *table, const struct session_facts *facts, struct error *err)
{
	int64_t now_ms = clock_mono_ms();
	char key[KEY_BYTES];

	sweep(table, now_ms);
	struct session *live = map_get(table->by_stream, stream_key(facts, key));
	struct session *own = find(table, span_from(facts->id));
	if (live && live != own && now_ms - live->seen_ms < table->lease_ms)
		return refuse_live(table, live, now_ms, err);
	if (own && facts->team[0] && strcmp(own->facts.team, facts->team) != 0)
		return refuse_foreign(own, err);
	if (live && live != own)
		drop(table, live);
	if (own) /* the sender started again, perhaps for another job */
		drop(table, own);
	return map_count(table->by_id) >= table->most ? refuse_full(table, err) : add(table, facts, err);
}

/* One that takes the place of another may be let in later all the same: only who is sure to be refused is. */
enum status session_check_room(struct session_table *table, struct span id, struct span team, struct error *err)
{
	enum status status = OK;

	pthread_mutex_lock(&table->mutex);
	sweep(table, clock_mono_ms());
	const struct session *own = find(table, id);
	if (own && team.len && !span_equal(team, span_from(own->facts.team)))
		status = refuse_foreign(own, err);
	else if (!own && map_count(table->by_id) >= table->most)
		status = refuse_full(table, err);
	pthread_mutex_unlock(&table->mutex);
	return status;
}

enum status session_open(struct session_table *table, const struct session_facts *facts, struct error *err)
{
	pthread_mutex_lock(&table->mutex);
	enum status status = open_locked(table, facts, err);
	pthread_mutex_unlock(&table->mutex);
	return status;
}

static enum status check(struct session_table *table, struct session *session, struct span id, struct span job,
	struct span stream, struct span team, struct error *err)
{
	if (!session)
		return error_set_field(err, ERR_NOT_FOUND, "session",
			"there is no session '%.*s' (any more): open it by POST /api/v1/sessions", SPAN_ARGS(id));
	const struct session_facts *facts = &session->facts;
	if (team.len && !span_equal(team, span_from(facts->team)))
		return refuse_foreign(session, err);
	if ((job.len && !span_equal(job, span_from(facts->job))) ||
		(stream.len && !span_equal(stream, span_from(facts->stream))))
		return error_set_field(err, ERR_SEMANTIC, "session",
			"session '%s' is of stream '%s' of job '%s', not of '%.*s' of '%.*s'", facts->id, facts->stream,
			facts->job, SPAN_ARGS(stream), SPAN_ARGS(job));
	session->seen_ms = clock_mono_ms();
	(void)table;
	return OK;
}

enum status session_renew(struct session_table *table, struct span id, struct span job, struct span stream,
	struct span team, struct session_facts *facts, struct error *err)
{
	pthread_mutex_lock(&table->mutex);
	struct session *session = find(table, id);
	enum status status = check(table, session, id, job, stream, team, err);
	if (status == OK && facts)
		*facts = session->facts;
	pthread_mutex_unlock(&table->mutex);
	return status;
}

int64_t session_lease_end_ms(struct session_table *table, int64_t job_id)
{
	int64_t end_ms = 0;

	pthread_mutex_lock(&table->mutex);
	const struct session_job *job = map_get(table->jobs, job_key(&job_id));
	for (const struct session *session = job ? job->sessions : NULL; session; session = session->next)
		if (session->seen_ms + table->lease_ms > end_ms)
			end_ms = session->seen_ms + table->lease_ms;
	pthread_mutex_unlock(&table->mutex);
	return end_ms;
}

void session_close(struct session_table *table, struct span id)
{
	pthread_mutex_lock(&table->mutex);
	struct session *session = find(table, id);
	if (session)
		drop(table, session);
	pthread_mutex_unlock(&table->mutex);
}

/* ---- commands ---- */

static bool add_command(struct session_job *job, const struct command_row *row)
{
	size_t at = job->count;

	while (at > 0 && job->commands[at - 1].command_id >= row->command_id)
		at--;
	if (at < job->count && job->commands[at].command_id == row->command_id)
		return true;
	if (!mem_grow((void **)&job->commands, job->count, &job->cap, sizeof *job->commands))
		return false;
	memmove(&job->commands[at + 1], &job->commands[at], (job->count - at) * sizeof *job->commands);
	job->commands[at] = (struct command){.command_id = row->command_id, .created_ms = row->created_ms};
	snprintf(job->commands[at].command, COMMAND_BYTES, "%.*s", SPAN_ARGS(row->command));
	snprintf(job->commands[at].stream, SESSION_NAME_BYTES, "%.*s", SPAN_ARGS(row->stream));
	job->count++;
	return true;
}

bool session_add_commands(struct session_table *table, int64_t job_id, const struct command_row *rows, size_t count)
{
	bool is_whole = true;

	pthread_mutex_lock(&table->mutex);
	struct session_job *job = map_get(table->jobs, job_key(&job_id));
	for (size_t i = 0; job && i < count && is_whole; i++)
		is_whole = add_command(job, &rows[i]);
	pthread_mutex_unlock(&table->mutex);
	return is_whole;
}

static struct delivery *find_delivery(const struct session *session, int64_t command_id)
{
	for (size_t i = 0; i < session->delivery_count; i++)
		if (session->deliveries[i].command_id == command_id)
			return &session->deliveries[i];
	return NULL;
}

static bool is_for(const struct session *session, int64_t command_id, struct span stream)
{
	return command_id > session->facts.commands_after &&
	       (!stream.len || span_equal(stream, span_from(session->facts.stream)));
}

static void note_delivery(struct session *session, int64_t command_id)
{
	if (find_delivery(session, command_id))
		return;
	/* without memory the time is not known, which is not worth a failure */
	if (mem_grow((void **)&session->deliveries, session->delivery_count, &session->delivery_cap,
		    sizeof *session->deliveries))
		session->deliveries[session->delivery_count++] = (struct delivery){command_id, clock_wall_ms()};
}

void session_write_commands(struct session_table *table, struct span id, struct json_writer *w)
{
	json_key(w, "commands");
	json_array(w);
	pthread_mutex_lock(&table->mutex);
	struct session *session = find(table, id);
	struct session_job *job = session ? map_get(table->jobs, job_key(&session->facts.job_id)) : NULL;
	for (size_t i = 0; job && i < job->count; i++) {
		const struct command *command = &job->commands[i];
		if (!is_for(session, command->command_id, span_from(command->stream)))
			continue;
		json_object(w);
		json_put_i64(w, "id", command->command_id);
		json_put_text(w, "command", command->command);
		json_put_i64(w, "created_ms", command->created_ms);
		json_object_end(w);
		note_delivery(session, command->command_id);
	}
	pthread_mutex_unlock(&table->mutex);
	json_array_end(w);
}

int64_t session_delivered_ms(struct session_table *table, struct span id, int64_t command_id)
{
	pthread_mutex_lock(&table->mutex);
	const struct session *session = find(table, id);
	const struct delivery *delivery = session ? find_delivery(session, command_id) : NULL;
	int64_t at_ms = delivery ? delivery->at_ms : 0;
	pthread_mutex_unlock(&table->mutex);
	return at_ms;
}

void session_acknowledge(struct session_table *table, struct span id, int64_t command_id)
{
	pthread_mutex_lock(&table->mutex);
	struct session *session = find(table, id);
	struct delivery *delivery = session ? find_delivery(session, command_id) : NULL;
	if (delivery)
		*delivery = session->deliveries[--session->delivery_count];
	if (session && command_id > session->facts.commands_after)
		session->facts.commands_after = command_id;
	pthread_mutex_unlock(&table->mutex);
}

struct taking {
	const struct command_row *command;
	int64_t before_ms; /* who was not seen since is gone */
	void (*take)(void *context, struct span stream, struct span host, int64_t delivered_ms);
	void *context;
};

static void take_if_waiting(const struct taking *taking, const struct session *session)
{
	const struct command_row *command = taking->command;

	if (session->seen_ms <= taking->before_ms || !is_for(session, command->command_id, command->stream))
		return;
	const struct delivery *delivery = find_delivery(session, command->command_id);
	taking->take(taking->context, span_from(session->facts.stream), span_from(session->facts.host),
		delivery ? delivery->at_ms : 0);
}

static const struct session *find_stream(struct session_table *table, int64_t job_id, struct span stream)
{
	char key[KEY_BYTES];

	if (stream.len >= SESSION_NAME_BYTES)
		return NULL;
	memcpy(key, &job_id, sizeof job_id);
	memcpy(key + sizeof job_id, stream.ptr, stream.len);
	return map_get(table->by_stream, span_of(key, sizeof job_id + stream.len));
}

void session_each(struct session_table *table, const struct command_row *command,
	void (*take)(void *context, struct span stream, struct span host, int64_t delivered_ms), void *context)
{
	const struct taking taking = {command, clock_mono_ms() - table->lease_ms, take, context};

	pthread_mutex_lock(&table->mutex);
	const struct session_job *job = map_get(table->jobs, job_key(&command->job_id));
	const struct session *one = command->stream.len ? find_stream(table, command->job_id, command->stream) : NULL;
	if (one)
		take_if_waiting(&taking, one);
	for (const struct session *session = job && !command->stream.len ? job->sessions : NULL; session;
		session = session->next)
		take_if_waiting(&taking, session);
	pthread_mutex_unlock(&table->mutex);
}
