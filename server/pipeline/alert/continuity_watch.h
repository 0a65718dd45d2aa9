/*
 * Job: `restart_differs`: behind a restart the training is not where it was (fleet/continuity.h). Looked for once a restart, as soon
 *      as enough was printed on both sides.
 * Threads: maintenance, every few seconds.
 */
#pragma once

struct pipeline;
struct store_reader;

void continuity_watch_run(struct pipeline *pipeline, struct store_reader *reader);
