/* Whatever is in the names (but NUL, which no name holds) and figures, the message is one JSON document with the id in it. */
#include "alert/rule.h"
#include "alert/webhook.h"
#include "base/json/json_read.h"
#include "model/incident.h"
#include "store/alerts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct incident_row row = {.job_id = 1, .incident_id = 2};
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	AUTO_DONE(buf) key = BUF_INIT(1 << 16);
	AUTO(json) document = NULL;
	struct error err;
	size_t third = size / 3;

	char names[4096];

	if (size > sizeof names)
		return 0;
	for (size_t i = 0; i < size; i++)
		names[i] = data[i] ? (char)data[i] : '0';
	row.job = span_of(names, third);
	row.metric = span_of(names + third, third);
	row.stream = span_of(names + 2 * third, size - 2 * third);
	if (size >= sizeof row.incident.value) {
		memcpy(&row.incident.value, data, sizeof row.incident.value);
		memcpy(&row.incident.worst, data + size - sizeof row.incident.worst, sizeof row.incident.worst);
		row.incident.kind = data[0] % INCIDENT_KIND_COUNT;
		row.incident.state = data[1] % INCIDENT_STATE_COUNT;
	}
	rule_write_message(&row, SPAN("https://x"), 0, &out);
	if (out.failure || json_parse(&document, buf_span(&out), &err) ||
		!span_equal(json_string_of(json_get_path(document, "data.id")), SPAN("1-2")))
		abort();
	(void)webhook_secret_parse(span_of((const char *)data, size), &key);
	return 0;
}
