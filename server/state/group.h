/*
 * Job: one commit on its way through the consumers.
 * Ownership: it is counted: one reference an extract thread; the last hands it on (kept_groups.h) or frees it. Threads: any reads it.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "store/pack/journal_record.h"

#include <stdatomic.h>

struct stream_state;
struct definitions;

struct group {
	atomic_uint refs;
	uint64_t seq;
	struct buf plain; /* the record, not compressed */
	struct arena *arena;
	struct journal_slice *slices;
	struct stream_state *
		*streams; /* parallel to slices, whose jobs are counted; once it is extracted they are not */
	struct definitions **definitions;
	struct buf *contents; /* of the slices that are blocks, else empty */
	size_t count;
	size_t bytes; /* all of this, for --queue-bytes */
	int64_t kept_ms; /* monotonic: since when it waits for the sealer */
};
