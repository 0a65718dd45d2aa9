/*
 * Job: the tokens of a JSON document of any size, read from a source as they are asked for: for documents that are too large for a tree
 *      (json_read.h). Memory is one window, whatever the document holds.
 *      As Python's json it also takes NaN and the infinities, and raw control characters in texts, which profilers write.
 * Ownership: new/free; a token's text is the reader's, until the next token. Threads: one at a time.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

enum {
	JSON_PULL_DEPTH = 64,
	JSON_PULL_TEXT_BYTES = 64 << 10, /* a longer text is cut there, and read to its end */
	JSON_PULL_NUMBER_BYTES = 512
};

enum json_token {
	JSON_PULL_OBJECT,
	JSON_PULL_OBJECT_END,
	JSON_PULL_ARRAY,
	JSON_PULL_ARRAY_END,
	JSON_PULL_KEY, /* the text as it stands between its quotes, escapes and all */
	JSON_PULL_STRING, /* the same */
	JSON_PULL_NUMBER,
	JSON_PULL_WORD, /* true, false, null, NaN, Infinity, -Infinity */
	JSON_PULL_END /* of the document: nothing is behind it */
};

/* Some more bytes of the document; *got 0: there are no more. */
typedef enum status json_pull_fill(void *context, char *room, size_t bytes, size_t *got, struct error *err);

struct json_pull;
enum status json_pull_new(struct json_pull **out, json_pull_fill *fill, void *context, struct error *err) MUST_CHECK;
void json_pull_free(struct json_pull *pull);

/* ERR_INVALID names the byte, and says when the document is cut off; what the source says comes through. */
enum status json_pull_next(
	struct json_pull *pull, enum json_token *token, struct span *text, struct error *err) MUST_CHECK;
/* The rest of the object or array that `token` has begun; of other tokens nothing. */
enum status json_pull_skip(struct json_pull *pull, enum json_token token, struct error *err) MUST_CHECK;

AUTO_TYPE(json_pull)
