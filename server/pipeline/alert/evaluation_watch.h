/*
 * Job: `evaluation_fell`: the newest checkpoint that has a score of a task is worse in it than the one before, by more than the standard error
 *      of the difference. Whoever changes a job's scores marks the job in the same transaction (store_mark_evaluations); the maintenance
 *      thread judges all that it has, and ends the mark. So what came before a restart is judged behind it, and jobs that are not in RAM are.
 * Threads: maintenance, every few seconds.
 */
#pragma once

#include <stdint.h>

struct pipeline;
struct store_reader;

/* Some jobs above *after_job_id (INT64_MIN: from the first on), which goes on from there, and begins again behind the last. */
void evaluation_watch_run(struct pipeline *pipeline, struct store_reader *reader, int64_t *after_job_id);
