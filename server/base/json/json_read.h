/*
 * Job: small JSON documents as a tree (bodies of the API, data files).
 *      Log lines and points never come through here: their formats have flat scanners.
 * Ownership: a json document owns all nodes reached from it. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"

struct json; /* a document or a node in it */

/* ERR_INVALID names line and column. depth is limited (1000); duplicates: the first wins. */
enum status json_parse(struct json **out, struct span text, struct error *err) MUST_CHECK;
void json_free(struct json *document); /* the document, never a node */

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
enum json_kind json_kind(const struct json *node); /* NULL: JSON_NULL */

const struct json *json_get(const struct json *object, const char *key); /* case-sensitive; NULL: absent */
const struct json *json_get_path(const struct json *object, const char *dotted); /* "ResourceConfig.InstanceType" */
const struct json *json_first(const struct json *node); /* of an array or object; NULL: empty or neither */
const struct json *json_next(const struct json *node);
struct span json_key_of(const struct json *node); /* in an object; else empty */
/* The first member whose name is not among these (spaces between them); NULL: there is none. */
const struct json *json_find_other(const struct json *object, const char *names);
size_t json_count(const struct json *node);

struct span json_string_of(const struct json *node); /* empty unless a string */
bool json_number_of(const struct json *node, double *value);
bool json_is_true(const struct json *node);

/* For fields of a document: OK and unchanged out when absent or null; ERR_SEMANTIC with field when of another type. */
enum status json_want_string(
	const struct json *object, const char *key, struct span *out, struct error *err) MUST_CHECK;
enum status json_want_i64(const struct json *object, const char *key, int64_t *out, struct error *err) MUST_CHECK;
enum status json_want_bool(const struct json *object, const char *key, bool *out, struct error *err) MUST_CHECK;

/* Writes a node back as JSON text, compact, fields in their order. */
void json_print(const struct json *node, struct buf *out);

/* Changes, for documents that are merged and stored. False: out of memory. */
bool json_set_copy(struct json *object, const char *key, const struct json *value); /* replaces */
bool json_set_string(struct json *object, const char *key, struct span value);
/* The text of a string node of a document that is the caller's to change; without a search by key. */
bool json_replace_string(const struct json *node, const char *value);
void json_remove(struct json *object, const char *key);

AUTO_TYPE(json)
