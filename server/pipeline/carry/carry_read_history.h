/*
 * Job: of the record of a job its history from JSON: what is shown, and what that is made of.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"
#include "pipeline/carry/carry_record.h"

enum status carry_read_history(
	const struct json *object, struct arena *arena, struct carry_job *job, struct error *err) MUST_CHECK;
