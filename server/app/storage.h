/*
 * Job: the database that the options state: a file, or a schema of a PostgreSQL database that other servers may have; what lies
 *      beside it on this machine; and how it is waited for.
 * Ownership: storage_done after its store is closed. Threads: main; a PostgreSQL database ends by its lease's thread.
 */
#pragma once

#include "base/crypto.h"
#include "base/options/options.h"
#include "store/store.h"

#include <stdatomic.h>

enum { STORAGE_NAME_BYTES = 512 };

struct storage {
	const struct options *options;
	int signal_fd; /* what comes there ends a wait; -1: it is not waited for */
	unsigned port; /* where it answers meanwhile, for the log */
	int ended_fd; /* readable: nothing is stored any more, and only a start helps */
	struct error why; /* then; written before has_ended */
	atomic_bool has_ended;
	bool has_waited;
	enum status waits_for; /* the last reason's, of which the log knows */
	int wait_ms; /* before the lease is asked for again */
	bool is_told_to_stop, is_told_to_reload; /* while it waited */
	char name[STORAGE_NAME_BYTES];
	struct store_ownership ownership;
};

bool storage_is_postgres(const struct options *options);
/* Is it meant as an address, but none that is understood? It would be taken for a file. */
bool storage_is_mistake(const char *db);
/* ERR_INVALID: --db is neither a file nor an address; ERR_SEMANTIC: an option that does not work on such a database. */
enum status storage_check(const struct options *options, struct error *err) MUST_CHECK;
/* The file beside which others lie: the database, or, where that is PostgreSQL's, the key. ERR_INVALID: none is stated. */
enum status storage_beside(const struct options *options, const char **path, struct error *err) MUST_CHECK;
/*
 * The path of the socket by which subcommands ask the running server, NUL included: FILE.sock, of the file itself where FILE is a
 * symbolic link. Beside a key there is one for each --db and --schema, as one key may be that of several.
 */
enum status storage_socket(const struct options *options, struct buf *out, struct error *err) MUST_CHECK;
/* For subcommands that work on a file: ERR_UNSUPPORTED, with what to use instead. */
enum status storage_needs_file(const struct options *options, const char *instead, struct error *err) MUST_CHECK;

enum status storage_init(
	struct storage *storage, const struct options *options, int signal_fd, struct error *err) MUST_CHECK;
enum status storage_open(struct storage *storage, struct store **out, struct error *err) MUST_CHECK;
/* What seals secrets; made for a new database. Once the store is open, and before others write there. */
enum status storage_load_key(
	struct storage *storage, struct store *store, unsigned char key[SEAL_KEY_BYTES], struct error *err) MUST_CHECK;
void storage_done(struct storage *storage);

/* What a subcommand opens a database with that it does not serve: it waits for nobody. Not copied, as the options point into it. */
struct storage_tool {
	char name[STORAGE_NAME_BYTES];
	struct store_ownership ownership;
	struct store_options store;
};
/* path: a file or an address; as long as the tool. */
void storage_tool_init(struct storage_tool *tool, const struct options *options, const char *path);
