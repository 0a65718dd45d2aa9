#include "http/guard.h"

#include "base/crypto.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

enum { CREDENTIALS_MAX_BYTES = 4096 };

struct guard {
	bool is_tls;
	char *listen;
	char *allowed_hosts;
	char *public_url;
	char *cors_origins;
};

/* scheme://host[:port] */
static bool is_origin(struct span text)
{
	ptrdiff_t at = span_find(text, SPAN("://"));
	bool is_web = span_starts_with(text, SPAN("http://")) || span_starts_with(text, SPAN("https://"));
	struct span rest = is_web ? span_skip(text, (size_t)at + 3) : SPAN("");

	for (size_t i = 0; i < rest.len; i++)
		if (rest.ptr[i] <= ' ' || rest.ptr[i] >= 0x7f || rest.ptr[i] == '/' || rest.ptr[i] == '*')
			return false;
	return rest.len > 0;
}

static enum status check_readers(struct span list, struct error *err)
{
	struct span entry;

	while (span_next(&list, ',', &entry)) {
		entry = span_trim(entry);
		if (entry.len && !is_origin(entry))
			return error_set_field(err, ERR_INVALID, "cors-origins",
				"--cors-origins: '%.*s' is no origin, as https://notebooks.example.org is",
				SPAN_ARGS(entry));
	}
	return OK;
}

enum status guard_new(struct guard **out, const struct guard_options *options, struct error *err)
{
	AUTO(guard) guard = mem_zeroed(sizeof *guard);

	if (!guard || !(guard->listen = mem_copy_string(options->listen)) ||
		!(guard->allowed_hosts = mem_copy_string(options->allowed_hosts ? options->allowed_hosts : "")) ||
		!(guard->public_url = mem_copy_string(options->public_url ? options->public_url : "")) ||
		!(guard->cors_origins = mem_copy_string(options->cors_origins ? options->cors_origins : "")))
		return error_no_memory(err);
	TRY(check_readers(span_from(guard->cors_origins), err));
	guard->is_tls = options->is_tls;
	*out = TAKE(guard);
	return OK;
}

void guard_free(struct guard *guard)
{
	if (!guard)
		return;
	mem_free(guard->listen);
	mem_free(guard->allowed_hosts);
	mem_free(guard->public_url);
	mem_free(guard->cors_origins);
	mem_free(guard);
}

struct span guard_host_name(struct span authority)
{
	if (span_starts_with(authority, SPAN("["))) {
		ptrdiff_t end = span_find_char(authority, ']');
		return end < 0 ? authority : span_of(authority.ptr, (size_t)end + 1);
	}
	ptrdiff_t colon = span_find_char(authority, ':');
	return colon < 0 ? authority : span_of(authority.ptr, (size_t)colon);
}

/* A page can make its own name point to us, but not an address: literal addresses are always meant. */
static bool is_literal_address(struct span name)
{
	char text[INET6_ADDRSTRLEN + 1];
	struct in6_addr address;
	bool is_v6 = name.len > 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']';

	if (is_v6)
		name = span_of(name.ptr + 1, name.len - 2);
	if (name.len >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", SPAN_ARGS(name));
	return inet_pton(is_v6 ? AF_INET6 : AF_INET, text, &address) == 1;
}

static struct span url_authority(struct span url)
{
	ptrdiff_t at = span_find(url, SPAN("://"));
	struct span rest = at < 0 ? url : span_skip(url, (size_t)at + 3);
	ptrdiff_t slash = span_find_char(rest, '/');

	return slash < 0 ? rest : span_of(rest.ptr, (size_t)slash);
}

/* An entry without a port stands for all ports when ports do not matter. */
static bool is_listed(const struct guard *guard, struct span authority, bool ports_matter)
{
	struct span rest = span_from(guard->allowed_hosts), entry;

	while (span_next(&rest, ',', &entry)) {
		entry = span_trim(entry);
		if (entry.len && span_equal_fold(entry, authority))
			return true;
		if (entry.len && !ports_matter && span_equal_fold(guard_host_name(entry), guard_host_name(authority)))
			return true;
	}
	return false;
}

/* What follows the name: nothing, or a colon and a port. */
static bool is_authority(struct span authority, struct span name)
{
	struct span port = span_skip(authority, name.len);
	uint64_t number = 0;

	if (port.len && port.ptr[0] != ':')
		return false;
	port = span_skip(port, port.len > 0);
	return !port.len || (isdigit((unsigned char)port.ptr[0]) && span_parse_u64(port, &number) && number <= 65535);
}

enum status guard_check_host(const struct guard *guard, struct span host, struct error *err)
{
	struct span name = guard_host_name(host), listen = guard_host_name(span_from(guard->listen));
	struct span public_name = guard_host_name(url_authority(span_from(guard->public_url)));

	if (!is_authority(host, name))
		return error_set(err, ERR_INVALID, "the Host '%.*s' is no name with a port",
			(int)(host.len > 100 ? 100 : host.len), host.ptr);
	if (name.len && (span_equal_fold(name, SPAN("localhost")) || span_equal_fold(name, listen) ||
				span_equal_fold(name, public_name) || is_literal_address(name) ||
				is_listed(guard, host, false)))
		return OK;
	return error_set(err, ERR_MISDIRECTED,
		"the Host '%.*s' is not known here; name it by --allowed-host or --public-url if it should be",
		(int)(host.len > 100 ? 100 : host.len), host.ptr);
}

static bool is_own_origin(const struct guard *guard, struct span host, struct span origin)
{
	struct span scheme = guard->is_tls ? SPAN("https://") : SPAN("http://");
	struct span public_url = span_from(guard->public_url);

	if (public_url.len && public_url.ptr[public_url.len - 1] == '/')
		public_url.len--;
	if (public_url.len && span_equal_fold(origin, public_url))
		return true;
	if (host.len && span_starts_with(origin, scheme) && span_equal_fold(span_skip(origin, scheme.len), host))
		return true;
	bool is_web = span_starts_with(origin, SPAN("http://")) || span_starts_with(origin, SPAN("https://"));
	return is_web && is_listed(guard, url_authority(origin), true);
}

/* Sec-Fetch-Site "same-site" is foreign: another port of localhost is the same site. */
enum status guard_check_origin(
	const struct guard *guard, struct span host, struct span origin, struct span fetch_site, struct error *err)
{
	if (origin.len) {
		if (is_own_origin(guard, host, origin))
			return OK;
		return error_set(err, ERR_FORBIDDEN,
			"pages of '%.*s' may not use this server; name it by --allowed-host or --public-url if they should",
			(int)(origin.len > 100 ? 100 : origin.len), origin.ptr);
	}
	if (!fetch_site.len || span_equal(fetch_site, SPAN("same-origin")) || span_equal(fetch_site, SPAN("none")))
		return OK;
	return error_set(err, ERR_FORBIDDEN, "another site's page made this request (Sec-Fetch-Site: %.*s)",
		(int)(fetch_site.len > 40 ? 40 : fetch_site.len), fetch_site.ptr);
}

bool guard_has_readers(const struct guard *guard)
{
	return guard->cors_origins[0] != 0;
}

bool guard_is_reader(const struct guard *guard, struct span origin)
{
	struct span rest = span_from(guard->cors_origins), entry;

	while (origin.len && span_next(&rest, ',', &entry))
		if (span_equal_fold(span_trim(entry), origin))
			return true;
	return false;
}

struct span guard_cookie(struct span header, struct span name)
{
	struct span part;

	while (span_next(&header, ';', &part)) {
		part = span_trim(part);
		if (span_take(&part, name) && span_take(&part, SPAN("=")))
			return part;
	}
	return SPAN("");
}

bool guard_has_host(struct span public_url)
{
	struct span rest = public_url;

	if (span_ends_with(rest, SPAN("/")))
		rest.len--;
	return span_take(&rest, SPAN("https://")) && span_find_char(rest, '/') < 0;
}

/*
 * Of a session, not of a token: a cookie of an older server, or one that somebody has set by hand, lets nobody in. A person's counts by the
 * name that it is set by: by the other one a neighbour of this host could make a browser go on as somebody else.
 */
static struct span session_cookie(const struct guard *guard, struct span header)
{
	struct span cookie = guard_cookie(header, SPAN(GUARD_HOST_COOKIE GUARD_SESSION_COOKIE));
	bool may_be_person = cookie.len || !guard_has_host(span_from(guard->public_url));

	if (!cookie.len)
		cookie = guard_cookie(header, SPAN(GUARD_SESSION_COOKIE));
	return span_starts_with(cookie, SPAN("sms_")) || (may_be_person && span_starts_with(cookie, SPAN("smp_")))
		       ? cookie
		       : SPAN("");
}

struct span guard_bearer(struct span authorization)
{
	const struct span scheme = SPAN("Bearer ");

	return authorization.len > scheme.len && span_equal_fold(span_of(authorization.ptr, scheme.len), scheme)
		       ? span_trim(span_skip(authorization, scheme.len))
		       : SPAN("");
}

struct span guard_token(const struct guard *guard, struct span authorization, struct span cookie)
{
	struct span token = guard_bearer(authorization);

	return token.len ? token : session_cookie(guard, cookie);
}

bool guard_password(struct span authorization, struct buf *out)
{
	const struct span scheme = SPAN("Basic ");
	AUTO_DONE(buf) credentials = BUF_INIT(CREDENTIALS_MAX_BYTES);

	if (authorization.len <= scheme.len || !span_equal_fold(span_of(authorization.ptr, scheme.len), scheme) ||
		!crypto_unbase64(span_trim(span_skip(authorization, scheme.len)), &credentials))
		return false;
	struct span text = buf_span(&credentials);
	ptrdiff_t colon = span_find_char(text, ':');
	if (colon < 0)
		return false;
	buf_append_span(out, span_skip(text, (size_t)colon + 1));
	return !out->failure;
}
