/* Any line as one of a request to S3, of nccl-tests, and of NCCL's watchdog: what is read lies in the line, and a number is one that a sum can take. */
#include "fleet/nccl_line.h"
#include "fleet/nccl_work.h"
#include "fleet/s3_line.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_lie_in(struct span part, struct span whole)
{
	if (part.len && (part.ptr < whole.ptr || part.len > (size_t)(whole.ptr + whole.len - part.ptr)))
		abort();
}

static void read_request(struct span text)
{
	struct s3_line line;

	if (!s3_line_read(text, &line))
		return;
	must_lie_in(line.bucket, text);
	must_lie_in(line.key, text);
	must_lie_in(s3_line_prefix(line.key, 2), line.key);
	if (line.ts_ms < 0)
		abort();
}

static void read_bandwidth(struct span text)
{
	struct nccl_line line;

	nccl_line_read(text, &line);
	must_lie_in(line.name, text);
	must_lie_in(line.type, text);
	must_lie_in(line.redop, text);
	if (line.kind == NCCL_ROW && (line.size < 0 || !(line.out.busbw >= 0)))
		abort();
}

static void read_work(struct span text)
{
	struct nccl_work work;

	if (!nccl_work_read(text, &work))
		return;
	if (work.rank < 0 || work.completed < -1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* a line ends where its memory does: one byte past it is found */

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	read_request(span_of(copy, size));
	read_bandwidth(span_of(copy, size));
	read_work(span_of(copy, size));
	free(copy);
	return 0;
}
