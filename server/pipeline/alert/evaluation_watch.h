/*
 * Job: `evaluation_fell`: the newest checkpoint that has a score of a task is worse in it than the one before, by more than the standard error
 *      of the difference. Looked at when scores have come: the maintenance thread judges all that a job has.
 * Threads: maintenance, every few seconds; the mark is anybody's.
 */
#pragma once

#include "base/span.h"

struct pipeline;
struct store_reader;

/* Scores of the job came or went. Of a job that is not in memory, which has been over for long, nothing is told. */
void evaluation_watch_mark(struct pipeline *pipeline, struct span job);
void evaluation_watch_run(struct pipeline *pipeline, struct store_reader *reader);
