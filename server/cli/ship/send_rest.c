#include "cli/ship/send_rest.h"

#include "base/clock.h"
#include "base/text_file.h"
#include "cli/input/line_reader.h"
#include "cli/relay/relay.h"
#include "cli/sender/job_calls.h"
#include "cli/sender/sender.h"
#include "cli/ship/rest_note.h"
#include "cli/ship/ship_options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* One job's. */
struct rest {
	const struct options *options;
	struct http_client *client;
	const char *folder;
	struct rest_note note;
	int texts[REST_NOTE_TEXTS]; /* -1: not open */
	unsigned sources[REST_NOTE_TEXTS]; /* of the spool */
	struct ledger *ledger, *name_lock;
	struct ledger_page *page;
	struct spool *spool;
	struct sender *sender;
	struct sender_rest sending;
	bool names_only; /* of a job that the server has not: it is made, and no line is sent */
	atomic_bool is_named;
	char session_seed[SHIP_SEED_BYTES];
};

static void rest_done(struct rest *rest)
{
	sender_free(rest->sender); /* its thread uses all the rest */
	spool_free(rest->spool);
	ledger_free(rest->ledger);
	ledger_free(rest->name_lock);
	mem_free(rest->page);
	for (size_t i = 0; i < REST_NOTE_TEXTS; i++)
		if (rest->texts[i] >= 0)
			close(rest->texts[i]);
	rest_note_done(&rest->note);
}
AUTO_DONE_TYPE(rest)

static void say(const char *text)
{
	client_say(ship_program.name, "%s", text);
}

/* ---- what is there ---- */

/* ERR_BUSY: they are still being written, and nobody has seen how far. */
static enum status open_texts(struct rest *rest, struct error *err)
{
	char path[REST_NOTE_PATH_BYTES];

	for (size_t i = 0; i < rest->note.text_count; i++) {
		struct spool_source source = {.fd = -1};
		TRY(rest_note_text_path(&rest->note, i, path, err));
		rest->texts[i] = source.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (source.fd < 0)
			return error_set(err, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
		if (!text_file_is_own(source.fd))
			return error_set(err, ERR_FORBIDDEN, "'%s' is no file of this user's own", path);
		if (!rest->note.is_saved && spool_file_is_written(source.fd))
			return error_set(err, ERR_BUSY, "'%s' is still open in a process that writes it", path);
		TRY(spool_add_source(rest->spool, &source, &rest->sources[i], err));
	}
	return OK;
}

/* ---- the lines that the server has not ---- */

static void put_saved(struct rest *rest)
{
	const struct rest_pieces *pieces = &rest->note.pieces;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct spool_piece *piece = &pieces->items[i].piece;
		if (piece->end > piece->start || piece->lost_lines)
			spool_put_piece(rest->spool, rest->sources[pieces->items[i].text], piece);
	}
}

/* Which of the page's files the text is; NULL: nothing of it was sent. */
static const struct ledger_file *find_file(const struct rest *rest, const struct stat *info)
{
	for (size_t i = 0; i < rest->page->file_count; i++)
		if (rest->page->files[i].device == info->st_dev && rest->page->files[i].inode == info->st_ino)
			return &rest->page->files[i];
	return NULL;
}

/* The batch that was on its way, exactly as it was: the server may have it. */
static void put_batch(struct rest *rest)
{
	struct stat info;

	for (size_t i = 0; i < rest->page->piece_count; i++) {
		const struct ledger_file *file = &rest->page->files[rest->page->pieces[i].file];
		for (size_t j = 0; j < rest->note.text_count; j++)
			if (fstat(rest->texts[j], &info) == 0 && find_file(rest, &info) == file)
				spool_put_piece(rest->spool, rest->sources[j], &rest->page->pieces[i].piece);
	}
}

/* When the lines were written nobody has seen: the file's own time is the last one's. */
static void put_text(struct rest *rest, size_t index)
{
	struct line_reader reader;
	struct stat info = {0};

	if (fstat(rest->texts[index], &info) != 0 || info.st_size == 0)
		return;
	const struct ledger_file *file = find_file(rest, &info);
	line_reader_init(&reader, rest->texts[index], -1, rest->sources[index]);
	reader.has_holes = true;
	reader.ts_ms = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
	reader.read_at = file && file->at <= (uint64_t)info.st_size ? file->at : 0; /* an empty one begins anew */
	while (line_reader_read(&reader, rest->spool) > 0)
		continue;
	line_reader_finish(&reader, rest->spool);
	line_reader_done(&reader);
}

static enum status put_killed(struct rest *rest, struct error *err)
{
	bool has_page = false;

	TRY(ledger_new(&rest->ledger, rest->folder, rest->note.server, rest->note.texts[0], 1, err));
	TRY(ledger_open_stream(rest->ledger, 0, rest->note.identity->stream, rest->page, &has_page, err));
	if (!has_page || !rest->page->job[0])
		memset(rest->page, 0, sizeof *rest->page);
	else
		rest->sending.base = rest->page->base;
	put_batch(rest);
	for (size_t i = 0; i < rest->note.text_count; i++)
		put_text(rest, i);
	return OK;
}

/* ---- sending ---- */

static void tell_job(void *context, const char *job, uint64_t base)
{
	struct rest *rest = context;
	struct error err = {0};

	snprintf(rest->note.job, sizeof rest->note.job, "%s", job);
	rest->note.base = base;
	if (rest_note_write(&rest->note, &err) != OK)
		say(err.text);
}

/* The sender's thread, which has lines, and whose job the server has. */
static bool stop_at_lines(void *context)
{
	struct rest *rest = context;

	atomic_store(&rest->is_named, true);
	return true;
}

/* The name of the killed one's session is ours, unless a living one has it. */
static void take_name(struct rest *rest)
{
	bool has_page;

	ship_seed_sessions(rest->folder, rest->session_seed);
	if (ledger_new(&rest->name_lock, rest->folder, rest->note.server, rest->note.identity->job, 1, NULL) != OK ||
		ledger_open_stream(rest->name_lock, 0, rest->note.identity->stream, rest->page, &has_page, NULL) != OK)
		rest->session_seed[0] = 0;
}

static enum status start(struct rest *rest, struct error *err)
{
	const struct rest_note *note = &rest->note;

	struct sender_options options = {.program = ship_program.name,
		.server = note->server,
		.client = rest->client,
		.spool = rest->spool,
		.identity = note->identity,
		.metrics = note->metrics,
		.streams = &note->identity->stream,
		.max_streams = 1,
		.reads_files = note->reads_files,
		.resumes = note->resumes,
		.has_one_stream = true,
		.session_seed = rest->session_seed[0] ? rest->session_seed : NULL,
		.rest = &rest->sending,
		.source = note->source[0] ? note->source : NULL,
		.started_ms = note->started_ms,
		.tell_job = tell_job,
		.tell_context = rest,
		.must_wait = rest->names_only ? stop_at_lines : NULL,
		.wait_context = rest,
		.waiter = pthread_self()};

	http_client_give_up_at(rest->client, 0);
	TRY(sender_start(&rest->sender, &options, err));
	if (note->has_exit && note->ended_ms)
		sender_set_exit(rest->sender, note->end.exit_code, note->end.signal);
	if (note->ended_ms)
		sender_set_outcome(rest->sender, note->end.secondary_status,
			note->end.reason[0] ? note->end.reason : NULL, note->ended_ms);
	spool_end(rest->spool);
	sender_give_up_at(rest->sender, clock_mono_ms() + options_i64(rest->options, "drain-timeout") + 1);
	while (!sender_is_done(rest->sender))
		if (child_pause() || atomic_load(&rest->is_named))
			sender_give_up_at(rest->sender, 1);
	return sender_join(rest->sender, err);
}

/* The note is the last to go: without it nobody knows what the files are. */
static void remove_all(struct rest *rest)
{
	char path[REST_NOTE_PATH_BYTES];

	if (rest->ledger)
		ledger_remove(rest->ledger);
	if (rest->session_seed[0])
		ledger_remove(rest->name_lock);
	for (size_t i = 0; i < rest->note.text_count; i++)
		if (rest_note_text_path(&rest->note, i, path, NULL) == OK)
			unlink(path);
	rest_note_remove(&rest->note);
}

/* The relay of a sm-ship that was killed may have told all of the run, and its end, since: that job is the log's. */
static enum status find_job_of_run(struct rest *rest, struct error *err)
{
	struct rest_note *note = &rest->note;
	bool awaits = false;

	if (note->job[0])
		return OK;
	http_client_give_up_at(rest->client, 0);
	enum status status = job_awaits_log(rest->client, note->identity->job, note->started_ms, &awaits, err);
	if (status != OK && client_is_passing(status))
		return status;
	if (status != OK || !awaits)
		return OK; /* who may not know it sends all the same */
	tell_job(rest, note->identity->job, 0);
	return OK;
}

static enum status send_note(struct rest *rest, struct error *err)
{
	struct rest_note *note = &rest->note;
	uint64_t there_before, new_lines;

	TRY(find_job_of_run(rest, err));
	if (rest->names_only && note->job[0])
		return OK;
	rest->sending = (struct sender_rest){
		.job = note->job[0] ? note->job : NULL, .base = note->base, .has_end = note->ended_ms != 0};
	rest->spool = spool_new(UINT64_MAX);
	rest->page = mem_zeroed(sizeof *rest->page);
	if (!rest->spool || !rest->page)
		return error_no_memory(err);
	TRY(open_texts(rest, err));
	if (note->is_saved)
		put_saved(rest);
	else
		TRY(put_killed(rest, err));
	take_name(rest);
	enum status status = start(rest, err);
	if (atomic_load(&rest->is_named))
		return OK;
	TRY(status);
	sender_count_new(rest->sender, &there_before, &new_lines);
	client_say(ship_program.name, "%" PRIu64 " lines of job '%s' that were left are with the server%s", new_lines,
		sender_job(rest->sender),
		note->ended_ms ? ", and how it ended"
			       : "; how its command ended is not known here, its status stays as it is");
	remove_all(rest);
	return OK;
}

/* ---- all of them ---- */

/* What others have left in a folder that is shared is theirs to send. */
static bool is_ours(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 && info.st_uid == geteuid();
}

struct all_notes {
	const struct options *options;
	struct http_client *client;
	const char *folder;
	size_t count;
	int exit_code;
};

/* ERR_BUSY: not yet, its command runs. ERR_INVALID: it is not for us. */
static enum status send_one(const struct all_notes *all, const char *path, bool names_only, struct error *err)
{
	AUTO_DONE(rest)
	rest = {.options = all->options,
		.client = all->client,
		.folder = all->folder,
		.names_only = names_only,
		.texts = {-1, -1}};

	TRY(rest_note_read(&rest.note, path, err));
	if (!rest_note_is_for(&rest.note, options_text(all->options, "server")))
		return error_set(err, ERR_INVALID, "it is for server %s", rest.note.server);
	return send_note(&rest, err);
}

/* What is in the way of it is said when its lines are sent. */
static bool name_another(void *context, const char *path)
{
	struct all_notes *all = context;
	struct error err = {0};

	if (!is_ours(path))
		return true;
	all->count++; /* of some the end is all that is left: that is told now */
	enum status status = send_one(all, path, true, &err);
	return !client_is_passing(status) || status == ERR_BUSY;
}

static bool send_another(void *context, const char *path)
{
	struct all_notes *all = context;
	struct error err = {0};

	if (!is_ours(path))
		return true;
	all->count++;
	enum status status = send_one(all, path, false, &err);
	if (status == OK)
		return true;
	client_say(ship_program.name, "what '%s' names stays: %s", path, err.text);
	if (client_is_passing(status) && status != ERR_BUSY)
		all->exit_code = EXIT_UNREACHABLE;
	else if (status != ERR_BUSY && all->exit_code == EXIT_DONE)
		all->exit_code = EXIT_REFUSED;
	return true;
}

/*
 * What was told goes before the lines, as what a tracker tells is not read from those again (docs/metrics.md); and behind the jobs' names, as
 * a run that has ended would leave its job's log another one. That holds for what a relay sends that still lives, too.
 */
static enum status send_all(struct all_notes *all, const struct relay_options *relay, struct error *err)
{
	TRY(rest_note_each(all->folder, name_another, all, err));
	if (relay_send_left(relay, err) != OK) {
		say(err->text);
		all->exit_code = EXIT_UNREACHABLE;
	}
	return rest_note_each(all->folder, send_another, all, err);
}

int send_rest_run(const struct options *options, char *const *environment)
{
	AUTO(http_client) client = NULL;
	const char *folder = ship_spool_folder(options, environment);
	struct all_notes all = {.options = options, .folder = folder, .exit_code = EXIT_DONE};
	struct error err = {0};

	if (options_command(options) || options_word_count(options)) {
		say("--send-rest sends what is left in --spool: it takes no FILE and no COMMAND");
		return EXIT_USAGE;
	}
	if (client_open(&client, options, ship_program.name, &err) != OK) {
		say(err.text);
		return EXIT_USAGE;
	}
	child_block_signals();
	all.client = client;
	const struct relay_options relay = {.program = ship_program.name,
		.options = options,
		.spool_folder = folder,
		.job = "",
		.environment = environment};
	if (send_all(&all, &relay, &err) != OK) {
		say(err.text);
		return EXIT_USAGE;
	}
	if (!all.count && all.exit_code == EXIT_DONE && !options_flag(options, "quiet"))
		client_say(ship_program.name, "no job has left lines in '%s'", folder);
	return all.exit_code;
}
