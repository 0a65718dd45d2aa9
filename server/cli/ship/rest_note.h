/*
 * Job: what a sm-ship leaves beside the lines of a command or a pipe, so that `sm-ship --send-rest` can tell the server the rest: whose they
 *      are, where they stand, and how it ended. It is written when the job begins, and goes when the server has all of it. So it is there
 *      after a kill (the ledger says how far the files were sent), and after an end without a server (the note says what of them waited, in
 *      the order in which it was read).
 * Ownership: init/done; a note that was read owns its identity, else that is the caller's. Threads: under the caller's lock.
 */
#pragma once

#include "base/json/json_read.h"
#include "cli/process/child.h"
#include "cli/process/identity.h"
#include "cli/spool/spool_file.h"

#define REST_NOTE_ENDING ".rest"

enum { REST_NOTE_SOURCE_BYTES = 32, REST_NOTE_TEXTS = 2, REST_NOTE_PATH_BYTES = 4096 };

/* Lines that wait, or a loss. */
struct rest_piece {
	unsigned text;
	struct spool_piece piece; /* its fd is nobody's once the note is written */
};
struct rest_pieces {
	struct rest_piece *items;
	size_t count, cap;
};
/* What follows within a second shares its time. */
enum status rest_pieces_add(
	struct rest_pieces *pieces, unsigned text, const struct spool_piece *piece, struct error *err) MUST_CHECK;
void rest_pieces_done(struct rest_pieces *pieces);

struct rest_note {
	char path[REST_NOTE_PATH_BYTES]; /* "": nowhere */
	const char *server; /* its addresses, as they were given */
	const struct identity *identity;
	const struct settings *metrics;
	char job[256]; /* as the server calls it; "": it has none of it yet */
	char source
		[REST_NOTE_SOURCE_BYTES]; /* whose bytes of the stream are counted; "": those without one (an older version's) */
	uint64_t base; /* with a job: where the first line goes in the stream, unless the ledger knows better */
	int64_t started_ms;
	bool has_exit; /* it is of a command */
	bool reads_files; /* of files that may be of any time */
	bool resumes; /* a job that had ended was to be gone on with */
	int64_t ended_ms; /* 0: how it ended is not known */
	struct child_end end;
	char texts[REST_NOTE_TEXTS][256]; /* names in the note's folder */
	size_t text_count;
	bool is_saved; /* the pieces are what waited; else the ledger says where the texts go on */
	struct rest_pieces pieces;
	/* Of one that was read: */
	struct identity *own_identity;
	struct settings own_metrics;
};

void rest_note_done(struct rest_note *note);
bool rest_note_is_for(const struct rest_note *note, const char *server);
/* The note, which has its name, is of a stream of which no other note is left: an earlier start's, or one's that runs. */
bool rest_note_is_alone(const struct rest_note *note);
/* The name of a spool's file, as the note has it. */
void rest_note_add_text(struct rest_note *note, const char *path);
/* The note is called as this one of its texts. */
void rest_note_name(struct rest_note *note, const char *text_path);
/* The text's place, for who reads the note. */
enum status rest_note_text_path(
	const struct rest_note *note, size_t index, char path[REST_NOTE_PATH_BYTES], struct error *err) MUST_CHECK;
/* Whole or not at all. */
enum status rest_note_write(const struct rest_note *note, struct error *err) MUST_CHECK;
enum status rest_note_read(struct rest_note *note, const char *path, struct error *err) MUST_CHECK;
/* Calls take for each note that is left in the folder, until that is false. */
enum status rest_note_each(
	const char *folder, bool (*take)(void *context, const char *path), void *context, struct error *err) MUST_CHECK;
/* All is told. */
void rest_note_remove(struct rest_note *note);
/* Is the file of lines one that a note names? Then it is not sent by its name. */
bool rest_note_has(const char *file);

AUTO_DONE_TYPE(rest_note)
