/*
 * Job: what a signed-in browser has instead of its token: a name for the token that this server has sealed, good for 30 days, and ended by
 *      signing out, wherever a copy of it is. It also ends with the token. Nothing of a session is stored while it goes on.
 * Ownership: new/free. Threads: any.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

enum { PAGE_SESSION_SECONDS = 30 * 24 * 3600, PAGE_SESSION_MAC_BYTES = 32 };

struct page_session {
	uint64_t id; /* never 0 */
	uint64_t token_id;
	uint64_t until_s; /* wall clock */
	unsigned char mac[PAGE_SESSION_MAC_BYTES];
};

/* token_hash: what is stored of the token. */
struct page_session page_session_make(struct span seal_key, uint64_t token_id, struct span token_hash, int64_t now_ms);
void page_session_print(const struct page_session *session, struct buf *out);
/* False: this is not how one looks. */
bool page_session_parse(struct span text, struct page_session *out);
/* Did this server seal it for this token, and is its time not over? */
bool page_session_is_good(
	const struct page_session *session, struct span seal_key, struct span token_hash, int64_t now_ms);

/* Those that were ended before their time: one, or all that a token had until then. */
struct page_sessions;
enum page_sessions_end { END_ONE, END_ALL_OF_TOKEN, END_KINDS };
struct page_session_ending {
	enum page_sessions_end kind;
	uint64_t id; /* of the session, or of the token */
	int64_t now_ms;
};
enum status page_sessions_new(struct page_sessions **out, struct store *store, struct error *err) MUST_CHECK;
void page_sessions_free(struct page_sessions *ended);
bool page_sessions_has(struct page_sessions *ended, const struct page_session *session);
/* Adds one on disk, in a transaction of the writer's; page_sessions_note follows once that is durable. */
enum status page_sessions_write(
	struct store_tx *tx, const struct page_session_ending *ending, struct error *err) MUST_CHECK;
void page_sessions_note(struct page_sessions *ended, const struct page_session_ending *ending);

AUTO_TYPE(page_sessions)
