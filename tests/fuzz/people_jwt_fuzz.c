/* A token, a line end, and a set of keys: whatever they are, an error has a text, and what is taken for signed has claims that are an object. */
#include "people/id_token.h"
#include "people/key_set.h"
#include "people/person_claims.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct json *claims)
{
	const struct id_token_wanted wanted = {
		.issuer = SPAN("joe"), .client_id = SPAN("us"), .nonce = SPAN("n"), .now_s = 1300819000};
	AUTO_DONE(buf) name = BUF_INIT(1 << 20), groups = BUF_INIT(1 << 20);
	AUTO(json) read = NULL;
	struct error err = {0};

	if (id_token_check(claims, &wanted, &err) != OK && !err.text[0])
		abort();
	err = (struct error){0};
	if (person_claims_name(claims, NULL, "email", &name, &err) != OK ? !err.text[0]
									 : !name.len || !span_is_utf8(buf_span(&name)))
		abort();
	if (person_claims_groups(claims, NULL, "groups", &groups, &err) == OK &&
		(json_parse(&read, buf_span(&groups), NULL) != OK || json_kind(read) != JSON_ARRAY))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span keys_text = span_of((const char *)data, size), token;
	AUTO(key_set) keys = NULL;
	AUTO(jwt) jwt = NULL;
	struct error err = {0};

	if (!span_next(&keys_text, '\n', &token))
		return 0;
	if (key_set_read(&keys, keys_text, &err) != OK && !err.text[0])
		abort();
	err = (struct error){0};
	if (jwt_parse(&jwt, token, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (key_set_check(keys, jwt, &err) != OK && !err.text[0])
		abort();
	if (json_kind(jwt->claims) != JSON_OBJECT)
		abort();
	look_at(jwt->claims);
	return 0;
}
