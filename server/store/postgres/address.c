/* Where a database is: what may be said of it, and what may not be in it. */
#include "store/postgres/postgres_store.h"

enum { LABEL_BYTES_MAX = 4096 };

/* What tells one database from another. Nothing else of an address is printed. */
static bool is_told(const char *keyword)
{
	static const char *const told[] = {"service", "host", "hostaddr", "port", "dbname", "user"};

	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		if (strcmp(keyword, told[i]) == 0)
			return true;
	return false;
}

/* A password there would be in the list of processes, in logs and in messages. */
static enum status read_options(const PQconninfoOption *options, struct buf *label, struct error *err)
{
	for (; options->keyword; options++) {
		if (strstr(options->keyword, "password") && options->val)
			return error_set(err, ERR_INVALID,
				"a password does not belong there: put it into a file (PGPASSFILE), the environment (PGPASSWORD), or a service file");
		if (options->val && is_told(options->keyword))
			buf_printf(label, "%s%s=%s", label->len ? " " : "", options->keyword, options->val);
	}
	buf_append_char(label, 0);
	return buf_status(label, err);
}

enum status postgres_label(const struct libpq *pq, const char *conninfo, char **out, struct error *err)
{
	AUTO_DONE(buf) label = BUF_INIT(LABEL_BYTES_MAX);
	char *why = NULL;
	PQconninfoOption *options = pq->PQconninfoParse(conninfo, &why);

	if (!options) {
		/* Neither what was given nor what libpq says of it, which quotes that: a password may be in it. */
		bool is_mistake = why != NULL;
		pq->PQfreemem(why);
		return is_mistake
			       ? error_set(err, ERR_INVALID,
					 "the address of the database is not one as libpq takes it: postgresql://HOST/DATABASE, without a password")
			       : error_no_memory(err);
	}
	enum status status = read_options(options, &label, err);
	pq->PQconninfoFree(options);
	TRY(status);
	*out = mem_copy_string(label.ptr);
	return *out ? OK : error_no_memory(err);
}
