#include "people/key_set.h"

#include "base/arena.h"
#include "base/crypto.h"

enum { KEYS_MAX = 64, NUMBER_BYTES = 1024 };

struct key {
	struct span id; /* "": it has none */
	enum jwt_algorithm algorithm;
	struct span first, second; /* modulus and exponent; or x and y */
};

struct key_set {
	struct arena *arena;
	size_t count;
	struct key keys[KEYS_MAX];
};

void key_set_free(struct key_set *keys)
{
	if (!keys)
		return;
	arena_free(keys->arena);
	mem_free(keys);
}

/* ptr NULL: it is no number. */
static struct span read_number(struct arena *arena, const struct json *from, const char *name)
{
	AUTO_DONE(buf) bytes = BUF_INIT(NUMBER_BYTES);
	struct span text = json_string_of(json_get(from, name));

	return text.len && crypto_unbase64url(text, &bytes) ? arena_copy(arena, buf_span(&bytes)) : span_of(NULL, 0);
}

static bool is_text_or_absent(const struct json *from, const char *name, struct span wanted)
{
	const struct json *value = json_get(from, name);

	return !value || span_equal(json_string_of(value), wanted);
}

/* False: it is for something else. */
static bool read_key(struct key_set *keys, const struct json *from, struct key *out)
{
	struct span type = json_string_of(json_get(from, "kty"));
	bool is_rsa = span_equal(type, SPAN("RSA"));
	bool is_curve =
		span_equal(type, SPAN("EC")) && span_equal(json_string_of(json_get(from, "crv")), SPAN("P-256"));

	if ((!is_rsa && !is_curve) || !is_text_or_absent(from, "use", SPAN("sig")) ||
		!is_text_or_absent(from, "alg", is_rsa ? SPAN("RS256") : SPAN("ES256")))
		return false;
	*out = (struct key){.algorithm = is_rsa ? JWT_RS256 : JWT_ES256,
		.id = arena_copy(keys->arena, json_string_of(json_get(from, "kid"))),
		.first = read_number(keys->arena, from, is_rsa ? "n" : "x"),
		.second = read_number(keys->arena, from, is_rsa ? "e" : "y")};
	return out->first.ptr && out->second.ptr;
}

enum status key_set_read(struct key_set **out, struct span text, struct error *err)
{
	AUTO(key_set) keys = mem_zeroed(sizeof *keys);
	AUTO(json) document = NULL;

	if (!keys || !(keys->arena = arena_new()))
		return error_no_memory(err);
	TRY(jwt_read_object(&document, text, err));
	const struct json *list = json_get(document, "keys");
	if (json_kind(list) != JSON_ARRAY || json_count(list) > KEYS_MAX)
		return error_set(err, ERR_INVALID, "there is no array \"keys\" of at most %d keys", KEYS_MAX);
	for (const struct json *one = json_first(list); one; one = json_next(one))
		keys->count += json_kind(one) == JSON_OBJECT && read_key(keys, one, &keys->keys[keys->count]);
	*out = TAKE(keys);
	return OK;
}

static bool has_signed(const struct key *key, const struct jwt *jwt)
{
	return (key->algorithm == JWT_RS256 ? crypto_check_rs256 : crypto_check_es256)(
		key->first, key->second, jwt->signed_text, jwt->signature);
}

/* The algorithm is the key's: what the token says of it has to fit, and chooses nothing. */
static bool may_be_of(const struct key *key, const struct jwt *jwt)
{
	return key->algorithm == jwt->algorithm && (!jwt->key_id.len || span_equal(key->id, jwt->key_id));
}

enum status key_set_check(const struct key_set *keys, const struct jwt *jwt, struct error *err)
{
	size_t tried = 0;

	for (size_t i = 0; keys && i < keys->count; i++) {
		if (!may_be_of(&keys->keys[i], jwt))
			continue;
		if (has_signed(&keys->keys[i], jwt))
			return OK;
		tried++;
	}
	if (tried)
		return error_set(err, ERR_INVALID, "the token's signature is not of the provider's key");
	return error_set(err, ERR_NOT_FOUND, "the provider has no key '%.*s' that the token could be signed by",
		SPAN_ARGS(span_cut(jwt->key_id, 40)));
}
