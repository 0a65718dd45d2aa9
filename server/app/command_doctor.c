/* sm-server doctor: what the machine is like where the database lies, and what would hurt. */
#include "app/commands.h"
#include "base/clock.h"
#include "base/iso8601.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	SYNCS = 100,
	MIDDLE = SYNCS / 2,
	NEARLY_ALL = SYNCS * 99 / 100,
	SLOW_US = 50000,
	SYNC_BYTES = 16384,
	DESCRIPTORS_WANTED = 8192
};

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static bool time_syncs(int fd, int64_t took_us[SYNCS])
{
	static const char pages[SYNC_BYTES];

	for (int i = 0; i < SYNCS; i++) {
		int64_t start_ns = clock_mono_ns();
		if (write(fd, pages, sizeof pages) != sizeof pages || fdatasync(fd) != 0)
			return false;
		took_us[i] = (clock_mono_ns() - start_ns) / 1000;
	}
	qsort(took_us, SYNCS, sizeof *took_us, by_value);
	return true;
}

/* A commit waits for one of these. */
static bool tell_syncs(const char *folder)
{
	char name[PATH_MAX];
	int64_t took_us[SYNCS];

	if (snprintf(name, sizeof name, "%s/.smfleet-doctor-%ld", folder, (long)getpid()) >= PATH_MAX)
		return false;
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool is_good = fd >= 0 && time_syncs(fd, took_us);
	if (!is_good)
		printf("durable write   FAILED in '%s': %s\n", folder, strerror(errno));
	else
		printf("durable write   %.2f ms (p50), %.2f ms (p99)%s\n", (double)took_us[MIDDLE] / 1000,
			(double)took_us[NEARLY_ALL] / 1000,
			took_us[NEARLY_ALL] > SLOW_US ? "  SLOW: each commit waits for one" : "");
	if (fd >= 0) {
		close(fd);
		unlink(name);
	}
	return is_good;
}

static bool tell_space(const char *folder)
{
	struct statvfs info;

	if (statvfs(folder, &info) != 0) {
		printf("disk            FAILED: %s\n", strerror(errno));
		return false;
	}
	double free_gb = (double)info.f_bavail * (double)info.f_frsize / 1e9;
	printf("disk            %.1f GB free of %.1f%s\n", free_gb, (double)info.f_blocks * (double)info.f_frsize / 1e9,
		free_gb < 1 ? "  LOW" : "");
	return true;
}

static void tell_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		printf("open files      %llu at most%s\n", (unsigned long long)limit.rlim_max,
			limit.rlim_max < DESCRIPTORS_WANTED ? "  LOW: one for each connection is needed" : "");
}

/* A wall clock before this program was made is wrong. */
static void tell_clock(void)
{
	const int64_t built_ms = iso8601_days(2026, 11, 1) * 24 * 60 * 60 * 1000;
	int64_t now_ms = clock_wall_ms();
	char text[ISO8601_BYTES];

	iso8601_format(now_ms, text);
	printf("clock           %s%s\n", text, now_ms < built_ms ? "  WRONG: lines would get these times" : "");
}

int command_doctor(const struct options *options)
{
	char folder[PATH_MAX];
	const char *db = options_text(options, "db");

	if (snprintf(folder, sizeof folder, "%s", db) >= PATH_MAX) {
		fprintf(stderr, "sm-server: the path '%s' is too long\n", db);
		return EXIT_USAGE;
	}
	printf("database        %s%s\n", db, access(db, F_OK) == 0 ? "" : " (not there yet)");
	bool is_good = tell_syncs(dirname(folder));
	is_good = tell_space(folder) && is_good;
	tell_limits();
	tell_clock();
	return is_good ? EXIT_DONE : EXIT_FAILED;
}
