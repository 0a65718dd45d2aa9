/*
 * Job: reads the event of new lines that the publisher renders, without a tree:
 *      {"job":J,"stream":S,"from":N,"count":N,"lines":[{"n":N,"ts_ms":N,"text":T},…]}. Other JSON is refused.
 * Ownership: spans point into the event. Threads: values.
 */
#pragma once

#include "base/buf.h"

struct lines_event {
	struct span head; /* up to and with the bracket of the lines */
	uint64_t count; /* of lines; the event may hold fewer of them */
	struct span rest;
	bool is_broken;
};

/* stream: the name, appended. False: it is no such event. */
bool lines_event_open(struct lines_event *event, struct span json, struct buf *stream);
/* The next line's object as it stands there; text: its text, appended. False: there is none, or is_broken. */
bool lines_event_next(struct lines_event *event, struct span *object, struct buf *text);
