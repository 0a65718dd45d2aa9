/*
 * Job: the requests that sm-ship makes about its job, one function each.
 * Ownership: nothing is kept. Threads: those of the client.
 */
#pragma once

#include "cli/session_calls.h"

struct job_change {
	const char *secondary_status;
	const char *reason; /* NULL: none */
	int64_t time_ms;
	const char *const
		*unless; /* statuses, NULL at the end: ERR_CONFLICT when the job has one of them; NULL: always */
};
enum status job_transition(
	struct http_client *client, const char *job, const struct job_change *change, struct error *err) MUST_CHECK;
struct job_lines {
	const char *job, *stream, *host, *session;
	uint64_t offset;
	int64_t written_ms; /* when lines were written that bear no time; 0: now */
	const char *content_type;
	struct span body;
};
/*
 * *next_offset: where the server wants to go on, set when it says so. ERR_CONFLICT with *has_next: resume there. ERR_NOT_FOUND: the
 * session is not known any more.
 */
enum status job_send_lines(struct http_client *client, const struct job_lines *lines, uint64_t *next_offset,
	bool *has_next, struct command_list *commands, struct error *err) MUST_CHECK;
struct job_points {
	const char *job, *stream, *host;
	struct span text; /* lines "N TAB object", or "@TS TAB object" */
	bool may_be_there; /* those with an N below the server's count of the series, or a TS not past its last, are not sent */
};
enum status job_send_points(struct http_client *client, const struct job_points *points, struct error *err) MUST_CHECK;
/* The first and last time of all streams' lines; unchanged when there are none. */
enum status job_read_times(
	struct http_client *client, const char *job, int64_t *first_ms, int64_t *last_ms, struct error *err) MUST_CHECK;
