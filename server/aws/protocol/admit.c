/* Who is asking: by a bearer token as everywhere, or by the access key of a signature; else whoever needs no token. */
#include "aws/protocol/internal.h"
#include "aws/protocol/sigv4.h"
#include "http/guard.h"

#include <stdlib.h>

enum { QUERY_PAIRS = 20, QUERY_BYTES = 16 << 10 };

/* Where nobody needs a token, nobody needs a key: clients sign with whatever they have. */
static enum status admit_key(const struct aws *aws, const struct sigv4_authorization *authorization,
	struct principal *out, struct error *err)
{
	AUTO_DONE(buf) secret = BUF_INIT(SIGV4_SECRET_MAX_BYTES);
	struct error ignored;

	if (aws->options.find_key(aws->options.context, authorization->key_id, out, &secret) ||
		aws->options.authenticate(aws->options.context, SPAN(""), out, &ignored) == OK)
		return OK;
	return aws_error(err, ERR_UNAUTHORIZED, "UnrecognizedClientException",
		"The security token included in the request is invalid: no token has the access key '%.*s'",
		SPAN_ARGS(span_cut(authorization->key_id, 128)));
}

enum status aws_admit(void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	const struct aws *aws = context;
	struct span header = http_request_header(request, "Authorization"), token = guard_bearer(header);
	struct sigv4_authorization authorization;

	if (sigv4_is(header)) {
		TRY(sigv4_parse(&authorization, header, err));
		return admit_key(aws, &authorization, out, err);
	}
	if (aws->options.authenticate(aws->options.context, token, out, err) == OK)
		return OK;
	return token.len
		       ? ERR_UNAUTHORIZED
		       : aws_error(err, ERR_UNAUTHORIZED, "MissingAuthenticationTokenException",
				 "Missing Authentication Token: sign the request with an access key of this server's");
}

static struct span method_of(const struct http_request *request)
{
	enum http_method method = http_request_method(request);

	return method == HTTP_GET   ? SPAN("GET")
	       : method == HTTP_PUT ? SPAN("PUT")
				    : SPAN("POST"); /* none of ours has others */
}

struct encoded {
	struct span name, text; /* text: NAME=VALUE */
};

static int by_name(const void *left, const void *right)
{
	const struct encoded *a = left, *b = right;
	int order = span_compare(a->name, b->name);

	return order ? order : span_compare(a->text, b->text);
}

/* Encoded and in order, as it is signed. */
static enum status canonical_query(const struct aws_call *call, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(QUERY_BYTES);
	struct encoded pairs[QUERY_PAIRS];
	struct span name, value;
	size_t count = 0;

	for (; http_request_query_at(call->request, count, &name, &value); count++) {
		if (count == QUERY_PAIRS)
			return aws_error(err, ERR_UNAUTHORIZED, "InvalidSignatureException",
				"The request has more than %d parameters", QUERY_PAIRS);
		buf_reset(&text);
		buf_append_percent_encoded(&text, name);
		size_t name_len = text.len;
		buf_append_char(&text, '=');
		buf_append_percent_encoded(&text, value);
		TRY(buf_status(&text, err));
		pairs[count].text = arena_copy(call->arena, buf_span(&text));
		if (!pairs[count].text.ptr)
			return error_no_memory(err);
		pairs[count].name = span_of(pairs[count].text.ptr, name_len);
	}
	if (count)
		qsort(pairs, count, sizeof *pairs, by_name);
	buf_reset(&text);
	for (size_t i = 0; i < count; i++) {
		buf_append_text(&text, i ? "&" : "");
		buf_append_span(&text, pairs[i].text);
	}
	TRY(buf_status(&text, err));
	*out = arena_copy(call->arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

enum status aws_verify(const struct aws_call *call, struct error *err)
{
	struct span header = http_request_header(call->request, "Authorization");
	struct http_header headers[SIGV4_HEADERS_MAX];
	struct sigv4_authorization authorization;
	struct principal principal;
	AUTO_DONE(buf) secret = BUF_INIT(SIGV4_SECRET_MAX_BYTES);

	if (!sigv4_is(header))
		return OK;
	TRY(sigv4_parse(&authorization, header, err));
	if (!call->options->find_key(call->options->context, authorization.key_id, &principal, &secret))
		return call->principal->id ? aws_error(err, ERR_UNAUTHORIZED, "UnrecognizedClientException",
						     "The access key was revoked just now")
					   : OK;
	size_t count = http_request_headers(call->request, headers, SIGV4_HEADERS_MAX);
	if (count > SIGV4_HEADERS_MAX)
		return aws_error(err, ERR_UNAUTHORIZED, "InvalidSignatureException",
			"The request has %zu headers; at most %d are looked at", count, SIGV4_HEADERS_MAX);
	struct span query;
	TRY(canonical_query(call, &query, err));
	const struct sigv4_request request = {.method = method_of(call->request),
		.path = http_request_path(call->request),
		.query = query,
		.may_be_unsigned = http_request_method(call->request) == HTTP_GET,
		.body = http_request_body(call->request),
		.headers = headers,
		.header_count = count};
	return sigv4_verify(&authorization, &request, buf_span(&secret), call->now_ms, call->options->skew_ms, err);
}
