#include "cli/ship/ship_end.h"

#include "base/clock.h"
#include "cli/ship/restart.h"
#include "cli/ship/ship_state.h"
#include "cli/ship/unread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
	UNREAD_POLL_MS = 100,
	UNREAD_TRIES = 20, /* for the server to look at the last lines */
	RELAY_LAST_MS = 2000, /* that the relay's process may take to end when its time is over */
	GRACE_MS = 2000, /* after a signal: the program that writes the pipe got it too, and may still say something */
};

/* Waits at most ms for one of the signals that ask to stop (true), or for SIGCHLD, by which threads say they are done. */
static bool wait_signal(int64_t ms)
{
	static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
		sigaddset(&set, asking[i]);
	int number = sigtimedwait(&set, NULL, &time);
	return number > 0 && number != SIGCHLD;
}

/* Where a line of progress disturbs nothing: a terminal that neither a command nor our own output writes to. */
static bool can_show_progress(const struct ship *ship)
{
	bool passes_through = options_word_count(ship->options) == 0;

	return !options_flag(ship->options, "quiet") && isatty(STDERR_FILENO) && !options_command(ship->options) &&
	       !(passes_through && isatty(STDOUT_FILENO));
}

static void show_progress(struct ship *ship)
{
	int64_t now_ms = clock_mono_ms(), passed_ms = now_ms - ship->shown_mono_ms;
	uint64_t lines = sender_sent_lines(ship->sender);

	if (!ship->shows_progress || passed_ms < 500)
		return;
	fprintf(stderr, "\r\x1b[K%s: %" PRIu64 " lines sent, %.1f MB behind, %.0f lines/s", ship_program.name, lines,
		(double)spool_totals(ship->spool).waiting_bytes / 1e6,
		ship->shown_mono_ms ? (double)(lines - ship->shown_lines) * 1000 / (double)passed_ms : 0.0);
	ship->shown_mono_ms = now_ms;
	ship->shown_lines = lines;
}

static void end_progress(struct ship *ship)
{
	if (ship->shows_progress)
		fprintf(stderr, "\r\x1b[K%s: %" PRIu64 " lines sent\n", ship_program.name,
			sender_sent_lines(ship->sender));
}

/* Until the input ends. A signal is for the program that writes it as well: what it still says is taken for a moment. */
void ship_wait_input(struct ship *ship)
{
	int64_t stop_ms = 0;

	ship->shows_progress = can_show_progress(ship);
	while (!intake_is_done(ship->intake)) {
		show_progress(ship);
		if (wait_signal(stop_ms ? 100 : 1000)) {
			ship->end.secondary_status = "Stopped";
			stop_ms = stop_ms || options_flag(ship->options, "follow") ? 1 : clock_mono_ms() + GRACE_MS;
		}
		if (stop_ms && clock_mono_ms() >= stop_ms)
			intake_stop(ship->intake);
	}
}

/* The same for what the training told its tracker. */
static void drain_relay(struct ship *ship, int64_t give_up_ms)
{
	relay_end(ship->relay, give_up_ms);
	while (!relay_has_ended(ship->relay) && clock_mono_ms() < give_up_ms + RELAY_LAST_MS) {
		if (sender_is_done(ship->sender))
			relay_tell_no_job(ship->relay);
		if (wait_signal(50)) {
			relay_give_up_at(ship->relay, 1);
			sender_give_up_at(ship->sender, 1);
			give_up_ms = clock_mono_ms();
		}
	}
}

/* Until all is sent, the time is over, or a signal ends the patience. */
static enum status drain(struct ship *ship, struct error *err)
{
	int64_t give_up_ms = clock_mono_ms() + options_i64(ship->options, "drain-timeout") + 1;
	int64_t ended_ms = clock_wall_ms(); /* whenever that can be told */

	ship_keep_end(ship, ended_ms);
	system_free(ship->system);
	ship->system = NULL;
	drain_relay(ship, give_up_ms); /* first: what it still tells is of a job that trains */
	if (options_command(ship->options))
		sender_set_exit(ship->sender, ship->end.exit_code, ship->end.signal);
	sender_set_outcome(
		ship->sender, ship->end.secondary_status, ship->end.reason[0] ? ship->end.reason : NULL, ended_ms);
	spool_end(ship->spool);
	sender_give_up_at(ship->sender, give_up_ms);
	while (!sender_is_done(ship->sender)) {
		show_progress(ship);
		if (wait_signal(1000))
			sender_give_up_at(ship->sender, 1);
	}
	end_progress(ship);
	return sender_join(ship->sender, err);
}

/* A file of the user of which nothing went needs no copy. */
static bool is_whole_file(const struct ship *ship)
{
	return options_word_count(ship->options) == 1 && sender_sent_bytes(ship->sender, 0) == 0;
}

static void tell_lost(const struct spool_totals *totals)
{
	char text[256];
	struct buf reason = {.ptr = text, .cap = sizeof text, .max_bytes = sizeof text};

	spool_put_loss_reason(&reason, totals->lost_to);
	if (totals->lost_lines)
		client_say(ship_program.name, "%" PRIu64 " lines (%" PRIu64 " bytes) were dropped because %.*s",
			totals->lost_lines, totals->lost_bytes, (int)reason.len, reason.ptr);
}

/* Of --system. */
static void tell_dropped(uint64_t lines, const char *reason)
{
	if (lines)
		client_say(ship_program.name, "%" PRIu64 " lines and points of --system were dropped because %s", lines,
			reason);
}

static void tell_not_kept(uint64_t lines)
{
	if (lines)
		client_say(ship_program.name, "%" PRIu64 " lines could not be kept and are lost", lines);
}

/* What the note names stays. */
static void keep_files(struct ship *ship)
{
	ship->keeps_rest = ship->rest.path[0] != 0;
	for (size_t i = 0; ship->keeps_rest && i < ship->rest.text_count; i++)
		spool_file_keep(&ship->files[i]);
}

/* The sender has said what the server refused. */
static void tell_unsent(struct ship *ship, const char *spool_folder, enum status status, const struct error *cause)
{
	const char *server = options_text(ship->options, "server");
	char folder[REST_NOTE_PATH_BYTES];
	struct rest_saved saved = {0};
	struct error err = {0};
	const struct rest_saving saving = {ship->spool, ship->sender, ship->streams, SYSTEM_LINES, ship->files};

	if (status == ERR_UNAVAILABLE)
		client_say(ship_program.name, "server %s was not reached in time: %s", server, cause->text);
	else if (ship->watch) /* its files stay */
		return;
	if (ship->watch && ship->ledger) {
		client_say(ship_program.name, "the rest of the files is sent when the same command is started again");
		return;
	}
	if (is_whole_file(ship)) {
		client_say(
			ship_program.name, "nothing of '%s' was sent; send it later", options_word(ship->options, 0));
		return;
	}
	snprintf(folder, sizeof folder, "%s", spool_folder);
	if (rest_save(&ship->rest, &saving, folder, &saved, &err) != OK)
		client_say(ship_program.name, "%s", err.text);
	keep_files(ship);
	tell_not_kept(saved.lost_lines);
	if (saved.lines || !saved.lost_lines)
		client_say(ship_program.name,
			"%" PRIu64 " lines of job '%s' and how it ended are kept in '%s'; send them later: "
			"sm-ship --server '%s' --spool '%s' --send-rest",
			saved.lines, sender_job(ship->sender), folder, server, folder);
	tell_dropped(saved.dropped_lines, "only lines of the training are kept");
}

static void tell_unread(struct ship *ship)
{
	struct error err = {0};

	if (options_flag(ship->options, "quiet") || sender_sent_lines(ship->sender) < UNREAD_LINES_LEAST ||
		!sender_has_job(ship->sender) || ship->identity->local_rank > 0)
		return;
	for (int tries = 0; tries < UNREAD_TRIES; tries++)
		if (unread_tell(ship->client, ship_program.name, sender_job(ship->sender), &err) != ERR_BUSY ||
			wait_signal(UNREAD_POLL_MS))
			return;
}

/* cause: of the drain; its status OK where the server has it all. */
static void restart(struct ship *ship, char *const *environment, enum status status, const struct error *cause)
{
	const struct restart of = {.options = ship->options,
		.environment = environment,
		.client = ship->client,
		.identity = ship->identity,
		.job = sender_job(ship->sender),
		.end = &ship->end,
		.program = ship_program.name,
		.wait = wait_signal};

	restart_run(&of, status != OK ? cause->text : sender_has_job(ship->sender) ? NULL : "there is no job");
}

int ship_finish(struct ship *ship, char *const *environment)
{
	struct error err = {0};
	enum status status = drain(ship, &err);

	if (status == OK && ship->watch && ship->ledger)
		ledger_end(ship->ledger);
	if (status != OK)
		tell_unsent(ship, ship_spool_folder(ship->options, environment), status, &err);
	else
		rest_note_remove(&ship->rest);
	if (!ship->watch && ship->ledger && (!ship->keeps_rest || ship->rest.is_saved)) /* else it says what is left */
		ledger_remove(ship->ledger);
	struct spool_totals totals = spool_totals(ship->spool);
	if (ship->name_lock)
		ledger_remove(ship->name_lock);
	tell_lost(&totals);
	tell_dropped(sender_dropped_lines(ship->sender), "the server did not take them");
	if (status == OK)
		tell_unread(ship);
	if (options_command(ship->options)) {
		restart(ship, environment, status, &err);
		return ship->end.exit_code; /* a scheduler must not run a training again because its chart is missing */
	}
	if (status == ERR_UNAVAILABLE)
		return EXIT_UNREACHABLE;
	return status == OK && !(ship->watch && watch_refused_count(ship->watch)) ? EXIT_DONE : EXIT_REFUSED;
}
