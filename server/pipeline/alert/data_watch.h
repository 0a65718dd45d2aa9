/*
 * Job: `data_wait`: more of a job's steps is waiting for data than of its steps before (read/charts/anatomy_read.h). Two streams are read, at
 *      growing distances: all ranks wait for the slowest.
 * Threads: maintenance, every few seconds.
 */
#pragma once

struct pipeline;
struct store_reader;

void data_watch_run(struct pipeline *pipeline, struct store_reader *reader);
