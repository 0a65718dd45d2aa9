/* What PostgreSQL and libpq say, as an error of ours. */
#include "store/postgres/postgres_store.h"

struct meaning {
	const char *prefix; /* of the SQLSTATE */
	enum status status;
	const char *what; /* of it for a person; NULL: what the server says is enough */
};

/* The first that fits. Appendix A of PostgreSQL's manual. */
static const struct meaning meanings[] = {
	{"23", ERR_CONFLICT, NULL}, /* a constraint */
	{"22021", ERR_SEMANTIC, "a text has bytes that the database does not hold"},
	{"22P05", ERR_SEMANTIC, "a text has a character that the database does not hold"},
	{"54", ERR_TOO_LARGE, "a value is larger than the database holds"},
	{"57014", ERR_UNAVAILABLE, "it took longer than it may"},
	{"53100", ERR_UNAVAILABLE, "the server's disk is full (free some space)"},
	{"53", ERR_UNAVAILABLE, "the server lacks something that it needs"},
	{"57P", ERR_UNAVAILABLE, "the server stops, or starts"},
	{"08", ERR_UNAVAILABLE, "the connection is lost"},
	{"25006", ERR_UNAVAILABLE, "the server takes no writes: it is a standby"},
	{"25P03", ERR_UNAVAILABLE, "the transaction waited longer than it may"},
	{"28", ERR_UNAVAILABLE, "it does not let us in"},
	{"3D000", ERR_UNAVAILABLE, "there is no such database"},
	{"40", ERR_BUSY, "another transaction was in the way"},
	{"55P03", ERR_BUSY, "another transaction holds a lock"},
	{"58", ERR_IO, "the server's system failed"},
	{"XX001", ERR_IO, "it is damaged: restore a backup"},
	{"XX002", ERR_IO, "an index of it is damaged: rebuild it (REINDEX)"},
	{"", ERR_INTERNAL, NULL},
};

static const struct meaning *meaning_of(const char *sqlstate)
{
	const struct meaning *meaning = meanings;

	while (strncmp(sqlstate, meaning->prefix, strlen(meaning->prefix)) != 0)
		meaning++;
	return meaning;
}

static enum status fill(
	struct postgres_reader *on, enum status status, const char *what, struct span said, struct error *err)
{
	error_set(err, status, "database '%s': %s%s%.*s", on->target->label, what ? what : "", what ? ": " : "",
		SPAN_ARGS(said));
	if (err && (status == ERR_UNAVAILABLE || status == ERR_BUSY))
		err->retry_after_s = RETRY_AFTER_S;
	return status;
}

static enum status lost(struct postgres_reader *on, struct error *err)
{
	const char *text = on->conn ? on->pq->PQerrorMessage(on->conn) : "";
	enum status status = fill(on, ERR_UNAVAILABLE, "the connection is lost", span_trim(span_from(text)), err);

	postgres_disconnect(on);
	return status;
}

enum status postgres_failure(struct postgres_reader *on, const PGresult *result, struct error *err)
{
	const char *sqlstate = result ? on->pq->PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;

	if (!sqlstate)
		return lost(on, err); /* libpq made the result itself: there is no server any more */
	const char *primary = on->pq->PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const struct meaning *meaning = meaning_of(sqlstate);
	return fill(on, meaning->status, meaning->what, span_from(primary ? primary : sqlstate), err);
}
