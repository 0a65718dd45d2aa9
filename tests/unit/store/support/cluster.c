#include "cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 256, OPEN_FOLDERS = 16 };

static struct {
	char programs[PATH_BYTES]; /* where initdb and postgres are; "": not looked for */
	char folder[PATH_BYTES]; /* "": none yet */
	char conninfo[PATH_BYTES * 2];
	pid_t server; /* 0: stopped */
	int said; /* what it prints comes out here */
} state;

static bool find_programs(void)
{
	static const int versions[] = {15, 14, 16, 17, 18};
	char path[PATH_BYTES + 16];

	for (size_t i = 0; !state.programs[0] && i < sizeof versions / sizeof *versions; i++) {
		snprintf(path, sizeof path, "/usr/lib/postgresql/%d/bin/initdb", versions[i]);
		if (access(path, X_OK) == 0)
			snprintf(state.programs, sizeof state.programs, "/usr/lib/postgresql/%d/bin", versions[i]);
	}
	return state.programs[0];
}

bool cluster_is_there(void)
{
	if (find_programs())
		return true;
	if (getenv("SM_NEEDS_POSTGRES"))
		test_fail(__FILE__, __LINE__, "PostgreSQL is not installed (postgresql-15)");
	fprintf(stderr, "skipped: PostgreSQL is not installed (postgresql-15)\n");
	return false;
}

/* PostgreSQL refuses root. */
static const struct passwd *other_user(void)
{
	const struct passwd *user = getpwnam("postgres");

	return geteuid() != 0 ? NULL : user ? user : getpwnam("nobody");
}

/* In the child, which ends with this program. */
static void become(char *const *arguments, int output)
{
	const struct passwd *user = other_user();
	char path[PATH_BYTES * 2];

	if (user && (setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	snprintf(path, sizeof path, "%s/%s", state.programs, arguments[0]);
	if (chdir(state.folder) == 0)
		execv(path, arguments);
	_exit(127);
}

static pid_t spawn(char *const *arguments, int *said)
{
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child)
		become(arguments, ends[1]);
	close(ends[1]);
	*said = ends[0];
	return child;
}

/* Until a line holds the words; false: the program has ended before. */
static bool wait_for(int said, const char *words, char *text, size_t room)
{
	size_t len = 0;
	ssize_t got;

	while ((got = read(said, text + len, room - 1 - len)) > 0) {
		len += (size_t)got;
		text[len] = '\0';
		if (words && strstr(text, words))
			return true;
		if (len > room / 2) {
			memmove(text, text + len / 2, len - len / 2);
			len -= len / 2;
		}
	}
	text[len] = '\0';
	return false;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info;
	(void)type;
	(void)at;
	return remove(path);
}

void cluster_kill(void)
{
	if (!state.server)
		return;
	kill(state.server, SIGQUIT);
	while (waitpid(state.server, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(state.said);
	state.server = 0;
}

static void end(void)
{
	cluster_kill();
	if (state.folder[0])
		nftw(state.folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static void make(void)
{
	char *const arguments[] = {
		"initdb", "-D", "data", "-E", "UTF8", "--locale=C", "-A", "trust", "-U", "smfleet", "-N", NULL};
	const struct passwd *user = other_user();
	char text[8192];
	int said, result;

	test_make_folder(state.folder, sizeof state.folder, "postgres");
	atexit(end);
	CHECK(!user || chown(state.folder, user->pw_uid, user->pw_gid) == 0);
	pid_t child = spawn(arguments, &said);
	wait_for(said, NULL, text, sizeof text);
	close(said);
	CHECK(waitpid(child, &result, 0) == child);
	if (result != 0)
		test_fail(__FILE__, __LINE__, "initdb fails: %s", text);
}

/* Nothing here need outlive a power cut. Errors that tests provoke would fill the pipe that nobody reads. */
static void start(void)
{
	char *const arguments[] = {"postgres", "-D", "data", "-k", state.folder, "-c", "listen_addresses=", "-c",
		"fsync=off", "-c", "log_min_messages=log", "-c", "log_checkpoints=off", "-c", "max_connections=30",
		"-c", "shared_buffers=32MB", NULL};
	char text[8192];

	state.server = spawn(arguments, &state.said);
	if (!wait_for(state.said, "ready to accept connections", text, sizeof text)) {
		cluster_kill();
		test_fail(__FILE__, __LINE__, "postgres does not start: %s", text);
	}
}

static void begin(void)
{
	CHECK(find_programs());
	if (!state.folder[0])
		make();
	if (!state.server)
		start();
}

const char *cluster_conninfo(const char *database)
{
	begin();
	snprintf(state.conninfo, sizeof state.conninfo, "host=%s user=smfleet dbname=%s sslmode=disable", state.folder,
		database);
	return state.conninfo;
}

const char *cluster_address(const char *database)
{
	begin();
	snprintf(state.conninfo, sizeof state.conninfo, "postgresql:///%s?host=%s&user=smfleet&sslmode=disable",
		database, state.folder);
	return state.conninfo;
}
