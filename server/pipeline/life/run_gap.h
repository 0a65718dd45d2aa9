/*
 * Job: gaps in the life of a tracked run: its process was killed, and another one went on with it after a silence. Nobody states them, so
 *      each is a stated Interrupted at the last sign of life (GOODPUT_GONE), before the Training of the process that goes on. What is sent
 *      later of a time within makes it smaller.
 * Ownership: none. Threads: the writer's.
 */
#pragma once

#include "store/told.h"
#include "store/transitions.h"

struct pipeline;

bool run_gap_is(const struct transition_row *row);
enum status run_gap_put(struct store_tx *tx, int64_t job_id, int64_t from_ms, struct error *err) MUST_CHECK;
/* There were signs of life from first_ms to last_ms. */
enum status run_gap_fill(const struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, int64_t job_id,
	int64_t first_ms, int64_t last_ms, struct error *err) MUST_CHECK;
/* A client dates the end, and that it goes on is of our clock: which of the facts hold with an end at end_ms. Those behind are gaps that end
 * at a Training at or after it. */
size_t run_gap_held(const struct told_row *rows, size_t count, int64_t end_ms);
enum status run_gap_take_back(
	struct store_tx *tx, struct arena *arena, int64_t job_id, int64_t end_ms, struct error *err) MUST_CHECK;
