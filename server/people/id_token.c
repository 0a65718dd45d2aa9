#include "people/id_token.h"

#include "base/crypto.h"

enum { SKEW_S = 60, SUBJECT_BYTES = 255 };

static enum status refuse(struct error *err, const char *claim, const char *what)
{
	return error_set(err, ERR_INVALID, "the ID token's \"%s\" %s", claim, what);
}

static bool is_text(const struct json *claims, const char *name, struct span wanted)
{
	const struct json *value = json_get(claims, name);

	return json_kind(value) == JSON_STRING && span_equal(json_string_of(value), wanted);
}

/* aud: one text, or several; of several, azp says who asked. */
static enum status check_audience(const struct json *claims, struct span client_id, struct error *err)
{
	const struct json *audience = json_get(claims, "aud"), *party = json_get(claims, "azp");
	bool is_ours = is_text(claims, "aud", client_id);

	if (json_kind(audience) == JSON_ARRAY)
		for (const struct json *one = json_first(audience); one; one = json_next(one))
			is_ours = is_ours || span_equal(json_string_of(one), client_id);
	if (!is_ours)
		return refuse(err, "aud", "does not name this client");
	if (party ? !is_text(claims, "azp", client_id) : json_count(audience) > 1)
		return refuse(err, "azp", "does not name this client");
	return OK;
}

static enum status check_times(const struct json *claims, double now_s, struct error *err)
{
	double until_s, from_s;

	if (!json_number_of(json_get(claims, "exp"), &until_s) || !(now_s < until_s + SKEW_S))
		return refuse(err, "exp", "says that its time is over");
	if (!json_number_of(json_get(claims, "iat"), &from_s) || !(from_s <= now_s + SKEW_S))
		return refuse(err, "iat", "says that it is not of now: is this server's clock right?");
	if (json_get(claims, "nbf") &&
		(!json_number_of(json_get(claims, "nbf"), &from_s) || !(from_s <= now_s + SKEW_S)))
		return refuse(err, "nbf", "says that its time has not come: is this server's clock right?");
	return OK;
}

enum status id_token_check(const struct json *claims, const struct id_token_wanted *wanted, struct error *err)
{
	struct span nonce = json_string_of(json_get(claims, "nonce")),
		    subject = json_string_of(json_get(claims, "sub"));

	if (!is_text(claims, "iss", wanted->issuer))
		return refuse(err, "iss", "is not the provider's issuer");
	TRY(check_audience(claims, wanted->client_id, err));
	TRY(check_times(claims, (double)wanted->now_s, err));
	if (nonce.len != wanted->nonce.len || !nonce.len || !crypto_equal(nonce.ptr, wanted->nonce.ptr, nonce.len))
		return refuse(err, "nonce", "is not of this sign-in");
	if (!subject.len || subject.len > SUBJECT_BYTES)
		return refuse(err, "sub", "is no text of 1 to 255 bytes");
	return OK;
}
