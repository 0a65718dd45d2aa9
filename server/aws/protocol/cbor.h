/*
 * Job: CBOR of the rpc-v2-cbor protocol <-> JSON, which is what the operations read and write.
 *      In: one map; a tag 1 (epoch time) becomes its number of seconds, NaN and infinities the texts that JSON has for them,
 *      undefined becomes null, other tags are passed over. Byte strings are refused: no member of ours is one. Nothing is
 *      allocated for what a header only announces, and nesting and size are limited.
 *      Out: numbers are doubles, as all of CloudWatch's are, but for times.
 * Ownership: the caller's buffers. Threads: values.
 * Source: RFC 8949; smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html
 */
#pragma once

#include "base/buf.h"
#include "base/json/json_read.h"

enum { CBOR_MAX_DEPTH = 16 };

/* Appends to json; no bytes at all are {}. ERR_INVALID names the byte; ERR_TOO_LARGE: more than json may hold. */
enum status cbor_to_json(struct span bytes, struct buf *json, struct error *err) MUST_CHECK;

/* times: names of members that are times in seconds (or lists of them), ended by NULL. */
void cbor_from_json(const struct json *node, const char *const *times, struct buf *out);
