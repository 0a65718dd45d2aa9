/*
 * Job: the lines that a container runtime (CRI) has cut in parts, at 16 KiB: "TIME stdout P first half", then "TIME stdout F the
 *      rest". What is read is the whole; what is stored are the lines as they came. Internal to extract/.
 * Ownership: init/done; what is joined lives until the next line. Threads: one at a time. Packed: a restart may come between.
 *
 * Both outputs of a container go on by themselves. The whole has the time of its first part, as in ingest/lines/push.c, and the
 * number of its last.
 */
#pragma once

#include "base/buf.h"
#include "base/codec/pack.h"

enum { PARTIAL_MAX_BYTES = 256 << 10, PARTIAL_OUTPUTS = 2 };

struct partial {
	struct buf text; /* from the time of the first part on; empty: none waits */
	bool is_cut; /* parts behind PARTIAL_MAX_BYTES are not read */
};

struct partials {
	struct partial outputs[PARTIAL_OUTPUTS];
	bool has_joined; /* with the last line: its text may go */
};

enum partial_kind {
	PARTIAL_NONE, /* a line by itself */
	PARTIAL_WAITS, /* for its last part */
	PARTIAL_JOINED, /* *text is the whole now */
	PARTIAL_NO_MEMORY
};

void partials_init(struct partials *partials);
void partials_done(struct partials *partials);

/* Whether the line is worth a look: it begins with a date and a time in the form of RFC 3339. */
static inline bool partial_may_be(struct span text)
{
	return text.len > 30 && text.ptr[4] == '-' && text.ptr[10] == 'T';
}

/* *is_cut is set when parts were left out. */
enum partial_kind partials_take(struct partials *partials, struct span *text, bool *is_cut);

/* What a part says, behind its time and flag; "" of a line that is none. */
struct span partial_text(struct span part);

void partials_pack(const struct partials *partials, struct buf *out);
/* False: damaged, or no memory (the failure of one of the texts says which). */
bool partials_unpack(struct partials *partials, struct unpacker *in);
