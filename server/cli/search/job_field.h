/*
 * Job: one field of a job's row, by the names that the query language has: name, loss.min, hp.lr, a dotted property.
 * Ownership: the buf is the caller's. Threads: any. Pure.
 */
#pragma once

#include "base/json/json_read.h"

struct job_field_style {
	bool is_for_people; /* short numbers, local times, "3h"; else exact numbers and ISO 8601 in UTC */
	int64_t now_ms;
};

/* Appends the field's text; nothing when the row does not have it. */
void job_field_put(const struct json *row, struct span field, const struct job_field_style *style, struct buf *out);
/* Does it hold numbers, as far as its name says? */
bool job_field_is_number(struct span field);
