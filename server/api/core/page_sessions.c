#include "api/core/page_sessions.h"

#include "base/crypto.h"
#include "store/tokens.h"

#include <pthread.h>

/* The oldest of so many is forgotten: in 30 days nobody signs out as often by hand. */
enum { ENDED_MAX = 10000, NUMBER_BYTES = 8, NUMBERS = 3, ENTRY_BYTES = 2 * NUMBER_BYTES };

static const char prefix[] = "sms_";
static const char setting[] = "ended_page_sessions";

struct ended {
	uint64_t id;
	uint64_t until_s; /* no session that is known now lasts longer */
};

struct page_sessions {
	pthread_mutex_t mutex;
	size_t count;
	struct ended all[ENDED_MAX]; /* the oldest first */
};

static void put_number(uint64_t number, unsigned char out[NUMBER_BYTES])
{
	for (size_t i = 0; i < NUMBER_BYTES; i++)
		out[i] = (unsigned char)(number >> 8 * (NUMBER_BYTES - 1 - i));
}

static uint64_t get_number(const unsigned char bytes[NUMBER_BYTES])
{
	uint64_t number = 0;

	for (size_t i = 0; i < NUMBER_BYTES; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* ---- one session ---- */

static void put_numbers(const struct page_session *session, unsigned char out[NUMBERS * NUMBER_BYTES])
{
	put_number(session->id, out);
	put_number(session->token_id, out + NUMBER_BYTES);
	put_number(session->until_s, out + 2 * NUMBER_BYTES);
}

static void seal(const struct page_session *session, struct span seal_key, struct span token_hash,
	unsigned char out[PAGE_SESSION_MAC_BYTES])
{
	AUTO_DONE(buf) text = BUF_INIT(256);
	unsigned char numbers[NUMBERS * NUMBER_BYTES];

	put_numbers(session, numbers);
	buf_append_text(&text, "page session");
	buf_append(&text, (const char *)numbers, sizeof numbers);
	buf_append_span(&text, token_hash);
	crypto_hmac_sha256(seal_key, buf_span(&text), out);
}

struct page_session page_session_make(struct span seal_key, uint64_t token_id, struct span token_hash, int64_t now_ms)
{
	struct page_session session = {.token_id = token_id, .until_s = (uint64_t)now_ms / 1000 + PAGE_SESSION_SECONDS};

	while (!session.id)
		crypto_random(&session.id, sizeof session.id);
	seal(&session, seal_key, token_hash, session.mac);
	return session;
}

void page_session_print(const struct page_session *session, struct buf *out)
{
	unsigned char bytes[NUMBERS * NUMBER_BYTES + PAGE_SESSION_MAC_BYTES];
	char digits[2 * sizeof bytes + 1];

	put_numbers(session, bytes);
	memcpy(bytes + NUMBERS * NUMBER_BYTES, session->mac, PAGE_SESSION_MAC_BYTES);
	crypto_hex(bytes, sizeof bytes, digits);
	buf_append_text(out, prefix);
	buf_append_text(out, digits);
}

bool page_session_parse(struct span text, struct page_session *out)
{
	unsigned char bytes[NUMBERS * NUMBER_BYTES + PAGE_SESSION_MAC_BYTES];

	if (!span_starts_with(text, span_from(prefix)) || text.len != sizeof prefix - 1 + 2 * sizeof bytes)
		return false;
	text = span_skip(text, sizeof prefix - 1);
	for (size_t i = 0; i < sizeof bytes; i++) {
		int high = span_hex_digit(text.ptr[2 * i]), low = span_hex_digit(text.ptr[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	out->id = get_number(bytes);
	out->token_id = get_number(bytes + NUMBER_BYTES);
	out->until_s = get_number(bytes + 2 * NUMBER_BYTES);
	memcpy(out->mac, bytes + NUMBERS * NUMBER_BYTES, PAGE_SESSION_MAC_BYTES);
	return out->id != 0;
}

bool page_session_is_good(
	const struct page_session *session, struct span seal_key, struct span token_hash, int64_t now_ms)
{
	unsigned char mac[PAGE_SESSION_MAC_BYTES];

	seal(session, seal_key, token_hash, mac);
	return crypto_equal(mac, session->mac, sizeof mac) && (uint64_t)now_ms / 1000 < session->until_s;
}

/* ---- those that were ended ---- */

static bool next_entry(struct span *stored, struct ended *out)
{
	const unsigned char *at = (const unsigned char *)stored->ptr;

	if (stored->len < ENTRY_BYTES)
		return false;
	*out = (struct ended){get_number(at), get_number(at + NUMBER_BYTES)};
	*stored = span_skip(*stored, ENTRY_BYTES);
	return true;
}

enum status page_sessions_new(struct page_sessions **out, struct store *store, struct error *err)
{
	AUTO(page_sessions) ended = mem_zeroed(sizeof *ended);
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct span stored;

	if (ended)
		pthread_mutex_init(&ended->mutex, NULL);
	if (!ended || !arena)
		return error_no_memory(err);
	TRY(store_reader_new(&reader, store, err));
	TRY(store_read_setting(reader, arena, setting, &stored, err));
	while (ended->count < ENDED_MAX && next_entry(&stored, &ended->all[ended->count]))
		ended->count++;
	*out = TAKE(ended);
	return OK;
}

void page_sessions_free(struct page_sessions *ended)
{
	if (!ended)
		return;
	pthread_mutex_destroy(&ended->mutex);
	mem_free(ended);
}

bool page_sessions_has(struct page_sessions *ended, uint64_t id)
{
	bool has = false;

	pthread_mutex_lock(&ended->mutex);
	for (size_t i = 0; i < ended->count && !has; i++)
		has = ended->all[i].id == id;
	pthread_mutex_unlock(&ended->mutex);
	return has;
}

static void append(struct buf *out, uint64_t id, uint64_t until_s)
{
	unsigned char bytes[ENTRY_BYTES];

	put_number(id, bytes);
	put_number(until_s, bytes + NUMBER_BYTES);
	buf_append(out, (const char *)bytes, sizeof bytes);
}

/* Of so many, the i-th. Those whose time is over need not be known. */
static bool is_needed(const struct ended *one, size_t i, size_t count, int64_t now_ms)
{
	return one->until_s > (uint64_t)now_ms / 1000 && (i || count < ENDED_MAX);
}

/* From what the transaction has: another one may have ended in it. */
enum status page_sessions_write(struct store_tx *tx, uint64_t id, int64_t now_ms, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT((ENDED_MAX + 1) * ENTRY_BYTES);
	AUTO(arena) arena = arena_new();
	struct span stored;
	struct ended one;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(store_tx_reader(tx), arena, setting, &stored, err));
	size_t count = stored.len / ENTRY_BYTES;
	for (size_t i = 0; next_entry(&stored, &one); i++)
		if (is_needed(&one, i, count, now_ms))
			append(&text, one.id, one.until_s);
	append(&text, id, (uint64_t)now_ms / 1000 + PAGE_SESSION_SECONDS);
	TRY(buf_status(&text, err));
	return store_put_setting(tx, setting, buf_span(&text), err);
}

void page_sessions_note(struct page_sessions *ended, uint64_t id, int64_t now_ms)
{
	size_t kept = 0;

	pthread_mutex_lock(&ended->mutex);
	size_t count = ended->count;
	for (size_t i = 0; i < count; i++)
		if (is_needed(&ended->all[i], i, count, now_ms))
			ended->all[kept++] = ended->all[i];
	ended->all[kept++] = (struct ended){id, (uint64_t)now_ms / 1000 + PAGE_SESSION_SECONDS};
	ended->count = kept;
	pthread_mutex_unlock(&ended->mutex);
}
