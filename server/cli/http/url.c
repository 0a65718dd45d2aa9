#include "cli/http/url.h"

#include <ctype.h>
#include <stdio.h>

static bool copy_text(char *out, size_t room, struct span text)
{
	if (text.len >= room)
		return false;
	if (text.len)
		memcpy(out, text.ptr, text.len);
	out[text.len] = 0;
	return true;
}

/* "host", "host:port", "[v6]", "[v6]:port" */
static bool parse_authority(struct url *url, struct span text, const char *default_port)
{
	struct span host = text, port = span_from(default_port);
	ptrdiff_t end = span_find_char(text, ']');

	if (text.len && text.ptr[0] == '[') {
		if (end < 0)
			return false;
		host = span_of(text.ptr + 1, (size_t)end - 1);
		text = span_skip(text, (size_t)end + 1);
		url->is_ipv6_literal = true;
		if (text.len && text.ptr[0] != ':')
			return false;
		port = text.len ? span_skip(text, 1) : port;
	} else {
		ptrdiff_t colon = span_find_char(text, ':');
		if (colon >= 0) {
			host = span_of(text.ptr, (size_t)colon);
			port = span_skip(text, (size_t)colon + 1);
		}
	}
	uint64_t number;
	if (!span_parse_u64(port, &number) || number == 0 || number > 65535)
		return false;
	for (size_t i = 0; i < host.len; i++)
		if (!isgraph((unsigned char)host.ptr[i]) || strchr("/?#@\\\"<>", host.ptr[i]))
			return false;
	return host.len && copy_text(url->host, sizeof url->host, host) && copy_text(url->port, sizeof url->port, port);
}

bool url_next(struct span *rest, struct span *address)
{
	return span_next(rest, ',', address);
}

enum status url_parse(struct url *out, struct span text, struct error *err)
{
	struct url url = {0};
	struct span rest = span_trim(text);
	ptrdiff_t scheme_end = span_find(rest, SPAN("://"));

	if (scheme_end >= 0) {
		struct span scheme = span_of(rest.ptr, (size_t)scheme_end);
		url.is_tls = span_equal_fold(scheme, SPAN("https"));
		if (!url.is_tls && !span_equal_fold(scheme, SPAN("http")))
			return error_set_field(err, ERR_INVALID, "server",
				"server address '%.*s': neither http:// nor https://", SPAN_ARGS(text));
		rest = span_skip(rest, (size_t)scheme_end + 3);
	}
	ptrdiff_t slash = span_find_char(rest, '/');
	struct span authority = slash < 0 ? rest : span_of(rest.ptr, (size_t)slash);
	struct span prefix = span_skip(rest, authority.len);
	while (span_ends_with(prefix, SPAN("/")))
		prefix.len--;
	for (size_t i = 0; i < prefix.len; i++)
		if (!isgraph((unsigned char)prefix.ptr[i]) || prefix.ptr[i] == '?' || prefix.ptr[i] == '#')
			return error_set_field(err, ERR_INVALID, "server",
				"server address '%.*s': no query or space may stand in it", SPAN_ARGS(text));
	if (!parse_authority(&url, authority, url.is_tls ? "443" : "80") ||
		!copy_text(url.prefix, sizeof url.prefix, prefix))
		return error_set_field(err, ERR_INVALID, "server",
			"server address '%.*s' is not of the form http://HOST:PORT", SPAN_ARGS(text));
	*out = url;
	return OK;
}

void url_put_host(const struct url *url, struct buf *out)
{
	buf_printf(out, url->is_ipv6_literal ? "[%s]" : "%s", url->host);
	if (strcmp(url->port, url->is_tls ? "443" : "80") != 0)
		buf_printf(out, ":%s", url->port);
}

void url_put_canonical(const char *text, struct buf *out)
{
	struct span rest = span_from(text), first = rest;
	struct url url;

	if (!url_next(&rest, &first) || url_parse(&url, first, NULL) != OK) {
		buf_append_text(out, text);
		return;
	}
	for (char *c = url.host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	uint64_t port = 0;
	if (span_parse_u64(span_from(url.port), &port)) /* "08080" */
		snprintf(url.port, sizeof url.port, "%u", (unsigned)(uint16_t)port);
	buf_append_text(out, url.is_tls ? "https://" : "http://");
	url_put_host(&url, out);
	buf_append_text(out, url.prefix);
}

void url_put_value(struct buf *out, const char *before, struct span value)
{
	buf_append_text(out, before);
	buf_append_percent_encoded(out, value);
}
