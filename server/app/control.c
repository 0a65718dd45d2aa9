#include "app/control.h"
#include "base/json_read.h"
#include "base/json_write.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_MAX_BYTES = 8192, PATIENCE_S = 5 };

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
	unlink(path);
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

static void set_patience(int fd)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
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

static enum status run_command(struct app *app, struct span line, struct buf *token, struct error *err)
{
	AUTO(json) request = NULL;
	struct span command = SPAN(""), name = SPAN(""), scope = SPAN(""), team = SPAN("");

	TRY(json_parse(&request, line, err));
	TRY(json_want_string(request, "command", &command, err));
	TRY(json_want_string(request, "name", &name, err));
	TRY(json_want_string(request, "scope", &scope, err));
	TRY(json_want_string(request, "team", &team, err));
	if (!span_equal(command, SPAN("token_create")))
		return error_set(err, ERR_INVALID, "command '%.*s' is not known to this server", SPAN_ARGS(command));
	return app_create_token(app, name, scope, team, token, err);
}

static void answer(int fd, struct app *app)
{
	AUTO_DONE(buf) line = BUF_INIT(REQUEST_MAX_BYTES);
	AUTO_DONE(buf) token = BUF_INIT(256);
	AUTO_DONE(buf) reply = BUF_INIT(REQUEST_MAX_BYTES);
	struct json_writer w = json_writer_on(&reply);
	struct error err = {0};

	if (!read_line(fd, &line))
		return;
	enum status status = run_command(app, buf_span(&line), &token, &err);
	json_object(&w);
	if (status == OK) {
		json_put_span(&w, "token", buf_span(&token));
	} else {
		json_put_text(&w, "error", err.text);
		json_put_text(&w, "status", status_name(status));
	}
	json_object_end(&w);
	buf_append_char(&reply, '\n');
	if (!write_all(fd, buf_span(&reply)))
		return; /* the client went away */
}

void control_answer(int listen_fd, struct app *app)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	set_patience(fd);
	answer(fd, app);
	close(fd);
}

enum status control_ask(const char *path, struct span request, struct buf *reply, struct error *err)
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
	set_patience(fd);
	bool is_answered = write_all(fd, request) && write_all(fd, SPAN("\n")) && read_line(fd, reply);
	close(fd);
	return is_answered ? OK : error_set(err, ERR_IO, "the server at '%s' did not answer", path);
}
