/*
 * Job: what the check finds cut because it is being taken away: rows of jobs and series that are gone for readers are swept in
 *      many transactions, and a check may stand between two of them, or beside them.
 * Ownership: none. Threads: a connection's.
 */
#pragma once

#include "store/driver/connection.h"

#include <stdint.h>

/* stream, series or attachment; part_id is its number. */
enum status check_is_leaving(struct store_reader *reader, const char *part, int64_t job_id, int64_t part_id,
	bool *is_leaving, struct error *err) MUST_CHECK;
