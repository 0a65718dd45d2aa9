/*
 * Job: a signed token as providers make them (RFC 7519 in the compact form of RFC 7515): taken apart here, trusted by nobody until
 *      key_set_check. Of the algorithms RS256 and ES256 are known, and neither "none" nor those with a shared secret.
 * Ownership: parse/free; it keeps a copy of the text. Immutable. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"

enum { JWT_MAX_BYTES = 64 << 10 };
enum jwt_algorithm { JWT_RS256, JWT_ES256 };

struct jwt {
	enum jwt_algorithm algorithm;
	struct span key_id; /* "": it names none */
	struct span signed_text; /* what the signature is of */
	struct span signature;
	const struct json *claims; /* an object */

	char *text;
	struct buf header_text, claims_text, signature_bytes;
	struct json *header, *claims_document;
};

/* ERR_INVALID: it is none, or of an algorithm that is not known here. */
enum status jwt_parse(struct jwt **out, struct span text, struct error *err) MUST_CHECK;
void jwt_free(struct jwt *jwt);

/* A JSON object of somebody else's: a name twice, a number too large or a NUL in a text, which others read otherwise, is ERR_INVALID. */
enum status jwt_read_object(struct json **out, struct span text, struct error *err) MUST_CHECK;

AUTO_TYPE(jwt)
