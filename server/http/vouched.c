#include "http/vouched.h"

#include "http/request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>

enum { NETWORKS_MAX = 64, ADDRESS_BYTES = 16, V4_AT = 12 };

struct network {
	unsigned char bytes[ADDRESS_BYTES]; /* an IPv4 address as IPv6 maps it */
	unsigned bits;
};

struct vouched {
	struct network networks[NETWORKS_MAX];
	size_t count;
	char *user_header, *groups_header;
};

static const unsigned char mapped[V4_AT] = {[10] = 0xff, [11] = 0xff};

static bool parse_address(struct span text, unsigned char out[ADDRESS_BYTES], unsigned *bits)
{
	char name[INET6_ADDRSTRLEN + 1];
	bool is_v6 = span_find_char(text, ':') >= 0;

	if (text.len >= sizeof name)
		return false;
	snprintf(name, sizeof name, "%.*s", SPAN_ARGS(text));
	memcpy(out, mapped, sizeof mapped);
	*bits = is_v6 ? 128 : 32;
	return inet_pton(is_v6 ? AF_INET6 : AF_INET, name, is_v6 ? out : out + V4_AT) == 1;
}

/* "10.0.0.0/8", "::1" */
static bool parse_network(struct span text, struct network *out)
{
	ptrdiff_t slash = span_find_char(text, '/');
	struct span address = slash < 0 ? text : span_of(text.ptr, (size_t)slash);
	unsigned most;
	uint64_t bits;

	if (!parse_address(address, out->bytes, &most))
		return false;
	bits = most;
	if (slash >= 0 && (!span_parse_u64(span_skip(text, (size_t)slash + 1), &bits) || bits > most))
		return false;
	out->bits = 128 - most + (unsigned)bits;
	return true;
}

static enum status read_networks(struct vouched *vouched, struct span list, struct error *err)
{
	struct span entry;

	while (span_next(&list, ',', &entry)) {
		entry = span_trim(entry);
		if (!entry.len)
			continue;
		if (vouched->count == NETWORKS_MAX)
			return error_set_field(err, ERR_INVALID, "trusted-proxy",
				"--trusted-proxy names more than %d addresses", NETWORKS_MAX);
		if (!parse_network(entry, &vouched->networks[vouched->count++]))
			return error_set_field(err, ERR_INVALID, "trusted-proxy",
				"--trusted-proxy: '%.*s' is no address, as 10.1.2.3 or 10.0.0.0/8 or ::1 is",
				SPAN_ARGS(entry));
	}
	return OK;
}

static enum status copy_header(char **out, const char *name, const char *option, struct error *err)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '-')
			return error_set_field(err, ERR_INVALID, option,
				"--%s: '%s' is no name of a header made of letters, digits and -", option, name);
	*out = mem_copy_string(name);
	return *out ? OK : error_no_memory(err);
}

enum status vouched_new(struct vouched **out, const struct vouched_options *options, struct error *err)
{
	AUTO(vouched) vouched = NULL;

	*out = NULL;
	if (!options->proxies || !options->proxies[0])
		return OK;
	if (!(vouched = mem_zeroed(sizeof *vouched)))
		return error_no_memory(err);
	TRY(read_networks(vouched, span_from(options->proxies), err));
	TRY(copy_header(&vouched->user_header, options->user_header, "proxy-user-header", err));
	TRY(copy_header(&vouched->groups_header, options->groups_header, "proxy-groups-header", err));
	*out = TAKE(vouched);
	return OK;
}

void vouched_free(struct vouched *vouched)
{
	if (!vouched)
		return;
	mem_free(vouched->user_header);
	mem_free(vouched->groups_header);
	mem_free(vouched);
}

static bool is_within(const struct network *network, const unsigned char address[ADDRESS_BYTES])
{
	unsigned bytes = network->bits / 8, rest = network->bits % 8;

	return memcmp(network->bytes, address, bytes) == 0 &&
	       (!rest || ((network->bytes[bytes] ^ address[bytes]) >> (8 - rest)) == 0);
}

bool vouched_is_proxy(const struct vouched *vouched, const struct sockaddr *address)
{
	unsigned char bytes[ADDRESS_BYTES];

	if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
		return false;
	memcpy(bytes, mapped, sizeof mapped);
	if (address->sa_family == AF_INET)
		memcpy(bytes + V4_AT, &((const struct sockaddr_in *)address)->sin_addr, 4);
	else
		memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof bytes);
	for (size_t i = 0; i < vouched->count; i++)
		if (is_within(&vouched->networks[i], bytes))
			return true;
	return false;
}

/* As gateways fold names: X_Forwarded_User reaches a program of theirs as X-Forwarded-User does. */
static bool is_alike(struct span name, struct span wanted)
{
	for (size_t i = 0; i < wanted.len && i < name.len; i++) {
		char c = name.ptr[i] == '_' || name.ptr[i] == '.' ? '-' : name.ptr[i];
		if (tolower((unsigned char)c) != tolower((unsigned char)wanted.ptr[i]))
			return false;
	}
	return name.len == wanted.len;
}

static enum status take(const struct request_pair *pair, struct span wanted, bool is_proxy, bool *has, struct span *out,
	struct error *err)
{
	if (!is_alike(pair->name, wanted))
		return OK;
	if (!is_proxy)
		return error_set(err, ERR_FORBIDDEN,
			"the header %.*s counts from the addresses of --trusted-proxy alone", SPAN_ARGS(wanted));
	if (!span_equal_fold(pair->name, wanted) || *has)
		return error_set(err, ERR_INVALID,
			"the header %.*s is there twice, or by another spelling: the proxy has to take away what clients send",
			SPAN_ARGS(wanted));
	*has = true;
	*out = span_trim(pair->value);
	return OK;
}

enum status vouched_read(const struct vouched *vouched, const struct sockaddr *address,
	const struct http_request *request, struct vouched_person *out, struct error *err)
{
	bool is_proxy = vouched_is_proxy(vouched, address), has_user = false, has_groups = false;

	*out = (struct vouched_person){SPAN(""), SPAN("")};
	for (const struct request_pair *pair = request->headers.first; pair; pair = pair->next) {
		TRY(take(pair, span_from(vouched->user_header), is_proxy, &has_user, &out->user, err));
		TRY(take(pair, span_from(vouched->groups_header), is_proxy, &has_groups, &out->groups, err));
	}
	if (!span_is_utf8(out->user) || !span_is_utf8(out->groups))
		return error_set(err, ERR_INVALID, "what the proxy says of a person is no UTF-8");
	if (out->groups.len && !out->user.len)
		return error_set(
			err, ERR_INVALID, "the proxy names groups of nobody: %s is not there", vouched->user_header);
	return OK;
}
