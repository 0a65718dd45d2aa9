#include "http/peers.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage address = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};

	if (address.ss_family == AF_INET6)
		inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&address)->sin6_addr);
	else
		inet_pton(AF_INET, text, &((struct sockaddr_in *)&address)->sin_addr);
	return address;
}

static bool may_come(struct peers *peers, const char *text)
{
	struct sockaddr_storage address = address_of(text);

	return peers_may_come(peers, (struct sockaddr *)&address);
}

TEST(a_network_of_ipv6_counts_as_one_address)
{
	const struct peers_options options = {.max_an_address = 2, .proxies = "127.0.0.1, 2001:db8::7"};
	const char *const here[] = {"2001:db8::1", "2001:db8::ffff:2"};
	struct peer *held[2];
	AUTO(peers) peers = NULL;

	CHECK_OK(peers_start(&peers, &options, NULL));
	for (int i = 0; i < 2; i++) {
		struct sockaddr_storage address = address_of(here[i]);
		CHECK(may_come(peers, "2001:db8::3"));
		held[i] = peers_add(peers, -1, (struct sockaddr *)&address);
	}
	CHECK(!may_come(peers, "2001:db8::3"));
	CHECK(may_come(peers, "2001:db8::7")); /* a proxy is one machine */
	CHECK(may_come(peers, "2001:db8:0:1::1"));
	CHECK(may_come(peers, "::ffff:10.0.0.1"));
	peers_remove(peers, held[0]);
	CHECK(may_come(peers, "2001:db8::3"));
	peers_remove(peers, held[1]);
}

TEST(addresses_of_ipv4_count_each)
{
	const struct peers_options options = {.max_an_address = 1};
	struct sockaddr_storage mapped = address_of("::ffff:10.0.0.1");
	AUTO(peers) peers = NULL;

	CHECK_OK(peers_start(&peers, &options, NULL));
	struct peer *held = peers_add(peers, -1, (struct sockaddr *)&mapped);
	CHECK(!may_come(peers, "10.0.0.1"));
	CHECK(may_come(peers, "10.0.0.2"));
	CHECK(may_come(peers, "::ffff:10.0.0.2"));
	peers_remove(peers, held);
}
