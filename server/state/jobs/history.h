/*
 * Job: a job's history of secondary statuses, made of all that is known of its life. Pure: facts in, rows out; the same facts
 *      give the same history in whatever order they were told.
 * Ownership: in the arena that the caller gives; spans are not copied. Threads: any.
 *
 * Order of trust: what is stated (REST, sm-ship, EventBridge), then the lines that SageMaker's SDK prints, then how sessions
 * ended, then what is assumed: Starting when the job was announced, Training at the first line or session, Completed where the log
 * ends that was imported, Stopped when a stop was asked for and nobody was heard any more. The order is (time, phase). A job that has ended stays so unless a later Starting,
 * Training or Restarting is stated, or a session goes on with it.
 */
#pragma once

#include "store/jobs.h"
#include "store/sessions.h"
#include "store/told.h"
#include "store/transitions.h"

struct phase {
	const char *secondary;
	const char *status; /* SageMaker's TrainingJobStatus that goes with it */
	bool is_final;
};
/* NULL: none of SageMaker's. */
const struct phase *phase_find(struct span secondary);
bool phase_is_final(struct span secondary);
/* Begins a stretch of the job anew: of a job that has ended too, where it is stated. */
bool phase_is_resume(struct span secondary);
/* It does not train then: what is logged says that it does. */
bool phase_is_waiting(struct span secondary);
/* Does it come before the other in a job's life? */
bool phase_is_before(struct span secondary, struct span other);

struct history_facts {
	const struct told_row *told;
	size_t told_count;
	const struct held_row *held; /* streams with sessions */
	size_t held_count;
	int64_t log_ms; /* when the job's log ended; 0: not known, or no told row asks */
	int64_t past_ms; /* the same of a log of the past; 0: it is none */
};

/*
 * Who says to have waited for longer is not believed more: a clock that is wrong, or a lie, would move the job's times. So a session of such a one
 * goes on with an ended job from a day ago, with this message: an exit of before that is no clock that is behind.
 */
enum { HISTORY_WAITED_MAX_MS = 24 * 60 * 60 * 1000 };
#define HISTORY_LONG_AWAY "a session goes on with it, of a process that was away for more than a day"

/* So a reason begins that a door made of a status or an exit code, where the client states none. */
#define HISTORY_RUN_ENDED "the run ended "
/* So the message begins with which sm-ship says that its process runs. Where all that it opened was left without an end
 * (sm-ship --send-rest), there is nobody who will say one. */
#define HISTORY_SHIPPED_BEGAN "sm-ship began"

struct history {
	struct transition_row *rows; /* by time; neighbours of one status joined, ends set */
	size_t count;
	struct span failure_reason; /* of the last row; "" */
	bool is_reason_stated; /* by somebody; not if it says how a process or a tracker's run ended, and no more */
};

/* Completed, assumed: all of the log was imported, and nobody said how it ended. */
bool told_is_imported_end(const struct told_row *row);
/* Somebody said that it went on later than that: with a time, or by a session. */
bool told_goes_on_after(const struct told_row *rows, size_t count, int64_t at_ms);
/* Somebody said so, with a time behind it. */
bool told_goes_on_from(const struct told_row *row, const struct told_row *end);

enum status history_decide(
	struct arena *arena, const struct history_facts *facts, struct history *out, struct error *err) MUST_CHECK;
/* By us; somebody may have set right when it was. */
bool transition_is_assumed(const struct transition_row *row);
bool history_is_same(const struct history *a, const struct history *b);

/* Status and times of the job as its history says. */
void history_to_row(const struct history *history, const struct event_times *times, struct job_row *row);
/* row: with its start and end. A job was there when it was announced, and not later than it started, ended, or was told to be anything:
 * a log may be posted afterwards. */
int64_t history_created_ms(const struct history *history, const struct job_row *row);
/* How often it has gone on after an end; *is_over: it has ended again. */
uint32_t history_count_lives(const struct transition_row *rows, size_t count, bool *is_over);
/* When it went on after its last end; 0: it never did. An end behind another end begins nothing. */
int64_t history_began_again_ms(const struct history *history);
/* The newest Training up to then that a status had broken off before (docs/goodput.md, "A break"); INT64_MIN: there is none. */
int64_t history_taken_up_ms(const struct history *history, int64_t until_ms);
/*
 * When its processes broke off and were started again, as somebody else than its lines says: each end, Restarting and Interrupted, and the
 * Training behind it. The newest ones, by time: `cap` at most, and half as many at least where there are more; returns how many.
 */
size_t history_find_breaks(const struct history *history, int64_t *at_ms, size_t cap);
