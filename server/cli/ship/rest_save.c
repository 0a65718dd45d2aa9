#include "cli/ship/rest_save.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { SAVE_BYTES = 1 << 20 };

/* What waits of one stream. */
struct group {
	unsigned stream;
	uint64_t lines;
	struct rest_pieces pieces; /* with their fds */
};

static void group_done(struct group *group)
{
	rest_pieces_done(&group->pieces);
}
AUTO_DONE_TYPE(group)

static uint64_t count_lines(const struct spool_batch *batch)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < batch->text.len; i++)
		lines += batch->text.ptr[i] == '\n';
	return lines;
}

static unsigned text_of(const struct rest_saving *saving, int fd)
{
	for (unsigned i = 0; i < REST_NOTE_TEXTS; i++)
		if (saving->files[i].fd == fd)
			return i;
	return 0;
}

static enum status add_batch(const struct rest_saving *saving, const struct spool_batch *batch, struct group *group,
	struct rest_saved *saved, struct error *err)
{
	uint64_t lines = count_lines(batch);

	if (batch->stream >= saving->count) {
		saved->dropped_lines += lines;
		return OK;
	}
	group->stream = batch->stream;
	group->lines += lines;
	for (size_t i = 0; i < batch->piece_count; i++)
		TRY(rest_pieces_add(&group->pieces, text_of(saving, batch->pieces[i].fd), &batch->pieces[i], err));
	return OK;
}

/* The oldest that wait, up to the first line of another stream. The spool then has them no longer; its files do. */
static enum status take_group(
	const struct rest_saving *saving, struct group *group, struct rest_saved *saved, struct error *err)
{
	AUTO_DONE(spool_batch) batch;

	spool_batch_init(&batch);
	while (spool_wait(saving->spool, 0, 0, 0) == SPOOL_HAS_BATCH) {
		if (spool_take(saving->spool, SAVE_BYTES, &batch, err) != OK) {
			spool_lose_head(saving->spool);
			continue;
		}
		if (group->pieces.count && batch.stream != group->stream && batch.stream < saving->count)
			break;
		TRY(add_batch(saving, &batch, group, saved, err));
		spool_release(saving->spool, batch.text.len);
	}
	return OK;
}

/* ---- lines that stand where they do not stay ---- */

static enum status write_all(int fd, struct span text, struct error *err)
{
	while (text.len) {
		ssize_t written = write(fd, text.ptr, text.len);
		if (written < 0 && errno != EINTR)
			return error_set(err, ERR_IO, "cannot write what was left over: %s", strerror(errno));
		text = span_skip(text, written > 0 ? (size_t)written : 0);
	}
	return OK;
}

/* *at: where the copy ends. */
static enum status copy_piece(
	struct spool_piece piece, int fd, struct rest_pieces *copied, uint64_t *at, struct error *err)
{
	AUTO_DONE(spool_batch) batch;
	bool is_full;

	spool_batch_init(&batch);
	do {
		is_full = false;
		buf_reset(&batch.text);
		batch.run_count = batch.piece_count = 0;
		TRY(spool_batch_add(&batch, &piece, SAVE_BYTES, &is_full, err));
		TRY(write_all(fd, buf_span(&batch.text), err));
		const struct spool_piece copy = {.start = *at, .end = *at + batch.text.len, .ts_ms = piece.ts_ms};
		TRY(rest_pieces_add(copied, 0, &copy, err));
		*at += batch.text.len;
		piece.start += batch.text.len;
	} while (is_full);
	return OK;
}

static enum status copy_pieces(const struct rest_pieces *pieces, int fd, struct rest_pieces *copied, struct error *err)
{
	uint64_t at = 0;

	for (size_t i = 0; i < pieces->count; i++)
		TRY(copy_piece(pieces->items[i].piece, fd, copied, &at, err));
	return OK;
}

/* Lines of the group, in their order, and the note of them. */
static enum status copy_group(const struct rest_note *of, const struct rest_saving *saving, const struct group *group,
	const char *folder, struct error *err)
{
	struct identity identity = *of->identity;
	struct rest_note note = *of;
	char path[REST_NOTE_PATH_BYTES];
	int fd = -1;

	TRY(spool_file_create(folder, "left", path, &fd, err));
	identity.stream = saving->streams[group->stream];
	note.identity = &identity;
	note.is_saved = true;
	note.pieces = (struct rest_pieces){0};
	note.text_count = 0;
	rest_note_add_text(&note, path);
	rest_note_name(&note, path);
	if (sender_base(saving->sender, group->stream, &note.base))
		snprintf(note.job, sizeof note.job, "%s", sender_job(saving->sender));
	enum status status = copy_pieces(&group->pieces, fd, &note.pieces, err);
	if (close(fd) != 0 && status == OK)
		status = error_set(err, ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	if (status == OK)
		status = rest_note_write(&note, err);
	rest_pieces_done(&note.pieces);
	if (status != OK)
		unlink(path);
	return status;
}

static enum status copy_all(const struct rest_note *note, const struct rest_saving *saving,
	char folder[REST_NOTE_PATH_BYTES], struct rest_saved *saved, struct error *err)
{
	enum status status = OK;

	while (spool_totals(saving->spool).waiting_bytes) {
		AUTO_DONE(group) group = {0};
		struct error why = {0};
		TRY(take_group(saving, &group, saved, err));
		if (!group.lines)
			continue;
		if (copy_group(note, saving, &group, folder, err) == OK) {
			saved->lines += group.lines;
		} else if (copy_group(note, saving, &group, "/tmp", &why) == OK) {
			saved->lines += group.lines;
			snprintf(folder, REST_NOTE_PATH_BYTES, "/tmp");
		} else {
			saved->lost_lines += group.lines;
			status = err->status;
		}
	}
	return status;
}

/* ---- lines that stay where they are ---- */

static enum status note_files(
	struct rest_note *note, const struct rest_saving *saving, struct rest_saved *saved, struct error *err)
{
	AUTO_DONE(group) group = {0};
	const size_t text_count = note->text_count;

	TRY(take_group(saving, &group, saved, err));
	if (!group.pieces.count)
		note->text_count = 0; /* all of them are there: it is the end that is not */
	else if (sender_base(saving->sender, group.stream, &note->base))
		snprintf(note->job, sizeof note->job, "%s", sender_job(saving->sender));
	note->is_saved = true;
	note->pieces = group.pieces;
	enum status status = rest_note_write(note, err);
	note->pieces = (struct rest_pieces){0};
	note->is_saved = status == OK;
	if (status != OK)
		note->text_count = text_count; /* the note of before is what there is, and names their files */
	saved->lines = group.lines;
	return status;
}

enum status rest_save(struct rest_note *note, const struct rest_saving *saving, char folder[REST_NOTE_PATH_BYTES],
	struct rest_saved *saved, struct error *err)
{
	spool_keep_files(saving->spool);
	return note->path[0] ? note_files(note, saving, saved, err) : copy_all(note, saving, folder, saved, err);
}
