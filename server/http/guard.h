/*
 * Job: is this request meant for us, and may the page that made it talk to us? Host against DNS rebinding, Origin and
 *      Sec-Fetch-Site against other sites; and where the token is.
 * Ownership: the guard copies its options. Threads: any, after guard_new.
 * Source: RFC 9110 15.5.20 (421), the Fetch metadata request headers (W3C), RFC 6750 (Bearer), RFC 6265 (cookies).
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

struct guard;

struct guard_options {
	const char *listen;
	const char *allowed_hosts; /* separated by commas; NULL as "" */
	const char *public_url; /* NULL as "" */
	bool is_tls;
	const char *cors_origins; /* whose pages may read, separated by commas; NULL as "" */
};

enum status guard_new(struct guard **out, const struct guard_options *options, struct error *err) MUST_CHECK;
void guard_free(struct guard *guard);

/* "example.org:8080" -> "example.org", "[::1]:80" -> "[::1]". */
struct span guard_host_name(struct span authority);

/* localhost, literal addresses, what we listen on, what is allowed: OK; ERR_MISDIRECTED otherwise. */
enum status guard_check_host(const struct guard *guard, struct span host, struct error *err) MUST_CHECK;
/* Both headers may be empty. ERR_FORBIDDEN when another site's page made the request. */
enum status guard_check_origin(const struct guard *guard, struct span host, struct span origin, struct span fetch_site,
	struct error *err) MUST_CHECK;

/* Is there any page of elsewhere that may read? Then what is answered depends on Origin. */
bool guard_has_readers(const struct guard *guard);
/* Is it of a page that may read, by a token in its header, never by a cookie? */
bool guard_is_reader(const struct guard *guard, struct span origin);

/* The first of this name in a Cookie header; empty: there is none. */
struct span guard_cookie(struct span header, struct span name);

/* A cookie whose name begins so is this host's alone, whatever its neighbours set (RFC 6265bis, 4.1.3.2); it needs https. */
#define GUARD_HOST_COOKIE "__Host-"
#define GUARD_SESSION_COOKIE "smfleet_session"
/* Can it have such a cookie? It can where browsers come by https, and the whole host is this server. */
bool guard_has_host(struct span public_url);
/* The token of "Authorization: Bearer TOKEN"; empty: there is none. */
struct span guard_bearer(struct span authorization);
/*
 * The same, else of the session's cookie, whose value is a session (of a token sms_…, of a person smp_…), not a token (tokens are made of
 * URL-safe characters, so that it needs no quoting). Empty: none was sent.
 */
struct span guard_token(const struct guard *guard, struct span authorization, struct span cookie);
/* The password of "Authorization: Basic …", which other products' clients send the token as. False: it is no such header. */
bool guard_password(struct span authorization, struct buf *out);

AUTO_TYPE(guard)
