#include "http/guard.h"
#include "test.h"

static struct guard *make(const char *listen, const char *hosts, const char *url, bool is_tls)
{
	struct guard *guard = NULL;

	CHECK_OK(guard_new(&guard, &(struct guard_options){listen, hosts, url, is_tls, NULL}, &err));
	return guard;
}

TEST(known_hosts)
{
	static const char *const known[] = {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:9", "[::1]",
		"[::1]:8080", "10.1.2.3:80", "[2001:db8::7]:80", "node7:8080", "metrics.example", "metrics.example:443",
		"fleet.example", "Other.Example:99"};
	static const char *const unknown[] = {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
		"[::1", "[evil]", ":80", "metrics.example.evil", "1.2.3", "xfleet.example"};
	AUTO(guard) guard = make("node7:8080", "fleet.example, other.example", "https://metrics.example/", false);

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		CHECK_OK(guard_check_host(guard, span_from(known[i]), &err));
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		CHECK_FAILS(guard_check_host(guard, span_from(unknown[i]), &err), ERR_MISDIRECTED, "--allowed-host");
}

struct origin_case {
	const char *host, *origin, *fetch_site;
	bool is_ours;
};

TEST(own_and_foreign_origins)
{
	static const struct origin_case cases[] = {
		{"localhost:8080", "", "", true},
		{"localhost:8080", "", "none", true},
		{"localhost:8080", "", "same-origin", true},
		{"localhost:8080", "", "same-site", false},
		{"localhost:8080", "", "cross-site", false},
		{"localhost:8080", "http://localhost:8080", "same-origin", true},
		{"localhost:8080", "http://LOCALHOST:8080", "", true},
		{"localhost:8080", "http://localhost:3000", "same-site", false},
		{"localhost:8080", "https://localhost:8080", "", false},
		{"localhost:8080", "null", "", false},
		{"localhost:8080", "http://evil.example", "", false},
		{"localhost:8080", "http://evil.example", "same-origin", false},
		{"10.0.0.1:8080", "https://metrics.example", "same-origin", true},
		{"10.0.0.1:8080", "https://metrics.example.evil", "", false},
		{"10.0.0.1:8080", "http://localhost:5173", "same-site", true},
		{"10.0.0.1:8080", "ftp://localhost:5173", "", false},
		{"", "http://", "", false},
	};
	AUTO(guard) guard = make("0.0.0.0:8080", "localhost:5173", "https://metrics.example/", false);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct origin_case *c = &cases[i];
		enum status status = guard_check_origin(
			guard, span_from(c->host), span_from(c->origin), span_from(c->fetch_site), NULL);
		if (status != (c->is_ours ? OK : ERR_FORBIDDEN))
			test_fail(__FILE__, __LINE__, "case %zu: Host %s, Origin %s: %s", i, c->host, c->origin,
				status_name(status));
	}
}

TEST(tls_origins_are_https)
{
	AUTO(guard) guard = make("0.0.0.0:443", NULL, NULL, true);

	CHECK_OK(guard_check_origin(guard, SPAN("localhost"), SPAN("https://localhost"), SPAN(""), &err));
	CHECK_FAILS(guard_check_origin(guard, SPAN("localhost"), SPAN("http://localhost"), SPAN(""), &err),
		ERR_FORBIDDEN, "http://localhost");
}

TEST(tokens)
{
	AUTO(guard) guard = make("127.0.0.1:80", NULL, NULL, false);

	CHECK_SPAN(guard_token(guard, SPAN("Bearer abc"), SPAN("")), SPAN("abc"));
	CHECK_SPAN(guard_token(guard, SPAN("bearer  abc "), SPAN("smfleet_session=no")), SPAN("abc"));
	CHECK_SPAN(guard_token(guard, SPAN("Basic abc"), SPAN("smfleet_session=sms_yes")), SPAN("sms_yes"));
	CHECK_SPAN(guard_token(guard, SPAN(""), SPAN("a=1; smfleet_session=sms_yes; b=2")), SPAN("sms_yes"));
	CHECK_SPAN(guard_token(guard, SPAN(""), SPAN("xsmfleet_session=sms_no")), SPAN(""));
	CHECK_SPAN(guard_token(guard, SPAN(""), SPAN("smfleet_session=smf_no")), SPAN("")); /* a token is no session */
	CHECK_SPAN(guard_token(guard, SPAN("Bearer "), SPAN("")), SPAN(""));
	CHECK_SPAN(guard_token(guard, SPAN(""), SPAN("")), SPAN(""));
}

/* A neighbour of the host can set a cookie of the other name. */
TEST(where_a_cookie_can_be_of_the_host_alone_a_person_has_no_other)
{
	static const struct {
		const char *public_url;
		bool has_host;
	} cases[] = {{NULL, false}, {"http://a.example", false}, {"https://a.example/fleet", false},
		{"https://a.example", true}, {"https://a.example:444/", true}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO(guard) guard = make("127.0.0.1:80", NULL, cases[i].public_url, false);
		struct span plain = guard_token(guard, SPAN(""), SPAN("smfleet_session=smp_a"));
		CHECK_SPAN(plain, cases[i].has_host ? SPAN("") : SPAN("smp_a"));
		CHECK_SPAN(guard_token(guard, SPAN(""), SPAN("smfleet_session=sms_a")), SPAN("sms_a"));
		CHECK_SPAN(guard_token(guard, SPAN(""), SPAN("smfleet_session=sms_a; __Host-smfleet_session=smp_b")),
			SPAN("smp_b"));
	}
}
