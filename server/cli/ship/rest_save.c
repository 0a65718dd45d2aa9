#include "cli/ship/rest_save.h"

#include <stdio.h>
#include <unistd.h>

/* Lines that wait, in their order, in place of the files that they came by. */
static enum status note_saved(const struct rest_note *of, const struct rest_saving *saving,
	const struct spool_saved *saved, struct error *err)
{
	struct identity identity = *of->identity;
	struct rest_note note = *of;

	identity.stream = saving->streams[saved->stream];
	note.identity = &identity;
	note.is_saved = true;
	note.times = saved->times; /* both are saved's */
	note.text_count = 0;
	rest_note_add_text(&note, saved->path);
	rest_note_name(&note, saved->path);
	if (sender_base(saving->sender, saved->stream, &note.base))
		snprintf(note.job, sizeof note.job, "%s", sender_job(saving->sender));
	return rest_note_write(&note, err);
}

static enum status save_lines(const struct rest_note *note, const struct rest_saving *saving,
	char folder[REST_NOTE_PATH_BYTES], struct rest_saved *counts, struct error *err)
{
	AUTO_DONE(spool_saved) saved = {.lines = 0};
	const char *slash = NULL;

	while (spool_totals(saving->spool).waiting_bytes) {
		TRY(spool_save(saving->spool, folder, &saved, err));
		if (saved.stream >= saving->count) {
			unlink(saved.path);
			counts->dropped_lines += saved.lines;
			continue;
		}
		TRY(note_saved(note, saving, &saved, err));
		counts->lines += saved.lines;
		slash = strrchr(saved.path, '/');
		if (slash)
			snprintf(folder, REST_NOTE_PATH_BYTES, "%.*s", (int)(slash - saved.path), saved.path);
	}
	return OK;
}

enum status rest_save(struct rest_note *note, const struct rest_saving *saving, char folder[REST_NOTE_PATH_BYTES],
	struct rest_saved *saved, struct error *err)
{
	enum status status = save_lines(note, saving, folder, saved, err);

	if (status != OK || saved->lines) {
		rest_note_remove(note); /* the files that it names go with us */
		return status;
	}
	note->text_count = 0; /* all of them are there: it is the end that is not */
	note->is_saved = true;
	return note->path[0] ? rest_note_write(note, err) : OK;
}
