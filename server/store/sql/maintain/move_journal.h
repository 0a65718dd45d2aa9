/*
 * Job: the journal in a move between databases, by its verbs: one database has a record in one row, another in parts.
 * Ownership: none. Threads: the move's.
 */
#pragma once

#include "store/journal.h"

/* In one transaction, the records from *seq on, up to some megabytes; *seq is then the next one, *rows grows by their number. */
enum status move_records(struct store_reader *source, struct store *to, uint64_t *seq, uint64_t *rows, bool *has_more,
	struct error *err) MUST_CHECK;
/* The first record from *seq on in each; *bytes grows by what it weighs. has_more false: there is none in either. */
enum status move_compare_record(struct store_reader *source, struct store_reader *target, uint64_t *seq,
	uint64_t *bytes, bool *has_more, bool *is_same, struct error *err) MUST_CHECK;
