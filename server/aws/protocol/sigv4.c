#include "aws/protocol/sigv4.h"

#include "base/crypto.h"
#include "base/text/iso8601.h"

#include <ctype.h>
#include <stdio.h>

enum { CANONICAL_MAX_BYTES = 256 << 10, HEX_BYTES = 2 * SHA256_BYTES, TIME_BYTES = 16 };

static const struct span algorithm = {"AWS4-HMAC-SHA256", 16};

static enum status refuse(struct error *err, const char *code, const char *text)
{
	error_set(err, ERR_UNAUTHORIZED, "%s", text);
	if (err)
		err->code = code;
	return ERR_UNAUTHORIZED;
}

static enum status incomplete(struct error *err, const char *text)
{
	return refuse(err, "IncompleteSignatureException", text);
}

static enum status invalid(struct error *err, const char *text)
{
	return refuse(err, "InvalidSignatureException", text);
}

/* ---- the header ---- */

bool sigv4_is(struct span authorization)
{
	return span_starts_with(authorization, SPAN("AWS4-"));
}

static bool take_field(struct span part, struct span name, struct span *out)
{
	if (!span_starts_with(part, name))
		return false;
	*out = span_skip(part, name.len);
	return true;
}

/* KEY/DATE/REGION/SERVICE/aws4_request */
static bool split_credential(struct sigv4_authorization *out, struct span credential)
{
	struct span rest = credential, last;

	if (!span_next(&rest, '/', &out->key_id))
		return false;
	out->scope = rest;
	return span_next(&rest, '/', &out->date) && span_next(&rest, '/', &out->region) &&
	       span_next(&rest, '/', &out->service) && span_next(&rest, '/', &last) && !rest.ptr && out->key_id.len &&
	       out->date.len == 8 && out->region.len && out->service.len && span_equal(last, SPAN("aws4_request"));
}

enum status sigv4_parse(struct sigv4_authorization *out, struct span authorization, struct error *err)
{
	struct span rest = authorization, part, credential = SPAN("");

	*out = (struct sigv4_authorization){.signature = SPAN("")};
	if (!span_next(&rest, ' ', &part) || !span_equal(part, algorithm))
		return incomplete(err, "Unsupported AWS 'algorithm': only AWS4-HMAC-SHA256 is known.");
	while (span_next(&rest, ',', &part)) {
		part = span_trim(part);
		if (!take_field(part, SPAN("Credential="), &credential) &&
			!take_field(part, SPAN("SignedHeaders="), &out->signed_headers))
			take_field(part, SPAN("Signature="), &out->signature);
	}
	if (!credential.len)
		return incomplete(err, "Authorization header requires 'Credential' parameter.");
	if (!out->signature.len)
		return incomplete(err, "Authorization header requires 'Signature' parameter.");
	if (!out->signed_headers.len)
		return incomplete(err, "Authorization header requires 'SignedHeaders' parameter.");
	if (!split_credential(out, credential))
		return incomplete(err,
			"Credential must have exactly 5 slash-delimited elements: KEY/YYYYMMDD/REGION/SERVICE/aws4_request.");
	return OK;
}

/* ---- the request ---- */

static struct span find_header(const struct sigv4_request *request, struct span name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (span_equal_fold(request->headers[i].name, name))
			return request->headers[i].value;
	return SPAN("");
}

static bool is_signed(const struct sigv4_authorization *authorization, struct span name)
{
	struct span rest = authorization->signed_headers, part;

	while (span_next(&rest, ';', &part))
		if (span_equal_fold(part, name))
			return true;
	return false;
}

static enum status check_signed_headers(
	const struct sigv4_authorization *authorization, const struct sigv4_request *request, struct error *err)
{
	char text[200];

	if (!is_signed(authorization, SPAN("host")))
		return invalid(err, "'Host' must be a 'SignedHeader' in the AWS Authorization.");
	for (size_t i = 0; i < request->header_count; i++) {
		struct span name = request->headers[i].name;
		bool must_be = name.len > 6 && span_equal_fold(span_of(name.ptr, 6), SPAN("x-amz-"));
		if (!must_be || is_signed(authorization, name))
			continue;
		snprintf(text, sizeof text, "'%.*s' must be a 'SignedHeader' in the AWS Authorization.",
			SPAN_ARGS(span_cut(name, 100)));
		return invalid(err, text);
	}
	return OK;
}

/* 20261121T023159Z */
static bool parse_time(struct span text, int64_t *ms)
{
	char iso[ISO8601_BYTES];

	if (text.len != TIME_BYTES || text.ptr[8] != 'T' || text.ptr[15] != 'Z')
		return false;
	snprintf(iso, sizeof iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", text.ptr, text.ptr + 4, text.ptr + 6, text.ptr + 9,
		text.ptr + 11, text.ptr + 13);
	return iso8601_parse(span_from(iso), ms);
}

static void print_time(int64_t ms, char out[TIME_BYTES + 1])
{
	char iso[ISO8601_BYTES];

	iso8601_format(ms, iso);
	snprintf(
		out, TIME_BYTES + 1, "%.4s%.2s%.2sT%.2s%.2s%.2sZ", iso, iso + 5, iso + 8, iso + 11, iso + 14, iso + 17);
}

static enum status check_time(const struct sigv4_authorization *authorization, struct span time, int64_t now_ms,
	int64_t skew_ms, struct error *err)
{
	char text[200], now[TIME_BYTES + 1], limit[TIME_BYTES + 1];
	int64_t at_ms;

	if (!time.len)
		return incomplete(err, "Authorization header requires existence of a 'X-Amz-Date' header.");
	if (!parse_time(time, &at_ms))
		return incomplete(err, "X-Amz-Date must be a time in the form YYYYMMDD'T'HHMMSS'Z'.");
	if (!span_equal(authorization->date, span_of(time.ptr, 8)))
		return invalid(err, "Date in Credential scope does not match YYYYMMDD of X-Amz-Date.");
	if (at_ms >= now_ms - skew_ms && at_ms <= now_ms + skew_ms)
		return OK;
	bool is_old = at_ms < now_ms;
	print_time(now_ms, now);
	print_time(is_old ? now_ms - skew_ms : now_ms + skew_ms, limit);
	snprintf(text, sizeof text, "%s: %.*s is %s %s (%s %c %lld min.)",
		is_old ? "Signature expired" : "Signature not yet current", SPAN_ARGS(time),
		is_old ? "now earlier than" : "still later than", limit, now, is_old ? '-' : '+',
		(long long)(skew_ms / 60000));
	return invalid(err, text);
}

static void hash_hex(struct span bytes, char out[HEX_BYTES + 1])
{
	unsigned char hash[SHA256_BYTES];

	crypto_sha256(bytes, hash);
	crypto_hex(hash, sizeof hash, out);
}

/* The body's hash, which the client may have stated, too. */
static enum status hash_body(const struct sigv4_request *request, char out[HEX_BYTES + 1], struct error *err)
{
	const struct span no_body = SPAN("UNSIGNED-PAYLOAD");
	struct span stated = find_header(request, SPAN("x-amz-content-sha256"));

	if (request->may_be_unsigned && span_equal(stated, no_body)) {
		memcpy(out, no_body.ptr, no_body.len + 1);
		return OK;
	}
	if (span_equal(stated, no_body) || span_starts_with(stated, SPAN("STREAMING-")))
		return invalid(err,
			"x-amz-content-sha256: UNSIGNED-PAYLOAD and STREAMING- are S3's; the body must be signed as a whole.");
	hash_hex(request->body, out);
	if (stated.len && !span_equal(stated, span_from(out)))
		return invalid(err, "The x-amz-content-sha256 header is not the SHA-256 of the body that came.");
	return OK;
}

static void put_path(struct span path, struct buf *out)
{
	struct span part;
	bool is_first = true;

	while (span_next(&path, '/', &part)) {
		buf_append_text(out, is_first ? "" : "/");
		buf_append_percent_encoded(out, part);
		is_first = false;
	}
}

/* Trimmed, runs of blanks as one. */
static void put_value(struct span value, struct buf *out)
{
	bool was_blank = false;

	value = span_trim(value);
	for (size_t i = 0; i < value.len; i++) {
		bool is_blank = value.ptr[i] == ' ';
		if (!is_blank || !was_blank)
			buf_append_char(out, value.ptr[i]);
		was_blank = is_blank;
	}
}

static void put_header(const struct sigv4_request *request, struct span name, struct buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < name.len; i++)
		buf_append_char(out, (char)tolower((unsigned char)name.ptr[i]));
	buf_append_char(out, ':');
	for (size_t i = 0; i < request->header_count; i++) {
		if (!span_equal_fold(request->headers[i].name, name))
			continue;
		buf_append_text(out, is_first ? "" : ",");
		put_value(request->headers[i].value, out);
		is_first = false;
	}
	buf_append_char(out, '\n');
}

static enum status write_canonical(const struct sigv4_authorization *authorization, const struct sigv4_request *request,
	const char *body_hash, struct buf *out, struct error *err)
{
	struct span rest = authorization->signed_headers, name;
	size_t count = 0;

	buf_append_span(out, request->method);
	buf_append_char(out, '\n');
	put_path(request->path, out);
	buf_append_char(out, '\n');
	buf_append_span(out, request->query);
	buf_append_char(out, '\n');
	while (span_next(&rest, ';', &name) && count++ < SIGV4_HEADERS_MAX)
		put_header(request, name, out);
	buf_append_char(out, '\n');
	buf_append_span(out, authorization->signed_headers);
	buf_append_char(out, '\n');
	buf_append_text(out, body_hash);
	return out->failure || rest.ptr ? invalid(err, "There are too many headers, or too large ones, to be signed.")
					: OK;
}

static void sign(
	const struct sigv4_authorization *authorization, struct span secret, struct span text, char out[HEX_BYTES + 1])
{
	const struct span steps[] = {
		authorization->date, authorization->region, authorization->service, SPAN("aws4_request"), text};
	char first[4 + SIGV4_SECRET_MAX_BYTES];
	unsigned char key[SHA256_BYTES], next[SHA256_BYTES];
	size_t len = secret.len < SIGV4_SECRET_MAX_BYTES ? secret.len : SIGV4_SECRET_MAX_BYTES;

	memcpy(first, "AWS4", 4);
	memcpy(first + 4, secret.ptr, len);
	crypto_hmac_sha256(span_of(first, 4 + len), steps[0], key);
	for (size_t i = 1; i < sizeof steps / sizeof *steps; i++) {
		crypto_hmac_sha256(span_of((const char *)key, sizeof key), steps[i], next);
		memcpy(key, next, sizeof key);
	}
	crypto_hex(key, sizeof key, out);
}

enum status sigv4_verify(const struct sigv4_authorization *authorization, const struct sigv4_request *request,
	struct span secret, int64_t now_ms, int64_t skew_ms, struct error *err)
{
	struct span time = find_header(request, SPAN("x-amz-date"));
	AUTO_DONE(buf) canonical = BUF_INIT(CANONICAL_MAX_BYTES), text = BUF_INIT(4096);
	char hash[HEX_BYTES + 1], signature[HEX_BYTES + 1];

	TRY(check_signed_headers(authorization, request, err));
	TRY(check_time(authorization, time, now_ms, skew_ms, err));
	TRY(hash_body(request, hash, err));
	TRY(write_canonical(authorization, request, hash, &canonical, err));
	hash_hex(buf_span(&canonical), hash);
	buf_printf(&text, "AWS4-HMAC-SHA256\n%.*s\n%.*s\n%s", SPAN_ARGS(time), SPAN_ARGS(authorization->scope), hash);
	TRY(buf_status(&text, err));
	sign(authorization, secret, buf_span(&text), signature);
	if (authorization->signature.len == HEX_BYTES &&
		crypto_equal(authorization->signature.ptr, signature, HEX_BYTES))
		return OK;
	return invalid(err,
		"The request signature we calculated does not match the signature you provided. Check your AWS Secret Access "
		"Key and signing method. Consult the service documentation for details.");
}
