#include "base/crypto.h"
#include "people/id_token.h"
#include "people/key_set.h"
#include "test.h"

/* RFC 7515, A.2 and A.3 */
#define CONTENT                                                                                                        \
	"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cn"                   \
	"VlfQ"
#define MODULUS                                                                                                        \
	"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0B"                   \
	"m4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5"                   \
	"z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7"                   \
	"aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
#define SIGNED_BY_RSA                                                                                                  \
	"cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2F"                   \
	"p5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQB"                   \
	"MHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeY"                   \
	"I2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
#define X "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define Y "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
#define SIGNED_BY_CURVE "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
#define RSA_KEY(more) "{\"kty\":\"RSA\",\"n\":\"" MODULUS "\",\"e\":\"AQAB\"" more "}"
#define CURVE_KEY(more) "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" X "\",\"y\":\"" Y "\"" more "}"

static const char by_rsa[] = "eyJhbGciOiJSUzI1NiJ9." CONTENT "." SIGNED_BY_RSA;
static const char by_curve[] = "eyJhbGciOiJFUzI1NiJ9." CONTENT "." SIGNED_BY_CURVE;

static struct jwt *parse(const char *text)
{
	struct jwt *jwt = NULL;

	CHECK_OK(jwt_parse(&jwt, span_from(text), &err));
	return jwt;
}

static struct key_set *read_keys(const char *text)
{
	struct key_set *keys = NULL;

	CHECK_OK(key_set_read(&keys, span_from(text), &err));
	return keys;
}

TEST(the_examples_of_the_rfc_are_signed)
{
	AUTO(key_set) keys = read_keys("{\"keys\":[" CURVE_KEY("") "," RSA_KEY("") "]}");
	AUTO(jwt) rsa = parse(by_rsa);
	AUTO(jwt) curve = parse(by_curve);

	CHECK_OK(key_set_check(keys, rsa, &err));
	CHECK_OK(key_set_check(keys, curve, &err));
	CHECK_SPAN(json_string_of(json_get(curve->claims, "iss")), SPAN("joe"));
}

/* Each byte of what is signed, and of the signature. */
TEST(a_changed_byte_is_no_signature)
{
	AUTO(key_set) keys = read_keys("{\"keys\":[" CURVE_KEY("") "," RSA_KEY("") "]}");
	static const char *const texts[] = {by_rsa, by_curve};

	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < strlen(texts[t]); i++) {
			AUTO_MEM char *copy = mem_copy_string(texts[t]);
			AUTO(jwt) jwt = NULL;
			struct error why = {0};
			copy[i] = copy[i] == 'A' ? 'B' : 'A';
			if (jwt_parse(&jwt, span_from(copy), &why) == OK)
				CHECK(key_set_check(keys, jwt, &why) != OK);
			CHECK(why.text[0]);
		}
}

static void check_key(const char *keys_text, const char *token, enum status wanted, const char *words)
{
	AUTO(key_set) keys = read_keys(keys_text);
	AUTO(jwt) jwt = parse(token);

	CHECK_FAILS(key_set_check(keys, jwt, &err), wanted, words);
}

TEST(a_key_is_for_what_it_says)
{
	check_key("{\"keys\":[]}", by_rsa, ERR_NOT_FOUND, "no key");
	check_key("{\"keys\":[" CURVE_KEY("") "]}", by_rsa, ERR_NOT_FOUND, "no key");
	check_key("{\"keys\":[" RSA_KEY(",\"use\":\"enc\"") "]}", by_rsa, ERR_NOT_FOUND, "no key");
	check_key("{\"keys\":[" RSA_KEY(",\"alg\":\"PS256\"") "]}", by_rsa, ERR_NOT_FOUND, "no key");
	check_key("{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", by_rsa, ERR_INVALID, "signature");
	check_key("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" Y "\",\"y\":\"" X "\"}]}", by_curve,
		ERR_INVALID, "signature"); /* no point of the curve */
	struct key_set *none = NULL;
	CHECK_FAILS(key_set_read(&none, SPAN("{\"keys\":{}}"), &err), ERR_INVALID, "keys");
	CHECK_FAILS(key_set_read(&none, SPAN("[]"), &err), ERR_INVALID, "object");
}

/* What text a token is, without its signature's part. */
static void refuse(const char *header, const char *claims, const char *words)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct jwt *jwt = NULL;

	crypto_base64url(span_from(header), &text);
	buf_append_char(&text, '.');
	crypto_base64url(span_from(claims), &text);
	buf_append_text(&text, ".AAAA");
	CHECK_FAILS(jwt_parse(&jwt, buf_span(&text), &err), ERR_INVALID, words);
}

TEST(what_is_no_token_of_ours_is_refused)
{
	static const char *const texts[] = {"", ".", "..", "a.b", "a.b.c", "e30.e30.AAAA.AAAA", "e30.e30.AAAA.",
		"e30.e30.", "e30=.e30.AAAA", "e30.e3+.AAAA", "e31.e30.AAAA", " e30.e30.AAAA", "e30.e30.AAAA\n"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct jwt *jwt = NULL;
		CHECK_FAILS(jwt_parse(&jwt, span_from(texts[i]), &err), ERR_INVALID, "");
		CHECK(!jwt);
	}
	refuse("{\"alg\":\"none\"}", "{}", "'none'");
	refuse("{\"alg\":\"None\"}", "{}", "'None'");
	refuse("{\"alg\":\"HS256\"}", "{}", "'HS256'");
	refuse("{\"alg\":[\"RS256\"]}", "{}", "RS256");
	refuse("{}", "{}", "RS256");
	refuse("{\"alg\":\"RS256\",\"crit\":[\"x\"]}", "{}", "crit");
	refuse("{\"alg\":\"RS256\",\"kid\":7}", "{}", "kid");
	refuse("{\"alg\":\"RS256\"}", "[]", "object");
	refuse("{\"alg\":\"RS256\"}", "{\"sub\":\"a\",\"sub\":\"b\"}", "twice");
	refuse("{\"alg\":\"HS256\",\"alg\":\"RS256\"}", "{}", "twice");
	refuse("{\"alg\":\"RS256\"}", "{\"email\":\"ann\\u0000@b\"}", "NUL");
}

/* ---- is it meant for us ---- */

static enum status check_claims(const char *text, struct error *why)
{
	AUTO(json) claims = NULL;
	struct id_token_wanted wanted = {
		.issuer = SPAN("https://i"), .client_id = SPAN("us"), .nonce = SPAN("n"), .now_s = 1000};

	CHECK_OK(json_parse(&claims, span_from(text), &err));
	return id_token_check(claims, &wanted, why);
}

#define CLAIMS(iss, aud, exp, iat, nonce, more)                                                                        \
	"{\"iss\":" iss ",\"aud\":" aud ",\"exp\":" exp ",\"iat\":" iat ",\"nonce\":" nonce ",\"sub\":\"s\"" more "}"

TEST(a_token_for_us_and_now)
{
	static const char *const good[] = {CLAIMS("\"https://i\"", "\"us\"", "2000", "900", "\"n\"", ""),
		CLAIMS("\"https://i\"", "[\"us\"]", "2000", "900", "\"n\"", ""),
		CLAIMS("\"https://i\"", "[\"them\",\"us\"]", "2000", "900", "\"n\"", ",\"azp\":\"us\""),
		CLAIMS("\"https://i\"", "\"us\"", "941", "1060", "\"n\"", ",\"nbf\":1060"),
		CLAIMS("\"https://i\"", "\"us\"", "940.5", "1", "\"n\"", "")};
	static const struct {
		const char *text, *words;
	} bad[] = {{CLAIMS("\"https://i/\"", "\"us\"", "2000", "900", "\"n\"", ""), "iss"},
		{CLAIMS("null", "\"us\"", "2000", "900", "\"n\"", ""), "iss"},
		{CLAIMS("\"https://i\"", "\"them\"", "2000", "900", "\"n\"", ""), "aud"},
		{CLAIMS("\"https://i\"", "[]", "2000", "900", "\"n\"", ""), "aud"},
		{CLAIMS("\"https://i\"", "{\"a\":\"us\"}", "2000", "900", "\"n\"", ""), "aud"},
		{CLAIMS("\"https://i\"", "[\"us\",\"them\"]", "2000", "900", "\"n\"", ""), "azp"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "900", "\"n\"", ",\"azp\":\"them\""), "azp"},
		{CLAIMS("\"https://i\"", "\"us\"", "940", "900", "\"n\"", ""), "exp"},
		{CLAIMS("\"https://i\"", "\"us\"", "\"2000\"", "900", "\"n\"", ""), "exp"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "1061", "\"n\"", ""), "iat"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "null", "\"n\"", ""), "iat"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "900", "\"n\"", ",\"nbf\":1061"), "nbf"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "900", "\"m\"", ""), "nonce"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "900", "\"\"", ""), "nonce"},
		{CLAIMS("\"https://i\"", "\"us\"", "2000", "900", "null", ""), "nonce"},
		{"{\"iss\":\"https://i\",\"aud\":\"us\",\"exp\":2000,\"iat\":900,\"nonce\":\"n\"}", "sub"},
		{"{}", "iss"}};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		CHECK_OK(check_claims(good[i], &err));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_FAILS(check_claims(bad[i].text, &err), ERR_INVALID, bad[i].words);
}
