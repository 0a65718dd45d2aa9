#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

enum { HOST_BYTES = 256 };

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* The first that fits; longer prefixes before the networks they are in. */
static enum address_class classify_v4(uint32_t address)
{
	static const struct {
		uint32_t network;
		unsigned bits;
		enum address_class class;
	} networks[] = {
		{IPV4(100, 100, 100, 200), 32, ADDRESS_FORBIDDEN},
		{IPV4(168, 63, 129, 16), 32, ADDRESS_FORBIDDEN}, /* Azure's, though of a public range */
		{IPV4(0, 0, 0, 0), 8, ADDRESS_FORBIDDEN},
		{IPV4(169, 254, 0, 0), 16, ADDRESS_FORBIDDEN},
		{IPV4(192, 0, 0, 0), 24, ADDRESS_FORBIDDEN},
		{IPV4(224, 0, 0, 0), 3, ADDRESS_FORBIDDEN}, /* multicast, reserved, broadcast */
		{IPV4(127, 0, 0, 0), 8, ADDRESS_PRIVATE},
		{IPV4(10, 0, 0, 0), 8, ADDRESS_PRIVATE},
		{IPV4(172, 16, 0, 0), 12, ADDRESS_PRIVATE},
		{IPV4(192, 168, 0, 0), 16, ADDRESS_PRIVATE},
		{IPV4(100, 64, 0, 0), 10, ADDRESS_PRIVATE},
		{IPV4(198, 18, 0, 0), 15, ADDRESS_PRIVATE},
	};

	for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
		if (((address ^ networks[i].network) >> (32 - networks[i].bits)) == 0)
			return networks[i].class;
	return ADDRESS_PUBLIC;
}

static uint32_t v4_at(const unsigned char *bytes)
{
	return IPV4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

/* Does the address begin with the bytes? */
static int begins(const unsigned char *address, const void *prefix, size_t len)
{
	return memcmp(address, prefix, len) == 0;
}

static enum address_class classify_v6(const unsigned char a[16])
{
	static const unsigned char zeros[16],
		loopback[16] = {[15] = 1}, mapped[12] = {[10] = 0xff, [11] = 0xff}, nat64[12] = {0, 0x64, 0xff, 0x9b},
		aws[16] = {0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, teredo[4] = {0x20, 0x01, 0, 0},
		nat64_local[6] = {0, 0x64, 0xff, 0x9b, 0, 1}, six_to_four[2] = {0x20, 0x02};

	if (begins(a, loopback, 16))
		return ADDRESS_PRIVATE;
	if (begins(a, aws, 16) || begins(a, teredo, 4) ||
		begins(a, nat64_local, 6)) /* whose IPv4 address lies anywhere */
		return ADDRESS_FORBIDDEN;
	/* An IPv4 address inside: what a translator would connect to. */
	if (begins(a, mapped, 12) || begins(a, nat64, 12) || begins(a, zeros, 12))
		return classify_v4(v4_at(a + 12));
	if (begins(a, six_to_four, 2))
		return classify_v4(v4_at(a + 2));
	if (a[0] == 0xff || (a[0] == 0xfe && (a[1] & 0xc0) == 0x80))
		return ADDRESS_FORBIDDEN;
	if ((a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && (a[1] & 0xc0) == 0xc0))
		return ADDRESS_PRIVATE;
	return ADDRESS_PUBLIC;
}

enum address_class address_classify(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	switch (address->sa_family) {
	case AF_INET:
		memcpy(&v4, address, sizeof v4);
		return classify_v4(ntohl(v4.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&v6, address, sizeof v6);
		return classify_v6(v6.sin6_addr.s6_addr);
	default:
		return ADDRESS_FORBIDDEN;
	}
}

enum address_class address_of_host(struct span host)
{
	const struct addrinfo numbers = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char name[HOST_BYTES];

	if (!host.len || host.len >= sizeof name)
		return ADDRESS_PUBLIC;
	memcpy(name, host.ptr, host.len);
	name[host.len] = 0;
	if (getaddrinfo(name, NULL, &numbers, &found) != 0)
		return ADDRESS_PUBLIC;
	enum address_class class = address_classify(found->ai_addr);
	freeaddrinfo(found);
	return class;
}
