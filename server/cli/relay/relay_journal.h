/*
 * Job: what a training's tracker said and the server has not taken yet: one file of records, one a line, in their order, bounded in bytes.
 *      It outlives a sm-ship that is killed: the next one sends what is left. (The lines of a log have cli/spool, whose index is in
 *      memory; a run that a client was told is there has to be there after a kill.)
 *
 *   File       a head of a page (which server, which job, how far it was sent), then records. What was sent is punched out.
 *   Resending  how far the request on its way reaches is noted before it is sent: the next try, also of another process, is the same
 *              request with the same key (relay_journal_key), which the server knows.
 *
 * Ownership: new/free; free removes a file in which nothing is left. Threads: put from any; the rest from one.
 */
#pragma once

#include "base/buf.h"

struct relay_journal;

enum { RELAY_JOB_BYTES = 256, RELAY_SERVER_BYTES = 512, RELAY_KEY_BYTES = 64 };

/* Its file is made by the first record; in memory, said by *why of relay_journal_put, where the folder takes none. */
enum status relay_journal_new(struct relay_journal **out, const char *folder, const char *server, const char *job,
	uint64_t max_bytes, struct error *err) MUST_CHECK;
/* The next file in the folder for this server that a sm-ship which is no more has left; *out NULL: there is none. */
enum status relay_journal_adopt(
	struct relay_journal **out, const char *folder, const char *server, struct error *err) MUST_CHECK;
void relay_journal_free(struct relay_journal *journal);
/* Nothing more is taken; a file in which nothing is left goes. */
void relay_journal_end(struct relay_journal *journal);

/* One record, without line ends. ERR_TOO_LARGE: its bound is reached; ERR_IO: the disk is full. */
enum status relay_journal_put(struct relay_journal *journal, struct span record, struct error *err) MUST_CHECK;
/* What is not sent yet. */
uint64_t relay_journal_waiting(struct relay_journal *journal);
const char *relay_journal_path(const struct relay_journal *journal); /* "": in memory, or not made */

/* The job that its runs are to be. */
const char *relay_journal_job(const struct relay_journal *journal);
/* How that ended sm-ship has seen, and says itself, now or by --send-rest: what the client says of the end is the run's alone. */
bool relay_journal_is_shipped(const struct relay_journal *journal);
void relay_journal_set_shipped(struct relay_journal *journal);
void relay_journal_set_job(struct relay_journal *journal, const char *job);

/* The oldest records, whole lines, about max_bytes but one at least; where a request was noted, no more than that. "": none waits. */
enum status relay_journal_take(
	struct relay_journal *journal, size_t max_bytes, struct buf *out, struct error *err) MUST_CHECK;
/* The first so many bytes of them are one request, which is sent next; its key. */
enum status relay_journal_note(
	struct relay_journal *journal, size_t bytes, char key[RELAY_KEY_BYTES], struct error *err) MUST_CHECK;
/* The server has them, or will never take them. */
enum status relay_journal_pass(struct relay_journal *journal, size_t bytes, struct error *err) MUST_CHECK;

AUTO_TYPE(relay_journal)
