/*
 * Job: whose sessions were ended. A sign-in that had begun before brings no session any more: the provider may have let in somebody whom an
 *      administrator was just about to keep out.
 * Ownership: the caller's; zeros and a seed at first. Threads: one at a time (readers may share while nobody writes).
 */
#pragma once

#include "base/crypto.h"
#include "base/span.h"
#include "http/http.h"

#include <stdint.h>

/* So many that whoever ends sessions of names that nobody has keeps hardly anybody out. */
enum { SESSION_ENDINGS_PLACES = 1 << 16 };

struct session_endings {
	unsigned char seed[SHA256_BYTES]; /* random: nobody chooses who shares a place */
	uint64_t count; /* of all that there were */
	uint64_t newest[SESSION_ENDINGS_PLACES]; /* by name and team: which of them was the last; 0: none */
};

/* Of this person's; team "": whatever it is. */
void session_endings_note(struct session_endings *endings, struct span name, struct span team);
/* Was this one meant by an ending after the first `since`? Also true, seldom, where another one was: they begin again. */
bool session_endings_have(const struct session_endings *endings, uint64_t since, const struct principal *person);
bool session_ending_means(struct span name, struct span team, const struct principal *person);
