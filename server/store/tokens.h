/* Job: tokens and settings. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct token_row {
	int64_t token_id; /* 0: new */
	struct span name; /* unique */
	struct span hash; /* SHA-256 of the token, 32 bytes */
	struct span scope;
	struct span team;
	int64_t created_ms;
	uint64_t rate_requests, rate_bytes; /* a second; 0: as the options say */
};
enum status store_put_token(
	struct store_tx *tx, struct token_row *row, struct error *err) MUST_CHECK; /* ERR_CONFLICT: name */
enum status store_read_tokens(struct store_reader *reader, struct arena *arena, struct token_row **out, size_t *count,
	struct error *err) MUST_CHECK;
enum status store_delete_token(struct store_tx *tx, struct span name, struct error *err) MUST_CHECK; /* ERR_NOT_FOUND */

enum status store_put_setting(struct store_tx *tx, const char *key, struct span value, struct error *err) MUST_CHECK;
enum status store_read_setting(struct store_reader *reader, struct arena *arena, const char *key, struct span *value,
	struct error *err) MUST_CHECK; /* empty when absent */
