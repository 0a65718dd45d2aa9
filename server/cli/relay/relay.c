#include "cli/relay/relay.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "cli/http/url.h"
#include "cli/relay/relay_core.h"
#include "cli/relay/relay_scope.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* MLflow's takes what is nobody else's. */
const struct relay_dialect *const relay_dialects[RELAY_DIALECT_COUNT] = {
	[RELAY_WANDB] = &relay_wandb, [RELAY_MLFLOW] = &relay_mlflow};

enum {
	LOOK_MS = 1000, /* whether sm-ship is still there */
	TOO_SOON_MS = 1000, /* one that ends so quickly is not started again at once */
};

struct relay {
	pid_t pid; /* of the guard */
	int tell_fd; /* a byte: the training is over; its end alone: sm-ship was killed */
	struct relay_shared *shared;
	bool is_reaped;
	char token[RELAY_TOKEN_DIGITS + 1];
};

/* ---- the relay's process ---- */

/* What it takes to send. */
static enum status core_fill(struct relay_core *core, const struct relay_options *options, struct error *err)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&core->mutex, NULL);
	pthread_mutex_init(&core->read_mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&core->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	TRY(client_open(&core->sender, options->options, options->program, err));
	TRY(client_open(&core->reader, options->options, options->program, err));
	return relay_journal_new(&core->own, options->spool_folder, core->server, options->job,
		(uint64_t)options_i64(options->options, "spool-bytes"), err);
}

/* What it takes to answer. */
static enum status core_fill_known(struct relay_core *core, struct error *err)
{
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++)
		if (!(core->known[i] = relay_dialects[i]->known_new()))
			return error_no_memory(err);
	return OK;
}

/* Locks of sm-ship's files, and the files themselves, are not ours to keep. */
static void keep_only(int *listener, int *parent)
{
	int low = fcntl(*listener, F_DUPFD_CLOEXEC, 3), high = fcntl(*parent, F_DUPFD_CLOEXEC, 3);
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (low < 0 || high < 0 || nowhere < 0)
		return;
	dup2(nowhere, STDIN_FILENO);
	dup2(nowhere, STDOUT_FILENO);
	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
		if (fd != low && fd != high)
			close(fd);
	*listener = low;
	*parent = high;
}

static void ignore_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_IGN); /* they are for the training; when that ends we hear of it */
}

static void end_delivery(struct relay_core *core, pthread_t sender)
{
	pthread_mutex_lock(&core->mutex);
	core->is_ending = true;
	pthread_cond_broadcast(&core->changed);
	pthread_mutex_unlock(&core->mutex);
	pthread_join(sender, NULL);
}

/* Threads of connections may run on, so nothing of the core is freed: they end with the process. */
static int run_relay(struct relay_core *core, const struct relay_options *options, int listener, int parent)
{
	struct error err = {0};
	pthread_t sender;

	prctl(PR_SET_NAME, "sm-ship relay");
	if (core_fill(core, options, &err) != OK || core_fill_known(core, &err) != OK ||
		pthread_create(&sender, NULL, relay_deliver, core) != 0) {
		client_say(core->program, "no relay for the training's tracker: %s", err.text);
		return 1;
	}
	relay_serve(core, listener, parent);
	if (!atomic_load(&core->is_alone))
		relay_journal_set_shipped(core->own);
	if (!atomic_load(&core->shared->give_up_ms))
		atomic_store(&core->shared->give_up_ms,
			clock_mono_ms() + options_i64(options->options, "drain-timeout") + 1);
	end_delivery(core, sender);
	relay_journal_end(core->own);
	return 0;
}

/* ---- its guard: a process that does nothing, and so lives ---- */

/* Who waits for the last word of an sm-ship that was killed must not wait for ours. */
static void leave_dead_parent(int parent)
{
	struct pollfd end = {.fd = parent, .events = 0};

	if (poll(&end, 1, 0) > 0)
		relay_leave_terminal();
}

/* Until the relay's process ends; false: it was killed. */
static bool await_end(pid_t pid, int parent, const sigset_t *ends, int *exit_code)
{
	const struct timespec look = {.tv_sec = LOOK_MS / 1000};
	int state;

	while (waitpid(pid, &state, WNOHANG) == 0) {
		sigtimedwait(ends, NULL, &look);
		leave_dead_parent(parent);
	}
	*exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 1;
	return WIFEXITED(state);
}

/* The address that the training was given is held here: a relay that was killed (memory ran out) is followed by another one, which also
 * sends what the first one had in the spool; until then its clients wait. */
static int run_guard(struct relay_core *core, const struct relay_options *options, int listener, int parent)
{
	int exit_code = 1;
	sigset_t ends;

	ignore_signals();
	keep_only(&listener, &parent);
	prctl(PR_SET_NAME, "sm-ship guard");
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (;;) {
		int64_t started_ms = clock_mono_ms();
		pid_t pid = fork();
		if (pid == 0)
			_exit(run_relay(core, options, listener, parent));
		atomic_store(&core->shared->relay_pid, pid > 0 ? pid : 0);
		if (pid > 0 && await_end(pid, parent, &ends, &exit_code)) {
			atomic_store(&core->shared->relay_pid, 0);
			return exit_code;
		}
		if (pid > 0)
			client_say(
				core->program, "the relay for the training's tracker was killed; another one goes on");
		if (clock_mono_ms() - started_ms < TOO_SOON_MS)
			poll(NULL, 0, TOO_SOON_MS);
	}
}

/* ---- sm-ship's process ---- */

static int listen_on_loopback(char url[RELAY_URL_BYTES], struct error *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 512) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
		snprintf(url, RELAY_URL_BYTES, "http://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
		return fd;
	}
	error_fill(err, ERR_IO, "cannot listen on 127.0.0.1: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static enum status start_process(
	struct relay *relay, struct relay_core *core, const struct relay_options *options, struct error *err)
{
	int ends[2], listener = listen_on_loopback(core->url, err);

	if (listener < 0)
		return ERR_IO;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		close(listener);
		return error_set(err, ERR_IO, "cannot make a pipe: %s", strerror(errno));
	}
	relay->pid = fork();
	if (relay->pid == 0) {
		close(ends[1]);
		_exit(run_guard(core, options, listener, ends[0]));
	}
	int failure = errno;
	close(listener);
	close(ends[0]);
	relay->tell_fd = ends[1];
	return relay->pid > 0 ? OK : error_set(err, ERR_IO, "cannot start a process: %s", strerror(failure));
}

/* The first of its addresses: a journal is known by it. */
static void name_server(const struct relay_options *options, char address[RELAY_SERVER_BYTES])
{
	struct span rest = span_from(options_text(options->options, "server")), first = rest;

	(void)url_next(&rest, &first);
	first = span_trim(first);
	snprintf(address, RELAY_SERVER_BYTES, "%s%.*s", span_find(first, SPAN("://")) < 0 ? "http://" : "",
		SPAN_ARGS(span_cut(first, RELAY_SERVER_BYTES - 16)));
}

static enum status start(struct relay *relay, const bool speaks[RELAY_DIALECT_COUNT],
	const struct relay_options *options, struct error *err)
{
	unsigned char random[RELAY_TOKEN_DIGITS / 2];
	char address[RELAY_SERVER_BYTES];
	struct relay_core core = {.program = options->program,
		.folder = options->spool_folder,
		.has_system = options_flag(options->options, "system"),
		.is_quiet = options_flag(options->options, "quiet"),
		.max_body_bytes = (size_t)options_i64(options->options, "relay-bytes")};

	name_server(options, address);
	core.server = address;
	memcpy(core.speaks, speaks, sizeof core.speaks);
	crypto_random(random, sizeof random);
	crypto_hex(random, sizeof random, core.token);
	memcpy(relay->token, core.token, sizeof relay->token);
	relay->shared = mmap(NULL, sizeof *relay->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (relay->shared == MAP_FAILED) {
		relay->shared = NULL;
		return error_no_memory(err);
	}
	core.shared = relay->shared;
	TRY(start_process(relay, &core, options, err));
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++)
		if (speaks[i])
			relay_dialects[i]->set_environment(&core, options->environment);
	relay_scope_pass_proxies(options->environment);
	return OK;
}

static bool has_own(const struct relay_dialect *dialect, char *const *environment)
{
	return relay_scope_has_own(environment, dialect->own, dialect->own_files) ||
	       (dialect->has_own && dialect->has_own(environment));
}

void relay_start(struct relay **out, const struct relay_options *options)
{
	AUTO(relay) relay = mem_zeroed(sizeof *relay);
	bool speaks[RELAY_DIALECT_COUNT], speaks_any = false;
	struct error err = {0};

	*out = NULL;
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++) {
		speaks[i] = relay_scope_is_local(options->environment, options->command) &&
			    !has_own(relay_dialects[i], options->environment);
		speaks_any = speaks_any || speaks[i];
	}
	if (!speaks_any)
		return;
	if (!relay)
		error_fill(&err, ERR_MEMORY, "out of memory");
	else
		relay->tell_fd = -1;
	if (relay && start(relay, speaks, options, &err) == OK)
		*out = TAKE(relay);
	else
		client_say(options->program, "no relay for the training's tracker: %s", err.text);
}

enum status relay_send_left(const struct relay_options *options, struct error *err)
{
	char address[RELAY_SERVER_BYTES];
	struct relay_shared shared = {.has_no_job = true};
	struct relay_core core = {.program = options->program,
		.server = address,
		.folder = options->spool_folder,
		.shared = &shared,
		.is_ending = true,
		.is_alone = true};
	AUTO(relay_journal) left = NULL;

	name_server(options, address);
	atomic_store(&shared.give_up_ms, clock_mono_ms() + options_i64(options->options, "drain-timeout") + 1);
	enum status status = core_fill(&core, options, err);
	if (status == OK)
		relay_deliver(&core);
	relay_journal_free(core.own);
	http_client_free(core.sender);
	http_client_free(core.reader);
	TRY(status);
	TRY(relay_journal_adopt(&left, options->spool_folder, address, err));
	return left ? error_set(err, ERR_UNAVAILABLE, "what a training told its tracker is still kept in '%s'",
			      relay_journal_path(left))
		    : OK;
}

void relay_put_child(struct relay *relay, int pid)
{
	if (relay)
		atomic_store(&relay->shared->child_pid, pid);
}

void relay_tell_job(struct relay *relay, const char *job)
{
	snprintf(relay->shared->job, sizeof relay->shared->job, "%s", job);
	atomic_store(&relay->shared->has_job, true);
}

const char *relay_secret(const struct relay *relay)
{
	return relay->token;
}

bool relay_is_beginning(const struct relay *relay)
{
	const struct relay_shared *shared = relay->shared;

	return (atomic_load(&shared->has_put) && !atomic_load(&shared->has_run)) ||
	       atomic_load(&shared->made_runs) < atomic_load(&shared->begun_runs);
}

void relay_tell_no_job(struct relay *relay)
{
	if (relay)
		atomic_store(&relay->shared->has_no_job, true);
}

void relay_give_up_at(struct relay *relay, int64_t mono_ms)
{
	if (relay)
		atomic_store(&relay->shared->give_up_ms, mono_ms);
}

void relay_end(struct relay *relay, int64_t give_up_mono_ms)
{
	if (!relay || relay->tell_fd < 0)
		return;
	relay_give_up_at(relay, give_up_mono_ms);
	(void)!write(relay->tell_fd, "e", 1);
	close(relay->tell_fd);
	relay->tell_fd = -1;
}

bool relay_has_ended(struct relay *relay)
{
	if (!relay || relay->is_reaped)
		return true;
	relay->is_reaped = waitpid(relay->pid, NULL, WNOHANG) != 0;
	if (relay->is_reaped) { /* or there is nobody to make it */
		atomic_store(&relay->shared->has_run, true);
		atomic_store(&relay->shared->made_runs, UINT_MAX);
	}
	return relay->is_reaped;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	if (relay->pid > 0 && !relay_has_ended(relay)) {
		kill(relay->pid, SIGKILL);
		waitpid(relay->pid, NULL, 0);
		pid_t worker = atomic_load(&relay->shared->relay_pid);
		if (worker > 0)
			kill(worker, SIGKILL);
	}
	if (relay->tell_fd >= 0)
		close(relay->tell_fd);
	if (relay->shared)
		munmap(relay->shared, sizeof *relay->shared);
	mem_free(relay);
}
