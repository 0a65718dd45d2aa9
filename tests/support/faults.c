/* A disk that fails and a clock that is off, for tests. The disk is an SQLite VFS over the real one, linked into sm-server-faults and nothing that is shipped.
 * What is to fail stands in a small shared file (SM_FAULTS names it, tests/support/faults.py writes it), so that a test can
 * count a run's operations, choose one, and mend the disk while the server runs. Not set: nothing fails.
 * The linker puts sqlite3_open_v2 through here (--wrap), which is after the server has configured SQLite.
 * Power loss: the bytes under every write since a file's last sync are kept, and go back before the process kills itself. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum op { OP_READ, OP_WRITE, OP_SYNC, OP_TRUNCATE, OP_OPEN, OP_DELETE, OPS };
enum action { ACTION_FAIL, ACTION_KILL, ACTION_POWER_LOSS, ACTION_STALL };

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
};

struct undo {
	struct undo *older;
	struct file *file;
	sqlite3_int64 offset, size_before;
	int count;
	unsigned char bytes[];
};

struct file {
	sqlite3_file base;
	sqlite3_file *real;
};

static struct {
	pthread_once_t once;
	pthread_mutex_t mutex;
	struct control *control;
	struct undo *undo;
	sqlite3_vfs *real;
	sqlite3_vfs vfs;
} state = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

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
	return from && number >= from && (count < 0 || number < from + count);
}

static void lose_power(void)
{
	for (struct undo *undo = state.undo; undo; undo = undo->older) {
		sqlite3_file *real = undo->file->real;
		if (undo->count)
			real->pMethods->xWrite(real, undo->bytes, undo->count, undo->offset);
		real->pMethods->xTruncate(real, undo->size_before);
	}
}

static int fail(void)
{
	struct control *control = state.control;

	control->failed++;
	if (control->action == ACTION_POWER_LOSS)
		lose_power();
	if (control->action != ACTION_FAIL)
		kill(getpid(), SIGKILL);
	errno = (int)control->system_errno;
	return (int)control->code;
}

static void forget(struct file *file)
{
	for (struct undo **at = &state.undo; *at;) {
		struct undo *undo = *at;
		if (undo->file == file) {
			*at = undo->older;
			free(undo);
		} else {
			at = &undo->older;
		}
	}
}

static void remember(struct file *file, sqlite3_int64 offset, int count)
{
	struct undo *undo = calloc(1, sizeof *undo + (size_t)count);
	sqlite3_file *real = file->real;

	if (!undo || real->pMethods->xFileSize(real, &undo->size_before) != SQLITE_OK)
		abort();
	sqlite3_int64 there = undo->size_before - offset;
	undo->file = file;
	undo->offset = offset;
	undo->count = there <= 0 ? 0 : there < count ? (int)there : count;
	if (undo->count && real->pMethods->xRead(real, undo->bytes, undo->count, offset) != SQLITE_OK)
		abort();
	undo->older = state.undo;
	state.undo = undo;
}

static int on_read(sqlite3_file *file, void *to, int count, sqlite3_int64 offset)
{
	return must_fail(OP_READ) ? fail() : real_of(file)->pMethods->xRead(real_of(file), to, count, offset);
}

static int write_locked(sqlite3_file *file, const void *from, int count, sqlite3_int64 offset)
{
	sqlite3_file *real = real_of(file);

	if (state.control->action == ACTION_POWER_LOSS)
		remember((struct file *)file, offset, count);
	if (!must_fail(OP_WRITE))
		return real->pMethods->xWrite(real, from, count, offset);
	int64_t torn = state.control->torn_bytes;
	if (torn)
		real->pMethods->xWrite(real, from, torn < count ? (int)torn : count, offset);
	return fail();
}

static int on_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 offset)
{
	pthread_mutex_lock(&state.mutex);
	int code = write_locked(file, from, count, offset);
	pthread_mutex_unlock(&state.mutex);
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
	stall(OP_SYNC);
	pthread_mutex_lock(&state.mutex);
	int code = must_fail(OP_SYNC) ? fail() : real_of(file)->pMethods->xSync(real_of(file), flags);
	if (code == SQLITE_OK)
		forget((struct file *)file);
	pthread_mutex_unlock(&state.mutex);
	return code;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return must_fail(OP_TRUNCATE) ? fail() : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int on_close(sqlite3_file *file)
{
	pthread_mutex_lock(&state.mutex);
	forget((struct file *)file);
	pthread_mutex_unlock(&state.mutex);
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

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	struct file *mine = (struct file *)file;

	(void)vfs;
	mine->base.pMethods = NULL;
	mine->real = (sqlite3_file *)(mine + 1);
	if (must_fail(OP_OPEN))
		return fail();
	int code = state.real->xOpen(state.real, name, mine->real, flags, out_flags);
	if (mine->real->pMethods)
		mine->base.pMethods = &methods;
	return code;
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
	(void)vfs;
	return must_fail(OP_DELETE) ? fail() : state.real->xDelete(state.real, name, sync_folder);
}

static void set_up(void)
{
	const char *path = getenv("SM_FAULTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	state.control = mmap(NULL, sizeof *state.control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	state.real = sqlite3_vfs_find(NULL);
	if (state.control == MAP_FAILED || !state.real)
		abort();
	state.vfs = *state.real;
	state.vfs.zName = "faults";
	state.vfs.szOsFile = (int)sizeof(struct file) + state.real->szOsFile;
	state.vfs.xOpen = on_open;
	state.vfs.xDelete = on_delete;
	sqlite3_vfs_register(&state.vfs, 1);
}

/* A machine whose clock is off (SM_CLOCK_MS), by which nothing may go but what is shown. */
int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	const char *shift = id == CLOCK_REALTIME ? getenv("SM_CLOCK_MS") : NULL;
	int code = __real_clock_gettime(id, out);

	if (shift)
		out->tv_sec += strtol(shift, NULL, 10) / 1000;
	return code;
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs);

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs)
{
	pthread_once(&state.once, set_up);
	return __real_sqlite3_open_v2(path, out, flags, vfs);
}
