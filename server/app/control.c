#include "app/control.h"

#include "app/local_token.h"
#include "base/file_place.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "pipeline/backup.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_MAX_BYTES = 8192, PATIENCE_S = 5, REPLY_PATIENCE_S = 3600 /* a backup is checked at its end */ };

static enum status address_of(const char *path, struct sockaddr_un *address, struct error *err)
{
	size_t len = strlen(path);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len >= sizeof address->sun_path)
		return error_set(err, ERR_INVALID,
			"the path of the control socket is too long: '%s' (at most %zu bytes)", path,
			sizeof address->sun_path - 1);
	memcpy(address->sun_path, path, len + 1);
	return OK;
}

enum status control_listen(const char *path, int *fd, struct error *err)
{
	struct sockaddr_un address;

	TRY(address_of(path, &address, err));
	if (unlink(path) != 0 && errno != ENOENT)
		return file_problem("remove", path, err);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* nobody else may connect between bind and chmod: there is no listener before listen() */
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
		chmod(path, 0600) != 0 || listen(listener, 8) != 0) {
		int problem = errno;
		if (listener >= 0)
			close(listener);
		return error_set(err, ERR_IO, "cannot listen on '%s': %s", path, strerror(problem));
	}
	*fd = listener;
	return OK;
}

static void set_patience(int fd, int receive_s)
{
	struct timeval send = {.tv_sec = PATIENCE_S}, receive = {.tv_sec = receive_s};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof receive);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof send);
}

/* One line, without its newline. False: cut off, too long, or too slow. */
static bool read_line(int fd, struct buf *line)
{
	char c;

	while (read(fd, &c, 1) == 1) {
		if (c == '\n')
			return line->failure == OK;
		buf_append_char(line, c);
		if (line->failure)
			return false;
	}
	return false;
}

static bool write_all(int fd, struct span bytes)
{
	while (bytes.len) {
		ssize_t done = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
		if (done <= 0)
			return false;
		bytes = span_skip(bytes, (size_t)done);
	}
	return true;
}

static void write_error(struct json_writer *w, enum status status, const struct error *err)
{
	json_put_text(w, "error", err->text);
	json_put_text(w, "status", status_name(status));
}

/* False: the client went away. */
static bool send_reply(int fd, struct buf *reply)
{
	buf_append_char(reply, '\n');
	return write_all(fd, buf_span(reply));
}

/* ---- backup: minutes long, so in a thread of its own ---- */

static bool say_progress(void *context, uint64_t left, uint64_t total)
{
	struct control *control = context;
	AUTO_DONE(buf) reply = BUF_INIT(REQUEST_MAX_BYTES);
	struct json_writer w = json_writer_on(&reply);

	json_object(&w);
	json_put_i64(&w, "left", (int64_t)left);
	json_put_i64(&w, "total", (int64_t)total);
	json_object_end(&w);
	/* who asked and went away does not want it any more */
	return !atomic_load(&control->must_stop) && send_reply(control->fd, &reply);
}

static void *backup_run(void *context)
{
	struct control *control = context;
	AUTO_DONE(buf) reply = BUF_INIT(REQUEST_MAX_BYTES);
	struct json_writer w = json_writer_on(&reply);
	struct error err = {0};

	pthread_setname_np(pthread_self(), "backup");
	enum status status = pipeline_backup(control->pipeline, control->path, say_progress, control, &err);
	json_object(&w);
	if (status == OK)
		json_put_bool(&w, "done", true);
	else
		write_error(&w, status, &err);
	json_object_end(&w);
	send_reply(control->fd, &reply); /* the log has it, too */
	close(control->fd);
	atomic_store(&control->is_running, false);
	return NULL;
}

void control_end_backup(struct control *control)
{
	if (!control->is_started)
		return;
	atomic_store(&control->must_stop, true);
	pthread_join(control->thread, NULL);
	control->is_started = false;
}

/* Takes the connection. */
static enum status start_backup(struct control *control, int fd, const struct json *request, struct error *err)
{
	struct span file = SPAN("");

	TRY(json_want_string(request, "file", &file, err));
	if (!file.len || file.ptr[0] != '/' || file.len >= sizeof control->path)
		return error_set(err, ERR_INVALID, "a backup needs the absolute path of a file");
	if (atomic_load(&control->is_running))
		return error_set(err, ERR_BUSY, "a backup to '%s' is running", control->path);
	control_end_backup(control); /* an earlier one, which is through */
	memcpy(control->path, file.ptr, file.len);
	control->path[file.len] = 0;
	control->fd = fd;
	atomic_store(&control->must_stop, false);
	atomic_store(&control->is_running, true);
	if (pthread_create(&control->thread, NULL, backup_run, control) != 0) {
		atomic_store(&control->is_running, false);
		return error_set(err, ERR_MEMORY, "cannot start a thread");
	}
	control->is_started = true;
	return OK;
}

/* ---- commands ---- */

static enum status create_token(
	struct control *control, const struct json *request, struct buf *token, struct error *err)
{
	struct local_token asked = {.name = SPAN(""), .scope = SPAN(""), .team = SPAN("")};

	TRY(json_want_string(request, "name", &asked.name, err));
	TRY(json_want_string(request, "scope", &asked.scope, err));
	TRY(json_want_string(request, "team", &asked.team, err));
	TRY(json_want_bool(request, "aws", &asked.wants_aws, err));
	return local_token_create(control->pipeline, control->api, &asked, token, err);
}

static enum status run_command(
	struct control *control, int fd, struct span line, struct buf *token, bool *is_taken, struct error *err)
{
	AUTO(json) request = NULL;
	struct span command = SPAN("");

	TRY(json_parse(&request, line, err));
	TRY(json_want_string(request, "command", &command, err));
	if (span_equal(command, SPAN("token_create")))
		return create_token(control, request, token, err);
	if (!span_equal(command, SPAN("backup")))
		return error_set(err, ERR_INVALID, "command '%.*s' is not known to this server", SPAN_ARGS(command));
	enum status status = start_backup(control, fd, request, err);
	*is_taken = status == OK;
	return status;
}

/* True: somebody else answers. */
static bool answer(struct control *control, int fd)
{
	AUTO_DONE(buf) line = BUF_INIT(REQUEST_MAX_BYTES);
	AUTO_DONE(buf) token = BUF_INIT(512);
	AUTO_DONE(buf) reply = BUF_INIT(REQUEST_MAX_BYTES);
	struct json_writer w = json_writer_on(&reply);
	struct error err = {0};
	bool is_taken = false;

	if (!read_line(fd, &line))
		return false;
	enum status status = run_command(control, fd, buf_span(&line), &token, &is_taken, &err);
	if (is_taken)
		return true;
	json_object(&w);
	if (status == OK)
		json_put_span(&w, "token", buf_span(&token));
	else
		write_error(&w, status, &err);
	json_object_end(&w);
	send_reply(fd, &reply);
	return false;
}

void control_answer(struct control *control, int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	set_patience(fd, PATIENCE_S);
	if (!answer(control, fd))
		close(fd);
}

/* ---- the client's side ---- */

static bool read_replies(int fd, bool (*take)(void *context, struct span line), void *context)
{
	AUTO_DONE(buf) line = BUF_INIT(REQUEST_MAX_BYTES);

	do {
		buf_reset(&line);
		if (!read_line(fd, &line))
			return false;
	} while (take(context, buf_span(&line)));
	return true;
}

enum status control_ask(const char *path, struct span request, bool (*take)(void *context, struct span line),
	void *context, struct error *err)
{
	struct sockaddr_un address;

	TRY(address_of(path, &address, err));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, ERR_IO, "cannot make a socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
		int problem = errno;
		close(fd);
		return error_set(err, problem == ENOENT || problem == ECONNREFUSED ? ERR_NOT_FOUND : ERR_IO,
			"cannot reach the server at '%s': %s", path, strerror(problem));
	}
	set_patience(fd, REPLY_PATIENCE_S);
	bool is_answered = write_all(fd, request) && write_all(fd, SPAN("\n")) && read_replies(fd, take, context);
	close(fd);
	return is_answered ? OK : error_set(err, ERR_IO, "the server at '%s' did not answer", path);
}
