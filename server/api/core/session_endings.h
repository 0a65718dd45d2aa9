/*
 * Job: whose sessions were ended. A sign-in that had begun before brings no session any more: the provider may have let in somebody whom an
 *      administrator was just about to keep out.
 * Ownership: the caller's; zeros at first. Threads: one at a time (readers may share while nobody writes).
 */
#pragma once

#include "base/span.h"
#include "http/http.h"

#include <stdint.h>

enum { SESSION_ENDINGS_KEPT = 256 };

struct session_endings {
	uint64_t count; /* of all that there were */
	struct session_ending {
		char name[256], team[64]; /* as a principal's */
	} kept[SESSION_ENDINGS_KEPT]; /* the newest */
};

/* Of this person's; team "": whatever it is. */
void session_endings_note(struct session_endings *endings, struct span name, struct span team);
/* Was this one meant by an ending after the first `since`? Also true where there were too many to tell. */
bool session_endings_have(const struct session_endings *endings, uint64_t since, const struct principal *person);
bool session_ending_means(struct span name, struct span team, const struct principal *person);
