#include "cli/ship/rest_note.h"

#include "base/arena.h"
#include "base/file_place.h"
#include "base/text_file.h"
#include "cli/http/url.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	VERSION = 1,
	MAX_BYTES = 64 << 20,
	SAME_TIME_MS = 1000,
	MANY_PIECES = 100000, /* then a minute is one time */
	MANY_SAME_TIME_MS = 60000,
	PIECE_NUMBERS = 8, /* of them the last are left out where they are 0 */
};

static const struct {
	const char *key;
	size_t at; /* a const char * of the identity */
} told[] = {
	{"stream", offsetof(struct identity, stream)},
	{"host", offsetof(struct identity, host)},
	{"owner", offsetof(struct identity, owner)},
	{"folder", offsetof(struct identity, folder)},
	{"command_line", offsetof(struct identity, command_line)},
	{"instance_type", offsetof(struct identity, instance_type)},
	{"git_commit", offsetof(struct identity, git_commit)},
	{"said_type", offsetof(struct identity, said_type)},
	{"run_key", offsetof(struct identity, run_key)},
	{"asked", offsetof(struct identity, job)},
};
static const struct {
	const char *key;
	size_t at; /* an int64_t of the identity */
} counted[] = {
	{"instance_count", offsetof(struct identity, instance_count)},
	{"said_count", offsetof(struct identity, said_count)},
	{"attempt", offsetof(struct identity, attempt)},
	{"rank", offsetof(struct identity, rank)},
	{"local_rank", offsetof(struct identity, local_rank)},
	{"process_count", offsetof(struct identity, process_count)},
};
enum { TOLD = sizeof told / sizeof *told, COUNTED = sizeof counted / sizeof *counted };

static const char *const statuses[] = {"Completed", "Failed", "Stopped"};

void rest_note_done(struct rest_note *note)
{
	rest_pieces_done(&note->pieces);
	identity_free(note->own_identity);
	mem_free(note->own_metrics.items);
}

/* False: it stands alone. */
static bool goes_on(const struct rest_pieces *pieces, unsigned text, const struct spool_piece *piece)
{
	const struct rest_piece *last = pieces->count ? &pieces->items[pieces->count - 1] : NULL;
	int64_t within_ms = pieces->count < MANY_PIECES ? SAME_TIME_MS : MANY_SAME_TIME_MS;

	return last && last->text == text && last->piece.fd == piece->fd && !last->piece.lost_lines &&
	       !piece->lost_lines && !last->piece.has_open_end && last->piece.end == piece->start &&
	       piece->ts_ms >= last->piece.ts_ms && piece->ts_ms - last->piece.ts_ms < within_ms;
}

enum status rest_pieces_add(
	struct rest_pieces *pieces, unsigned text, const struct spool_piece *piece, struct error *err)
{
	if (goes_on(pieces, text, piece)) {
		struct spool_piece *last = &pieces->items[pieces->count - 1].piece;
		last->end = piece->end;
		last->has_open_end = piece->has_open_end;
		return OK;
	}
	if (!mem_grow((void **)&pieces->items, pieces->count, &pieces->cap, sizeof *pieces->items))
		return error_no_memory(err);
	pieces->items[pieces->count++] = (struct rest_piece){text, *piece};
	return OK;
}

void rest_pieces_done(struct rest_pieces *pieces)
{
	mem_free(pieces->items);
	*pieces = (struct rest_pieces){0};
}

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

static const char *name_of(const char *path)
{
	return path + folder_length(path);
}

void rest_note_add_text(struct rest_note *note, const char *path)
{
	snprintf(note->texts[note->text_count++], sizeof *note->texts, "%s", name_of(path));
}

void rest_note_name(struct rest_note *note, const char *text_path)
{
	const char *dot = strrchr(text_path, '.');

	snprintf(note->path, sizeof note->path, "%.*s" REST_NOTE_ENDING, (int)(dot - text_path), text_path);
}

enum status rest_note_text_path(
	const struct rest_note *note, size_t index, char path[REST_NOTE_PATH_BYTES], struct error *err)
{
	int len = snprintf(
		path, REST_NOTE_PATH_BYTES, "%.*s%s", (int)folder_length(note->path), note->path, note->texts[index]);

	return len < REST_NOTE_PATH_BYTES ? OK : error_set(err, ERR_INVALID, "'%s' has too long a name", note->path);
}

bool rest_note_is_for(const struct rest_note *note, const char *server)
{
	AUTO_DONE(buf) own = BUF_INIT(REST_NOTE_PATH_BYTES);
	AUTO_DONE(buf) other = BUF_INIT(REST_NOTE_PATH_BYTES);

	url_put_canonical(note->server, &own);
	url_put_canonical(server, &other);
	return span_equal(buf_span(&own), buf_span(&other));
}

/* ---- writing ---- */

static void put_settings(struct json_writer *w, const char *key, const struct settings *settings)
{
	json_key(w, key);
	json_object(w);
	for (size_t i = 0; i < settings->count; i++) {
		json_key_span(w, span_from(settings->items[i].key));
		json_text(w, settings->items[i].value);
	}
	json_object_end(w);
}

static void put_identity(struct json_writer *w, const struct rest_note *note)
{
	const struct identity *identity = note->identity;

	for (size_t i = 0; i < TOLD; i++) {
		const char *text = *(const char *const *)((const char *)identity + told[i].at);
		if (text)
			json_put_text(w, told[i].key, text);
	}
	for (size_t i = 0; i < COUNTED; i++)
		json_put_i64(w, counted[i].key, *(const int64_t *)((const char *)identity + counted[i].at));
	json_put_bool(w, "has_rank", identity->has_rank);
	json_put_bool(w, "has_rank_number", identity->has_rank_number);
	put_settings(w, "hp", &identity->hyper_parameters);
	put_settings(w, "tags", &identity->tags);
	put_settings(w, "metrics", note->metrics);
}

static void put_end(struct json_writer *w, const struct rest_note *note)
{
	if (!note->ended_ms)
		return;
	json_key(w, "end");
	json_object(w);
	json_put_i64(w, "at_ms", note->ended_ms);
	json_put_text(w, "status", note->end.secondary_status);
	json_put_text(w, "reason", note->end.reason);
	json_put_i64(w, "code", note->end.exit_code);
	json_put_i64(w, "signal", note->end.signal);
	json_object_end(w);
}

static void put_piece(struct json_writer *w, const struct rest_piece *of)
{
	const struct spool_piece *piece = &of->piece;
	const int64_t numbers[PIECE_NUMBERS] = {of->text, (int64_t)piece->start, (int64_t)piece->end, piece->ts_ms,
		piece->has_open_end, (int64_t)piece->lost_lines, (int64_t)piece->lost_bytes, piece->lost_to};
	size_t count = PIECE_NUMBERS;

	while (count && !numbers[count - 1])
		count--;
	json_array(w);
	for (size_t i = 0; i < count; i++)
		json_i64(w, numbers[i]);
	json_array_end(w);
}

static void put_texts(struct json_writer *w, const struct rest_note *note)
{
	json_key(w, "texts");
	json_array(w);
	for (size_t i = 0; i < note->text_count; i++)
		json_text(w, note->texts[i]);
	json_array_end(w);
	if (!note->is_saved)
		return;
	json_key(w,
		"pieces"); /* [TEXT, START, END, MS, HAS_OPEN_END, LOST_LINES, LOST_BYTES, LOST_TO], in their order */
	json_array(w);
	for (size_t i = 0; i < note->pieces.count; i++)
		put_piece(w, &note->pieces.items[i]);
	json_array_end(w);
}

static void put_note(struct json_writer *w, const struct rest_note *note)
{
	json_object(w);
	json_put_i64(w, "version", VERSION);
	json_put_text(w, "server", note->server);
	if (note->job[0]) {
		json_put_text(w, "job", note->job);
		json_put_i64(w, "base", (int64_t)note->base);
	}
	if (note->source[0])
		json_put_text(w, "source", note->source);
	json_put_i64(w, "started_ms", note->started_ms);
	json_put_bool(w, "is_command", note->has_exit);
	json_put_bool(w, "reads_files", note->reads_files);
	json_put_bool(w, "resumes", note->resumes);
	put_identity(w, note);
	put_end(w, note);
	put_texts(w, note);
	json_object_end(w);
	buf_append_char(w->out, '\n');
}

static bool write_file(const char *path, struct span text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return false;
	bool is_written = file_write(fd, text);
	return close(fd) == 0 && is_written;
}

enum status rest_note_write(const struct rest_note *note, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_BYTES);
	char next[REST_NOTE_PATH_BYTES + 8];
	struct json_writer w = json_writer_on(&text);

	put_note(&w, note);
	TRY(buf_status(&text, err));
	snprintf(next, sizeof next, "%s.next", note->path);
	if (write_file(next, buf_span(&text)) && rename(next, note->path) == 0)
		return OK;
	error_fill(err, ERR_IO, "cannot write '%s': %s", note->path, strerror(errno));
	unlink(next);
	return ERR_IO;
}

/* ---- reading ---- */

static const char *keep(struct arena *arena, struct span text)
{
	char *kept = arena_alloc(arena, text.len + 1);

	if (kept && text.len)
		memcpy(kept, text.ptr, text.len);
	if (kept)
		kept[text.len] = 0;
	return kept;
}

static enum status read_settings(
	struct arena *arena, const struct json *object, struct settings *settings, struct error *err)
{
	settings->items = mem_zeroed((json_count(object) + 1) * sizeof *settings->items);
	if (!settings->items)
		return error_no_memory(err);
	for (const struct json *at = json_first(object); at; at = json_next(at)) {
		struct setting *setting = &settings->items[settings->count++];
		setting->key = keep(arena, json_key_of(at));
		setting->value = keep(arena, json_string_of(at));
		if (!setting->key || !setting->value)
			return error_no_memory(err);
	}
	return OK;
}

static enum status read_identity(struct rest_note *note, const struct json *document, struct error *err)
{
	struct identity *identity = note->own_identity = mem_zeroed(sizeof *identity);

	if (!identity || !(identity->arena = arena_new()))
		return error_no_memory(err);
	for (size_t i = 0; i < TOLD; i++) {
		const struct json *text = json_get(document, told[i].key);
		const char *kept = text ? keep(identity->arena, json_string_of(text)) : NULL;
		if (text && !kept)
			return error_no_memory(err);
		*(const char **)((char *)identity + told[i].at) = kept;
	}
	for (size_t i = 0; i < COUNTED; i++)
		TRY(json_want_i64(document, counted[i].key, (int64_t *)((char *)identity + counted[i].at), err));
	TRY(json_want_bool(document, "has_rank", &identity->has_rank, err));
	TRY(json_want_bool(document, "has_rank_number", &identity->has_rank_number, err));
	TRY(read_settings(identity->arena, json_get(document, "hp"), &identity->hyper_parameters, err));
	TRY(read_settings(identity->arena, json_get(document, "tags"), &identity->tags, err));
	note->identity = identity;
	note->metrics = &note->own_metrics;
	if (!identity->job || !identity->stream || !identity->host)
		return error_set(err, ERR_INVALID, "it names no job");
	return read_settings(identity->arena, json_get(document, "metrics"), &note->own_metrics, err);
}

static enum status read_end(struct rest_note *note, const struct json *end, struct error *err)
{
	int64_t code = 0, number = 0;

	if (!end)
		return OK;
	TRY(json_want_i64(end, "at_ms", &note->ended_ms, err));
	TRY(json_want_i64(end, "code", &code, err));
	TRY(json_want_i64(end, "signal", &number, err));
	note->end = (struct child_end){.exit_code = (int)code, .signal = (int)number};
	snprintf(note->end.reason, sizeof note->end.reason, "%.*s", SPAN_ARGS(json_string_of(json_get(end, "reason"))));
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_equal(json_string_of(json_get(end, "status")), span_from(statuses[i])))
			note->end.secondary_status = statuses[i];
	return note->end.secondary_status ? OK : error_set(err, ERR_INVALID, "its end has no status");
}

/* An older version's note: END, MS, END, MS …, up to that byte of its one text the lines were read then. */
static enum status read_times(struct rest_note *note, const struct json *times, struct error *err)
{
	const struct json *at = json_first(times), *next;
	double end, ts_ms;
	uint64_t start = 0;

	note->is_saved = note->is_saved || times;
	for (; at && (next = json_next(at)); at = json_next(next)) {
		if (!json_number_of(at, &end) || !json_number_of(next, &ts_ms) || end < (double)start ||
			!note->text_count)
			return error_set(err, ERR_INVALID, "its times are none");
		const struct spool_piece piece = {.start = start, .end = (uint64_t)end, .ts_ms = (int64_t)ts_ms};
		TRY(rest_pieces_add(&note->pieces, 0, &piece, err));
		start = piece.end;
	}
	return OK;
}

static bool read_piece(const struct json *from, struct rest_piece *piece)
{
	double numbers[PIECE_NUMBERS] = {0};
	size_t count = 0;

	for (const struct json *at = json_first(from); at; at = json_next(at))
		if (count == PIECE_NUMBERS || !json_number_of(at, &numbers[count]) || !(numbers[count++] >= 0))
			return false;
	*piece = (struct rest_piece){(unsigned)numbers[0], {.start = (uint64_t)numbers[1],
								   .end = (uint64_t)numbers[2],
								   .ts_ms = (int64_t)numbers[3],
								   .has_open_end = numbers[4] != 0,
								   .lost_lines = (uint64_t)numbers[5],
								   .lost_bytes = (uint64_t)numbers[6],
								   .lost_to = (unsigned)numbers[7] & SPOOL_LOST_ALL}};
	return piece->piece.end >= piece->piece.start;
}

static enum status read_pieces(struct rest_note *note, const struct json *pieces, struct error *err)
{
	struct rest_piece piece;

	note->is_saved = pieces != NULL;
	for (const struct json *at = json_first(pieces); at; at = json_next(at)) {
		if (!read_piece(at, &piece) || piece.text >= note->text_count)
			return error_set(err, ERR_INVALID, "its pieces are none of ours");
		TRY(rest_pieces_add(&note->pieces, piece.text, &piece.piece, err));
	}
	return OK;
}

static enum status read_texts(struct rest_note *note, const struct json *texts, struct error *err)
{
	for (const struct json *at = json_first(texts); at; at = json_next(at)) {
		struct span name = json_string_of(at);
		if (note->text_count == REST_NOTE_TEXTS || !name.len || name.len >= sizeof *note->texts ||
			span_find_char(name, '/') >= 0)
			return error_set(err, ERR_INVALID, "its texts are none of ours");
		snprintf(note->texts[note->text_count++], sizeof *note->texts, "%.*s", SPAN_ARGS(name));
	}
	return OK;
}

enum status rest_note_read(struct rest_note *note, const char *path, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_BYTES);
	AUTO(json) document = NULL;
	int64_t base = 0;

	*note = (struct rest_note){.server = ""};
	snprintf(note->path, sizeof note->path, "%s", path);
	TRY(text_file_read_own(path, "spool", &text, err));
	TRY(json_parse(&document, buf_span(&text), err));
	snprintf(note->job, sizeof note->job, "%.*s", SPAN_ARGS(json_string_of(json_get(document, "job"))));
	snprintf(note->source, sizeof note->source, "%.*s", SPAN_ARGS(json_string_of(json_get(document, "source"))));
	TRY(json_want_i64(document, "base", &base, err));
	note->base = (uint64_t)base;
	TRY(json_want_i64(document, "started_ms", &note->started_ms, err));
	TRY(json_want_bool(document, "is_command", &note->has_exit, err));
	TRY(json_want_bool(document, "reads_files", &note->reads_files, err));
	TRY(json_want_bool(document, "resumes", &note->resumes, err));
	TRY(read_identity(note, document, err));
	if (!(note->server = keep(note->identity->arena, json_string_of(json_get(document, "server")))))
		return error_no_memory(err);
	TRY(read_end(note, json_get(document, "end"), err));
	TRY(read_texts(note, json_get(document, "texts"), err));
	TRY(read_pieces(note, json_get(document, "pieces"), err));
	return read_times(note, json_get(document, "times"), err);
}

static bool is_note(const char *name)
{
	struct span text = span_from(name);

	return span_starts_with(text, SPAN("sm-ship-")) && span_ends_with(text, SPAN(REST_NOTE_ENDING));
}

enum status rest_note_each(
	const char *folder, bool (*take)(void *context, const char *path), void *context, struct error *err)
{
	const struct dirent *entry;
	char path[REST_NOTE_PATH_BYTES];
	DIR *entries = opendir(folder);

	if (!entries)
		return error_set(err, ERR_IO, "cannot read the folder '%s' of --spool: %s", folder, strerror(errno));
	for (bool goes_on = true; goes_on && (entry = readdir(entries));)
		if (is_note(entry->d_name)) {
			snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
			goes_on = take(context, path);
		}
	closedir(entries);
	return OK;
}

struct asking {
	bool (*question)(const struct rest_note *note, const void *context);
	const void *context;
	bool is_found;
};

static bool ask_note(void *context, const char *path)
{
	struct asking *asking = context;
	AUTO_DONE(rest_note) note = {.server = ""};
	struct error err;

	asking->is_found = rest_note_read(&note, path, &err) == OK && asking->question(&note, asking->context);
	return !asking->is_found;
}

/* Asks each note that is left in the folder of the path. */
static bool ask_notes(
	const char *path, bool (*question)(const struct rest_note *note, const void *context), const void *context)
{
	struct asking asking = {question, context, false};
	char folder[REST_NOTE_PATH_BYTES];
	struct error err;

	snprintf(folder, sizeof folder, "%.*s", (int)folder_length(path), path);
	if (rest_note_each(*folder ? folder : ".", ask_note, &asking, &err) != OK)
		return false; /* there is none */
	return asking.is_found;
}

static bool is_of_its_stream(const struct rest_note *other, const void *context)
{
	const struct rest_note *note = context;

	return strcmp(name_of(other->path), name_of(note->path)) != 0 && rest_note_is_for(other, note->server) &&
	       strcmp(other->identity->job, note->identity->job) == 0 &&
	       strcmp(other->identity->stream, note->identity->stream) == 0;
}

bool rest_note_is_alone(const struct rest_note *note)
{
	return !ask_notes(note->path, is_of_its_stream, note);
}

static bool names_it(const struct rest_note *note, const void *context)
{
	for (size_t i = 0; i < note->text_count; i++)
		if (strcmp(note->texts[i], context) == 0)
			return true;
	return false;
}

bool rest_note_has(const char *file)
{
	const char *name = name_of(file);

	return span_starts_with(span_from(name), SPAN("sm-ship-")) && ask_notes(file, names_it, name);
}

void rest_note_remove(struct rest_note *note)
{
	if (note->path[0])
		unlink(note->path);
	note->path[0] = 0;
}
