/*
 * Job: the record of what a trace says of a GPU, to JSON and back.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/gpu_traces.h"

/* The members of the record, into an object that is open. */
void carry_write_trace(const struct gpu_trace_row *row, struct json_writer *w);
enum status carry_read_trace(
	const struct json *object, struct arena *arena, struct gpu_trace_row *row, struct error *err) MUST_CHECK;
