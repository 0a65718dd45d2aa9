/*
 * Job: what is stated behind the end of a job leaves that end where it stands, though its time followed from the log or from exits.
 * Ownership: values; what is read is in life->arena. Threads: the writer.
 */
#pragma once

#include "base/error.h"

struct job_row;
struct life;
struct store_tx;
struct told_row;

/* In the transaction that puts `told`, which is stated, before that: changes the rows of ends, or marks `told` as told behind one. */
enum status life_settle_end(const struct life *life, struct store_tx *tx, const struct job_row *job,
	struct told_row *told, struct error *err) MUST_CHECK;
