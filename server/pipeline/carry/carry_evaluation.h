/*
 * Job: the record of a score that an evaluation found, to JSON and back.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/evaluation.h"

/* The members of the record, into an object that is open. */
void carry_write_evaluation(const struct evaluation_score *score, struct json_writer *w);
enum status carry_read_evaluation(
	const struct json *object, struct arena *arena, struct evaluation_score *score, struct error *err) MUST_CHECK;
