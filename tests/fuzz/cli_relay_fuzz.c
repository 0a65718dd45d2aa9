/* What a training's client sends to the relay: whole or in pieces it is the same; and records of the spool as requests. */
#include "cli/relay/relay_core.h"
#include "cli/relay/relay_mlflow.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_request(struct span bytes)
{
	struct relay_request whole, part;
	bool is_whole, is_part;
	AUTO_DONE(buf) value = BUF_INIT(4096);

	if (relay_request_read(bytes, 4096, &whole, &is_whole, NULL) != OK || !is_whole)
		return;
	(void)relay_request_query(&whole, "run_id", &value);
	if (whole.whole_bytes > bytes.len ||
		relay_request_read(span_of(bytes.ptr, whole.whole_bytes - 1), 4096, &part, &is_part, NULL) != OK ||
		is_part)
		abort();
}

static void compose(struct span records)
{
	while (records.len) {
		struct relay_sending sending = {.path = BUF_INIT(4096), .body = BUF_INIT(1 << 20)};
		enum status status = relay_mlflow_compose(records, "job", &sending, NULL);
		if (sending.bytes == 0 || sending.bytes > records.len)
			abort();
		if (status == OK && sending.body.failure == OK && sending.path.failure == OK) {
			AUTO(json) document = NULL;
			buf_append_char(&sending.body, '}');
			if (sending.body.failure == OK && json_parse(&document, buf_span(&sending.body), NULL) != OK)
				abort();
		}
		records = span_skip(records, sending.bytes);
		buf_done(&sending.path);
		buf_done(&sending.body);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span bytes = span_of((const char *)data, size);

	read_request(bytes);
	compose(bytes);
	return 0;
}
