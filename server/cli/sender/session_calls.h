/*
 * Job: the requests of sm-ship's sessions: opened with who we are, renewed while we are silent, ended; and the commands that come
 *      with their replies.
 * Ownership: nothing is kept. Threads: those of the client.
 */
#pragma once

#include "cli/http/client.h"
#include "cli/process/identity.h"

enum { SESSION_ID_BYTES = 65, MAX_COMMANDS = 16 };

struct command_list {
	struct {
		int64_t id;
		char name[16];
	} items[MAX_COMMANDS];
	size_t count; /* what is more comes again with the next reply */
};
void command_list_read(struct command_list *list, const struct json *reply);

struct session_asked {
	const struct identity *identity;
	const struct settings *metrics;
	const char *job; /* its name, or the one that the server has given */
	const char *run_key; /* NULL: none */
	const char *stream; /* NULL: only the job's name is asked for */
	const char *source; /* whose bytes next_offset counts; NULL: those without one */
	const char *host; /* of the stream; NULL: identity's */
	const char *id; /* of the session */
	bool resumes; /* the job is written to even when it has ended */
	bool is_past; /* that it is opened says nothing of the job */
	bool is_bare; /* nothing is said of the job: tags, settings, definitions, machines */
	int64_t waited_ms; /* so long the process has been at work without a session; 0: it has just begun, or nobody knows */
	int64_t commands_after; /* told so far; -1: this process has just begun */
};
struct session_told {
	char job[256];
	uint64_t next_offset;
	int64_t heartbeat_ms;
	int64_t commands_after;
	int64_t expires_in_ms; /* with ERR_CONFLICT: of the session that has the stream */
	struct command_list commands;
};
/* ERR_CONFLICT: another session has the stream; ERR_UNSUPPORTED: the server has no sessions. */
enum status session_open(struct http_client *client, const struct session_asked *asked, struct session_told *told,
	struct error *err) MUST_CHECK;

struct session_beat {
	const char *id;
	int64_t done_id; /* a command that was carried out; 0: none */
	const char *result; /* what was done */
	bool is_end;
	bool has_exit; /* of the command whose output it was; is_end, too */
	int exit_code, exit_signal;
	const char *exit_reason; /* NULL: none */
	int64_t exit_ms; /* 0: now */
};
/* ERR_NOT_FOUND: the server does not know the session (any more). */
enum status session_beat(struct http_client *client, const struct session_beat *beat, struct command_list *commands,
	struct error *err) MUST_CHECK;
