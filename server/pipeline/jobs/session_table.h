/*
 * Job: who is sending right now: sessions with their leases, and the commands that wait for them. Only in memory: after a restart
 *      nobody has a lease, each sender is told that its session is not known, opens it again under its old id, and says up
 *      to which command it was told; commands and what was answered to them are in the store.
 * Ownership: new/free; texts are copied. Threads: any; one lock, held for a look-up.
 */
#pragma once

#include "base/json/json_write.h"
#include "pipeline/jobs/sessions.h"

struct session_table;

enum { SESSION_ID_MAX_BYTES = 64, SESSION_NAME_BYTES = 256 };

struct session_table *session_table_new(int64_t lease_ms, size_t most) __attribute__((warn_unused_result));
void session_table_free(struct session_table *table);

struct session_facts {
	char id[SESSION_ID_MAX_BYTES + 1];
	char job[SESSION_NAME_BYTES], stream[SESSION_NAME_BYTES], host[SESSION_NAME_BYTES];
	char team[64]; /* of the token that opened it */
	int64_t job_id;
	uint32_t stream_id;
	bool is_past; /* it said nothing of the job, nor does its end without an exit */
	int64_t commands_after; /* told: newer ones are not */
};
/*
 * Takes the stream, or goes on with it under the same id. ERR_CONFLICT names the host of the other session whose lease is not over,
 * with the member expires_in_ms; ERR_FORBIDDEN: the id is another team's session; ERR_BUSY: there are --max-sessions.
 */
enum status session_open(struct session_table *table, const struct session_facts *facts, struct error *err) MUST_CHECK;
/* ERR_BUSY: session_open would be, too. */
enum status session_check_room(
	struct session_table *table, struct span id, struct span team, struct error *err) MUST_CHECK;
/*
 * Renews the lease. job, stream: what the request says, "" where it says nothing. ERR_NOT_FOUND: not known (any more);
 * ERR_SEMANTIC: of another stream; ERR_FORBIDDEN: another team's. *facts may be NULL.
 */
enum status session_renew(struct session_table *table, struct span id, struct span job, struct span stream,
	struct span team, struct session_facts *facts, struct error *err) MUST_CHECK;
/* When the lease that lasts longest among those on the job's streams is, or was, over, by the monotonic clock; 0: there is none. */
int64_t session_lease_end_ms(struct session_table *table, int64_t job_id);
void session_close(struct session_table *table, struct span id);

/* Of a job that has sessions; known ones stay as they are. False: out of memory. */
bool session_add_commands(struct session_table *table, int64_t job_id, const struct command_row *rows, size_t count);
/* "commands":[…] for the session, into an object that is open; they count as delivered. */
void session_write_commands(struct session_table *table, struct span id, struct json_writer *w);
/* When the session was first told; 0: never. */
int64_t session_delivered_ms(struct session_table *table, struct span id, int64_t command_id);
/* It is not told any more. */
void session_acknowledge(struct session_table *table, struct span id, int64_t command_id);
/* For each live session that the command is for: delivered_ms 0 when it waits. */
void session_each(struct session_table *table, const struct command_row *command,
	void (*take)(void *context, struct span stream, struct span host, int64_t delivered_ms), void *context);
AUTO_TYPE(session_table)
