/*
 * Signed addresses: who has one sees that one chart without a token, until it expires or the token that signed it is revoked.
 * sig=EXPIRY.TOKEN.MAC; the MAC is of the address taken apart, so that no proxy's way to write an escape matters.
 */
#include "api/core/signed_urls.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/core/tokens.h"
#include "base/crypto.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "http/request.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAC_BYTES = 16, CANONICAL_BYTES = 64 << 10, EXPIRES_DEFAULT_S = 30 * 24 * 3600 };

/* A key of its own: the one that seals is for sealing. */
static void make_mac(const struct api *api, struct span text, unsigned char out[MAC_BYTES])
{
	unsigned char key[SHA256_BYTES], mac[SHA256_BYTES];

	crypto_hmac_sha256(
		span_of((const char *)api->options.seal_key, SEAL_KEY_BYTES), SPAN("smfleet signed address 1"), key);
	crypto_hmac_sha256(span_of((const char *)key, sizeof key), text, mac);
	memcpy(out, mac, MAC_BYTES);
}

void api_sign(const void *api, struct span text, char digits[API_MAC_DIGITS + 1])
{
	unsigned char mac[MAC_BYTES];

	make_mac(api, text, mac);
	crypto_hex(mac, MAC_BYTES, digits);
}

static void put_pair(struct buf *out, struct span name, struct span value)
{
	buf_append_percent_encoded(out, name);
	buf_append_char(out, '=');
	buf_append_percent_encoded(out, value);
	buf_append_char(out, '\n');
}

/* Exactly this picture: all parameters in their order. */
static void write_chart(struct buf *out, struct span job, const struct http_request *request)
{
	struct span name, value;

	buf_append_text(out, "chart\n");
	put_pair(out, SPAN("job"), job);
	for (size_t i = 0; http_request_query_at(request, i, &name, &value); i++)
		if (!span_equal(name, SPAN("sig")))
			put_pair(out, name, value);
}

/* An embedded chart asks for points as its width and window change: of this job and metric, whatever the rest is. */
static void write_embed(struct buf *out, struct span job, struct span metric)
{
	buf_append_text(out, "embed\n");
	put_pair(out, SPAN("job"), job);
	put_pair(out, SPAN("metric"), metric);
}

/* ---- to check ---- */

static bool is_points(const struct http_request *request)
{
	return span_ends_with(http_request_path(request), SPAN("/points"));
}

/* What an embedded chart does not ask for is not signed either. */
static enum status check_parameters(const struct http_request *request, struct error *err)
{
	static const char *const others[] = {"raw", "format", "chain"};
	struct span value;

	for (size_t i = 0; is_points(request) && i < sizeof others / sizeof *others; i++)
		if (http_request_query(request, others[i], &value))
			return error_set_field(
				err, ERR_FORBIDDEN, others[i], "a signed address does not give '%s'", others[i]);
	return OK;
}

static bool is_own_mac(
	const struct api *api, const struct http_request *request, struct span signature, struct span mac_text)
{
	AUTO_DONE(buf) text = BUF_INIT(CANONICAL_BYTES);
	unsigned char mac[MAC_BYTES];
	char digits[2 * MAC_BYTES + 1];
	struct span metric = SPAN("");

	buf_append(&text, signature.ptr, (size_t)(mac_text.ptr - signature.ptr));
	buf_append_char(&text, '\n');
	http_request_query(request, "metric", &metric);
	if (is_points(request))
		write_embed(&text, http_request_segment(request, 0), metric);
	else
		write_chart(&text, http_request_segment(request, 0), request);
	if (text.failure || mac_text.len != 2 * MAC_BYTES)
		return false;
	make_mac(api, buf_span(&text), mac);
	crypto_hex(mac, MAC_BYTES, digits);
	return crypto_equal(digits, mac_text.ptr, 2 * MAC_BYTES);
}

/* It shows what whoever signed may see. */
static enum status lend(struct api *api, uint64_t token_id, struct principal *out, struct error *err)
{
	struct principal holder;

	TRY(tokens_find_holder(api, token_id, &holder, err));
	*out = (struct principal){.scope = SCOPE_READ, .name = "signed address", .id = token_id};
	if (api_is_narrow(api, &holder))
		memcpy(out->team, holder.team, sizeof out->team);
	return OK;
}

enum status signatures_check(
	void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	struct api *api = context;
	struct span signature = SPAN(""), rest, expiry, token;
	int64_t expires_s;
	uint64_t token_id;

	http_request_query(request, "sig", &signature);
	rest = signature;
	bool is_whole = span_next(&rest, '.', &expiry) && span_parse_i64(expiry, &expires_s) &&
			span_next(&rest, '.', &token) && span_parse_u64(token, &token_id);
	if (!is_whole || !is_own_mac(api, request, signature, rest))
		return error_set_field(err, ERR_FORBIDDEN, "sig",
			"sig is not this address's: it is of exactly one, and was made by POST /api/v1/signatures");
	if (http_request_arrival_ms(request) / 1000 >= expires_s)
		return error_set_field(err, ERR_FORBIDDEN, "sig",
			"this address was good until %" PRId64 " (Unix seconds); have it signed again", expires_s);
	if (!tokens_may_read(api, token_id))
		return error_set_field(
			err, ERR_FORBIDDEN, "sig", "the token that signed this address is no longer known here");
	TRY(check_parameters(request, err));
	return lend(api, token_id, out, err);
}

/* ---- to sign ---- */

static struct span path_of(struct span url)
{
	ptrdiff_t scheme = span_find(url, SPAN("://"));
	struct span rest = scheme < 0 ? url : span_skip(url, (size_t)scheme + 3);
	ptrdiff_t slash = scheme < 0 ? 0 : span_find_char(rest, '/');

	return slash < 0 ? SPAN("") : span_skip(rest, (size_t)slash);
}

static enum status write_address(const struct http_request *address, struct buf *out, struct error *err)
{
	const struct span *segments = address->segments;
	struct span embed = SPAN(""), metric = SPAN(""), signature;

	http_request_query(address, "embed", &embed);
	http_request_query(address, "metric", &metric);
	bool is_chart = address->segment_count == 5 && span_equal(segments[0], SPAN("api")) &&
			span_equal(segments[1], SPAN("v1")) && span_equal(segments[2], SPAN("jobs")) &&
			span_equal(segments[4], SPAN("chart.svg"));
	bool is_embed =
		address->segment_count == 2 && span_equal(segments[0], SPAN("jobs")) && span_equal(embed, SPAN("1"));
	if (http_request_query(address, "sig", &signature))
		return error_set_field(err, ERR_SEMANTIC, "url", "this address has a sig already: leave it out");
	if (!metric.len || (!is_chart && !is_embed))
		return error_set_field(err, ERR_SEMANTIC, "url",
			"url is /api/v1/jobs/JOB/chart.svg?metric=… or /jobs/JOB?embed=1&metric=…, nothing else is signed");
	if (is_chart)
		write_chart(out, segments[3], address);
	else
		write_embed(out, segments[1], metric);
	return buf_status(out, err);
}

static enum status take_apart(struct span url, struct buf *out, struct error *err)
{
	struct http_request address = {0};

	TRY(request_init(&address, err));
	enum status status = request_parse_target(&address, path_of(url), err);
	if (status == OK)
		status = write_address(&address, out, err);
	else
		status = error_set_field(err, ERR_SEMANTIC, "url", "url is no address of this server");
	request_done(&address);
	return status;
}

static enum status sign(const struct api *api, struct span url, int64_t expires_s, uint64_t token_id,
	struct http_response *response, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(CANONICAL_BYTES);
	AUTO_DONE(buf) signature = BUF_INIT(128);
	AUTO_DONE(buf) signed_url = BUF_INIT(CANONICAL_BYTES);
	unsigned char mac[MAC_BYTES];
	char digits[2 * MAC_BYTES + 1];

	buf_printf(&signature, "%" PRId64 ".%" PRIu64 ".", expires_s, token_id);
	buf_append_span(&text, buf_span(&signature));
	buf_append_char(&text, '\n');
	TRY(take_apart(url, &text, err));
	make_mac(api, buf_span(&text), mac);
	crypto_hex(mac, MAC_BYTES, digits);
	buf_append_text(&signature, digits);
	buf_printf(&signed_url, "%.*s&sig=%.*s", SPAN_ARGS(url), SPAN_ARGS(buf_span(&signature)));
	TRY(buf_status(&signed_url, err));
	struct json_writer w = api_reply(response);
	response->status = 201;
	json_object(&w);
	json_put_span(&w, "url", buf_span(&signed_url));
	json_put_span(&w, "sig", buf_span(&signature));
	json_put_i64(&w, "expires_ms", expires_s * 1000);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_signatures_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	struct span url = SPAN("");
	int64_t expires_in_s = EXPIRES_DEFAULT_S, most_s = api->options.max_signature_ms / 1000;

	(void)worker;
	if (http_request_principal(request)->is_person)
		return error_set(err, ERR_FORBIDDEN,
			"an address is signed for a token, so that it ends with it: sign it by a request with one");
	if (expires_in_s > most_s)
		expires_in_s = most_s;
	TRY(api_body_object(request, &body, err));
	TRY(json_want_string(body, "url", &url, err));
	TRY(json_want_i64(body, "expires_in_s", &expires_in_s, err));
	if (expires_in_s < 1 || expires_in_s > most_s)
		return error_set_field(err, ERR_SEMANTIC, "expires_in_s",
			"expires_in_s %" PRId64 " is not between 1 and %" PRId64 " (--max-signature)", expires_in_s,
			most_s);
	return sign(api, url, http_request_arrival_ms(request) / 1000 + expires_in_s,
		http_request_principal(request)->id, response, err);
}
