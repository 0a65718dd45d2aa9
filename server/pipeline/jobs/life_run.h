/*
 * Job: what a job's life comes to by the clock: who was asked to stop and is heard no more has stopped; what an upgrade left.
 * Ownership: none. Threads: maintenance.
 */
#pragma once

#include "base/error.h"

struct pipeline;
struct store_reader;

void life_run(struct pipeline *pipeline, struct store_reader *reader);
/* What lines and points span was counted anew, and with it when an end was that nobody dated. */
enum status life_date_ends(
	struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, struct error *err) MUST_CHECK;
