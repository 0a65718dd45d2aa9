/*
 * Job: what is kept of the definitions of a stream to see which one has become silent; silence.h fills it.
 * Ownership: a stream's. Threads: the stream's lock. Packed with the stream's state.
 */
#pragma once

#include "base/alloc.h"
#include "base/codec/pack.h"
#include "model/incident.h"
#include "state/watchers/step_trail.h"

enum { SILENCE_HEADS = 8, SILENCE_NO_HEAD = SILENCE_HEADS, SILENCE_WORD_BYTES = 24 };

struct head { /* how lines begin that had a value */
	uint32_t hash;
	uint64_t lines; /* that begin so */
};

struct silence {
	uint64_t values; /* lines with one */
	uint32_t series_id; /* of the last */
	uint32_t head; /* of its line; SILENCE_NO_HEAD: not kept */
	uint64_t at_head, at_line; /* what these counts were then */
	uint64_t named; /* lines since then that begin in another way and say its name */
	char word[SILENCE_WORD_BYTES]; /* the last of the metric's name; "": not looked for yet. Not packed */
	uint64_t longest, longest_lines; /* between two of them: weight, and lines */
	struct step_trails trails;
	bool is_open;
	struct incident incident; /* while it is */
};

struct silences {
	uint32_t generation; /* of the definitions */
	uint64_t lines;
	uint64_t due; /* before so many lines nothing can have become silent */
	uint64_t awaited_from; /* of so many lines on a metric may be awaited; none before. Not packed */
	bool has_no_trails; /* false: perhaps. Not packed */
	unsigned life; /* of the job, in which what is open was said again. Not packed */
	struct head heads[SILENCE_HEADS];
	size_t head_count;
	struct known_forms known;
	struct silence *items; /* by definition */
	size_t count, cap;
};

void silences_free(struct silences *silences); /* NULL: nothing */
void silences_pack(const struct silences *silences, struct buf *out);
/* Whether it is kept which lines go on with the steps, and how many say the name. */
enum silences_format { SILENCES_PLAIN, SILENCES_WITH_TRAILS, SILENCES_WITH_NAMES };
enum status silences_unpack(
	struct silences **out, enum silences_format format, struct unpacker *in, struct error *err) MUST_CHECK;
