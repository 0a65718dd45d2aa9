/* What a machine says of itself, in any bytes: /proc, the monitors' lines, the kernel's records. */
#include "base/json/json_read.h"
#include "cli/host/host_figures.h"
#include "cli/host/host_programs.h"
#include "cli/host/kernel_log.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each point is a line "@TS TAB object". */
static void check_points(struct span text)
{
	struct span line, head;

	while (text.len && span_next(&text, '\n', &line)) {
		AUTO(json) point = NULL;
		if (!span_next(&line, '\t', &head) || !span_equal(head, SPAN("@5")) ||
			json_parse(&point, line, NULL) != OK)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of((const char *)data, size);
	AUTO_DONE(buf) out = BUF_INIT(64 << 20);
	struct host_points points = {&out, 5};
	uint64_t a = 0, b = 0;

	if (host_read_cpu(text, &a, &b) && a > b && b < UINT64_MAX / 16)
		abort();
	if (host_read_memory(text, &a, &b) && a > b)
		abort();
	host_read_disks(text, &a, &b);
	host_read_network(text, &a, &b);
	nvidia_smi_read(text, &points);
	neuron_monitor_read(text, &points);
	check_points(buf_span(&out));
	if (kernel_log_message(text).len > text.len)
		abort();
	kernel_log_matters(text);
	return 0;
}
