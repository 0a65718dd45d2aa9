/* Job: who a request is from, by its token. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"

enum status tokens_load(struct api *api, struct error *err) MUST_CHECK;
/* Each tick. */
void tokens_tick(struct api *api);
bool tokens_are_known(void *api, const struct principal *principal);
enum status tokens_authenticate(void *api, struct span token, struct principal *out, struct error *err) MUST_CHECK;
/* The cookie of a session for this token, which is known. ERR_UNAUTHORIZED: revoked meanwhile. */
enum status tokens_begin_session(struct api *api, uint64_t token_id, struct buf *out, struct error *err) MUST_CHECK;
/* Is there (still) such a token, that may read? 0, who needed none: as long as nobody needs one. */
bool tokens_may_read(struct api *api, uint64_t token_id);

/* Who has the token of this number; 0: who needs none, as long as nobody needs one. ERR_UNAUTHORIZED: there is none (any more). */
enum status tokens_find_holder(void *api, uint64_t token_id, struct principal *out, struct error *err) MUST_CHECK;

/* With --team-reads=own: does it see its team's jobs alone? */
bool api_is_narrow(const struct api *api, const struct principal *principal);

/* Does a request need a token? Once there is one, everybody does (but for is_open). */
bool api_needs_tokens(struct api *api);

struct new_token {
	struct span name; /* 1 to 63 bytes */
	enum http_scope scope;
	struct span team;
	uint64_t rate_requests, rate_bytes; /* a second; 0: as the options say */
};
/* Makes a token; its text is printed once and never again. ERR_CONFLICT: the name is taken. Also for `token create`. */
enum status api_create_token(
	struct api *api, const struct new_token *asked, struct buf *token, struct error *err) MUST_CHECK;

/* What AWS's clients sign with instead of the token. */
void api_print_aws_pair(struct api *api, struct span token, struct buf *key_id, struct buf *secret);
/* Whose access key it is, and its secret; false: nobody's. Any thread. */
bool api_find_aws_key(void *api, struct span key_id, struct principal *out, struct buf *secret);
