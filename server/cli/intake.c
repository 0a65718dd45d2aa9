#include "cli/intake.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	READ_BYTES = 64 << 10,
	PASS_BYTES = 4096, /* PIPE_BUF: a pipe that is ready takes so much without blocking */
	MAX_PENDING_BYTES = SPOOL_MAX_LINE_BYTES,
};

struct input_state {
	struct intake_input input;
	struct buf pending; /* a line without its end */
	uint64_t read_at; /* of a file */
	bool is_first; /* nothing was read yet */
};

struct intake {
	struct intake_options options;
	struct input_state *states;
	int stop_fd; /* an eventfd: readable once stop was asked for */
	pthread_t thread;
	bool has_thread, is_joined;
	_Atomic bool is_done;
};

/* True when stop was asked for; else after wait_ms, or when fd has one of the events. */
static bool wait_stop(const struct intake *intake, int fd, short events, int wait_ms)
{
	struct pollfd items[] = {{.fd = intake->stop_fd, .events = POLLIN}, {.fd = fd, .events = events}};

	return poll(items, fd >= 0 ? 2 : 1, wait_ms) > 0 && (items[0].revents & POLLIN);
}

/* The reader of our output may be slow, which is his right; gone, and we go on without him. */
static void pass_through(struct input_state *state, struct span bytes)
{
	while (bytes.len && state->input.pass_fd >= 0) {
		struct span part = span_of(bytes.ptr, bytes.len < PASS_BYTES ? bytes.len : PASS_BYTES);
		struct pollfd item = {.fd = state->input.pass_fd, .events = POLLOUT};
		if (poll(&item, 1, -1) < 0)
			continue;
		ssize_t written = write(state->input.pass_fd, part.ptr, part.len);
		if (written >= 0)
			bytes = span_skip(bytes, (size_t)written);
		else if (errno != EINTR && errno != EAGAIN)
			state->input.pass_fd = -1;
	}
}

static void put(struct intake *intake, struct input_state *state, struct span lines, bool has_open_end)
{
	int64_t ts_ms = intake->options.says_times ? clock_wall_ms() : 0;
	uint64_t start = state->read_at - state->pending.len;

	if (intake->options.is_pipe)
		spool_write(intake->options.spool, state->input.source, lines, has_open_end, ts_ms);
	else if (has_open_end)
		spool_put_open_end(intake->options.spool, state->input.source, lines, start, ts_ms);
	else
		spool_put(intake->options.spool, state->input.source, lines, start, ts_ms);
}

/* Whole lines leave pending; an endless line leaves it in pieces. */
static void put_pending(struct intake *intake, struct input_state *state, bool is_last)
{
	struct span text = buf_span(&state->pending);
	const char *end = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t whole = end ? (size_t)(end - text.ptr) + 1 : 0;

	if (whole) {
		put(intake, state, span_of(text.ptr, whole), false);
		memmove(state->pending.ptr, state->pending.ptr + whole, text.len - whole);
		state->pending.len -= whole;
	}
	if (state->pending.len && (is_last || state->pending.len >= MAX_PENDING_BYTES)) {
		put(intake, state, buf_span(&state->pending), true);
		state->pending.len = 0;
	}
}

/* What was punched out of an old spool file reads as NULs. */
static void skip_hole(struct input_state *state)
{
	off_t data = lseek(state->input.fd, 0, SEEK_DATA);
	char c = 1;

	if (data > 0) {
		state->read_at = (uint64_t)data;
		while (pread(state->input.fd, &c, 1, (off_t)state->read_at) == 1 && c == 0)
			state->read_at++;
	}
}

/* Bytes read; 0 at the end. */
static size_t read_some(struct intake *intake, struct input_state *state)
{
	char *room = buf_reserve(&state->pending, READ_BYTES);
	ssize_t got;

	if (!room)
		return 0;
	if (state->is_first && !intake->options.is_pipe)
		skip_hole(state);
	state->is_first = false;
	do {
		got = intake->options.is_pipe ? read(state->input.fd, room, READ_BYTES)
					      : pread(state->input.fd, room, READ_BYTES, (off_t)state->read_at);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return 0;
	state->read_at += (uint64_t)got;
	buf_advance(&state->pending, (size_t)got);
	pass_through(state, span_of(room, (size_t)got));
	return (size_t)got;
}

static void run_pipe(struct intake *intake)
{
	struct input_state *state = &intake->states[0];

	while (!wait_stop(intake, state->input.fd, POLLIN, -1)) {
		if (read_some(intake, state) == 0)
			break;
		put_pending(intake, state, false);
	}
	put_pending(intake, state, true);
}

static void read_files(struct intake *intake)
{
	for (size_t i = 0; i < intake->options.count; i++)
		while (read_some(intake, &intake->states[i]))
			put_pending(intake, &intake->states[i], false);
}

static void run_files(struct intake *intake)
{
	bool is_last = intake->options.ends_at_end;

	for (;;) {
		read_files(intake);
		if (is_last)
			break;
		is_last = wait_stop(intake, -1, 0, intake->options.poll_ms); /* then once more, to the end */
	}
	for (size_t i = 0; i < intake->options.count; i++)
		put_pending(intake, &intake->states[i], true);
}

static void *run(void *argument)
{
	struct intake *intake = argument;

	if (intake->options.is_pipe)
		run_pipe(intake);
	else
		run_files(intake);
	atomic_store(&intake->is_done, true);
	pthread_kill(intake->options.waiter, SIGCHLD);
	return NULL;
}

enum status intake_start(struct intake **out, const struct intake_options *options, struct error *err)
{
	AUTO(intake) intake = mem_zeroed(sizeof *intake);

	if (!intake)
		return error_set(err, ERR_MEMORY, "out of memory");
	intake->options = *options;
	intake->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (intake->stop_fd < 0)
		return error_set(err, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
	intake->states = mem_zeroed(options->count * sizeof *intake->states);
	if (!intake->states)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < options->count; i++)
		intake->states[i] = (struct input_state){.input = options->inputs[i],
			.is_first = true,
			.pending = BUF_INIT(MAX_PENDING_BYTES + 2 * READ_BYTES)};
	int failure = pthread_create(&intake->thread, NULL, run, intake);
	if (failure)
		return error_set(err, ERR_MEMORY, "cannot start a thread: %s", strerror(failure));
	intake->has_thread = true;
	*out = intake;
	intake = NULL;
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
		intake_stop(intake);
		intake_join(intake);
	}
	for (size_t i = 0; intake->states && i < intake->options.count; i++)
		buf_done(&intake->states[i].pending);
	mem_free(intake->states);
	if (intake->stop_fd >= 0)
		close(intake->stop_fd);
	mem_free(intake);
}
