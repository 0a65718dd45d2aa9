/*
 * The addresses of files of runs. A client sends a file without its token, to an address that it was given; and it writes that, and
 * the headers that come with it, into a log of its own. So the address is good for this one path, for a day: sig=EXPIRY.TOKEN.MAC.
 */
#include "base/crypto.h"
#include "wandb/internal.h"

#include <inttypes.h>

enum { ADDRESS_MAX_BYTES = 8192, GOOD_FOR_S = 24 * 3600 };

/* A client knows the server by the name that it has asked for. *is_whole: with its scheme. */
static struct span origin_of(const struct wandb_call *call, bool *is_whole)
{
	struct span url = span_from(call->options->public_url ? call->options->public_url : "");
	struct span host = http_request_header(call->request, "Host");

	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	*is_whole = url.len > host.len + 3 && span_ends_with(url, host) && url.ptr[url.len - host.len - 1] == '/';
	return *is_whole ? url : host;
}

static void put_path(struct buf *out, struct span path)
{
	struct span rest = path, part;

	while (span_next(&rest, '/', &part)) {
		buf_append_char(out, '/');
		buf_append_percent_encoded(out, part);
	}
}

static void put_address(const struct wandb_call *call, const struct wandb_run *run, struct span path, struct buf *out)
{
	bool is_whole;
	struct span origin = origin_of(call, &is_whole);

	if (!is_whole)
		buf_append_text(out, call->options->is_tls ? "https://" : "http://");
	buf_append_span(out, origin);
	buf_append_text(out, "/files/");
	buf_append_percent_encoded(out, run->entity);
	buf_append_char(out, '/');
	buf_append_percent_encoded(out, run->project);
	buf_append_char(out, '/');
	buf_append_percent_encoded(out, run->id);
	buf_append_text(out, "/files");
	put_path(out, path);
}

/* ---- signed ---- */

struct leave {
	int64_t expires_s;
	uint64_t token_id;
	struct span project, id, path;
};

static enum status sign(const struct wandb_options *options, const struct leave *leave, char mac[WANDB_MAC_DIGITS + 1],
	struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ADDRESS_MAX_BYTES);

	buf_printf(&text, "wandb file\n%" PRId64 "\n%" PRIu64 "\n", leave->expires_s, leave->token_id);
	buf_append_percent_encoded(&text, leave->project);
	buf_append_char(&text, '/');
	buf_append_percent_encoded(&text, leave->id);
	put_path(&text, leave->path);
	TRY(buf_status(&text, err));
	options->sign(options->context, buf_span(&text), mac);
	return OK;
}

enum status wandb_write_address(struct wandb_call *call, const char *key, const struct wandb_run *run, struct span path,
	bool is_signed, struct error *err)
{
	AUTO_DONE(buf) url = BUF_INIT(ADDRESS_MAX_BYTES);
	struct leave leave = {.expires_s = call->now_ms / 1000 + GOOD_FOR_S,
		.token_id = http_request_principal(call->request)->id,
		.project = run->project,
		.id = run->id,
		.path = path};
	char mac[WANDB_MAC_DIGITS + 1];

	put_address(call, run, path, &url);
	if (is_signed) {
		TRY(sign(call->options, &leave, mac, err));
		buf_printf(&url, "?sig=%" PRId64 ".%" PRIu64 ".%s", leave.expires_s, leave.token_id, mac);
	}
	TRY(buf_status(&url, err));
	json_put_span(&call->w, key, buf_span(&url));
	return OK;
}

/* Whose leave it is. */
static enum status admit_signed(const struct wandb *wandb, const struct http_request *request, struct span signature,
	struct principal *out, struct error *err)
{
	struct leave leave = {.project = http_request_segment(request, 1),
		.id = http_request_segment(request, 2),
		.path = http_request_segment(request, 3)};
	struct span rest = signature, expiry, token;
	char mac[WANDB_MAC_DIGITS + 1];

	if (!span_next(&rest, '.', &expiry) || !span_parse_i64(expiry, &leave.expires_s) ||
		!span_next(&rest, '.', &token) || !span_parse_u64(token, &leave.token_id) ||
		rest.len != WANDB_MAC_DIGITS)
		return error_set_field(err, ERR_FORBIDDEN, "sig", "sig is none that CreateRunFiles gives");
	TRY(sign(&wandb->options, &leave, mac, err));
	if (!crypto_equal(mac, rest.ptr, WANDB_MAC_DIGITS))
		return error_set_field(
			err, ERR_FORBIDDEN, "sig", "sig is not this address's: CreateRunFiles gives one for each file");
	if (http_request_arrival_ms(request) / 1000 >= leave.expires_s)
		return error_set_field(err, ERR_FORBIDDEN, "sig",
			"this address was good until %" PRId64 " (Unix seconds): ask CreateRunFiles for another",
			leave.expires_s);
	return wandb->options.find_token(wandb->options.context, leave.token_id, out, err);
}

enum status wandb_admit_file(
	void *context, const struct http_request *request, struct principal *out, struct error *err)
{
	struct span signature;

	if (!http_request_query(request, "sig", &signature) || http_request_header(request, "Authorization").len)
		return wandb_admit(context, request, out, err);
	return admit_signed(context, request, signature, out, err);
}
