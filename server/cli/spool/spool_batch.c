#include "cli/spool/spool_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { MAX_LOSS_TEXT_BYTES = 256 };

void spool_batch_init(struct spool_batch *batch)
{
	*batch = (struct spool_batch){.text = BUF_INIT(4 * SPOOL_MAX_LINE_BYTES)};
}

void spool_batch_done(struct spool_batch *batch)
{
	buf_done(&batch->text);
	mem_free(batch->runs);
	mem_free(batch->pieces);
	*batch = (struct spool_batch){0};
}

void spool_put_loss_reason(struct buf *out, unsigned why)
{
	static const char *const reasons[] = {"the spool was full", "the disk of the spool was full", "memory ran out",
		"the file was cut before they were sent", "there was no room for them"};
	bool is_first = true;

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		if (!((why ? why : SPOOL_LOST_TO_BOUND) >> i & 1))
			continue;
		buf_printf(out, "%s%s", is_first ? "" : " and ", reasons[i]);
		is_first = false;
	}
}

static void put_loss_text(struct buf *out, const struct spool_piece *piece)
{
	if (piece->lost_to == SPOOL_LOST_TO_CUT || piece->lost_to == SPOOL_LOST_TO_HOLE)
		buf_printf(out, "smfleet: %" PRIu64 " bytes were lost because ", piece->lost_bytes);
	else
		buf_printf(out, "smfleet: %" PRIu64 " %s (%" PRIu64 " bytes) %s dropped because ", piece->lost_lines,
			piece->lost_lines == 1 ? "line" : "lines", piece->lost_bytes,
			piece->lost_lines == 1 ? "was" : "were");
	spool_put_loss_reason(out, piece->lost_to);
}

uint64_t spool_piece_bytes(const struct spool_piece *piece)
{
	char text[MAX_LOSS_TEXT_BYTES];
	struct buf out = {.ptr = text, .cap = sizeof text, .max_bytes = sizeof text};

	if (!piece->lost_lines)
		return piece->end - piece->start + piece->has_open_end;
	put_loss_text(&out, piece);
	return out.len + 1;
}

/* Appends bytes of the file; false: it does not hold them (any more). */
static bool read_piece(int fd, uint64_t at, size_t len, struct buf *out)
{
	char *room = buf_reserve(out, len);
	size_t done = 0;

	while (room && done < len) {
		ssize_t got = pread(fd, room + done, len - done, (off_t)(at + done));
		if (got > 0)
			done += (size_t)got;
		else if (got < 0 && errno == EINTR)
			continue;
		else {
			errno = got == 0 ? 0 : errno;
			return false;
		}
	}
	buf_advance(out, done);
	return room != NULL;
}

/* As much of the piece as fits, in whole lines; *is_cut: not all of it. */
static bool read_lines(const struct spool_piece *piece, size_t max_bytes, struct buf *out, bool *is_cut)
{
	uint64_t len = piece->end - piece->start;
	size_t before = out->len, wanted = len < max_bytes ? (size_t)len : max_bytes;

	for (;;) {
		if (!read_piece(piece->fd, piece->start, wanted, out))
			return false;
		if (wanted == len) {
			if (piece->has_open_end)
				buf_append_char(out, '\n');
			return true;
		}
		*is_cut = true;
		const char *end = memrchr(out->ptr + before, '\n', out->len - before);
		out->len = end ? (size_t)(end - out->ptr) + 1 : before;
		if (end || before)
			return true;
		wanted = wanted * 2 < len ? wanted * 2 : (size_t)len; /* a line longer than a batch goes alone */
	}
}

static bool add_run(struct spool_batch *batch, int64_t ts_ms)
{
	if (batch->run_count && batch->runs[batch->run_count - 1].end == batch->text.len)
		return true;
	if (!mem_grow((void **)&batch->runs, batch->run_count, &batch->run_cap, sizeof *batch->runs))
		return false;
	batch->runs[batch->run_count++] = (struct spool_run){.end = batch->text.len, .ts_ms = ts_ms};
	return true;
}

/* Of a piece that does not fit the first bytes are taken. */
static bool add_piece(struct spool_batch *batch, const struct spool_piece *piece, size_t text_bytes)
{
	if (!mem_grow((void **)&batch->pieces, batch->piece_count, &batch->piece_cap, sizeof *batch->pieces))
		return false;
	struct spool_piece *taken = &batch->pieces[batch->piece_count++];
	*taken = *piece;
	if (text_bytes < spool_piece_bytes(piece)) {
		taken->end = piece->start + text_bytes;
		taken->has_open_end = false;
	}
	return true;
}

enum status spool_batch_add(
	struct spool_batch *batch, const struct spool_piece *piece, size_t max_bytes, bool *is_full, struct error *err)
{
	size_t before = batch->text.len;

	if (piece->lost_lines) {
		put_loss_text(&batch->text, piece);
		buf_append_char(&batch->text, '\n');
	} else if (!read_lines(piece, max_bytes - before, &batch->text, is_full)) {
		batch->text.len = before;
		TRY(buf_status(&batch->text, err));
		return error_set(err, ERR_IO, "cannot read %llu bytes that were to be sent: %s",
			(unsigned long long)(piece->end - piece->start), errno ? strerror(errno) : "the file was cut");
	}
	if (batch->text.len > before &&
		(!add_run(batch, piece->ts_ms) || !add_piece(batch, piece, batch->text.len - before)))
		return error_no_memory(err);
	return buf_status(&batch->text, err);
}
