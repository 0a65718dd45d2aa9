/*
 * Job: one JSON object of one text line -> where in it our fields are. Flat: no tree, nothing allocated, every byte read once.
 * Ownership: spans point into the text. Threads: values.
 */
#pragma once

#include "base/buf.h"

enum { NDJSON_MAX_DEPTH = 64 };

enum ndjson_field {
	NDJSON_LINE,
	NDJSON_LOG,
	NDJSON_MESSAGE,
	NDJSON_TS, /* times, the better ones first */
	NDJSON_TS_MS,
	NDJSON_TIME,
	NDJSON_AT_TIMESTAMP,
	NDJSON_TIMESTAMP,
	NDJSON_DATE,
	NDJSON_JOURNAL_TIME,
	NDJSON_STREAM,
	NDJSON_JOB,
	NDJSON_OWN_HOST, /* the machine: journald's, then what collectors call it */
	NDJSON_OWN_HOST_SMALL,
	NDJSON_HOSTNAME_CAPITALS,
	NDJSON_HOSTNAME,
	NDJSON_HOST_CAPITALS,
	NDJSON_HOST,
	NDJSON_HOST_NAME,
	NDJSON_KUBERNETES,
	NDJSON_FIELD_COUNT
};

enum ndjson_kind { NDJSON_ABSENT, NDJSON_STRING, NDJSON_NUMBER, NDJSON_NULL, NDJSON_OTHER };

struct ndjson_value {
	enum ndjson_kind kind;
	struct span raw; /* a string without its quotes, escapes as they are; else as written */
	bool has_escapes;
};

struct ndjson_object {
	struct ndjson_value fields[NDJSON_FIELD_COUNT]; /* of a field that comes twice, the first */
	bool says_kernel; /* some text in it is "kernel" */
};

struct ndjson_mistake {
	size_t column; /* 1-based byte */
	const char *expected;
};

/* The whole text must be one object. Python's NaN and Infinity pass as values of other fields. */
bool ndjson_scan(struct span text, struct ndjson_object *object, struct ndjson_mistake *mistake);
/* Appends the string without its escapes; a lone surrogate becomes U+FFFD. False: *column is the bad escape's, in raw. */
bool ndjson_decode(struct span raw, struct buf *out, size_t *column);
