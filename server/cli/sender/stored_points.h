/*
 * Job: the points that the server has of a stream's series, and which of them are those of the files: each is that of one point of
 *      the files, so a point that stands twice there is to be stored twice, and what others sent of the series is none of theirs.
 *      Of a batch it is decided anew when its sending failed; once it was sent it stays decided.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "base/json/json_read.h"
#include "cli/http/http_post.h"

enum {
	STORED_POINTS_MAX = 500000
}; /* of a series; longer ones are compared by their number: a reply holds all points */

struct stored_points;

struct stored_points_of {
	const char *program; /* for messages */
	const char *job, *stream;
};

/* room: the caller's, which outlives it: so many more points may be held, of all series and streams. NULL: out of memory. */
struct stored_points *stored_points_new(uint64_t *room) __attribute__((warn_unused_result));
void stored_points_free(struct stored_points *stored);

/* A batch begins, perhaps again. asks: what the server has may be more than is known. Who may not read it has nothing to compare. */
enum status stored_points_begin(struct stored_points *stored, struct http_client *client,
	const struct stored_points_of *of, bool asks, struct error *err) MUST_CHECK;

/* One point of the files: the object that is sent. */
struct filed_point {
	struct span object;
	uint64_t number; /* among the files' points of its metric */
	bool is_time_assumed; /* the files say none */
};
/* The server is asked for the points of the series when it is the first one of it. */
enum status stored_points_take(struct stored_points *stored, struct http_client *client,
	const struct stored_points_of *of, const struct filed_point *point, bool *is_there,
	struct error *err) MUST_CHECK;
/* Of a machine's figures, which come in the order of their times: is the newest that the server has not older? */
bool stored_points_has_time(const struct stored_points *stored, struct span object, int64_t ts_ms);

/* Whether the token may not read: nothing was compared. */
bool stored_points_are_hidden(const struct stored_points *stored);

/* The batch was sent. */
void stored_points_end(struct stored_points *stored);

AUTO_TYPE(stored_points)
