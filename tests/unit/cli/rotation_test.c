#include "cli/input/rotation.h"
#include "base/alloc.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct folder {
	char path[64], file[80];
};

static struct folder make_folder(void)
{
	struct folder folder = {"/tmp/rotation_test_XXXXXX", ""};

	CHECK(mkdtemp(folder.path));
	snprintf(folder.file, sizeof folder.file, "%s/log", folder.path);
	return folder;
}

/* A file of the folder whose text is its name, written last at that second. */
static void put(const struct folder *folder, const char *name, int64_t written_s)
{
	char path[160];
	struct timespec times[2] = {{.tv_sec = written_s}, {.tv_sec = written_s}};

	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, name, strlen(name)) == (ssize_t)strlen(name));
	CHECK(futimens(fd, times) == 0);
	close(fd);
}

static int open_there(const struct folder *folder, const char *name, struct stat *info)
{
	char path[160];

	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && fstat(fd, info) == 0);
	return fd;
}

static void remove_folder(const struct folder *folder, const char *const *names)
{
	char path[160];

	for (; *names; names++) {
		snprintf(path, sizeof path, "%s/%s", folder->path, *names);
		CHECK(unlink(path) == 0);
	}
	CHECK(rmdir(folder->path) == 0);
}

/* The names of the files that are found, in their order, each followed by a space. */
static void check_since(const struct folder *folder, const struct stat *since, int except, const char *want)
{
	AUTO_MEM int *fds = NULL;
	char got[512] = "";
	size_t count;

	CHECK_OK(rotation_since(folder->file, since, except, &fds, &count, &err));
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(got);
		ssize_t read = pread(fds[i], got + len, sizeof got - len - 2, 0);
		CHECK(read > 0);
		memcpy(got + len + read, " ", 2);
		close(fds[i]);
	}
	CHECK_TEXT(got, want);
}

TEST(rotated_files_come_in_the_order_of_their_last_lines)
{
	static const char *const names[] = {"log", "log.1", "log.2", "log.3", "log-20260102", "log.4.gz", "log-5.zst",
		"log.6.xz", "log.7.bz2", "log.8.lz4", "log.gz", "logs.1", "xlog.1", "lo", NULL};
	struct folder folder = make_folder();
	struct stat since, info;

	for (size_t i = 0; names[i]; i++)
		put(&folder, names[i], 1000);
	put(&folder, "log.3", 900);
	put(&folder, "log.1", 1200);
	put(&folder, "log-20260102", 1100);
	int was = open_there(&folder, "log.2", &since), now = open_there(&folder, "log", &info);
	/* log.3 is a second older than what was read to its end; a name that goes on otherwise, or is packed, is none */
	check_since(&folder, &since, now, "log-20260102 log.1 ");
	/* written at the very time of the followed one: it may be what came after */
	put(&folder, "log.3", 1000);
	check_since(&folder, &since, now, "log.3 log-20260102 log.1 ");
	close(was);
	close(now);
	remove_folder(&folder, names);
}

TEST(a_rotated_file_that_is_read_already_is_not_read_again)
{
	static const char *const names[] = {"log.1", "log.2", NULL};
	struct folder folder = make_folder();
	struct stat since, info;

	put(&folder, "log.1", 1000);
	put(&folder, "log.2", 1000);
	int was = open_there(&folder, "log.2", &since), other = open_there(&folder, "log.1", &info);
	check_since(&folder, &since, other, "");
	check_since(&folder, &since, was, "log.1 ");
	close(was);
	close(other);
	remove_folder(&folder, names);
}

TEST(a_name_without_a_folder_is_of_this_one)
{
	char here[4096];
	static const char *const names[] = {"log.1", "log.2", NULL};
	struct folder folder = make_folder();
	struct stat since;

	put(&folder, "log.1", 1000);
	put(&folder, "log.2", 1000);
	CHECK(getcwd(here, sizeof here));
	CHECK(chdir(folder.path) == 0);
	int was = open_there(&folder, "log.2", &since);
	struct folder relative = {".", "log"};
	check_since(&relative, &since, was, "log.1 ");
	CHECK(chdir(here) == 0);
	close(was);
	remove_folder(&folder, names);
	/* and a folder that is not there has none */
	check_since(&folder, &since, -1, "");
}

static int count_open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(without_memory_no_rotated_file_stays_open)
{
	static const char *const names[] = {"log", "log.1", "log.2", "log.3", "log.4", "log.5", "log.6", "log.7",
		"log.8", "log.9", "log.a", "log.b", "log.c", "log.d", "log.e", "log.f", "log.g", "log.h", NULL};
	struct folder folder = make_folder();
	struct stat since;
	enum status status = ERR_MEMORY;
	long nth = 1;

	for (size_t i = 0; names[i]; i++)
		put(&folder, names[i], 1000);
	int was = open_there(&folder, "log", &since), before = count_open_files();
	for (; status != OK; nth++) {
		AUTO_MEM int *fds = NULL;
		struct error err = {0};
		size_t count = 7;
		mem_fail_at(nth);
		status = rotation_since(folder.file, &since, was, &fds, &count, &err);
		mem_fail_at(0);
		CHECK_INT(count, status == OK ? 17 : 0); /* who is told of none closes none */
		CHECK(status == OK || !fds);
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		CHECK_INT(count_open_files(), before);
	}
	CHECK(nth > 3); /* the list, its growth, and the descriptors: each of them failed once */
	close(was);
	remove_folder(&folder, names);
}

static bool is_this(const void *context, int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof text - 1, 0) > 0 && strcmp(text, context) == 0;
}

TEST(a_file_is_found_again_under_another_name)
{
	static const char *const names[] = {"log", "moved", NULL};
	struct folder folder = make_folder();
	struct stat info;
	char pipe_path[160];

	put(&folder, "log", 1000);
	put(&folder, "moved", 1000);
	snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder.path);
	CHECK(mkfifo(pipe_path, 0600) == 0); /* who opened it to read would wait for ever */
	CHECK_INT(rotation_find(folder.file, is_this, "nothing"), -1);
	int before = count_open_files(), fd = rotation_find(folder.file, is_this, "moved");
	CHECK(fd >= 0 && is_this("moved", fd));
	CHECK_INT(count_open_files(), before + 1);
	close(fd);
	fd = rotation_find(folder.file, is_this, "log");
	CHECK(fd >= 0 && fstat(fd, &info) == 0 && info.st_size == 3);
	close(fd);
	CHECK(unlink(pipe_path) == 0);
	remove_folder(&folder, names);
	CHECK_INT(rotation_find(folder.file, is_this, "log"), -1);
}
