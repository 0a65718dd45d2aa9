#include "cli/http/resolve.h"
#include "base/clock.h"
#include "test.h"

#include <arpa/inet.h>
#include <stdio.h>

/* No name service is asked for these. */
TEST(an_address_is_its_own_host)
{
	static const struct {
		const char *host, *port, *text;
	} table[] = {{"127.0.0.1", "8080", "127.0.0.1"}, {"::1", "1", "::1"}, {"0:0::1", "65535", "::1"},
		{"10.1", "80", "10.0.0.1"}};
	_Atomic int64_t give_up_ms = 1; /* long ago, and the deadline as well */

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct addrinfo *found = NULL;
		char text[INET6_ADDRSTRLEN] = "";
		CHECK_OK(resolve_host(&found, table[i].host, table[i].port, 0, &give_up_ms, &err));
		bool is_v6 = found->ai_family == AF_INET6;
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)found->ai_addr;
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)found->ai_addr;
		CHECK(inet_ntop(
			found->ai_family, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, text, sizeof text));
		in_port_t port = is_v6 ? v6->sin6_port : v4->sin_port;
		CHECK_INT(found->ai_socktype, SOCK_STREAM);
		CHECK(!found->ai_next);
		freeaddrinfo(found);
		CHECK_TEXT(text, table[i].text);
		char number[8];
		snprintf(number, sizeof number, "%d", ntohs(port));
		CHECK_TEXT(number, table[i].port);
	}
}

/* A name that no service can have: a label of 64 bytes. */
TEST(a_host_that_cannot_be_is_not_found)
{
	_Atomic int64_t never = 0;
	struct addrinfo *found = NULL;
	char host[70];

	memset(host, 'a', sizeof host);
	memcpy(host + 64, ".test", 6);
	CHECK_FAILS(resolve_host(&found, host, "80", clock_mono_ms() + 60000, &never, &err), ERR_UNAVAILABLE,
		"cannot find host 'aaaa");
	CHECK(!found);
}
