/*
 * Job: what a JSON document may hold, as a table: each row a path and what may stand there. Who has the table words the fault.
 * Ownership: a fault owns its path; its value is the document's. Threads: pure.
 */
#pragma once

#include "base/json/json_read.h"

enum shape_kind {
	SHAPE_OBJECT,
	SHAPE_ARRAY,
	SHAPE_MAP,
	SHAPE_STRING,
	SHAPE_INTEGER,
	SHAPE_NUMBER,
	SHAPE_BOOLEAN,
	SHAPE_ENUM,
	SHAPE_TIME, /* seconds since 1970, or a text as ISO 8601 has it */
	SHAPE_NEEDED, /* of any type, but it must be there, where there is what it is in; null is not there */
};

/*
 * path      "a.b"; "a[]" is each element of the array a, "a{}" each value of the map a, "a{key}" each key of it
 * min, max  of numbers; elements of lists; characters of strings
 * words     of an enum its values, "A|B", of a string a pattern that all of it must match, "" or NULL: none
 * Objects stand before what is in them: a field of the wrong type is named itself, not its parts. Fields that no row names may
 * hold anything. A table ends with a row without a path.
 */
struct shape_rule {
	const char *path;
	enum shape_kind kind;
	int64_t min, max;
	const char *words;
};

enum shape_wrong {
	SHAPE_FITS,
	SHAPE_MISSING,
	SHAPE_OTHER_TYPE,
	SHAPE_TOO_SHORT, /* characters */
	SHAPE_TOO_LONG,
	SHAPE_NO_MATCH, /* of the pattern */
	SHAPE_NO_WORD, /* none of the enum's */
	SHAPE_TOO_SMALL,
	SHAPE_TOO_LARGE,
	SHAPE_TOO_FEW, /* elements */
	SHAPE_TOO_MANY,
	SHAPE_KEY_TOO_LONG, /* for any path */
};

enum { SHAPE_PATH_MAX_BYTES = 1024 };

/* The first one. */
struct shape_fault {
	bool takes_texts; /* set before: numbers and booleans may be texts, an empty list "", as in forms */
	enum shape_wrong wrong;
	const struct shape_rule *rule;
	struct buf path; /* of the value, with the numbers of elements: "Tags[3].Key" */
	const struct json *value; /* NULL: missing, or it is the key */
	struct span key; /* of a map */
	int64_t count; /* characters or elements that it has */
};
#define SHAPE_FAULT_INIT ((struct shape_fault){.path = BUF_INIT(SHAPE_PATH_MAX_BYTES)})

/* fault: as SHAPE_FAULT_INIT makes it; wrong says whether there is any. */
enum status shape_check(const struct shape_rule *rules, const struct json *document, struct shape_fault *fault,
	struct error *err) MUST_CHECK;
/* One row, of the value that its path names from `path` on. */
enum status shape_check_rule(const struct shape_rule *rule, const char *path, const struct json *value,
	struct shape_fault *fault, struct error *err) MUST_CHECK;
/* "" when it has no NUL to end it: never NULL. */
const char *shape_fault_path(struct shape_fault *fault);
/* What is wrong, as text: the value as JSON, or the key, at most `most` bytes of whole characters; true: it was cut. */
bool shape_fault_show(const struct shape_fault *fault, size_t most, struct buf *out);

static inline void shape_fault_done(struct shape_fault *fault)
{
	buf_done(&fault->path);
}
AUTO_DONE_TYPE(shape_fault)
