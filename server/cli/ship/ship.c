#include "cli/ship/ship.h"

#include "base/clock.h"
#include "cli/ship/import.h"
#include "cli/ship/import_mlflow.h"
#include "cli/ship/score_files.h"
#include "cli/ship/send_rest.h"
#include "cli/ship/ship_end.h"
#include "cli/ship/ship_state.h"
#include "cli/ship/start_source.h"
#include "cli/ship/trace_files.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { COMMAND_POLL_MS = 50, FOLLOW_POLL_MS = 200, REST_ROOM_BYTES = 256 << 10 };

static void ship_done(struct ship *ship)
{
	system_free(ship->system);
	intake_free(ship->intake); /* the threads first: they use all the rest */
	sender_free(ship->sender);
	relay_free(ship->relay);
	watch_free(ship->watch);
	spool_free(ship->spool);
	ledger_free(ship->ledger);
	ledger_free(ship->name_lock);
	http_client_free(ship->client);
	pthread_mutex_destroy(&ship->rest_mutex);
	identity_free(ship->identity);
	if (ship->rest_room_fd >= 0)
		close(ship->rest_room_fd);
	if (!ship->keeps_rest) /* it names files that go with us */
		rest_note_remove(&ship->rest);
	spool_file_done(&ship->files[0]);
	spool_file_done(&ship->files[1]);
	rest_note_done(&ship->rest);
	spool_file_done(&ship->system_files[0]);
	spool_file_done(&ship->system_files[1]);
	mem_free(ship->metrics.items);
	mem_free(ship->streams);
	mem_free(ship->is_points);
	mem_free(ship->inputs);
}
AUTO_DONE_TYPE(ship)

static enum status add_settings(struct ship *ship, struct settings *settings, const char *option, struct error *err)
{
	for (size_t i = 0; i < options_count(ship->options, option); i++)
		TRY(identity_add_setting(
			ship->identity, settings, option, options_item(ship->options, option, i), err));
	return OK;
}

static enum status find_identity(struct ship *ship, char *const *environment, struct error *err)
{
	const struct options *options = ship->options;
	char continues[300];

	TRY(ship_find_identity(&ship->identity, options, environment, err));
	TRY(add_settings(ship, &ship->identity->hyper_parameters, "hp", err));
	TRY(add_settings(ship, &ship->identity->tags, "tag", err));
	TRY(add_settings(ship, &ship->metrics, "metric", err));
	if (!options_text(options, "continues"))
		return OK;
	snprintf(continues, sizeof continues, "continues=%s", options_text(options, "continues"));
	return identity_add_setting(ship->identity, &ship->identity->tags, "continues", continues, err);
}

static enum status add_input(struct ship *ship, int fd, int pass_fd, struct error *err)
{
	struct intake_input *input = &ship->inputs[ship->input_count];

	*input = (struct intake_input){.fd = fd, .pass_fd = pass_fd};
	TRY(spool_add_source(ship->spool, &(struct spool_source){.fd = fd, .is_ours = true}, &input->source, err));
	spool_reserve(ship->spool, input->source);
	ship->input_count++;
	return OK;
}

static enum status open_own_file(struct spool_file *file, const char *folder, const char *ending, struct error *err)
{
	struct error why = {0};

	TRY(spool_file_open(file, folder, ending, &why, err));
	if (why.status != OK)
		client_say(ship_program.name, "%s: lines wait in memory instead", why.text);
	return OK;
}

/* The child writes files, not pipes: our own death then costs it nothing. */
static enum status prepare_command(struct ship *ship, const char *folder, struct error *err)
{
	TRY(open_own_file(&ship->files[0], folder, "out", err));
	TRY(open_own_file(&ship->files[1], folder, "err", err));
	TRY(add_input(ship, ship->files[0].fd, STDOUT_FILENO, err));
	return add_input(ship, ship->files[1].fd, STDERR_FILENO, err);
}

static enum status prepare_pipe(struct ship *ship, const char *folder, struct error *err)
{
	TRY(open_own_file(&ship->files[0], folder, "in", err));
	unsigned source;
	TRY(spool_add_source(
		ship->spool, &(struct spool_source){.fd = ship->files[0].fd, .is_ours = true}, &source, err));
	ship->inputs[ship->input_count++] =
		(struct intake_input){.fd = STDIN_FILENO, .pass_fd = STDOUT_FILENO, .source = source};
	return OK;
}

/* Who has a stream of a job here has its sessions' name, too; where another sm-ship runs they are called as nothing else is. */
static void lock_name(struct ship *ship, const char *folder)
{
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	struct error err = {0};
	bool has_page;

	if (page &&
		ledger_new(&ship->name_lock, folder, options_text(ship->options, "server"), ship->identity->job, 1,
			&err) == OK &&
		ledger_open_stream(ship->name_lock, 0, ship->identity->stream, page, &has_page, &err) == OK)
		return;
	client_say(ship_program.name, "%s", err.text);
	ledger_free(ship->name_lock);
	ship->name_lock = NULL;
	ship->session_seed[0] = 0;
}

/* Says what there is no way to keep; the training runs as well. */
static bool write_rest(struct ship *ship)
{
	struct error err = {0};

	if (!ship->rest.path[0] || rest_note_write(&ship->rest, &err) == OK)
		return true;
	client_say(ship_program.name, "%s", err.text);
	return false;
}

static enum status open_ledger(struct ship *ship, const char *folder, struct error *err)
{
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	bool has_page;

	if (!page)
		return error_no_memory(err);
	TRY(ledger_new(&ship->ledger, folder, options_text(ship->options, "server"), ship->rest.texts[0], 1, err));
	TRY(ledger_open_stream(ship->ledger, 0, ship->identity->stream, page, &has_page, err));
	ledger_reserve(ship->ledger, 0);
	return OK;
}

/* For what is left in our own files when we are killed: where each stands, and whose they are. */
static void keep_rest(struct ship *ship, const char *folder)
{
	struct error err = {0};

	for (size_t i = 0; i < ship->input_count; i++) {
		if (!ship->files[i].path[0])
			return; /* in memory: it dies with us */
		rest_note_add_text(&ship->rest, ship->files[i].path);
	}
	rest_note_name(&ship->rest, ship->files[0].path);
	ship->rest_room_fd = spool_file_reserve(folder, REST_ROOM_BYTES);
	if (ship->name_lock)
		start_source_share(&ship->rest, ship->session_seed, ship->rest.source);
	if (!write_rest(ship)) /* the next start would not know that we have left something */
		start_source_random(ship->rest.source);
	if (open_ledger(ship, folder, &err) == OK)
		return;
	client_say(ship_program.name, "%s", err.text);
	ledger_free(ship->ledger);
	ship->ledger = NULL;
}

/* The sender's thread. */
static void tell_job(void *context, const char *job, uint64_t base)
{
	struct ship *ship = context;

	pthread_mutex_lock(&ship->rest_mutex);
	snprintf(ship->rest.job, sizeof ship->rest.job, "%s", job);
	ship->rest.base = base;
	write_rest(ship);
	pthread_mutex_unlock(&ship->rest_mutex);
	if (ship->relay)
		relay_tell_job(ship->relay, job);
}

/* The sender's thread. */
static bool waits_for_run(void *context)
{
	return relay_is_beginning(context);
}

void ship_keep_end(struct ship *ship, int64_t ended_ms)
{
	pthread_mutex_lock(&ship->rest_mutex);
	if (ship->rest_room_fd >= 0) /* for this, and for what of the lines is left */
		close(ship->rest_room_fd);
	ship->rest_room_fd = -1;
	ship->rest.end = ship->end;
	ship->rest.ended_ms = ended_ms;
	write_rest(ship);
	pthread_mutex_unlock(&ship->rest_mutex);
}

/* A descriptor a file; the usual limit of 1024 is for programs that call select. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static enum status prepare_files(struct ship *ship, char *const *environment, struct error *err)
{
	const struct options *options = ship->options;
	size_t count = options_word_count(options);
	bool is_one = count == 1 && !strpbrk(options_word(options, 0), "*?[");
	struct watch_options watch = {.program = ship_program.name,
		.spool = ship->spool,
		.patterns = options_words(options),
		.count = count,
		.only_stream = is_one ? ship->identity->stream : NULL,
		.streams = ship->streams,
		.is_points = ship->is_points,
		.spool_folder = ship_spool_folder(ship->options, environment),
		.follows = options_flag(options, "follow")};

	for (size_t i = 0; i < count; i++)
		if (rest_note_has(options_word(options, i)))
			return error_set(err, ERR_INVALID,
				"'%s' is what a sm-ship left of a job: sm-ship --send-rest sends what of it the server has not",
				options_word(options, i));
	raise_file_limit();
	if (!ship->identity->is_named_by_time) {
		TRY(ledger_new(&ship->ledger, ship_spool_folder(ship->options, environment),
			options_text(options, "server"), ship->identity->job, WATCH_MAX_FILES, err));
		watch.ledger = ship->ledger;
		watch.resumed_job = options_flag(options, "resume") ? ship->identity->job : NULL;
	}
	return watch_new(&ship->watch, &watch, err);
}

static enum status add_system_source(
	struct ship *ship, unsigned stream, const char *folder, const char *ending, unsigned *source, struct error *err)
{
	struct spool_file *file = &ship->system_files[stream - SYSTEM_LINES];

	TRY(open_own_file(file, folder, ending, err));
	ship->streams[stream] = ship->system_stream;
	return spool_add_source(
		ship->spool, &(struct spool_source){.fd = file->fd, .stream = stream, .is_ours = true}, source, err);
}

/* The thread itself starts with the others, when the training runs. */
static enum status prepare_system(struct ship *ship, const char *folder, struct error *err)
{
	const struct options *options = ship->options;

	ship->system_options = (struct system_options){.program = ship_program.name,
		.spool = ship->spool,
		.lock_folder = folder,
		.server = options_text(options, "server"),
		.job = ship->identity->job,
		.host = ship->identity->host,
		.is_preferred = ship->identity->local_rank == 0,
		.interval_ms = options_i64(options, "system-interval"),
		.proc = options_text(options, "proc"),
		.kmsg = options_text(options, "kmsg"),
		.folder = ship->identity->folder};
	snprintf(ship->system_stream, sizeof ship->system_stream, "system/%.240s", ship->identity->host);
	TRY(add_system_source(ship, SYSTEM_LINES, folder, "kernel", &ship->system_options.line_source, err));
	TRY(add_system_source(ship, SYSTEM_POINTS, folder, "points", &ship->system_options.point_source, err));
	ship->is_points[SYSTEM_POINTS] = true;
	return OK;
}

static enum status prepare(struct ship *ship, char *const *environment, int64_t started_ms, struct error *err)
{
	const char *folder = ship_spool_folder(ship->options, environment);
	size_t file_count = options_word_count(ship->options);

	if (options_command(ship->options) && file_count)
		return error_set(
			err, ERR_INVALID, "either FILEs or -- COMMAND, not both: '%s'", options_word(ship->options, 0));
	if (options_text(ship->options, "on-restart") && !options_command(ship->options))
		return error_set_field(err, ERR_INVALID, "on-restart",
			"--on-restart is for '-- COMMAND': of lines alone it is not known whether a training failed");
	TRY(orders_read(&ship->orders, ship->options, err));
	TRY(find_identity(ship, environment, err));
	ship_seed_sessions(folder, ship->session_seed);
	TRY(client_open(&ship->client, ship->options, ship_program.name, err));
	ship->spool = spool_new((uint64_t)options_i64(ship->options, "spool-bytes"));
	ship->streams = mem_zeroed(MAX_STREAMS * sizeof *ship->streams);
	ship->is_points = mem_zeroed(MAX_STREAMS * sizeof *ship->is_points);
	ship->inputs = mem_zeroed(2 * sizeof *ship->inputs);
	if (!ship->spool || !ship->streams || !ship->is_points || !ship->inputs)
		return error_no_memory(err);
	if (options_flag(ship->options, "system"))
		TRY(prepare_system(ship, folder, err));
	ship->rest = (struct rest_note){.server = options_text(ship->options, "server"),
		.identity = ship->identity,
		.metrics = &ship->metrics,
		.has_exit = options_command(ship->options) != NULL,
		.reads_files = file_count && !options_flag(ship->options, "follow"),
		.resumes = options_flag(ship->options, "resume"),
		.started_ms = started_ms};
	start_source_random(ship->rest.source);
	if (file_count)
		return prepare_files(ship, environment, err);
	ship->streams[0] = ship->identity->stream;
	lock_name(ship, folder);
	TRY(options_command(ship->options) ? prepare_command(ship, folder, err) : prepare_pipe(ship, folder, err));
	keep_rest(ship, folder);
	return OK;
}

static enum status start_threads(struct ship *ship, int64_t started_ms, struct error *err)
{
	size_t file_count = options_word_count(ship->options);
	bool is_command = options_command(ship->options) != NULL;
	bool follows = options_flag(ship->options, "follow");

	ship->orders.child = is_command ? &ship->child : NULL;
	struct intake_options intake = {.spool = ship->spool,
		.inputs = ship->inputs,
		.count = ship->input_count,
		.is_pipe = !is_command && file_count == 0,
		.ends_at_end = !is_command && !follows,
		.watch = ship->watch,
		.poll_ms = is_command ? COMMAND_POLL_MS : FOLLOW_POLL_MS,
		.patience_ms = options_i64(ship->options, "drain-timeout") + 1,
		.waiter = pthread_self()};
	struct sender_options sender = {.program = ship_program.name,
		.server = options_text(ship->options, "server"),
		.client = ship->client,
		.spool = ship->spool,
		.identity = ship->identity,
		.metrics = &ship->metrics,
		.streams = ship->streams,
		.is_points = ship->is_points,
		.max_streams = MAX_STREAMS,
		.ledger = ship->ledger,
		.ledger_streams = WATCH_MAX_FILES,
		.reads_files = file_count && !follows,
		.resumes = options_flag(ship->options, "resume"),
		.has_one_stream = file_count == 0,
		.session_seed = ship->session_seed[0] ? ship->session_seed : NULL,
		.orders = &ship->orders,
		.started_ms = started_ms,
		.source = ship->rest.source[0] ? ship->rest.source : NULL,
		.tell_job = tell_job,
		.tell_context = ship,
		.must_wait = ship->relay ? waits_for_run : NULL,
		.wait_context = ship->relay,
		.secret = ship->relay ? relay_secret(ship->relay) : NULL,
		.compare_points = (uint64_t)options_i64(ship->options, "compare-points"),
		.waiter = pthread_self()};

	TRY(sender_start(&ship->sender, &sender, err));
	if (options_flag(ship->options, "system"))
		TRY(system_start(&ship->system, &ship->system_options, err));
	return intake_start(&ship->intake, &intake, err);
}

/* Before the training, whose environment has its address, and before all threads. */
static void start_relay(struct ship *ship, char *const *environment)
{
	const struct relay_options relay = {.program = ship_program.name,
		.options = ship->options,
		.spool_folder = ship_spool_folder(ship->options, environment),
		.job = ship->identity->job,
		.environment = environment,
		.command = options_command(ship->options)};

	if (!options_flag(ship->options, "no-relay"))
		relay_start(&ship->relay, &relay);
}

static enum status run_command(struct ship *ship, char *const *environment, int64_t started_ms, struct error *err)
{
	bool is_running = false;

	start_relay(ship, environment);
	TRY(child_start(&ship->child, options_command(ship->options), ship->files[0].append_fd,
		ship->files[1].append_fd, &is_running, &ship->end, err));
	if (!is_running)
		client_say(ship_program.name, "%s", ship->end.reason);
	relay_put_child(ship->relay, ship->child.pid);
	enum status status = start_threads(ship, started_ms, err);
	if (status != OK) /* too late to say no: the training runs */
		client_say(ship_program.name, "%s: the training runs on, nothing is sent", err->text);
	if (is_running)
		child_wait(&ship->child, &ship->end);
	if (status != OK)
		return status;
	intake_stop(ship->intake);
	intake_join(ship->intake);
	return OK;
}

int ship_run(const struct options *options, char *const *environment)
{
	AUTO_DONE(ship)
	ship = {.options = options,
		.rest_mutex = PTHREAD_MUTEX_INITIALIZER,
		.files = {SPOOL_FILE_NONE, SPOOL_FILE_NONE},
		.system_files = {SPOOL_FILE_NONE, SPOOL_FILE_NONE},
		.child = CHILD_INIT,
		.rest_room_fd = -1,
		.end = {.secondary_status = "Completed"}};
	struct error err = {0};
	int64_t started_ms = clock_wall_ms();

	if (options_text(options, "import"))
		return import_run(options, environment);
	if (options_text(options, "import-mlflow"))
		return import_mlflow_run(options, environment);
	if (options_count(options, "trace"))
		return trace_files_run(options, environment);
	if (options_flag(options, "send-rest"))
		return send_rest_run(options, environment);
	bool has_scores;
	if (score_files_wanted(options, &has_scores, &err) != OK) {
		client_say(ship_program.name, "%s", err.text);
		return EXIT_USAGE;
	}
	if (has_scores)
		return score_files_run(options, environment);
	if (prepare(&ship, environment, started_ms, &err) != OK) {
		client_say(ship_program.name, "%s", err.text);
		return EXIT_USAGE;
	}
	child_block_signals();
	if (options_command(options)) {
		if (run_command(&ship, environment, started_ms, &err) != OK)
			return ship.end.exit_code;
		return ship_finish(&ship, environment);
	}
	if (start_threads(&ship, started_ms, &err) != OK) {
		client_say(ship_program.name, "%s", err.text);
		return EXIT_USAGE;
	}
	ship_wait_input(&ship);
	intake_join(ship.intake);
	return ship_finish(&ship, environment);
}
