/*
 * Job: which lines of a run's console each process has sent. `wandb sync` of a process that goes on with the run counts its lines behind all that
 *      are there, also a second time: the process is known by when it began, and its lines are those that it sent before. Pure.
 * Ownership: none. Threads: one at a time.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"

#include <stdint.h>

enum { SENT_CONSOLES_MAX = 64 };

struct sent_console {
	int64_t begun_ms; /* the process */
	int64_t session; /* in which it was sent */
	uint64_t counted; /* the number of its first line as the client counts in that session */
	uint64_t first; /* and as it is known */
};
struct sent_consoles {
	struct sent_console items[SENT_CONSOLES_MAX]; /* the one that was sent first first; the oldest give way */
	size_t count;
	int64_t begun_ms, session; /* of who sends now; begun_ms 0: it does not say, and is none of them */
	bool is_sync; /* it may have sent them before */
	bool has_changed;
};

void sent_consoles_read(struct sent_consoles *consoles, const struct json *list, int64_t begun_ms, int64_t session);
void sent_consoles_write(const struct sent_consoles *consoles, const char *key, struct json_writer *w);
/*
 * Under which number the line is known that the client sends under this one; next: of the first line that nobody has sent. The first that a session
 * sends is the first of its process. Where several processes count from 0 each (offline, without `resume`), one is behind the other.
 */
uint64_t sent_consoles_place(struct sent_consoles *consoles, uint64_t number, uint64_t next);
