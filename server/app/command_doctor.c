/* sm-server doctor: what the machine is like where the database lies, and what would hurt. */
#include "app/command_doctor.h"
#include "app/exit_status.h"
#include "app/storage.h"
#include "base/clock.h"
#include "base/text/iso8601.h"
#include "base/log.h"
#include "store/admin.h"

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
#include <sys/vfs.h>
#include <unistd.h>

enum { SYNCS = 100, START_SYNCS_MS = 20, SLOW_US = 50000, SYNC_BYTES = 16384, DESCRIPTORS_WANTED = 8192 };

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* As many as fit into max_ms, at least one; sorted. 0: it cannot be done. */
static int time_syncs(int fd, int64_t max_ms, int64_t took_us[SYNCS])
{
	static const char pages[SYNC_BYTES];

	int64_t until_ms = clock_mono_ms() + max_ms;
	int count = 0;
	while (count < SYNCS && (!count || clock_mono_ms() < until_ms)) {
		int64_t start_ns = clock_mono_ns();
		if (write(fd, pages, sizeof pages) != sizeof pages || fdatasync(fd) != 0)
			return 0;
		took_us[count++] = (clock_mono_ns() - start_ns) / 1000;
	}
	qsort(took_us, (size_t)count, sizeof *took_us, by_value);
	return count;
}

static int time_syncs_in(const char *folder, int64_t max_ms, int64_t took_us[SYNCS])
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof name, "%s/.smfleet-doctor-%ld", folder, (long)getpid()) >= PATH_MAX)
		return 0;
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	unlink(name); /* nothing is left of it, however we end */
	int count = time_syncs(fd, max_ms, took_us), code = errno;
	close(fd);
	errno = code;
	return count;
}

/* A commit waits for one of these. */
static bool tell_syncs(const char *folder)
{
	int64_t took_us[SYNCS];
	int count = time_syncs_in(folder, INT64_MAX / 2, took_us);
	int middle = count / 2, late = count * 99 / 100;

	if (!count)
		printf("durable write   FAILED in '%s': %s\n", folder, strerror(errno));
	else
		printf("durable write   %.2f ms (p50), %.2f ms (p99)%s\n", (double)took_us[middle] / 1000,
			(double)took_us[late] / 1000,
			took_us[late] > SLOW_US ? "  SLOW: each commit waits for one" : "");
	return count != 0;
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

static const char *file_system_of(const char *folder)
{
	struct statfs info;

	if (statfs(folder, &info) != 0)
		return "unknown";
	const char *name = network_file_system((unsigned long)info.f_type);
	return name ? name : "local";
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

static void print_fact(void *context, const struct store_fact *fact)
{
	bool *is_good = context;

	printf("%-19s %.*s", fact->what, SPAN_ARGS(fact->value));
	if (fact->remark.len)
		printf("  %s: %.*s", fact->is_bad ? "WRONG" : "note", SPAN_ARGS(fact->remark));
	printf("\n");
	*is_good &= !fact->is_bad;
}

static int examine_postgres(const struct options *options)
{
	struct storage_tool tool;
	struct error err = {0};
	bool is_good = true;

	storage_tool_init(&tool, options, options_text(options, "db"));
	if (store_examine(&tool.store, print_fact, &is_good, &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	tell_limits();
	tell_clock();
	return is_good ? EXIT_DONE : EXIT_FAILED;
}

/* It takes the lock of the file for its checkpoints, and a commit that comes meanwhile fails. */
static bool tell_litestream(const char *db)
{
	struct error err = {0};
	const char *trace;

	if (access(db, F_OK) != 0)
		return true;
	if (store_find_litestream(db, &trace, &err) != OK) {
		printf("litestream      not known: %s\n", err.text);
		return true;
	}
	if (!*trace)
		return true;
	printf("litestream      WRONG: %s; beside a server it makes commits fail. Stop it and remove what it left; sm-server backup --every copies a file, and PostgreSQL has standbys\n",
		trace);
	return false;
}

int command_doctor(const struct options *options)
{
	char folder[PATH_MAX];
	const char *db = options_text(options, "db");

	if (storage_is_postgres(options))
		return examine_postgres(options);
	if (snprintf(folder, sizeof folder, "%s", db) >= PATH_MAX) {
		fprintf(stderr, "sm-server: the path '%s' is too long\n", db);
		return EXIT_USAGE;
	}
	printf("database        %s%s\n", db, access(db, F_OK) == 0 ? "" : " (not there yet)");
	bool is_good = tell_syncs(dirname(folder));
	is_good = tell_space(folder) && is_good;
	const char *file_system = file_system_of(folder);
	printf("file system     %s%s\n", file_system,
		strcmp(file_system, "local") == 0 ? "" : "  REFUSED: SQLite loses data on a network's");
	is_good = tell_litestream(db) && is_good;
	tell_limits();
	tell_clock();
	return is_good ? EXIT_DONE : EXIT_FAILED;
}

void doctor_log(const char *db)
{
	char folder[PATH_MAX];
	int64_t took_us[SYNCS];
	struct statvfs space = {0};
	struct rlimit files = {0};

	if (snprintf(folder, sizeof folder, "%s", db) >= PATH_MAX)
		return;
	const char *place = dirname(folder);
	int count = time_syncs_in(place, START_SYNCS_MS, took_us);
	int middle = count / 2;
	if (statvfs(place, &space) != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	log_line(LOG_INFO, "machine",
		"durable_write_ms=%.2f worst_ms=%.2f free_bytes=%" PRIu64 " file_system=%s open_files=%llu",
		count ? (double)took_us[middle] / 1000 : -1.0, count ? (double)took_us[count - 1] / 1000 : -1.0,
		(uint64_t)space.f_bavail * space.f_frsize, file_system_of(place), (unsigned long long)files.rlim_cur);
}
