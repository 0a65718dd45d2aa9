/*
 * Job: which machine a collective that timed out is likely of: the one whose rank stopped before the others, else the only one that says nothing
 *      while all others complain. Who complains first says nothing.
 * Ownership: in the arena that the caller gives. Threads: any that may read.
 */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

struct job_state;

struct nccl_likely {
	struct span place; /* the machine; where nobody names it, its stream. "": it is not known which */
	struct span host; /* "": nobody names it */
	struct span stream;
	struct span text; /* "rank 4 stopped at work 121, the 7 others at 122; gpu003 says nothing of it" */
};

/* Is the signature one of a collective that timed out? */
bool nccl_likely_is_asked(struct span signature);
/* Of what the job's log told within these times. job: the same in memory; NULL: of one that is not, nobody says who is silent. */
enum status nccl_likely_find(struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_state *job,
	int64_t from_ms, int64_t to_ms, struct nccl_likely *out, struct error *err) MUST_CHECK;
/* "likely": {"host"?, "stream", "text"}; nothing where it is not known. */
void nccl_likely_write(const struct nccl_likely *likely, struct json_writer *w);
