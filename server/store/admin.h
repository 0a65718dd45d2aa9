/* Job: tools around the file: check, backup, restore, migrations, space. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

/* PATH with the suffix, of the file itself where PATH is a symbolic link to it. NULL: out of memory. */
char *store_beside(const char *path, const char *suffix) __attribute__((warn_unused_result));
/*
 * What litestream has left in a file or beside it: "" when nothing; as long as the program. It ends transactions of a server that it
 * works beside. The file is there, and may be a server's.
 */
enum status store_find_litestream(const char *path, const char **trace, struct error *err) MUST_CHECK;
/* A server, or a tool that keeps one out, has the file open, under this or another name. Not beside a connection of this process
 * to the same file, whose locks it would end. */
bool store_is_in_use(const char *path, int64_t *pid);

struct store_finding {
	const char *what; /* "block", "chunk", "journal", "pyramid", "filter", "database" … */
	struct span job; /* its name; "" where there is none */
	const char *part; /* "stream", "series", "" */
	uint64_t part_id;
	struct span part_name; /* "'algo-1'", of a series "'train:loss' of stream 'algo-1'"; "": nothing is called so */
	uint64_t at; /* first line, first point, sequence */
	struct span text; /* what is wrong */
};
struct store_check {
	bool is_quick; /* rows are counted and compared, blocks and chunks are not decoded */
	bool is_online; /* a server has the database: no read lasts longer than one table takes, and free pages are not looked at */
	void (*found)(void *context, const struct store_finding *finding);
	bool (*progress)(void *context, const char *what, uint64_t rows); /* now and then; false ends the check */
	void *context;
};
/* Reads the database, which may be in use; *problems: how many were found. An error: it could not go on. */
enum status store_check(const struct store_options *options, const struct store_check *check, uint64_t *problems,
	struct error *err) MUST_CHECK;

/*
 * A copy made while the server works, by the writer's own connection, so that what is written meanwhile is in it, too. Writer
 * thread only, between transactions. The copy appears at its path when it is whole; a file that is there is replaced.
 */
struct store_backup;
enum status store_backup_begin(
	struct store_backup **out, struct store *store, const char *path, struct error *err) MUST_CHECK;
/* Copies some pages; *left 0: all are there, in PATH.partial. */
enum status store_backup_step(
	struct store_backup *backup, size_t pages, uint64_t *left, uint64_t *total, struct error *err) MUST_CHECK;
/* Checks the copy (store_check) and puts it in place. */
enum status store_backup_finish(struct store_backup *backup, struct error *err) MUST_CHECK; /* any thread; not freed */
void store_backup_free(struct store_backup *backup); /* unfinished: leaves nothing behind */
/* The same without a server: takes the lock (ERR_CONFLICT: a server has it). */
enum status store_backup_offline(const char *path, const char *copy_path, struct error *err) MUST_CHECK;
/* Puts a copy in the place of a database that no server has; the old one is kept as PATH.before-restore (-2, -3 … beside
 * what earlier ones kept) when there is one and `replaces`, else it is a conflict. */
enum status store_restore(const char *copy_path, const char *path, bool replaces, struct error *err) MUST_CHECK;

/*
 * What a server needs in the schema, to a role that does not own its tables; also of tables that later migrations make. By who owns
 * them, also beside a server. ERR_NOT_FOUND: there is no such role; ERR_UNSUPPORTED: a file has none.
 */
enum status store_grant(const struct store_options *options, const char *role, struct error *err) MUST_CHECK;

/*
 * What the server of a PostgreSQL database is like: each fact with what is wrong with it ("": nothing). is_bad: what is acknowledged may
 * be lost, or it will not work at all. Writes nothing of ours.
 */
struct store_fact {
	const char *what;
	struct span value, remark;
	bool is_bad;
};
enum status store_examine(const struct store_options *options,
	void (*tell)(void *context, const struct store_fact *fact), void *context, struct error *err) MUST_CHECK;

struct store_migration {
	int64_t number;
	struct span name;
	struct span about; /* the comment at its head */
	bool is_pending;
};
struct store_plan {
	int64_t version; /* that the database has; 0: there is none */
	uint64_t bytes;
	struct store_migration *migrations; /* all of this program's */
	size_t count;
};
/* What opening the database with this program would do. It need not exist. */
enum status store_plan_migrations(
	const struct store_options *options, struct arena *arena, struct store_plan *out, struct error *err) MUST_CHECK;

/* Gives at most `pages` free pages back to the file system; *left: how many there still are. */
enum status store_vacuum(struct store_tx *tx, size_t pages, uint64_t *left, struct error *err) MUST_CHECK;
/* Is less of store_figures in use once text is deleted? Else a limit of it would delete all, and never be met. */
bool store_can_shrink(const struct store *store);
/* "NFS", "Lustre" …, where a database is refused; NULL: not a network's. magic as from statfs. */
const char *network_file_system(unsigned long magic);
#define STORE_FREE_UNKNOWN UINT64_MAX
/* What the file system that the database is on has free for us, and how large it is, in bytes; or both are unknown. */
enum status store_disk_room(
	const struct store *store, uint64_t *free_bytes, uint64_t *size_bytes, struct error *err) MUST_CHECK;

/* By how much the file may grow yet for what is committed: it waits in a log. The writer's. */
uint64_t store_owed_bytes(const struct store *store);

AUTO_TYPE(store_backup)
