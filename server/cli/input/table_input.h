/*
 * Job: the records of a CSV file, one after the other, each with the number of its line; longer ones than is allowed are a mistake.
 * Ownership: open/done. Threads: one at a time.
 */
#pragma once

#include "cli/input/run_table.h"

struct table_input {
	int fd;
	size_t max_record_bytes;
	struct buf bytes; /* from `start` on */
	size_t used; /* of them */
	uint64_t start; /* in the file */
	uint64_t end; /* nothing behind it is read */
	uint64_t line; /* of the next record */
	bool has_all; /* of the bytes before `end` */
};

/* Closes the descriptor at its end. */
void table_input_open(
	struct table_input *input, int fd, size_t max_record_bytes, uint64_t start, uint64_t end, uint64_t line);
void table_input_done(struct table_input *input);
AUTO_DONE_TYPE(table_input)

struct table_place {
	uint64_t line; /* in which the record begins */
	uint64_t start, end; /* bytes */
};
/* *has_record: there was one. ERR_INVALID: from its line on the file cannot be read. */
enum status table_input_next(struct table_input *input, struct table_cells *cells, struct table_place *place,
	bool *has_record, struct error *err) MUST_CHECK;
