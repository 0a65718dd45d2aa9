/*
 * Job: members of by_hand whose names are places of a job, "2:81": an attempt and a step. How one is read, refused, and signed by whoever sets it.
 * Ownership: the caller's. Threads: pure.
 */
#pragma once

#include "base/error.h"
#include "base/json/json_read.h"

enum { BY_HAND_WHY_BYTES = 500, BY_HAND_BY_BYTES = 255, BY_HAND_PLACES_MAX = 1000, BY_HAND_FIELD_BYTES = 128 };

/* "2:81"; attempt 0 is one that nobody knows. false: it is no such place, or not as it is written ("02:81"). */
bool by_hand_read_attempt(struct span place, uint32_t *attempt, int64_t *step);
/* Not null, and a text of 1 to `most` bytes that is not of spaces alone. */
bool by_hand_is_text(const struct json *value, size_t most);
/* "by_hand.restarts.2:81"; place "": of the member itself. */
void by_hand_name_field(char out[BY_HAND_FIELD_BYTES], const char *member, struct span place);
/* ERR_SEMANTIC: by_hand.MEMBER.PLACE is `what`, or null to take it back. */
enum status by_hand_refuse(const char *member, struct span place, const char *what, struct error *err) MUST_CHECK;
/* by_hand, in which each restart and checkpoint is of whoever sets it now ("": nobody is known), whatever it says. */
enum status by_hand_sign(
	const struct json *by_hand, struct span by, int64_t now_ms, struct json **out, struct error *err) MUST_CHECK;
