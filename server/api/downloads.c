/*
 * GET /dl/NAME: the clients that are in this binary, for machines that have nothing of ours yet. Public: they hold no secret,
 * and who fetches one has no place for a token so far.
 */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "base/codec/inflate.h"

#include <stdio.h>

enum { MAX_FILE_BYTES = 64 << 20, SHA256_HEX = 64 };

/* "HEX  NAME" a line, as sha256sum writes it. */
static bool find_checksum(const struct embedded_file *table, struct span name, struct span *checksum)
{
	const struct embedded_file *sums = embedded_find(table, SPAN("SHA256SUMS"));
	struct span rest = sums ? embedded_span(sums) : SPAN(""), line;

	while (span_next(&rest, '\n', &line))
		if (line.len > SHA256_HEX + 2 && span_equal(span_skip(line, SHA256_HEX + 2), name)) {
			*checksum = span_of(line.ptr, SHA256_HEX);
			return true;
		}
	return false;
}

static enum status unpack(const struct embedded_file *file, struct buf *out, struct error *err)
{
	AUTO(inflater) inflater = NULL;
	struct span input = embedded_span(file), output;

	TRY(inflater_new(&inflater, ENCODING_GZIP, MAX_FILE_BYTES, err));
	out->max_bytes = MAX_FILE_BYTES;
	do {
		TRY(inflater_step(inflater, &input, &output, err));
		buf_append_span(out, output);
	} while (output.len);
	TRY(inflater_end(inflater, err));
	return buf_status(out, err);
}

static enum status refuse(struct span name, struct error *err)
{
	static const struct span ship = SPAN("sm-ship-");

	if (span_starts_with(name, ship))
		return error_set(err, ERR_NOT_FOUND,
			"this server was built without '%.*s'; on such a machine use /dl/sm_ship.py, or build it there "
			"(cmake -B build -DSM_PORTABLE_ONLY=ON; cmake --build build) and build the server with "
			"-DSM_SHIP_AARCH64=FILE or -DSM_SHIP_X86_64=FILE",
			SPAN_ARGS(name.len < 40 ? name : ship));
	return error_set(err, ERR_NOT_FOUND, "there is no such file; /dl/SHA256SUMS lists those that there are");
}

static void set_type(struct http_response *response, struct span name)
{
	response->content_type = span_ends_with(name, SPAN(".py"))      ? "text/x-python; charset=utf-8"
				 : span_equal(name, SPAN("SHA256SUMS")) ? "text/plain; charset=utf-8"
									: "application/octet-stream";
}

static bool is_current(const struct http_request *request, struct span checksum)
{
	struct span known = http_request_header(request, "If-None-Match");

	return span_equal(known, SPAN("*")) || span_find(known, checksum) >= 0;
}

enum status api_download(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct embedded_file *table = ((struct api *)context)->options.downloads;
	struct span name = http_request_segment(request, 0), checksum;
	char packed[80];

	(void)worker;
	set_type(response, name);
	http_response_header(response, "Cache-Control", "no-cache");
	if (span_equal(name, SPAN("SHA256SUMS"))) {
		buf_append_span(&response->body, embedded_span(embedded_find(table, name)));
		return OK;
	}
	if (name.len > 60 || !find_checksum(table, name, &checksum))
		return refuse(name, err);
	http_response_header(response, "ETag", "\"%.*s\"", SPAN_ARGS(checksum));
	http_response_header(response, "X-Checksum-Sha256", "%.*s", SPAN_ARGS(checksum));
	if (is_current(request, checksum)) {
		response->status = 304;
		return OK;
	}
	snprintf(packed, sizeof packed, "%.*s.gz", SPAN_ARGS(name));
	return unpack(embedded_find(table, span_from(packed)), &response->body, err);
}
