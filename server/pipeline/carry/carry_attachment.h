/*
 * Job: the records of a small file of a job, and of a part of what it holds, to JSON and back.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/attachments.h"

/* Of the attachment before. */
struct carry_part {
	uint64_t first; /* byte */
	struct span data;
};

/* The members of the record, into an object that is open. */
void carry_write_attachment(const struct attachment_row *row, struct json_writer *w);
void carry_write_part(const struct carry_part *part, struct json_writer *w);
enum status carry_read_attachment(
	const struct json *object, struct arena *arena, struct attachment_row *row, struct error *err) MUST_CHECK;
enum status carry_read_part(
	const struct json *object, struct arena *arena, struct carry_part *part, struct error *err) MUST_CHECK;
