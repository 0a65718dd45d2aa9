/*
 * Job: reads the fields of one protobuf message, one after the other; nothing is allocated, groups are refused.
 * Ownership: spans point into the message. Threads: values.
 * Source: protobuf.dev/programming-guides/encoding
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

enum protobuf_type { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value; /* of VARINT and the fixed ones */
	struct span bytes; /* of BYTES: a text or a message */
};

/* Takes the next field off *rest, which is the message. False: the end, or (with *rest not empty) a mistake at its start. */
bool protobuf_next(struct span *rest, struct protobuf_field *field);
/* After the loop over a message: ERR_INVALID when it ended in a mistake; body is what *rest is a part of, for its place. */
enum status protobuf_end(struct span rest, struct span body, const char *message, struct error *err) MUST_CHECK;

static inline bool protobuf_is(const struct protobuf_field *field, uint32_t number, enum protobuf_type type)
{
	return field->number == number && field->type == type;
}

double protobuf_double(uint64_t bits); /* of a FIXED64 */
