#include "api/core/session_cookies.h"

#include "api/core/page_sessions.h"
#include "http/guard.h"
#include "people/sign_ins.h"

#define SIGN_IN_COOKIE "smfleet_sign_in"

static bool is_https(const struct api *api)
{
	return span_starts_with(api->options.public_url, SPAN("https://"));
}

static bool has_host(const struct api *api)
{
	return guard_has_host(api->options.public_url);
}

static const char *prefix_of(const struct api *api)
{
	return has_host(api) ? GUARD_HOST_COOKIE : "";
}

static void put(struct http_response *response, const char *prefix, const char *name, struct span value,
	long long age_s, const char *same_site, bool is_secure)
{
	http_response_cookie(response, "%s%s=%.*s; Path=/; Max-Age=%lld; HttpOnly; SameSite=%s%s", prefix, name,
		SPAN_ARGS(value), age_s, same_site, is_secure ? "; Secure" : "");
}

static void put_session(
	struct http_response *response, const char *prefix, struct span value, long long age_s, bool is_secure)
{
	put(response, prefix, GUARD_SESSION_COOKIE, value, age_s, "Strict", is_secure);
}

void session_cookie_set_token(const struct api *api, struct http_response *response, struct span session)
{
	put_session(response, "", session, PAGE_SESSION_SECONDS, api->options.is_tls);
	if (has_host(api))
		put_session(response, GUARD_HOST_COOKIE, SPAN(""), 0, true);
}

void session_cookie_set_person(const struct api *api, struct http_response *response, struct span session)
{
	put_session(response, prefix_of(api), session, api->options.sign_in_ms / 1000, is_https(api));
	if (has_host(api))
		put_session(response, "", SPAN(""), 0, false);
}

void session_cookies_clear(const struct api *api, struct http_response *response)
{
	put_session(response, "", SPAN(""), 0, false);
	if (has_host(api))
		put_session(response, GUARD_HOST_COOKIE, SPAN(""), 0, true);
}

/* Lax: it comes along when another site leads here, which is what a provider does. */
void sign_in_cookie_set(const struct api *api, struct http_response *response, struct span value)
{
	put(response, prefix_of(api), SIGN_IN_COOKIE, value, SIGN_IN_SECONDS, "Lax", is_https(api));
}

void sign_in_cookie_clear(const struct api *api, struct http_response *response)
{
	put(response, prefix_of(api), SIGN_IN_COOKIE, SPAN(""), 0, "Lax", is_https(api));
}

struct span sign_in_cookie_of(const struct api *api, const struct http_request *request)
{
	return http_request_cookie(request, has_host(api) ? GUARD_HOST_COOKIE SIGN_IN_COOKIE : SIGN_IN_COOKIE);
}
