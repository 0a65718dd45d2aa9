#include "ingest/ingest.h"

static const struct {
	const char *type;
	const struct ingest_protocol *protocol;
} types[] = {
	{"application/x-ndjson", &ingest_ndjson},
	{"application/ndjson", &ingest_ndjson},
	{"application/x-jsonlines", &ingest_ndjson},
	{"application/jsonlines", &ingest_ndjson},
	{"application/jsonl", &ingest_ndjson},
	{"application/json-lines", &ingest_ndjson},
	{"application/stream+json", &ingest_ndjson},
	{"application/x-www-form-urlencoded", &ingest_plain}, /* what curl -d says when it is told nothing */
	{"application/octet-stream", &ingest_plain},
};

const struct ingest_protocol *ingest_protocol_for(struct span content_type)
{
	ptrdiff_t semicolon = span_find_char(content_type, ';');
	struct span type = span_trim(semicolon < 0 ? content_type : span_of(content_type.ptr, (size_t)semicolon));

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (span_equal_fold(type, span_from(types[i].type)))
			return types[i].protocol;
	bool is_text = type.len >= 5 && span_equal_fold(span_of(type.ptr, 5), SPAN("text/"));
	return type.len == 0 || is_text ? &ingest_plain : NULL;
}
