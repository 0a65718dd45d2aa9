#include "app/shared_key.h"

#include "app/key_file.h"
#include "store/tokens.h"

static const char check_key[] = "seal_key_check";

static void print_of(const unsigned char key[SEAL_KEY_BYTES], unsigned char out[SHA256_BYTES])
{
	crypto_hmac_sha256(span_of((const char *)key, SEAL_KEY_BYTES), SPAN("smfleet key of a database 1"), out);
}

static enum status compare(
	const char *path, struct span stored, const unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	unsigned char print[SHA256_BYTES];

	print_of(key, print);
	if (stored.len == sizeof print && crypto_equal(stored.ptr, print, sizeof print))
		return OK;
	return error_set(err, ERR_FORBIDDEN,
		"the key file '%s' is not that of this database, whose secrets it cannot open: copy the file of --secret-key-file from the machine that has served it",
		path);
}

/* Both as far as they are there. */
static enum status read_both(const char *path, struct store_reader *reader, unsigned char key[SEAL_KEY_BYTES],
	bool *has_file, bool *has_print, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span stored;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(reader, arena, check_key, &stored, err));
	enum status status = key_file_read(path, key, err);
	*has_file = status == OK;
	*has_print = stored.len != 0;
	if (status == ERR_NOT_FOUND && !*has_print)
		return OK;
	if (status == ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
			"the key file '%s' is not there, and the database has secrets of one: copy the file of --secret-key-file from the machine that has served it",
			path);
	TRY(status);
	return *has_print ? compare(path, stored, key, err) : OK;
}

enum status shared_key_check(const char *path, struct store_reader *reader, struct error *err)
{
	unsigned char key[SEAL_KEY_BYTES];
	bool has_file, has_print;

	return read_both(path, reader, key, &has_file, &has_print, err);
}

static enum status put_print(struct store *store, const unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	unsigned char print[SHA256_BYTES];
	struct store_tx *tx = NULL;

	print_of(key, print);
	TRY(store_tx_begin(&tx, store, err));
	enum status status = store_put_setting(tx, check_key, span_of((const char *)print, sizeof print), err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}

enum status shared_key_load(const char *path, struct store *store, unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	AUTO(store_reader) reader = NULL;
	bool has_file, has_print;

	TRY(store_reader_new(&reader, store, err));
	TRY(read_both(path, reader, key, &has_file, &has_print, err));
	if (!has_file)
		TRY(key_file_make(path, key, err));
	return has_print ? OK : put_print(store, key, err);
}
