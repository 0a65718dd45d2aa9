#include "http/vouched.h"

#include "http/request.h"
#include "test.h"

#include <arpa/inet.h>

static bool is_proxy(const struct vouched *vouched, const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return vouched_is_proxy(vouched, (const struct sockaddr *)&v4);
	CHECK(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
	return vouched_is_proxy(vouched, (const struct sockaddr *)&v6);
}

static enum status make(struct vouched **out, const char *proxies, struct error *err)
{
	return vouched_new(out, &(struct vouched_options){proxies, "X-Forwarded-User", "X-Forwarded-Groups"}, err);
}

TEST(networks_hold_what_begins_like_them)
{
	AUTO(vouched) vouched = NULL;

	CHECK_OK(make(&vouched, "10.0.0.0/8, 192.168.4.128/25,127.0.0.1,fd00:1::/33,::1", NULL));
	CHECK(is_proxy(vouched, "10.0.0.0") && is_proxy(vouched, "10.255.255.255"));
	CHECK(!is_proxy(vouched, "11.0.0.0") && !is_proxy(vouched, "9.255.255.255"));
	CHECK(is_proxy(vouched, "192.168.4.129") && !is_proxy(vouched, "192.168.4.127"));
	CHECK(is_proxy(vouched, "127.0.0.1") && !is_proxy(vouched, "127.0.0.2"));
	CHECK(is_proxy(vouched, "fd00:1:7fff::1") && !is_proxy(vouched, "fd00:1:8000::1"));
	CHECK(is_proxy(vouched, "::1") && !is_proxy(vouched, "::2"));
	CHECK(is_proxy(vouched, "::ffff:10.1.2.3") && !is_proxy(vouched, "::ffff:11.1.2.3"));
	CHECK(!is_proxy(vouched, "::10.1.2.3"));
	CHECK(!vouched_is_proxy(vouched, NULL));
	CHECK(!vouched_is_proxy(vouched, &(struct sockaddr){.sa_family = AF_UNIX}));
}

TEST(no_address_is_trusted_by_a_typing_error)
{
	static const char *const wrong[] = {"10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8",
		"::1/129", "proxy", "/8", "10.0.0.1 10.0.0.2"};
	struct error err;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		AUTO(vouched) vouched = NULL;
		CHECK(make(&vouched, wrong[i], &err) == ERR_INVALID);
	}
}

TEST(without_a_proxy_nothing_is_made)
{
	AUTO(vouched) vouched = NULL;

	CHECK_OK(make(&vouched, NULL, NULL));
	CHECK(!vouched);
	CHECK_OK(make(&vouched, "", NULL));
	CHECK(!vouched);
}
