/* {"resourceLogs":[{"resource":{…},"scopeLogs":[{"logRecords":[…]}]}]}, and the same of metrics and spans. */
#include "ingest/otlp/otlp.h"

static enum status take_scope(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			return OK;
		TRY(json_scan_is(&key, request->items) ? json_scan_each(s, request->take, request, err)
						       : json_scan_skip(s, err));
	}
}

/* The scopes may stand before the resource: where they are is kept, and they are read when the object has ended. */
static enum status take_resource(void *context, struct json_scan *s, struct error *err)
{
	struct otlp_json *request = context;
	struct ingest_parser *parser = request->parser;
	struct json_scan resource = json_scan_on(SPAN("{}")), scopes = json_scan_on(SPAN("[]"));
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(s, '{', err));
	for (;;) {
		TRY(json_scan_key(s, &key, &is_end, err));
		if (is_end)
			break;
		if (json_scan_is(&key, "resource"))
			resource = *s;
		else if (json_scan_is(&key, request->scopes))
			scopes = *s;
		TRY(json_scan_skip(s, err));
	}
	const char *from = resource.at;
	TRY(otlp_resource_json(parser, &resource, err));
	TRY(push_begin_stream(parser, request->batch, err));
	push_identify(parser, request->batch, span_of(from, (size_t)(resource.at - from)));
	if (request->begin)
		TRY(request->begin(parser, request->batch, err));
	TRY(json_scan_each(&scopes, take_scope, request, err));
	if (request->end)
		TRY(request->end(parser, request->batch, err));
	return push_end_stream(parser, request->batch, err);
}

enum status otlp_request_json(struct otlp_json *request, struct error *err)
{
	struct ndjson_value key;
	struct span body;
	bool is_end;

	TRY(push_content(request->parser, request->parser->options.is_snappy, &body, err));
	struct json_scan s = json_scan_on(body);
	TRY(json_scan_open(&s, '{', err));
	for (;;) {
		TRY(json_scan_key(&s, &key, &is_end, err));
		if (is_end)
			return json_scan_end(&s, err);
		TRY(json_scan_is(&key, request->resources) ? json_scan_each(&s, take_resource, request, err)
							   : json_scan_skip(&s, err));
	}
}
