/*
 * Job: lines of a form that was not there before and whose numbers go on where a definition's steps stopped, as when a training prints
 *      all of its lines in another way. A validation counts from its own beginning, and a line that was there before is none.
 * Ownership: plain values. Threads: the caller's lock. Deterministic: the same lines give the same trails.
 */
#pragma once

#include "base/codec/pack.h"

enum { KNOWN_FORMS = 64, TRAILS = 3 };

/* How lines of a stream begin; the oldest give way. */
struct known_forms {
	uint32_t hashes[KNOWN_FORMS];
	uint32_t count, next;
};
/* true: it was not there. */
bool known_forms_add(struct known_forms *known, uint32_t form);

struct step_trail {
	uint32_t form;
	uint32_t place; /* of its number among the line's numbers */
	int64_t at; /* the last one */
	uint64_t rises; /* how often it grew; 0: no trail */
};

/* A definition's steps, and the trails that go on from them. */
struct step_trails {
	int64_t step, rise; /* of its last value, and from the one before */
	struct step_trail items[TRAILS];
};
static inline bool step_trails_are_any(const struct step_trails *trails)
{
	_Static_assert(TRAILS == 3, "each is asked");
	return trails->items[0].rises || trails->items[1].rises || trails->items[2].rises;
}
/* It has a value: what seemed to go on in its place did not. */
void step_trails_value(struct step_trails *trails, int64_t step);
/* A line without one. Gives how often the number of its trail has grown; 0: it has none. */
uint64_t step_trails_line(struct step_trails *trails, uint32_t form, bool is_new, struct span text);

void known_forms_pack(const struct known_forms *known, struct buf *out);
void known_forms_unpack(struct known_forms *known, struct unpacker *in);
void step_trails_pack(const struct step_trails *trails, struct buf *out);
void step_trails_unpack(struct step_trails *trails, struct unpacker *in);

/* How much of the text, from a digit on, belongs to one number, date or time; *is_time: it has a colon in it. */
size_t number_bytes(struct span text, size_t at, bool *is_time);
