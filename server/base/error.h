/*
 * Job: one status and one text for every failure; the text is made where the cause is known and passed up unchanged.
 * Ownership: plain values, nothing to free. Threads: an error belongs to its caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum status {
	OK = 0,
	ERR_INVALID, /* malformed: the bytes are not what they claim to be */
	ERR_SEMANTIC, /* understood, but wrong */
	ERR_UNAUTHORIZED, /* no or unknown credentials */
	ERR_FORBIDDEN,
	ERR_NOT_FOUND,
	ERR_CONFLICT,
	ERR_PRECONDITION, /* it is no more what the request says that it is changed from */
	ERR_GONE, /* was there, was deleted by a stated limit */
	ERR_TOO_LARGE, /* over a limit; the text names the option */
	ERR_UNSUPPORTED, /* media type or encoding */
	ERR_MISDIRECTED, /* the Host header names another server */
	ERR_BUSY, /* try again after retry_after_s */
	ERR_UNAVAILABLE, /* disk full, stopping: nothing was taken */
	ERR_IO,
	ERR_MEMORY,
	ERR_INTERNAL,
	STATUS_COUNT
};

enum { ERROR_TEXT_BYTES = 512 };

struct error {
	enum status status;
	int retry_after_s; /* for BUSY and UNAVAILABLE; 0: not stated */
	int64_t line; /* 1-based place in the input; 0: not stated */
	int64_t column;
	const char *member; /* static: one more fact for programs, as "next_offset"; NULL: none */
	int64_t member_value;
	const char *code; /* static: what the protocol of the request calls it; NULL: as its status says */
	bool is_of_caller; /* FORBIDDEN: of who asks, whatever is asked */
	char field[128]; /* the parameter or document path at fault; "" if none */
	char text[ERROR_TEXT_BYTES];
};

#define MUST_CHECK __attribute__((warn_unused_result))

enum status error_fill(struct error *err, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
enum status error_fill_field(struct error *err, enum status status, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The status again: what compiler and analyzers cannot see through a call in another file. */
static inline enum status error_same_(enum status status, enum status filled)
{
	(void)filled;
	return status;
}

/* Fills *err (which may be NULL) and is the status, so that `return error_set(err, status, format, …)` is the usual form. */
#define error_set(err, status, ...) error_same_((status), error_fill((err), (status), __VA_ARGS__))

/* The same, naming the field or parameter at fault: error_set_field(err, status, field, format, …). */
#define error_set_field(err, status, ...) error_same_((status), error_fill_field((err), (status), __VA_ARGS__))

/* ERR_MEMORY, in the one wording that it has. */
static inline enum status error_no_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

/* Puts "CONTEXT: " before the text of an error that is already set. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A short lower-case name: "invalid", "not_found". Never NULL. */
const char *status_name(enum status status);

/* Returns from the calling function unless the expression is OK. One of the two control macros (the other: AUTO). */
#define TRY(expression)                                                                                                \
	do {                                                                                                           \
		enum status try_status_ = (expression);                                                                \
		if (try_status_ != OK)                                                                                 \
			return try_status_;                                                                            \
	} while (0)
