/* Job: browsers of people whom an OpenID provider has signed in. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct people_session_row {
	struct span hash; /* SHA-256 of the cookie, 32 bytes */
	struct span provider, issuer, person; /* issuer "": not known */
	struct span groups; /* a JSON array of texts */
	int64_t began_ms, until_ms;
};
enum status store_put_people_session(
	struct store_tx *tx, const struct people_session_row *row, struct error *err) MUST_CHECK;
enum status store_read_people_sessions(struct store_reader *reader, struct arena *arena,
	struct people_session_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Also when it is not there. */
enum status store_delete_people_session(struct store_tx *tx, struct span hash, struct error *err) MUST_CHECK;
