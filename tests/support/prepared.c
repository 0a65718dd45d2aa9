/* What the store's unit tests and sm-server-faults prepare, for those who ask another database about it: appended to the file that
 * SM_PREPARED names, a NUL behind each statement. The linker puts sqlite3_prepare_v3 through here (--wrap). */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int __real_sqlite3_prepare_v3(
	sqlite3 *db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **out, const char **tail);
int __wrap_sqlite3_prepare_v3(
	sqlite3 *db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **out, const char **tail);

/* In one write: threads do it at a time. */
static void note(const char *path, const char *sql, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	struct iovec parts[] = {{(void *)sql, len}, {"", 1}};

	if (fd < 0 || writev(fd, parts, 2) != (ssize_t)len + 1) {
		perror(path);
		abort(); /* a statement too few would be a test that looks at less */
	}
	close(fd);
}

int __wrap_sqlite3_prepare_v3(
	sqlite3 *db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **out, const char **tail)
{
	const char *path = getenv("SM_PREPARED");

	if (path)
		note(path, sql, bytes < 0 ? strlen(sql) : (size_t)bytes);
	return __real_sqlite3_prepare_v3(db, sql, bytes, flags, out, tail);
}
