/* A disk that fails, or is said to be a network's, and a clock that is set, for tests. The disk is an SQLite VFS over the real one, linked into sm-server-faults, sm-ship-faults and nothing that is shipped.
 * What is to fail stands in a small shared file (SM_FAULTS names it, tests/support/faults.py writes it), so that a test can
 * count a run's operations, choose one, and mend the disk while the server runs. Not set: nothing fails.
 * The linker puts sqlite3_open_v2 through here (--wrap), which is after the server has configured SQLite.
 * Power loss: what was not synced is lost or there by chance (power.c), and then the process kills itself. Where the process ends, or with
 * ACTION_FILL, files that the program itself makes, writes, cuts, syncs, renames and removes are part of that disk, too. */
#include "power.h"

#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum op { OP_READ, OP_WRITE, OP_SYNC, OP_TRUNCATE, OP_OPEN, OP_DELETE, OPS };
enum action { ACTION_FAIL, ACTION_KILL, ACTION_POWER_LOSS, ACTION_STALL, ACTION_FILL };

struct control { /* as in faults.py; all int64, host order */
	_Atomic int64_t counts[OPS];
	_Atomic int64_t mask; /* bits of the operations that can fail */
	_Atomic int64_t seen; /* operations of the mask so far */
	_Atomic int64_t fail_at; /* the first of them that fails, from 1; 0: none */
	_Atomic int64_t fail_count; /* how many from there on; -1: all */
	_Atomic int64_t action;
	_Atomic int64_t code; /* SQLite's */
	_Atomic int64_t system_errno;
	_Atomic int64_t torn_bytes; /* so much of a failing write still reaches the file */
	_Atomic int64_t failed;
	_Atomic int64_t failed_operation; /* the last of them */
	_Atomic int64_t clock_ms; /* how far ahead the wall clock is, by which nothing may go but what is shown */
	_Atomic int64_t file_system; /* that all files lie on, by its number (statfs(2)); 0: what they do lie on */
	struct power_chance power;
};

struct file {
	sqlite3_file base;
	sqlite3_file *real;
	const char *name; /* SQLite's, as long as it is open */
	struct power_file *power;
	bool syncs_folder; /* as the real one does with the first sync of a log or journal that it may have made */
};

static struct {
	pthread_once_t once, control_once;
	pthread_mutex_t mutex; /* over each change where power loss is kept track of: never released by who loses it */
	struct control *control;
	sqlite3_vfs *real;
	sqlite3_vfs vfs;
} state = {.once = PTHREAD_ONCE_INIT, .control_once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_inside; /* files that this file itself opens are not the server's */

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct file *)file)->real;
}

static bool must_fail(enum op op)
{
	struct control *control = state.control;

	control->counts[op]++;
	if (!(control->mask >> op & 1))
		return false;
	int64_t number = ++control->seen, from = control->fail_at, count = control->fail_count;
	bool fails = from && number >= from && (count < 0 || number < from + count);
	if (fails)
		control->failed_operation = op;
	return fails;
}

static bool has_power(void)
{
	return state.control && state.control->action == ACTION_POWER_LOSS;
}

/* What the real operation, or power.c, opens and renames is no file of the server's own. */
static void enter(void)
{
	pthread_mutex_lock(&state.mutex);
	is_inside = true;
}

static void leave(void)
{
	is_inside = false;
	pthread_mutex_unlock(&state.mutex);
}

static int fail(void)
{
	struct control *control = state.control;

	control->failed++;
	if (control->action == ACTION_POWER_LOSS)
		power_lose(&control->power);
	if (control->action == ACTION_KILL || control->action == ACTION_POWER_LOSS)
		kill(getpid(), SIGKILL);
	errno = (int)control->system_errno;
	return (int)control->code;
}

/* Of the server's own files; errno is set. */
static int fail_call(void)
{
	fail();
	return -1;
}

/* A name that a process's end is too late for is there; one that the disk refuses is not. */
static bool leaves_undone(void)
{
	return state.control->action == ACTION_FILL;
}

static struct power_file *power_of(struct file *file)
{
	if (!file->power && file->name && has_power())
		file->power = power_find(file->name);
	return has_power() ? file->power : NULL;
}

static int on_read(sqlite3_file *file, void *to, int count, sqlite3_int64 offset)
{
	return must_fail(OP_READ) ? fail() : real_of(file)->pMethods->xRead(real_of(file), to, count, offset);
}

static int write_locked(sqlite3_file *file, const void *from, int count, sqlite3_int64 offset)
{
	sqlite3_file *real = real_of(file);
	struct power_file *power = power_of((struct file *)file);
	int64_t torn = state.control->torn_bytes;

	if (power)
		power_before_write(power, offset, count);
	if (!must_fail(OP_WRITE))
		return real->pMethods->xWrite(real, from, count, offset);
	if (torn || power) /* chance may have it that what was on its way has arrived */
		real->pMethods->xWrite(real, from, torn && torn < count ? (int)torn : count, offset);
	return fail();
}

static int on_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 offset)
{
	enter();
	int code = write_locked(file, from, count, offset);
	leave();
	return code;
}

/* A disk that hangs and comes back: every such operation waits until the test mends it. */
static void stall(enum op op)
{
	struct control *control = state.control;
	bool is_stalled = control->action == ACTION_STALL && control->mask >> op & 1;

	control->failed += is_stalled;
	while (control->action == ACTION_STALL && control->mask >> op & 1)
		sched_yield();
}

static int on_sync(sqlite3_file *file, int flags)
{
	struct file *mine = (struct file *)file;

	stall(OP_SYNC);
	enter();
	int code = must_fail(OP_SYNC) ? fail() : real_of(file)->pMethods->xSync(real_of(file), flags);
	if (code == SQLITE_OK && power_of(mine)) {
		power_after_sync(mine->power);
		if (mine->syncs_folder)
			power_after_folder_sync(mine->name);
		mine->syncs_folder = false;
	}
	leave();
	return code;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	enter();
	struct power_file *power = power_of((struct file *)file);
	if (power)
		power_before_cut(power, size);
	int code = must_fail(OP_TRUNCATE) ? fail() : real_of(file)->pMethods->xTruncate(real_of(file), size);
	leave();
	return code;
}

static int on_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

#define PASS(name, parameters, ...)                                                                                    \
	static int name parameters                                                                                     \
	{                                                                                                              \
		return real_of(file)->pMethods->__VA_ARGS__;                                                           \
	}
PASS(xFileSize, (sqlite3_file * file, sqlite3_int64 *size), xFileSize(real_of(file), size))
PASS(xLock, (sqlite3_file * file, int level), xLock(real_of(file), level))
PASS(xUnlock, (sqlite3_file * file, int level), xUnlock(real_of(file), level))
PASS(xCheckReservedLock, (sqlite3_file * file, int *out), xCheckReservedLock(real_of(file), out))
PASS(xFileControl, (sqlite3_file * file, int op, void *argument), xFileControl(real_of(file), op, argument))
PASS(xSectorSize, (sqlite3_file * file), xSectorSize(real_of(file)))
PASS(xDeviceCharacteristics, (sqlite3_file * file), xDeviceCharacteristics(real_of(file)))
PASS(xShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **out),
	xShmMap(real_of(file), page, size, extend, out))
PASS(xShmLock, (sqlite3_file * file, int offset, int n, int flags), xShmLock(real_of(file), offset, n, flags))
PASS(xShmUnmap, (sqlite3_file * file, int remove), xShmUnmap(real_of(file), remove))

static void xShmBarrier(sqlite3_file *file)
{
	real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static const sqlite3_io_methods methods = {2, on_close, on_read, on_write, on_truncate, on_sync, xFileSize, xLock,
	xUnlock, xCheckReservedLock, xFileControl, xSectorSize, xDeviceCharacteristics, xShmMap, xShmLock, xShmBarrier,
	xShmUnmap, NULL, NULL};

static int open_locked(const char *name, struct file *mine, int flags, int *out_flags)
{
	static const int logs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
	bool is_new = name && flags & SQLITE_OPEN_CREATE && access(name, F_OK) != 0;
	int code = state.real->xOpen(state.real, name, mine->real, flags, out_flags);

	if (mine->real->pMethods)
		mine->base.pMethods = &methods;
	if (code != SQLITE_OK || !has_power())
		return code;
	if (is_new)
		power_after_create(name);
	mine->syncs_folder = name && flags & SQLITE_OPEN_CREATE && flags & logs;
	return code;
}

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	struct file *mine = (struct file *)file;

	(void)vfs;
	*mine = (struct file){.real = (sqlite3_file *)(mine + 1), .name = name};
	enter();
	int code = must_fail(OP_OPEN) ? fail() : open_locked(name, mine, flags, out_flags);
	leave();
	return code;
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
	(void)vfs;
	enter();
	if (has_power())
		power_before_rename(name, NULL);
	int code = must_fail(OP_DELETE) ? fail() : state.real->xDelete(state.real, name, sync_folder);
	if (code == SQLITE_OK && sync_folder && has_power())
		power_after_folder_sync(name);
	leave();
	return code;
}

static void map_control(void)
{
	state.control = control_map("SM_FAULTS", sizeof *state.control);
}

static struct control *control_of(void)
{
	bool was_inside = is_inside;

	is_inside = true;
	pthread_once(&state.control_once, map_control);
	is_inside = was_inside;
	return state.control;
}

/* The server's own files, where they are part of the disk. */
static bool is_of_server(void)
{
	struct control *control = is_inside ? NULL : control_of();

	return control && (control->action == ACTION_KILL || control->action == ACTION_POWER_LOSS ||
				  control->action == ACTION_FILL);
}

static void set_up(void)
{
	control_of();
	state.real = sqlite3_vfs_find(NULL);
	if (!state.control)
		return;
	if (!state.real)
		abort();
	state.vfs = *state.real;
	state.vfs.zName = "faults";
	state.vfs.szOsFile = (int)sizeof(struct file) + state.real->szOsFile;
	state.vfs.xOpen = on_open;
	state.vfs.xDelete = on_delete;
	sqlite3_vfs_register(&state.vfs, 1);
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list arguments;
	bool creates = flags & O_CREAT;

	va_start(arguments, flags);
	mode_t mode = creates ? (mode_t)va_arg(arguments, int) : 0;
	va_end(arguments);
	if (!creates || !is_of_server())
		return __real_open(path, flags, mode);
	enter();
	bool is_new = access(path, F_OK) != 0;
	int fd = is_new && must_fail(OP_OPEN) ? fail_call() : __real_open(path, flags, mode);
	if (fd >= 0 && is_new && has_power())
		power_after_create(path);
	leave();
	return fd;
}

ssize_t __real_write(int fd, const void *from, size_t count);
ssize_t __wrap_write(int fd, const void *from, size_t count);
ssize_t __real_pwrite(int fd, const void *from, size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t count, off_t offset);

/* Of a torn one the first bytes are taken and their number is told, as write(2) has it where the disk fills; the next one is refused. */
static ssize_t write_of_server(int fd, const void *from, size_t count, off_t offset)
{
	size_t torn = (size_t)state.control->torn_bytes;

	if (has_power())
		power_before_write(power_find_open(fd), offset, (int64_t)count);
	ssize_t done =
		has_power() ? __real_pwrite(fd, from, count, offset) : 0; /* chance may have it that it has arrived */
	if (!must_fail(OP_WRITE))
		return has_power() ? done : __real_pwrite(fd, from, count, offset);
	if (!torn || torn >= count || state.control->failed)
		return fail_call();
	int before = errno;
	done = __real_pwrite(fd, from, torn, offset);
	fail();
	errno = before; /* it was a success */
	return done;
}

ssize_t __wrap_write(int fd, const void *from, size_t count)
{
	struct stat info;

	if (!is_of_server() || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return __real_write(fd, from, count);
	enter();
	ssize_t done = write_of_server(fd, from, count, lseek(fd, 0, SEEK_CUR));
	if (done > 0)
		lseek(fd, done, SEEK_CUR);
	leave();
	return done;
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t count, off_t offset)
{
	if (!is_of_server())
		return __real_pwrite(fd, from, count, offset);
	enter();
	ssize_t done = write_of_server(fd, from, count, offset);
	leave();
	return done;
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);

int __wrap_ftruncate(int fd, off_t size)
{
	if (!is_of_server())
		return __real_ftruncate(fd, size);
	enter();
	if (has_power())
		power_before_cut(power_find_open(fd), size);
	int code = must_fail(OP_TRUNCATE) ? fail_call() : __real_ftruncate(fd, size);
	leave();
	return code;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	if (!is_of_server())
		return __real_fsync(fd);
	enter();
	int code = must_fail(OP_SYNC) ? fail_call() : __real_fsync(fd);
	struct power_file *file = has_power() ? power_find_open(fd) : NULL;
	if (file)
		power_after_sync(file);
	if (has_power())
		power_after_folder_sync_open(fd);
	leave();
	return code;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_rename(const char *from, const char *to)
{
	if (!is_of_server())
		return __real_rename(from, to);
	enter();
	if (has_power())
		power_before_rename(from, to);
	bool fails = must_fail(OP_DELETE);
	int code = fails && leaves_undone() ? 0 : __real_rename(from, to);
	if (fails)
		code = fail_call();
	leave();
	return code;
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

int __wrap_link(const char *from, const char *to)
{
	if (!is_of_server())
		return __real_link(from, to);
	enter();
	bool fails = must_fail(OP_DELETE);
	int code = fails && leaves_undone() ? 0 : __real_link(from, to);
	if (code == 0 && has_power())
		power_after_create(to);
	if (fails)
		code = fail_call();
	leave();
	return code;
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

int __wrap_unlink(const char *path)
{
	if (!is_of_server())
		return __real_unlink(path);
	enter();
	if (has_power())
		power_before_rename(path, NULL);
	bool fails = must_fail(OP_DELETE);
	int code = fails && leaves_undone() ? 0 : __real_unlink(path);
	if (fails)
		code = fail_call();
	leave();
	return code;
}

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	struct control *control = id == CLOCK_REALTIME ? control_of() : NULL;
	int code = __real_clock_gettime(id, out);

	if (control)
		out->tv_sec += control->clock_ms / 1000;
	return code;
}

static void say_file_system(struct statfs *out)
{
	struct control *control = control_of();

	if (control && control->file_system)
		out->f_type = control->file_system;
}

int __real_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out);

int __wrap_statfs(const char *path, struct statfs *out)
{
	int code = __real_statfs(path, out);

	say_file_system(out);
	return code;
}

int __real_fstatfs(int fd, struct statfs *out);
int __wrap_fstatfs(int fd, struct statfs *out);

int __wrap_fstatfs(int fd, struct statfs *out)
{
	int code = __real_fstatfs(fd, out);

	say_file_system(out);
	return code;
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs);

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs)
{
	pthread_once(&state.once, set_up);
	return __real_sqlite3_open_v2(path, out, flags, vfs);
}
