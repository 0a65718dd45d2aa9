/*
 * Job: settings and tags of a job's document as an experiment tracker's client states them: the newest value of a key counts. What fits
 *      SageMaker's limits is in HyperParameters and Tags, the rest in OtherHyperParameters and OtherTags.
 * Ownership: spans are the caller's. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json/json_read.h"

struct tracked_pair {
	struct span key;
	struct span value; /* ptr NULL in a change: the key goes */
};
struct tracked_pairs {
	struct tracked_pair *items;
	size_t count, cap;
};
/* False: out of memory. The spans are not copied. */
bool tracked_pairs_add(struct arena *arena, struct tracked_pairs *pairs, struct span key, struct span value);

/* What a document states, in its order. Spans are the document's. */
enum status tracked_document_read(struct arena *arena, const struct json *document, struct tracked_pairs *settings,
	struct tracked_pairs *tags, struct error *err) MUST_CHECK;

/* Of a run that is part of another job, which is billed for its time: the tag names that job. */
#define TRACKED_WITHIN_TAG SPAN("smfleet.billed_in")
struct span tracked_billed_in(const struct json *document); /* "": of no other */

/* The document with these changes. ERR_TOO_LARGE: it has no room. */
enum status tracked_document_write(struct span old, const struct tracked_pairs *settings,
	const struct tracked_pairs *tags, struct buf *out, struct error *err) MUST_CHECK;
