#include "api/core/page_sessions.h"

#include "base/crypto.h"
#include "store/tokens.h"

#include <pthread.h>

/* The oldest of so many is forgotten: in 30 days nobody signs out as often by hand. */
enum { ENDED_MAX = 10000, NUMBER_BYTES = 8, NUMBERS = 3, ENTRY_BYTES = 2 * NUMBER_BYTES };

static const char prefix[] = "sms_";
static const char *const settings[END_KINDS] = {
	[END_ONE] = "ended_page_sessions", [END_ALL_OF_TOKEN] = "ended_page_sessions_of_tokens"};

struct ended {
	uint64_t id;
	uint64_t until_s; /* no session that was there then lasts longer */
};

struct ended_list {
	size_t count;
	struct ended all[ENDED_MAX]; /* the oldest first */
};

struct page_sessions {
	pthread_mutex_t mutex;
	struct ended_list lists[END_KINDS];
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

static enum status read_list(
	struct store_reader *reader, enum page_sessions_end kind, struct ended_list *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span stored;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(reader, arena, settings[kind], &stored, err));
	while (out->count < ENDED_MAX && next_entry(&stored, &out->all[out->count]))
		out->count++;
	return OK;
}

enum status page_sessions_new(struct page_sessions **out, struct store *store, struct error *err)
{
	AUTO(page_sessions) ended = mem_zeroed(sizeof *ended);
	AUTO(store_reader) reader = NULL;

	if (!ended)
		return error_no_memory(err);
	pthread_mutex_init(&ended->mutex, NULL);
	TRY(store_reader_new(&reader, store, err));
	for (int kind = 0; kind < END_KINDS; kind++)
		TRY(read_list(reader, (enum page_sessions_end)kind, &ended->lists[kind], err));
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

bool page_sessions_has(struct page_sessions *ended, const struct page_session *session)
{
	const struct ended_list *ones = &ended->lists[END_ONE], *tokens = &ended->lists[END_ALL_OF_TOKEN];
	bool has = false;

	pthread_mutex_lock(&ended->mutex);
	for (size_t i = 0; i < ones->count && !has; i++)
		has = ones->all[i].id == session->id;
	for (size_t i = 0; i < tokens->count && !has; i++)
		has = tokens->all[i].id == session->token_id && session->until_s <= tokens->all[i].until_s;
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

static struct ended ended_by(const struct page_session_ending *ending)
{
	return (struct ended){ending->id, (uint64_t)ending->now_ms / 1000 + PAGE_SESSION_SECONDS};
}

/* From what the transaction has: another one may have ended in it. */
enum status page_sessions_write(struct store_tx *tx, const struct page_session_ending *ending, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT((ENDED_MAX + 1) * ENTRY_BYTES);
	AUTO(arena) arena = arena_new();
	struct span stored;
	struct ended one, new = ended_by(ending);

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(store_tx_reader(tx), arena, settings[ending->kind], &stored, err));
	size_t count = stored.len / ENTRY_BYTES;
	for (size_t i = 0; next_entry(&stored, &one); i++)
		if (one.id != new.id && is_needed(&one, i, count, ending->now_ms))
			append(&text, one.id, one.until_s);
	append(&text, new.id, new.until_s);
	TRY(buf_status(&text, err));
	return store_put_setting(tx, settings[ending->kind], buf_span(&text), err);
}

void page_sessions_note(struct page_sessions *ended, const struct page_session_ending *ending)
{
	struct ended_list *list = &ended->lists[ending->kind];
	size_t kept = 0;

	pthread_mutex_lock(&ended->mutex);
	size_t count = list->count;
	for (size_t i = 0; i < count; i++)
		if (list->all[i].id != ending->id && is_needed(&list->all[i], i, count, ending->now_ms))
			list->all[kept++] = list->all[i];
	list->all[kept++] = ended_by(ending);
	list->count = kept;
	pthread_mutex_unlock(&ended->mutex);
}
