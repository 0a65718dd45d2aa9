#include "api/core/person_sessions.h"

#include "api/core/persons.h"
#include "api/core/session_endings.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/map.h"
#include "people/sign_ins.h"
#include "state/audit.h"
#include "state/execute.h"
#include "store/people_sessions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOK_MS = 250, OF_ONE_MAX = 50 };

static const char prefix[] = "smp_";

struct session {
	unsigned char hash[SHA256_BYTES];
	struct principal person;
	int64_t began_ms, until_ms;
};

struct person_sessions {
	struct person_sessions_options options;
	pthread_rwlock_t lock;
	struct map *by_number; /* of their hash */
	struct buf over; /* hashes of those that are only in the store any more */
	int64_t looked_ms;
	struct session_endings endings;
};

void person_sessions_free(struct person_sessions *sessions)
{
	void *session;

	if (!sessions)
		return;
	for (size_t at = 0; sessions->by_number && map_next(sessions->by_number, &at, NULL, &session);)
		mem_free(session);
	map_free(sessions->by_number);
	buf_done(&sessions->over);
	pthread_rwlock_destroy(&sessions->lock);
	mem_free(sessions);
}

static struct span hash_of(const struct session *session)
{
	return span_of((const char *)session->hash, sizeof session->hash);
}

/* Its first 63 bits, of which nobody will see the same twice. */
static uint64_t number_of(const void *hash)
{
	uint64_t number;

	memcpy(&number, hash, sizeof number);
	return number | 1; /* 0: no session */
}

static struct session *find(const struct person_sessions *sessions, uint64_t number)
{
	return map_get(sessions->by_number, span_of((const char *)&number, sizeof number));
}

static void forget(struct person_sessions *sessions, const void *hash)
{
	uint64_t number = number_of(hash);

	mem_free(map_remove(sessions->by_number, span_of((const char *)&number, sizeof number)));
}

static enum status keep(struct person_sessions *sessions, struct session *session, struct error *err)
{
	uint64_t number = number_of(session->hash);

	forget(sessions, session->hash);
	return map_put(sessions->by_number, span_of((const char *)&number, sizeof number), session)
		       ? OK
		       : error_no_memory(err);
}

/* ERR_FORBIDDEN: the rules say nothing of this person. */
static enum status allow(const struct provider_settings *provider, struct span name, struct span groups,
	struct session *out, struct error *err)
{
	AUTO_DONE(buf) full = BUF_INIT(sizeof PEOPLE_OIDC + strlen(provider->name) + 1 + name.len);
	struct grant grant;

	TRY(grants_find_listed(provider->grants, name, groups, &grant, err));
	buf_printf(&full, PEOPLE_OIDC "%s/%.*s", provider->name, SPAN_ARGS(name));
	TRY(buf_status(&full, err));
	TRY(persons_fill(&out->person, buf_span(&full), &grant, err));
	out->person.session = number_of(out->hash);
	out->person.session_until_s = (uint64_t)out->until_ms / 1000;
	return OK;
}

/* ---- what the store has ---- */

/* A name that was given to another issuer is another provider's. */
static const struct provider_settings *find_provider(const struct people *people, const struct people_session_row *row)
{
	const struct provider_settings *provider;

	for (size_t i = 0; (provider = people_provider(people, i)); i++)
		if (span_equal(span_from(provider->name), row->provider) &&
			span_equal(span_from(provider->issuer), row->issuer))
			return provider;
	return NULL;
}

static enum status take_row(struct person_sessions *sessions, const struct people_session_row *row, struct error *err)
{
	const struct provider_settings *provider = find_provider(sessions->options.people, row);
	AUTO_MEM struct session *session = mem_zeroed(sizeof *session);
	struct error refusal;

	if (!session)
		return error_no_memory(err);
	memcpy(session->hash, row->hash.ptr, row->hash.len < SHA256_BYTES ? row->hash.len : SHA256_BYTES);
	session->began_ms = row->began_ms;
	session->until_ms = row->began_ms + sessions->options.longest_ms;
	if (row->until_ms < session->until_ms)
		session->until_ms = row->until_ms;
	if (!provider || clock_wall_ms() >= session->until_ms ||
		allow(provider, row->person, row->groups, session, &refusal) != OK) {
		buf_append_span(&sessions->over, row->hash);
		return buf_status(&sessions->over, err);
	}
	TRY(keep(sessions, session, err));
	session = NULL;
	return OK;
}

static enum status load(struct person_sessions *sessions, struct store *store, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct people_session_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_reader_new(&reader, store, err));
	TRY(store_read_people_sessions(reader, arena, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		TRY(take_row(sessions, &rows[i], err));
	return OK;
}

enum status person_sessions_new(struct person_sessions **out, const struct person_sessions_options *options,
	struct store *store, struct error *err)
{
	AUTO(person_sessions) sessions = mem_zeroed(sizeof *sessions);

	if (!sessions)
		return error_no_memory(err);
	pthread_rwlock_init(&sessions->lock, NULL);
	crypto_random(sessions->endings.seed, sizeof sessions->endings.seed);
	sessions->options = *options;
	sessions->over = BUF_INIT(SIZE_MAX);
	if (!(sessions->by_number = map_new()))
		return error_no_memory(err);
	TRY(load(sessions, store, err));
	*out = TAKE(sessions);
	return OK;
}

/* ---- changes: the store first ---- */

static enum status delete_rows(struct store_tx *tx, const struct buf *over, struct error *err)
{
	TRY(buf_status(over, err));
	for (size_t at = 0; at + SHA256_BYTES <= over->len; at += SHA256_BYTES)
		TRY(store_delete_people_session(tx, span_of(over->ptr + at, SHA256_BYTES), err));
	return OK;
}

static enum status delete_over(void *context, struct store_tx *tx, struct error *err)
{
	return delete_rows(tx, context, err);
}

static struct buf take_over(struct person_sessions *sessions)
{
	pthread_rwlock_wrlock(&sessions->lock);
	struct buf over = sessions->over;
	sessions->over = BUF_INIT(SIZE_MAX);
	pthread_rwlock_unlock(&sessions->lock);
	return over;
}

/* What could not be taken out of the store is there at the next start, and is found to be over then. */
enum status person_sessions_sweep(struct person_sessions *sessions, struct pipeline *pipeline, struct error *err)
{
	AUTO_DONE(buf) over = take_over(sessions);

	return over.len ? writer_execute(pipeline, delete_over, &over, err) : OK;
}

static void drop(struct person_sessions *sessions, struct span hashes)
{
	pthread_rwlock_wrlock(&sessions->lock);
	for (size_t at = 0; at + SHA256_BYTES <= hashes.len; at += SHA256_BYTES)
		forget(sessions, hashes.ptr + at);
	pthread_rwlock_unlock(&sessions->lock);
}

static bool is_older(const struct session *session, const struct session *than)
{
	return !than || session->began_ms < than->began_ms;
}

/* Room for one more: whoever signs in again and again ends sessions of their own, and nobody else's. */
static void find_oldest(struct person_sessions *sessions, const struct session *next, struct buf *over)
{
	const struct session *oldest = NULL, *oldest_own = NULL;
	size_t own = 0;
	void *value;

	pthread_rwlock_rdlock(&sessions->lock);
	for (size_t at = 0; map_next(sessions->by_number, &at, NULL, &value);) {
		const struct session *session = value;
		bool is_own = session->person.id == next->person.id;
		own += is_own;
		if (is_own && is_older(session, oldest_own))
			oldest_own = session;
		if (is_older(session, oldest))
			oldest = session;
	}
	if (own >= OF_ONE_MAX)
		buf_append_span(over, hash_of(oldest_own));
	else if (oldest && map_count(sessions->by_number) >= sessions->options.most)
		buf_append_span(over, hash_of(oldest));
	pthread_rwlock_unlock(&sessions->lock);
}

static void make_cookie(struct session *session, struct buf *out)
{
	char random[SIGN_IN_TEXT_BYTES + 1];
	size_t from = out->len;

	sign_in_random(random);
	buf_printf(out, "%s%s", prefix, random);
	crypto_sha256(span_skip(buf_span(out), from), session->hash);
}

uint64_t person_sessions_endings(struct person_sessions *sessions)
{
	pthread_rwlock_rdlock(&sessions->lock);
	uint64_t count = sessions->endings.count;
	pthread_rwlock_unlock(&sessions->lock);
	return count;
}

struct beginning {
	struct person_sessions *sessions;
	struct session *session; /* theirs as soon as it is kept */
	bool is_kept;
	struct principal person;
	unsigned char hash[SHA256_BYTES];
	uint64_t endings;
	struct people_session_row row;
	struct buf over; /* hashes of those that end for it */
};

static enum status add(struct beginning *beginning, struct error *err)
{
	struct person_sessions *sessions = beginning->sessions;
	enum status status = OK;

	pthread_rwlock_wrlock(&sessions->lock);
	if (session_endings_have(&sessions->endings, beginning->endings, &beginning->person))
		status = error_set(err, ERR_FORBIDDEN,
			"the sessions of this person were ended here after this sign-in had begun: begin it again");
	else if (!beginning->is_kept) /* after a commit that failed this runs again */
		status = keep(sessions, beginning->session, err);
	beginning->is_kept = beginning->is_kept || status == OK;
	pthread_rwlock_unlock(&sessions->lock);
	return status;
}

/* An ending is noted before the writer comes to it, and finds whom it ends there: whichever comes first, this session does not outlive it. */
static enum status write_beginning(void *context, struct store_tx *tx, struct error *err)
{
	struct beginning *beginning = context;

	TRY(add(beginning, err));
	TRY(delete_rows(tx, &beginning->over, err));
	return store_put_people_session(tx, &beginning->row, err);
}

static enum status write_as(
	struct pipeline *pipeline, struct beginning *beginning, struct span address, struct error *err)
{
	const struct principal *person = &beginning->person;
	const struct actor actor = {.token = span_from(person->name),
		.team = span_from(person->team),
		.address = address,
		.verb = SPAN("sign in"),
		.kind = SPAN("sign-ins"),
		.id = span_from(person->name),
		.body = SPAN("")};

	audit_act_as(pipeline, &actor);
	enum status status = writer_execute(pipeline, write_beginning, beginning, err);
	audit_act_as(pipeline, NULL);
	return status;
}

enum status person_sessions_begin(struct person_sessions *sessions, struct pipeline *pipeline,
	const struct person_sessions_beginning *wanted, struct buf *cookie, struct error *err)
{
	const struct provider_settings *provider = wanted->provider;
	AUTO_MEM struct session *session = mem_zeroed(sizeof *session);

	if (!session)
		return error_no_memory(err);
	session->began_ms = clock_wall_ms();
	session->until_ms = session->began_ms + sessions->options.longest_ms;
	make_cookie(session, cookie);
	TRY(buf_status(cookie, err));
	TRY(allow(provider, wanted->person, wanted->groups, session, err));
	struct beginning beginning = {.sessions = sessions,
		.session = session,
		.person = session->person,
		.endings = wanted->endings,
		.row = {.provider = span_from(provider->name),
			.issuer = span_from(provider->issuer),
			.person = wanted->person,
			.groups = wanted->groups,
			.began_ms = session->began_ms,
			.until_ms = session->until_ms},
		.over = take_over(sessions)};
	memcpy(beginning.hash, session->hash, sizeof beginning.hash);
	beginning.row.hash = span_of((const char *)beginning.hash, sizeof beginning.hash);
	find_oldest(sessions, session, &beginning.over);
	enum status status = write_as(pipeline, &beginning, wanted->address, err);
	if (beginning.is_kept)
		session = NULL;
	drop(sessions, status == OK ? buf_span(&beginning.over) : beginning.row.hash);
	buf_done(&beginning.over);
	return status;
}

struct ending {
	struct person_sessions *sessions;
	const struct person_sessions_ending *which;
	struct buf over; /* hashes */
};

static bool is_meant(const struct session *session, const struct person_sessions_ending *which)
{
	return session->person.session == which->session ||
	       session_ending_means(which->name, which->team, &session->person);
}

static void find_meant(struct ending *ending)
{
	struct person_sessions *sessions = ending->sessions;
	void *value;

	buf_reset(&ending->over);
	pthread_rwlock_rdlock(&sessions->lock);
	for (size_t at = 0; map_next(sessions->by_number, &at, NULL, &value);)
		if (is_meant(value, ending->which))
			buf_append_span(&ending->over, hash_of(value));
	pthread_rwlock_unlock(&sessions->lock);
}

static enum status write_ending(void *context, struct store_tx *tx, struct error *err)
{
	struct ending *ending = context;

	find_meant(ending);
	TRY(buf_status(&ending->over, err));
	if (!ending->over.len)
		return error_set(err, ERR_NOT_FOUND, "nobody is signed in by a provider as '%.*s'",
			SPAN_ARGS(span_cut(ending->which->name, 200)));
	return delete_rows(tx, &ending->over, err);
}

enum status person_sessions_end(struct person_sessions *sessions, struct pipeline *pipeline,
	const struct person_sessions_ending *which, struct error *err)
{
	struct ending ending = {sessions, which, BUF_INIT(SIZE_MAX)};

	pthread_rwlock_wrlock(&sessions->lock);
	session_endings_note(&sessions->endings, which->name, which->team);
	pthread_rwlock_unlock(&sessions->lock);
	enum status status = writer_execute(pipeline, write_ending, &ending, err);
	if (status == OK)
		drop(sessions, buf_span(&ending.over));
	buf_done(&ending.over);
	return status;
}

/* ---- who asks ---- */

bool person_sessions_find(struct person_sessions *sessions, struct span cookie, struct principal *out)
{
	unsigned char hash[SHA256_BYTES];

	if (!span_starts_with(cookie, span_from(prefix)))
		return false;
	crypto_sha256(cookie, hash);
	pthread_rwlock_rdlock(&sessions->lock);
	const struct session *session = find(sessions, number_of(hash));
	bool is_good = session && crypto_equal(session->hash, hash, sizeof hash) && clock_wall_ms() < session->until_ms;
	if (is_good)
		*out = session->person;
	pthread_rwlock_unlock(&sessions->lock);
	return is_good;
}

bool person_sessions_has(struct person_sessions *sessions, const struct principal *principal)
{
	pthread_rwlock_rdlock(&sessions->lock);
	bool has = find(sessions, principal->session) != NULL;
	pthread_rwlock_unlock(&sessions->lock);
	return has;
}

/* True: some have. Noted first: nothing may be removed while the map is walked. */
static bool forget_expired(struct person_sessions *sessions, int64_t now_ms)
{
	struct buf *over = &sessions->over;
	size_t from = over->len;
	void *value;

	for (size_t at = 0; map_next(sessions->by_number, &at, NULL, &value);)
		if (now_ms >= ((struct session *)value)->until_ms)
			buf_append_span(over, hash_of(value));
	for (size_t at = from; at < over->len; at += SHA256_BYTES)
		forget(sessions, over->ptr + at);
	return over->len > from;
}

bool person_sessions_expire(struct person_sessions *sessions)
{
	int64_t now_ms = clock_wall_ms();

	if (now_ms >= sessions->looked_ms && now_ms - sessions->looked_ms < LOOK_MS)
		return false;
	sessions->looked_ms = now_ms;
	pthread_rwlock_wrlock(&sessions->lock);
	bool has_any = forget_expired(sessions, now_ms);
	pthread_rwlock_unlock(&sessions->lock);
	return has_any;
}

/* ---- who there is ---- */

static int compare_begun(const void *a, const void *b)
{
	const struct person_session *first = a, *second = b;

	return first->began_ms < second->began_ms ? -1 : first->began_ms > second->began_ms;
}

static size_t copy_of_team(const struct person_sessions *sessions, struct span team, struct person_session *out)
{
	int64_t now_ms = clock_wall_ms();
	size_t count = 0;
	void *value;

	for (size_t at = 0; map_next(sessions->by_number, &at, NULL, &value);) {
		const struct session *session = value;
		if (now_ms < session->until_ms && (!team.len || span_equal(span_from(session->person.team), team)))
			out[count++] = (struct person_session){session->person, session->began_ms, session->until_ms};
	}
	return count;
}

enum status person_sessions_list(struct person_sessions *sessions, struct span team, struct arena *arena,
	struct person_session **out, size_t *count, struct error *err)
{
	pthread_rwlock_rdlock(&sessions->lock);
	*out = arena_alloc(arena, (map_count(sessions->by_number) + 1) * sizeof **out);
	*count = *out ? copy_of_team(sessions, team, *out) : 0;
	pthread_rwlock_unlock(&sessions->lock);
	if (!*out)
		return error_no_memory(err);
	qsort(*out, *count, sizeof **out, compare_begun);
	return OK;
}
