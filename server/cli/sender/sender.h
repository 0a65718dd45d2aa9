/*
 * Job: the thread that brings the spool to the server: opens sessions, sends batches, carries out commands, tries again for ever, says at the
 *      end how it ended. Nothing else in sm-ship ever waits for the server.
 * Ownership: new/free; options' objects are the caller's and outlive it. Threads: all calls from the main thread.
 */
#pragma once

#include "cli/sender/sender_options.h"

struct sender;

enum status sender_start(struct sender **out, const struct sender_options *options, struct error *err) MUST_CHECK;
/* Ends the thread at once if it still runs. */
void sender_free(struct sender *sender);

/* The command whose output the stream is has ended, by itself or by a signal (else 0); before sender_set_outcome. */
void sender_set_exit(struct sender *sender, int code, int number);
/* How the training ended; before spool_end. reason may be NULL. */
void sender_set_outcome(struct sender *sender, const char *secondary_status, const char *reason, int64_t time_ms);
/* An import's files are damaged: where nothing came of them no job is made; before spool_end. */
void sender_set_unreadable(struct sender *sender);
/* The drain's end, on the monotonic clock. */
void sender_give_up_at(struct sender *sender, int64_t mono_ms);
bool sender_is_done(struct sender *sender);
/* OK: all is with the server. ERR_UNAVAILABLE: not in time. Else the server's refusal. */
enum status sender_join(struct sender *sender, struct error *err) MUST_CHECK;

/* Lines, and points, that the server has taken so far. */
uint64_t sender_sent_lines(const struct sender *sender);

/* Of the lines and points: those that the server had (of an import), and those that it had not. */
void sender_count_new(const struct sender *sender, uint64_t *there_before, uint64_t *new_to_server);

/* After the join. */
uint64_t sender_dropped_lines(const struct sender *sender); /* of --system, points too: the server did not take them */
bool sender_has_job(const struct sender *sender); /* false: nothing was sent, not even that there is one */
const char *sender_job(const struct sender *sender); /* perhaps J-2 */
/* Where the stream stands on the server, as far as it said so; false: it never did. */
bool sender_base(const struct sender *sender, unsigned stream, uint64_t *base);
uint64_t sender_sent_bytes(const struct sender *sender, unsigned stream);

AUTO_TYPE(sender)
