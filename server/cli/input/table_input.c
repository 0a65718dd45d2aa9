#include "cli/input/table_input.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, BYTE_ORDER_MARK_BYTES = 3 };

void table_input_open(
	struct table_input *input, int fd, size_t max_record_bytes, uint64_t start, uint64_t end, uint64_t line)
{
	*input = (struct table_input){.fd = fd,
		.max_record_bytes = max_record_bytes,
		.bytes = BUF_INIT(max_record_bytes + 2 * READ_BYTES),
		.start = start,
		.end = end,
		.line = line};
}

void table_input_done(struct table_input *input)
{
	if (input->fd >= 0 && input->max_record_bytes) /* else it was never opened */
		close(input->fd);
	buf_done(&input->bytes);
	*input = (struct table_input){.fd = -1};
}

/* More bytes behind those that are there. */
static enum status read_more(struct table_input *input, struct error *err)
{
	size_t rest = input->bytes.len - input->used;

	if (input->used)
		memmove(input->bytes.ptr, input->bytes.ptr + input->used, rest);
	input->start += input->used;
	input->bytes.len = rest;
	input->used = 0;
	uint64_t at = input->start + rest, left = input->end > at ? input->end - at : 0;
	size_t wanted = left < READ_BYTES ? (size_t)left : READ_BYTES;
	char *room = buf_reserve(&input->bytes, wanted + 1);
	if (!room)
		return error_no_memory(err);
	ssize_t got = wanted ? pread(input->fd, room, wanted, (off_t)at) : 0;
	if (got < 0)
		return error_set(err, ERR_INVALID, "cannot read it: %s", strerror(errno));
	input->has_all = got == 0;
	buf_advance(&input->bytes, (size_t)got);
	return OK;
}

/* Of the first record; spreadsheets begin with it. */
static void pass_over_mark(struct table_input *input)
{
	static const struct span mark = {"\xef\xbb\xbf", BYTE_ORDER_MARK_BYTES};

	if (input->start == 0 && input->used == 0 && span_starts_with(buf_span(&input->bytes), mark))
		input->used = mark.len;
}

enum status table_input_next(struct table_input *input, struct table_cells *cells, struct table_place *place,
	bool *has_record, struct error *err)
{
	size_t lines, bytes;

	*has_record = false;
	for (;;) {
		pass_over_mark(input);
		struct span rest = span_skip(buf_span(&input->bytes), input->used);
		bytes = rest.len ? table_record(rest, input->has_all, &lines) : 0;
		if ((bytes ? bytes : rest.len) > input->max_record_bytes)
			return error_set(err, ERR_INVALID, "line %" PRIu64 " has more than %zu bytes (see --row-bytes)",
				input->line, input->max_record_bytes);
		if (bytes || (input->has_all && !rest.len))
			break;
		if (input->has_all)
			return error_set(err, ERR_INVALID, "line %" PRIu64 ": a quote that begins in it has no end",
				input->line);
		TRY(read_more(input, err));
	}
	if (!bytes)
		return OK;
	*place = (struct table_place){
		input->line, input->start + input->used, input->start + input->used + (uint64_t)bytes};
	*has_record = true;
	bool is_whole = table_cells_read(cells, span_of(input->bytes.ptr + input->used, bytes));
	input->used += bytes;
	input->line += lines;
	return is_whole ? OK : error_no_memory(err);
}
