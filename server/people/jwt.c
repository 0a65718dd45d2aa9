#include "people/jwt.h"

#include "base/crypto.h"
#include "model/json_form.h"

enum { KEY_ID_BYTES = 256 };

void jwt_free(struct jwt *jwt)
{
	if (!jwt)
		return;
	json_free(jwt->header);
	json_free(jwt->claims_document);
	buf_done(&jwt->header_text);
	buf_done(&jwt->claims_text);
	buf_done(&jwt->signature_bytes);
	mem_free(jwt->text);
	mem_free(jwt);
}

enum status jwt_read_object(struct json **out, struct span text, struct error *err)
{
	AUTO(json) read = NULL;

	if (span_find(text, SPAN("\\u0000")) >= 0) /* a text would end there for us, and not for others */
		return error_set(err, ERR_INVALID, "there is a NUL in a text");
	TRY(json_parse(&read, text, err));
	if (json_kind(read) != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "this is JSON, but no object");
	if (json_check_form(read, err) != OK)
		return err ? err->status = ERR_INVALID : ERR_INVALID;
	*out = TAKE(read);
	return OK;
}

static enum status decode(struct span text, const char *part, struct buf *out, struct error *err)
{
	if (text.len && crypto_unbase64url(text, out))
		return OK;
	return error_set(err, ERR_INVALID, "the token's %s is no base64url", part);
}

static enum status take_header(struct jwt *jwt, struct error *err)
{
	const struct json *key_id = json_get(jwt->header, "kid");
	struct span algorithm = json_string_of(json_get(jwt->header, "alg"));

	jwt->key_id = json_string_of(key_id);
	if (span_equal(algorithm, SPAN("RS256")))
		jwt->algorithm = JWT_RS256;
	else if (span_equal(algorithm, SPAN("ES256")))
		jwt->algorithm = JWT_ES256;
	else
		return error_set(err, ERR_INVALID, "the token is signed by '%.*s', and not by RS256 or ES256",
			SPAN_ARGS(span_cut(algorithm, 20)));
	if (json_get(jwt->header, "crit"))
		return error_set(err, ERR_INVALID, "the token's header has \"crit\", of which nothing is known here");
	if (key_id && (json_kind(key_id) != JSON_STRING || jwt->key_id.len > KEY_ID_BYTES))
		return error_set(err, ERR_INVALID, "the token's \"kid\" is no text of at most %d bytes", KEY_ID_BYTES);
	return OK;
}

static enum status split(struct jwt *jwt, struct span text, struct error *err)
{
	struct span rest = text, header, claims, signature, more;

	if (!span_next(&rest, '.', &header) || !span_next(&rest, '.', &claims) || !span_next(&rest, '.', &signature) ||
		span_next(&rest, '.', &more))
		return error_set(err, ERR_INVALID, "the token has not three parts");
	jwt->signed_text = span_of(text.ptr, header.len + 1 + claims.len);
	TRY(decode(header, "header", &jwt->header_text, err));
	TRY(decode(claims, "content", &jwt->claims_text, err));
	return decode(signature, "signature", &jwt->signature_bytes, err);
}

enum status jwt_parse(struct jwt **out, struct span text, struct error *err)
{
	AUTO(jwt) jwt = mem_zeroed(sizeof *jwt);

	if (!jwt || !(jwt->text = mem_copy_bytes(text.ptr ? text.ptr : "", text.len)))
		return error_no_memory(err);
	if (text.len > JWT_MAX_BYTES)
		return error_set(err, ERR_INVALID, "the token is longer than %d KiB", JWT_MAX_BYTES >> 10);
	jwt->header_text = jwt->claims_text = jwt->signature_bytes = BUF_INIT(JWT_MAX_BYTES);
	TRY(split(jwt, span_of(jwt->text, text.len), err));
	TRY(jwt_read_object(&jwt->header, buf_span(&jwt->header_text), err));
	TRY(jwt_read_object(&jwt->claims_document, buf_span(&jwt->claims_text), err));
	jwt->claims = jwt->claims_document;
	jwt->signature = buf_span(&jwt->signature_bytes);
	TRY(take_header(jwt, err));
	*out = TAKE(jwt);
	return OK;
}
