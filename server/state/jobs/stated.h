/*
 * Job: what a job's document states of its nodes and its billed time.
 * Ownership: the caller's. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/jobs.h"
#include "store/store.h"

int64_t job_stated_count(const struct json *node); /* of a number in a document; 0: it is none of nodes */
int64_t job_stated_nodes(const struct json *document); /* 0: it does not say */
int64_t job_stated_billable_ms(const struct job_row *row,
	const struct json *document); /* by its BillableTimeInSeconds; -1: it states none, or by hand another */
