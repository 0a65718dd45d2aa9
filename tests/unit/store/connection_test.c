#include "base/embedded.h"
#include "harness.h"
#include "store/admin.h"

#include <fcntl.h>
#include <sys/stat.h>

extern const struct embedded_file embedded_migrations[];

static long newest(void)
{
	long number = 0;

	for (const struct embedded_file *file = embedded_migrations; file->name; file++)
		number = strtol(file->name, NULL, 10);
	return number;
}

TEST(open_makes_private_files_in_the_shape_that_cannot_change)
{
	mode_t mask = umask(0);
	struct harness h = harness_new();
	struct stat info;
	char lock[192];

	umask(mask);
	snprintf(lock, sizeof lock, "%s.lock", h.path);
	CHECK(stat(h.path, &info) == 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	CHECK(stat(lock, &info) == 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA page_size"), 8192);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA auto_vacuum"), 2);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA user_version"), newest());
	CHECK_INT(harness_number(h.store->writer, "PRAGMA synchronous"), 2);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA wal_autocheckpoint"), 0);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA secure_delete"), 0);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA trusted_schema"), 0);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA cache_size"), -8 * 1024);
	CHECK_INT(harness_number(h.reader, "PRAGMA cache_size"), -2 * 1024);
	CHECK_INT(harness_number(h.reader, "PRAGMA query_only"), 1);
	CHECK_INT(harness_number(h.reader, "PRAGMA secure_delete"), 0);
	harness_done(&h);
}

TEST(a_second_server_is_refused_by_name)
{
	struct harness h = harness_new();
	struct store_options options = {.path = h.path};
	struct store *second = NULL;
	char pid[64];

	snprintf(pid, sizeof pid, "process %ld)", (long)getpid());
	CHECK_FAILS(store_open(&second, &options, &err), ERR_CONFLICT, pid);
	CHECK_FAILS(store_open(&second, &options, &err), ERR_CONFLICT, h.path);
	char link[256];
	snprintf(link, sizeof link, "%s.link", h.path);
	CHECK(symlink(h.path, link) == 0);
	options.path = link;
	CHECK_FAILS(store_open(&second, &options, &err), ERR_CONFLICT, pid);
	CHECK(unlink(link) == 0);
	CHECK(second == NULL);
	harness_reopen(&h); /* the lock ends with its owner */
	harness_done(&h);
}

TEST(a_newer_database_is_refused_naming_both_versions)
{
	struct harness h = harness_new();
	struct store_options options = {.path = h.path};
	struct store *store = NULL;

	CHECK_OK(connection_run(h.store->writer, "PRAGMA user_version=77", &err));
	CHECK_OK(connection_run(
		h.store->writer, "UPDATE settings SET value = CAST('77' AS BLOB) WHERE key = 'min_reader'", &err));
	harness_close(&h);
	CHECK_FAILS(store_open(&store, &options, &err), ERR_UNSUPPORTED, "has version 77, this program knows up to");
	CHECK(store == NULL);
	harness_done(&h);
}

TEST(a_newer_database_that_only_added_is_used)
{
	struct harness h = harness_new();

	CHECK_OK(connection_run(h.store->writer, "PRAGMA user_version=77", &err));
	harness_reopen(&h);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA user_version"), 77);
	harness_done(&h);
}

/* A database as programs of that version left it, with one job. */
static void make_old(struct harness *h, long version)
{
	char text[64];
	sqlite3 *db = NULL;

	harness_close(h);
	CHECK(unlink(h->path) == 0);
	CHECK_INT(sqlite3_open(h->path, &db), SQLITE_OK);
	CHECK_INT(
		sqlite3_exec(db, "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL", NULL, NULL, NULL), SQLITE_OK);
	for (const struct embedded_file *file = embedded_migrations; file->name; file++)
		if (strtol(file->name, NULL, 10) <= version)
			CHECK_INT(sqlite3_exec(db, file->bytes, NULL, NULL, NULL), SQLITE_OK);
	snprintf(text, sizeof text, "PRAGMA user_version=%ld", version);
	CHECK_INT(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(
		sqlite3_exec(db,
			"INSERT INTO jobs VALUES (1, 'kept', 'kept', '', 'InProgress', 'Training', '', 1, 0, 0, 1, 1, 0, '{}')",
			NULL, NULL, NULL),
		SQLITE_OK);
	CHECK_INT(sqlite3_close(db), SQLITE_OK);
	harness_open(h);
}

TEST(before_older_programs_are_shut_out_a_copy_is_made)
{
	struct harness h = harness_new();
	struct store_options options = {.path = h.path};
	AUTO(store) copy = NULL;
	struct stat info;
	char path[256];

	make_old(&h, 6);
	CHECK_INT(harness_number(h.store->writer, "PRAGMA user_version"), newest());
	snprintf(path, sizeof path, "%s.before-0007", h.path);
	CHECK(stat(path, &info) == 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	options.path = path;
	options.skips_backup = true;
	CHECK_OK(store_open(&copy, &options, &err));
	CHECK_INT(harness_number(copy->writer, "SELECT count(*) FROM jobs WHERE name = 'kept'"), 1);
	store_free(copy);
	copy = NULL;
	snprintf(path, sizeof path, "%s.before-0007.before-0007", h.path);
	CHECK(stat(path, &info) != 0); /* asked not to */
	snprintf(path, sizeof path, "%s.before-0007", h.path);
	CHECK(unlink(path) == 0);
	strcat(path, ".lock");
	CHECK(unlink(path) == 0);
	harness_done(&h);
}

TEST(a_file_that_is_no_database_is_named)
{
	struct harness h = harness_new();
	struct store_options options = {.path = h.path};
	struct store *store = NULL;

	harness_close(&h);
	FILE *file = fopen(h.path, "w");
	CHECK(file != NULL);
	for (int i = 0; i < 2000; i++)
		fputs("no database ", file);
	fclose(file);
	CHECK_FAILS(store_open(&store, &options, &err), ERR_IO, h.path);
	harness_done(&h);
}

TEST(damage_is_told_as_such)
{
	struct harness h = harness_new();
	struct store_options options = {.path = h.path};
	struct store *store = NULL;
	char junk[8192];

	harness_close(&h);
	int fd = open(h.path, O_WRONLY);
	memset(junk, 0xa5, sizeof junk);
	for (off_t page = 1; page < 60; page++)
		CHECK(pwrite(fd, junk, sizeof junk, page * (off_t)sizeof junk) == (ssize_t)sizeof junk);
	CHECK(pwrite(fd, junk, 8000, 100) == 8000); /* the schema itself */
	close(fd);
	CHECK_FAILS(store_open(&store, &options, &err), ERR_IO, "damaged");
	harness_done(&h);
}

TEST(a_missing_folder_is_named)
{
	struct store_options options = {.path = "/tmp/smfleet-no-such-folder/test.db"};
	struct store *store = NULL;

	CHECK_FAILS(store_open(&store, &options, &err), ERR_IO, "/tmp/smfleet-no-such-folder/test.db.lock");
}

TEST(a_folder_that_cannot_be_written_is_named)
{
	struct harness h = harness_new();
	struct store *store = NULL;
	char path[192];

	CHECK(chmod(h.folder, 0555) == 0);
	bool is_root = geteuid() == 0;
	if (is_root)
		CHECK(seteuid(65534) == 0); /* modes mean nothing to root */
	snprintf(path, sizeof path, "%s/other.db", h.folder);
	struct store_options options = {.path = path};
	struct error failure = {0};
	enum status status = store_open(&store, &options, &failure);
	if (is_root)
		CHECK(seteuid(0) == 0);
	CHECK(chmod(h.folder, 0700) == 0);
	CHECK_INT(status, ERR_IO);
	CHECK(span_find(span_from(failure.text), SPAN("ermission denied")) >= 0);
	harness_done(&h);
}

TEST(network_file_systems_are_known_by_number)
{
	CHECK_TEXT(network_file_system(0x6969), "NFS");
	CHECK_TEXT(network_file_system(0x517b), "SMB");
	CHECK_TEXT(network_file_system(0xff534d42), "SMB");
	CHECK_TEXT(network_file_system(0x0bd00bd0), "Lustre");
	CHECK_TEXT(network_file_system(0x00c36400), "Ceph");
	CHECK(network_file_system(0xef53) == NULL); /* ext4 */
	CHECK(network_file_system(0x01021994) == NULL); /* tmpfs */
}

TEST(readers_cannot_write)
{
	struct harness h = harness_new();

	CHECK_FAILS(connection_run(h.reader, "DELETE FROM settings", &err), ERR_UNAVAILABLE, "cannot be written");
	harness_done(&h);
}

TEST(open_survives_the_failure_of_any_allocation)
{
	struct harness h = harness_new();
	struct store_options options = {.path = h.path};

	harness_close(&h);
	for (long nth = 1; nth < 12; nth++) {
		struct store *store = NULL;
		struct error err = {0};
		mem_fail_at(nth);
		enum status status = store_open(&store, &options, &err);
		mem_fail_at(0);
		CHECK(status == OK || (status == ERR_MEMORY && !store));
		store_free(store);
	}
	harness_done(&h);
}
