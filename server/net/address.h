/*
 * Job: what kind of network an address belongs to. Pure.
 * Ownership: values. Threads: any.
 * Source: IANA's special-purpose registries (RFC 6890); the metadata services of AWS (169.254.169.254, fd00:ec2::254), Oracle
 *         (192.0.0.192), Alibaba (100.100.100.200) and Azure (168.63.129.16).
 */
#pragma once

#include "base/span.h"

#include <sys/socket.h>

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_PRIVATE, /* loopback, RFC 1918, shared, unique local */
	ADDRESS_FORBIDDEN, /* link-local, metadata services, multicast, "this network", families that are not IP */
};

enum address_class address_classify(const struct sockaddr *address);
/* Of a host that is written in numbers, in any of the ways that connections take. A name is ADDRESS_PUBLIC: what it stands for is known
 * with each connection. */
enum address_class address_of_host(struct span host);
