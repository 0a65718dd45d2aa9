#include "base/crypto.h"
#include "test.h"

static struct span hex_of(const unsigned char bytes[SHA256_BYTES], char out[2 * SHA256_BYTES + 1])
{
	crypto_hex(bytes, SHA256_BYTES, out);
	return span_of(out, 2 * SHA256_BYTES);
}

/* FIPS 180-4, the examples */
TEST(crypto_sha256_vectors)
{
	unsigned char hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];

	crypto_sha256(SPAN("abc"), hash);
	CHECK_SPAN(hex_of(hash, hex), SPAN("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
	crypto_sha256((struct span){NULL, 0}, hash);
	CHECK_SPAN(hex_of(hash, hex), SPAN("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
	crypto_sha256(SPAN("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hash);
	CHECK_SPAN(hex_of(hash, hex), SPAN("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
}

/* RFC 4231, cases 1, 2, 6 */
TEST(crypto_hmac_vectors)
{
	unsigned char mac[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1], key[131];

	memset(key, 0x0b, 20);
	crypto_hmac_sha256(span_of(key, 20), SPAN("Hi There"), mac);
	CHECK_SPAN(hex_of(mac, hex), SPAN("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
	crypto_hmac_sha256(SPAN("Jefe"), SPAN("what do ya want for nothing?"), mac);
	CHECK_SPAN(hex_of(mac, hex), SPAN("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
	memset(key, 0xaa, sizeof key);
	crypto_hmac_sha256(
		span_of(key, sizeof key), SPAN("Test Using Larger Than Block-Size Key - Hash Key First"), mac);
	CHECK_SPAN(hex_of(mac, hex), SPAN("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
}

/* RFC 4648, section 10 */
TEST(crypto_base64_vectors)
{
	static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
		{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct span plain = span_from(pairs[i][0]), coded = span_from(pairs[i][1]);
		AUTO_DONE(buf) out = BUF_INIT(coded.len); /* fits exactly */
		AUTO_DONE(buf) back = BUF_INIT(plain.len);
		crypto_base64(plain, &out);
		CHECK_OK(buf_status(&out, &err));
		CHECK_SPAN(buf_span(&out), coded);
		CHECK(crypto_unbase64(coded, &back));
		CHECK_SPAN(buf_span(&back), plain);
	}
}

TEST(crypto_base64_refuses)
{
	static const char *const texts[] = {"Zg", "Zg=", "Z", "Zm8", "Zm9v\n", "Zm9v\nZm9v", " Zm9v", "Zm9*",
		"====", "Zg==Zg==", "=Zm9", "Zm9vY", "Zm-_", "Z===", "Zm9v\xc3\xbcxx"};
	AUTO_DONE(buf) out = BUF_INIT(100);

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (crypto_unbase64(span_from(texts[i]), &out))
			test_fail(__FILE__, __LINE__, "'%s' is taken", texts[i]);
	CHECK_INT(out.len, 0);
	AUTO_DONE(buf) small = BUF_INIT(2);
	CHECK(!crypto_unbase64(SPAN("Zm9v"), &small));
	crypto_base64(SPAN("a"), &small);
	CHECK_FAILS(buf_status(&small, &err), ERR_TOO_LARGE, "2");
}

TEST(crypto_hex_digits)
{
	char text[7];

	crypto_hex((const unsigned char *)"\x00\xaf\xff", 3, text);
	CHECK_TEXT(text, "00afff");
}

TEST(crypto_equal_compares)
{
	CHECK(crypto_equal("abc", "abc", 3) && !crypto_equal("abc", "abd", 3) && crypto_equal("a", "b", 0));
}

TEST(crypto_random_differs)
{
	unsigned char a[32] = {0}, b[32] = {0};

	crypto_random(a, sizeof a);
	crypto_random(b, sizeof b);
	CHECK(memcmp(a, b, sizeof a) != 0);
}

TEST(crypto_seal_round_trip)
{
	static const unsigned char key[SEAL_KEY_BYTES] = {1, 2, 3};
	static const struct span texts[] = {SPAN("the secret"), {NULL, 0}, SPAN("\0\0")};

	for (size_t i = 0; i < 3; i++) {
		AUTO_DONE(buf)
		sealed = BUF_INIT(texts[i].len + 28), again = BUF_INIT(1000), plain = BUF_INIT(texts[i].len);
		CHECK_OK(crypto_seal(key, texts[i], &sealed, &err));
		CHECK_INT(sealed.len, texts[i].len + 28);
		CHECK_OK(crypto_seal(key, texts[i], &again, &err));
		CHECK(!span_equal(buf_span(&sealed), buf_span(&again)));
		CHECK_OK(crypto_unseal(key, buf_span(&sealed), &plain, &err));
		CHECK_SPAN(buf_span(&plain), texts[i]);
	}
}

TEST(crypto_unseal_refuses_changes)
{
	static const unsigned char key[SEAL_KEY_BYTES] = {1}, other[SEAL_KEY_BYTES] = {2};
	AUTO_DONE(buf) sealed = BUF_INIT(1000);
	AUTO_DONE(buf) plain = BUF_INIT(1000);

	CHECK_OK(crypto_seal(key, SPAN("x"), &sealed, &err));
	for (size_t i = 0; i < sealed.len; i++) {
		sealed.ptr[i] ^= 1;
		CHECK_FAILS(crypto_unseal(key, buf_span(&sealed), &plain, &err), ERR_INVALID, "key file");
		sealed.ptr[i] ^= 1;
	}
	CHECK_FAILS(crypto_unseal(other, buf_span(&sealed), &plain, &err), ERR_INVALID, "key file");
	CHECK_FAILS(crypto_unseal(key, span_of(sealed.ptr, 27), &plain, &err), ERR_INVALID, "27 bytes");
	CHECK_FAILS(crypto_unseal(key, span_of(sealed.ptr, 28), &plain, &err), ERR_INVALID, "key file");
	CHECK_INT(plain.len, 0);
	AUTO_DONE(buf) small = BUF_INIT(28);
	CHECK_FAILS(crypto_seal(key, SPAN("x"), &small, &err), ERR_TOO_LARGE, "28");
}

TEST(crypto_out_of_memory)
{
	static const unsigned char key[SEAL_KEY_BYTES] = {1};
	AUTO_DONE(buf) out = BUF_INIT(1000);

	mem_fail_at(1);
	CHECK_FAILS(crypto_seal(key, SPAN("x"), &out, &err), ERR_MEMORY, "memory");
	buf_reset(&out);
	mem_fail_at(1);
	CHECK(!crypto_unbase64(SPAN("Zm9v"), &out));
}
