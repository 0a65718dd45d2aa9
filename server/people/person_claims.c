#include "people/person_claims.h"

#include "base/json/json_write.h"
#include "model/json_form.h"

enum { NAME_BYTES = 200 };

static const struct json *find(const struct json *claims, const struct json *more, const char *claim)
{
	const struct json *found = json_get(claims, claim);

	return found || !more ? found : json_get(more, claim);
}

bool person_claims_are_enough(const struct json *claims, const char *claim)
{
	return json_get(claims, claim) && (strcmp(claim, "email") != 0 || json_get(claims, "email_verified"));
}

/* Some say it as a text. Whoever may write any address into a profile is not whose address it is. */
static bool denies_address(const struct json *claims)
{
	const struct json *said = json_get(claims, "email_verified");

	return said && !json_is_true(said) && !span_equal(json_string_of(said), SPAN("true"));
}

enum status person_claims_name(
	const struct json *claims, const struct json *more, const char *claim, struct buf *out, struct error *err)
{
	struct span name = json_string_of(find(claims, more, claim));

	if (!name.len)
		return error_set(err, ERR_FORBIDDEN,
			"the provider says of whoever has signed in no \"%s\", which would be the name here (person_claim)",
			claim);
	if (json_check_name(name, NAME_BYTES, claim, "the name", err) != OK)
		return err ? err->status = ERR_FORBIDDEN : ERR_FORBIDDEN;
	if (strcmp(claim, "email") == 0 && (denies_address(claims) || (more && denies_address(more))))
		return error_set(err, ERR_FORBIDDEN,
			"the provider has not verified the address %.*s (email_verified): it may be somebody else's",
			SPAN_ARGS(name));
	buf_append_span(out, name);
	return buf_status(out, err);
}

enum status person_claims_groups(
	const struct json *claims, const struct json *more, const char *claim, struct buf *out, struct error *err)
{
	const struct json *groups = find(claims, more, claim);
	struct json_writer w = json_writer_on(out);

	json_array(&w);
	if (json_kind(groups) == JSON_STRING)
		json_span(&w, json_string_of(groups));
	if (json_kind(groups) == JSON_ARRAY)
		for (const struct json *one = json_first(groups); one; one = json_next(one))
			if (json_kind(one) == JSON_STRING)
				json_span(&w, json_string_of(one));
	json_array_end(&w);
	return buf_status(out, err);
}
