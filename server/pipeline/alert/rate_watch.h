/*
 * Job: `rate_drifts`: the printed learning rate is not the one that the settings declare (read/charts/schedule_read.h). Each print is read
 *      once, at growing distances.
 * Threads: maintenance, every few seconds.
 */
#pragma once

struct pipeline;
struct store_reader;

void rate_watch_run(struct pipeline *pipeline, struct store_reader *reader);
