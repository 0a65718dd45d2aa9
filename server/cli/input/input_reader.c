#include "cli/input/input_reader.h"

#include "base/clock.h"
#include "cli/input/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ROOM_POLL_MS = 10 };

struct intake {
	struct intake_options options;
	struct line_reader *readers;
	int stop_fd; /* an eventfd: readable once stop was asked for */
	pthread_t thread;
	bool has_thread, is_joined;
	_Atomic bool is_done, is_given_up;
};

/* True when stop was asked for; else after wait_ms, or when fd has one of the events. */
static bool wait_stop(const struct intake *intake, int fd, short events, int wait_ms)
{
	struct pollfd items[] = {{.fd = intake->stop_fd, .events = POLLIN}, {.fd = fd, .events = events}};

	return poll(items, fd >= 0 ? 2 : 1, wait_ms) > 0 && (items[0].revents & POLLIN);
}

static void run_pipe(struct intake *intake)
{
	struct line_reader *reader = &intake->readers[0];

	while (!wait_stop(intake, reader->fd, POLLIN, -1))
		if (line_reader_read(reader, intake->options.spool) == 0)
			break;
}

/* What has no room in the spool waits as long as the server takes something now and then. */
struct patience {
	uint64_t waiting_bytes;
	int64_t moved_mono_ms;
};

static bool wait_for_room(const struct intake *intake, struct patience *patience)
{
	uint64_t waiting_bytes = spool_totals(intake->options.spool).waiting_bytes;
	int64_t now_ms = clock_mono_ms();

	if (!patience->moved_mono_ms || waiting_bytes != patience->waiting_bytes)
		*patience = (struct patience){waiting_bytes, now_ms};
	if (atomic_load(&intake->is_given_up) ||
		(intake->options.patience_ms && now_ms - patience->moved_mono_ms >= intake->options.patience_ms))
		return false;
	poll(NULL, 0, ROOM_POLL_MS);
	return true;
}

static void run_files(struct intake *intake)
{
	bool is_last = intake->options.ends_at_end;
	struct patience patience = {0};

	for (;;) {
		for (size_t i = 0; i < intake->options.count; i++)
			while (line_reader_read(&intake->readers[i], intake->options.spool) == LINE_READER_BYTES)
				;
		bool is_all = !intake->options.watch || watch_round(intake->options.watch);
		if (is_last && !is_all && wait_for_room(intake, &patience))
			continue;
		if (is_last)
			break;
		is_last = wait_stop(intake, -1, 0, intake->options.poll_ms); /* then once more, to the end */
	}
	if (intake->options.watch)
		watch_finish(intake->options.watch);
}

static void *run(void *argument)
{
	struct intake *intake = argument;

	if (intake->options.is_pipe)
		run_pipe(intake);
	else
		run_files(intake);
	for (size_t i = 0; i < intake->options.count; i++)
		line_reader_finish(&intake->readers[i], intake->options.spool);
	atomic_store(&intake->is_done, true);
	pthread_kill(intake->options.waiter, SIGCHLD);
	return NULL;
}

enum status intake_start(struct intake **out, const struct intake_options *options, struct error *err)
{
	AUTO(intake) intake = mem_zeroed(sizeof *intake);

	if (!intake)
		return error_no_memory(err);
	intake->options = *options;
	intake->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (intake->stop_fd < 0)
		return error_set(err, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
	intake->readers = mem_zeroed((options->count + 1) * sizeof *intake->readers);
	if (!intake->readers)
		return error_no_memory(err);
	for (size_t i = 0; i < options->count; i++) {
		const struct intake_input *input = &options->inputs[i];
		line_reader_init(&intake->readers[i], input->fd, input->pass_fd, input->source);
		intake->readers[i].is_pipe = options->is_pipe;
		intake->readers[i].says_times = true;
	}
	int failure = pthread_create(&intake->thread, NULL, run, intake);
	if (failure)
		return error_set(err, ERR_MEMORY, "cannot start a thread: %s", strerror(failure));
	intake->has_thread = true;
	*out = TAKE(intake);
	return OK;
}

void intake_stop(struct intake *intake)
{
	eventfd_write(intake->stop_fd, 1);
}

bool intake_is_done(struct intake *intake)
{
	return atomic_load(&intake->is_done);
}

void intake_join(struct intake *intake)
{
	pthread_join(intake->thread, NULL);
	intake->is_joined = true;
}

void intake_free(struct intake *intake)
{
	if (!intake)
		return;
	if (intake->has_thread && !intake->is_joined) {
		atomic_store(&intake->is_given_up, true);
		intake_stop(intake);
		intake_join(intake);
	}
	for (size_t i = 0; intake->readers && i < intake->options.count; i++)
		line_reader_done(&intake->readers[i]);
	mem_free(intake->readers);
	if (intake->stop_fd >= 0)
		close(intake->stop_fd);
	mem_free(intake);
}
