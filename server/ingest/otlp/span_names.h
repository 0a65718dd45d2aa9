/*
 * Job: which part of a training step an OTLP span times, by its name: the names that trainers give, and those of --span-names, which
 *      come first. Compared without case, "-" and " " are "_"; behind ".", "/" or ":" a name counts by itself, the longest rest that
 *      is known wins ("trainer.optimizer.step" is "optimizer.step", not "step").
 * Ownership: new/free. Threads: read-only.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

enum span_part {
	SPAN_PART_DATA,
	SPAN_PART_FORWARD,
	SPAN_PART_BACKWARD,
	SPAN_PART_COMMUNICATION,
	SPAN_PART_OPTIMIZER,
	SPAN_PART_CHECKPOINT,
	SPAN_PART_STEP,
	SPAN_PARTS,
	SPAN_PART_NONE = SPAN_PARTS
};

struct ingest_span_names;

/* text: "data=load_batch,fetch;optimizer=update"; "": the trainers' names alone. ERR_INVALID says what is wrong with it. */
enum status ingest_span_names_new(struct ingest_span_names **out, const char *text, struct error *err) MUST_CHECK;
void ingest_span_names_free(struct ingest_span_names *names);
enum span_part ingest_span_part(const struct ingest_span_names *names, struct span name);

AUTO_TYPE(ingest_span_names)
