/*
 * Job: what became of a batch.
 * Ownership: the caller's.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct ingest_result {
	enum status status;
	struct error err;
	size_t accepted;
	size_t refused; /* points of series that the stream has no room for */
	size_t duplicate; /* lines and points that were here already: by an offset, or in a body sent again */
	size_t duplicate_pushes; /* of those bodies: streams */
	uint64_t seq;
	uint64_t next_offset; /* of the stream, when the batch had one part */
};
