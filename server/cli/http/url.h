/*
 * Job: the address of a server, and text made safe for a path segment or a query value.
 * Ownership: plain values. Threads: any. Source: RFC 3986.
 */
#pragma once

#include "base/buf.h"

struct url {
	bool is_tls;
	bool is_ipv6_literal; /* the Host header wants its brackets back */
	char host[256]; /* without brackets */
	char port[6];
	char prefix[256]; /* of all paths, behind a proxy: "/smfleet"; never ends with '/' */
};

/* "http://host:8080", "https://host/prefix", "http://[::1]:8080", "host:8080"; ERR_INVALID names the text. */
enum status url_parse(struct url *out, struct span text, struct error *err) MUST_CHECK;
/* The next address of "A,B,C", for url_parse; *rest begins as the whole text. False: there is none left. */
bool url_next(struct span *rest, struct span *address);
/* As for the Host header: "host", "host:8080", "[::1]:8080". */
void url_put_host(const struct url *url, struct buf *out);
/* One spelling of an address, of several that of the first, for names that are made of it; what is no address stays as it is. */
void url_put_canonical(const char *text, struct buf *out);
/* "…/jobs/", "&stream=" and the like, and a value behind it, encoded. */
void url_put_value(struct buf *out, const char *before, struct span value);
