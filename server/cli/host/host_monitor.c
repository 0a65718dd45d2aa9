#include "cli/host/host_monitor.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "cli/http/client.h"
#include "cli/host/host_figures.h"
#include "cli/host/host_programs.h"
#include "cli/host/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ROUND_BYTES = 4 << 20, KERNEL_POLL_MS = 1000, LOCK_HEX = 16 };

struct system {
	struct system_options options;
	pthread_t thread;
	bool has_thread;
	int stop_fd;
	int lock_fd; /* -1: somebody else's */
	struct host_figures *figures;
	struct host_programs *programs;
	struct kernel_log *kernel_log; /* NULL: it cannot be read */
	struct buf lines, points;
};

/* True: it is ours. A folder that cannot hold it must not keep the machine from being measured. */
static bool take_lock(struct system *system)
{
	unsigned char digest[SHA256_BYTES];
	AUTO_DONE(buf) name = BUF_INIT(1 << 16);
	char hex[LOCK_HEX + 1], path[4096];

	if (system->lock_fd >= 0)
		return true;
	buf_printf(&name, "%s\n%s\n%s", system->options.server, system->options.host, system->options.job);
	crypto_sha256(buf_span(&name), digest);
	crypto_hex(digest, LOCK_HEX / 2, hex);
	mkdir(system->options.lock_folder, 0700);
	snprintf(path, sizeof path, "%s/sm-ship-system-%s.lock", system->options.lock_folder, hex);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return false;
	}
	system->lock_fd = fd;
	return fd >= 0;
}

static void begin(struct system *system)
{
	struct error err = {0};

	if (host_figures_new(&system->figures, system->options.proc, system->options.folder, &err) != OK ||
		host_programs_new(&system->programs, system->options.program, system->options.interval_ms, &err) != OK)
		client_say(system->options.program, "--system: %s", err.text);
	if (kernel_log_new(&system->kernel_log, system->options.kmsg, &err) != OK)
		client_say(system->options.program, "%s", err.text);
}

static void flush(struct system *system)
{
	spool_write(system->options.spool, system->options.point_source, buf_span(&system->points), false, 0);
	spool_write(
		system->options.spool, system->options.line_source, buf_span(&system->lines), false, clock_wall_ms());
	buf_reset(&system->points);
	buf_reset(&system->lines);
}

static void take_round(struct system *system, bool is_due)
{
	struct host_points points = {.out = &system->points, .ts_ms = clock_wall_ms()};
	int64_t now_ms = clock_mono_ms();

	if (system->programs)
		host_programs_read(system->programs, now_ms, &points);
	if (system->kernel_log)
		kernel_log_read(system->kernel_log, &system->lines);
	if (is_due && system->figures)
		host_figures_read(system->figures, now_ms, &points);
	flush(system);
}

/* True when stop was asked for; else when something may have come, or wait_ms are over. */
static bool wait_stop(struct system *system, int64_t wait_ms)
{
	struct pollfd items[1 + HOST_PROGRAM_COUNT] = {{.fd = system->stop_fd, .events = POLLIN}};

	for (size_t i = 1; i <= HOST_PROGRAM_COUNT; i++)
		items[i].fd = -1;
	if (system->programs)
		host_programs_poll(system->programs, &items[1]);
	int limit_ms =
		wait_ms < KERNEL_POLL_MS ? (int)wait_ms : KERNEL_POLL_MS; /* a file of lines cannot be waited for */
	return poll(items, 1 + HOST_PROGRAM_COUNT, limit_ms > 0 ? limit_ms : 0) > 0 && items[0].revents;
}

static void *run(void *argument)
{
	struct system *system = argument;
	int64_t interval_ms = system->options.interval_ms;
	int64_t due_ms = clock_mono_ms() + (system->options.is_preferred ? 0 : interval_ms);
	bool is_ours = false, must_stop = false;

	pthread_setname_np(pthread_self(), "system");
	while (!must_stop) {
		int64_t now_ms = clock_mono_ms();
		bool is_due = now_ms >= due_ms;
		if (is_due)
			due_ms += (now_ms - due_ms) / interval_ms * interval_ms + interval_ms;
		if (is_due && !is_ours && take_lock(system)) {
			begin(system);
			is_ours = true;
		}
		if (is_ours)
			take_round(system, is_due);
		must_stop = wait_stop(system, due_ms - clock_mono_ms());
	}
	if (is_ours)
		take_round(system, true);
	return NULL;
}

enum status system_start(struct system **out, const struct system_options *options, struct error *err)
{
	AUTO(system) system = mem_zeroed(sizeof *system);
	sigset_t all, before;

	if (!system)
		return error_no_memory(err);
	system->options = *options;
	system->lock_fd = -1;
	system->lines = BUF_INIT(MAX_ROUND_BYTES);
	system->points = BUF_INIT(MAX_ROUND_BYTES);
	system->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (system->stop_fd < 0)
		return error_set(err, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the main thread */
	int failure = pthread_create(&system->thread, NULL, run, system);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failure)
		return error_set(err, ERR_MEMORY, "cannot start a thread: %s", strerror(failure));
	system->has_thread = true;
	*out = TAKE(system);
	return OK;
}

void system_free(struct system *system)
{
	if (!system)
		return;
	if (system->has_thread) {
		eventfd_write(system->stop_fd, 1);
		pthread_join(system->thread, NULL);
	}
	host_programs_free(system->programs);
	host_figures_free(system->figures);
	kernel_log_free(system->kernel_log);
	if (system->lock_fd >= 0)
		close(system->lock_fd);
	if (system->stop_fd >= 0)
		close(system->stop_fd);
	buf_done(&system->lines);
	buf_done(&system->points);
	mem_free(system);
}
