/*
 * Job: the message inside of a JSON record that a collector or a logger made of a trainer's line. Internal to extract/.
 * Ownership: the caller's buf holds the result. Threads: any.
 *
 *   {"log":"iter 3: loss 4.2\n","stream":"stdout","time":"2024-06-25T12:34:56Z"}     docker's json-file
 *   {"levelname": "INFO", "rank": 3, "message": "iter 3: loss 4.2"}                  loggers
 *
 * A record that says a number which is not known as one of a logger's is the trainer's own line ({"loss": 1.2, "step": 5,
 * "message": "…"}) and stays as it is.
 */
#pragma once

#include "base/buf.h"

/* Whether it is worth a look: the line ends as a record does. */
static inline bool line_may_be_wrapped(struct span text)
{
	return text.len > 2 &&
	       (text.ptr[text.len - 1] == '}' || text.ptr[text.len - 1] == '\r' || text.ptr[text.len - 1] == ' ');
}

enum { UNWRAP_RECORDS_MAX = 3 };

/* From which text which was made. */
struct unwrap_level {
	struct span before, after;
	struct span message; /* of the text before, with its escapes */
	size_t head; /* bytes that stand before the message in the text now: first those of the text before */
	size_t kept; /* so many */
};

struct unwrap_trace {
	struct unwrap_level levels[UNWRAP_RECORDS_MAX];
	size_t count;
};

/*
 * True: *text is now what stood in front of the record, the record's rank as a tag "[rank3]:", and its message, in which a line
 * break is '\r'. A record in a record is unwrapped too. False: it is none, or out of memory (buf_status).
 * trace may be NULL.
 */
bool line_unwrap(struct span *text, struct buf *out, struct unwrap_trace *trace);
/* What of the text before was it that is `part` of the one now; false: it stands there in another form. */
bool unwrap_trace_find(const struct unwrap_trace *trace, struct span part, struct span *where);
/* So loggers and collectors call the member that holds the line. */
bool unwrap_is_message(struct span key);
/* What stands between the quotes of a text of JSON, with its escapes read: not more bytes. A line break becomes '\r'. */
void unwrap_append_plain(struct span text, struct buf *out);
