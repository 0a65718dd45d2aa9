/*
 * Job: whose a collective that timed out likely is: the rank that stopped before all others, and its machine where the lines prove it. Who
 *      complains first, or says nothing, tells nothing.
 * Ownership: in the arena that the caller gives. Threads: any that may read.
 */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

struct nccl_likely {
	struct span host; /* "": it is not known which */
	struct span stream; /* "" */
	struct span text; /* "rank 4 stopped at work 121, the 7 others at 122"; "": nobody knows */
};

/* Is the signature one of a collective that timed out? */
bool nccl_likely_is_asked(struct span signature);
/* Of what the job's log told from shortly before the first to the other time; nothing until all had time to speak. */
enum status nccl_likely_find(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t from_ms,
	int64_t to_ms, int64_t now_ms, struct nccl_likely *out, struct error *err) MUST_CHECK;
/* "likely": {"host"?, "stream"?, "text"}; nothing where it is not known. */
void nccl_likely_write(const struct nccl_likely *likely, struct json_writer *w);
