#include "people/sign_ins.h"

#include "base/clock.h"
#include "people/provider_settings.h"
#include "test.h"

#include <stdio.h>

static struct buf begin(struct sign_ins *all, int64_t from_now_ms, const char *return_path)
{
	struct sign_in one = {.provider = 3, .until_mono_ms = clock_mono_ms() + from_now_ms};
	struct buf state = BUF_INIT(SIGN_IN_STATE_BYTES);

	snprintf(one.return_path, sizeof one.return_path, "%s", return_path);
	CHECK_OK(sign_ins_write_state(all, &one, &state, &err));
	return state;
}

/* RFC 7636, appendix B */
TEST(a_challenge_is_as_the_rfc_has_it)
{
	char challenge[SIGN_IN_TEXT_BYTES + 1];

	sign_in_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", challenge);
	CHECK_TEXT(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST(a_sign_in_comes_back_once_and_in_time)
{
	AUTO(sign_ins) all = NULL;
	AUTO(sign_ins) other = NULL;
	char longest[SIGN_IN_RETURN_BYTES + 1];
	struct sign_in got;

	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	CHECK_OK(sign_ins_new(&all, &err));
	CHECK_OK(sign_ins_new(&other, &err));
	AUTO_DONE(buf)
	first = begin(all, 60000, "/jobs"), late = begin(all, 0, "/"), foreign = begin(other, 60000, "/"),
	second = begin(all, 60000, longest);
	CHECK(!sign_ins_take(all, SPAN(""), &got) && !sign_ins_take(all, span_of(first.ptr, first.len - 1), &got));
	CHECK(!sign_ins_take(all, buf_span(&late), &got) && !sign_ins_take(all, buf_span(&foreign), &got));
	CHECK(sign_ins_take(all, buf_span(&first), &got) && !sign_ins_take(all, buf_span(&first), &got));
	CHECK_TEXT(got.return_path, "/jobs");
	CHECK(got.provider == 3);
	second.ptr[100] ^= 1;
	CHECK(!sign_ins_take(all, buf_span(&second), &got));
	second.ptr[100] ^= 1;
	CHECK(sign_ins_take(all, buf_span(&second), &got));
	CHECK_TEXT(got.return_path, longest);
}

TEST(one_comes_back_to_this_server)
{
	static const char *const good[] = {"/", "/jobs/a%20b?x=1#y", "/a//b", "/\xc3\xa4"};
	static const char *const bad[] = {"", "jobs", "//host", "/\\host", "\\/host", "https://host", "/a\\b", "/a\nb",
		"/a\tb", "/\xc3", "/\x7f"};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		CHECK(sign_in_is_return_path(span_from(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!sign_in_is_return_path(span_from(bad[i])));
}

TEST(secrets_go_by_tls_or_stay_here)
{
	static const char *const good[] = {"https://id.example.org/x", "https://10.0.0.1:8443/x?y",
		"http://127.0.0.1:80/x", "http://localhost", "http://[::1]:80/", "https://[2001:db8::1]/x"};
	static const char *const bad[] = {"", "http://id.example.org", "http://127.0.0.1.evil.org/",
		"http://localhost.evil.org/", "http://127.0.0.1@evil.org/", "https://", "https:///x",
		"ftp://127.0.0.1/", "HTTPS://a", "https://a\\@b", "https://a b", "https://a#b",
		"http://[::1].evil.org/x"};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		CHECK(provider_is_safe_url(span_from(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!provider_is_safe_url(span_from(bad[i])));
}
