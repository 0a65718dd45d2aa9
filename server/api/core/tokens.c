/* Tokens: only their hashes are kept, in RAM and in the store; compared in constant time. */
#include "api/core/tokens.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/page_sessions.h"
#include "api/core/person_sessions.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "people/people.h"
#include "state/execute.h"
#include "store/tokens.h"

enum { TOKEN_RANDOM_BYTES = 20, NAME_MAX_BYTES = 63, AWS_SECRET_BYTES = 30 };

/*
 * Each token has a pair for AWS's clients, made from its hash by the key that seals secrets: nothing more is kept, nobody who has
 * the database alone can sign, and the pair ends with the token.
 */
static void make_key_id(struct span hash, struct aws_key *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	unsigned char bytes[SHA256_BYTES];
	AUTO_DONE(buf) text = BUF_INIT(256);

	buf_append_text(&text, "aws access key id");
	buf_append_span(&text, hash);
	crypto_sha256(buf_span(&text), bytes);
	memcpy(out->id, "SMFL", 4);
	for (size_t i = 4; i < AWS_KEY_ID_BYTES; i++)
		out->id[i] = digits[bytes[i] & 31];
	out->id[AWS_KEY_ID_BYTES] = 0;
}

static void put_secret(const struct api *api, struct span hash, struct buf *out)
{
	struct span seal_key = span_of((const char *)api->options.seal_key, SEAL_KEY_BYTES);
	unsigned char mac[SHA256_BYTES];
	AUTO_DONE(buf) text = BUF_INIT(256);

	buf_append_text(&text, "aws secret access key");
	buf_append_span(&text, hash);
	crypto_hmac_sha256(seal_key, buf_span(&text), mac);
	crypto_base64(span_of((const char *)mac, AWS_SECRET_BYTES), out);
}

static enum status load_into(
	struct api *api, struct arena *arena, struct token_row **rows, size_t *count, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	TRY(store_reader_new(&reader, api->options.store, err));
	return store_read_tokens(reader, arena, rows, count, err);
}

static enum status load(struct api *api, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct token_row *rows;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(load_into(api, arena, &rows, &count, err));
	struct aws_key *keys = arena_alloc(arena, (count + 1) * sizeof *keys);
	if (!keys)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		make_key_id(rows[i].hash, &keys[i]);
	pthread_rwlock_wrlock(&api->tokens_lock);
	struct arena *old = api->tokens_arena;
	api->tokens_arena = arena;
	api->tokens = rows;
	api->aws_keys = keys;
	api->token_count = count;
	pthread_rwlock_unlock(&api->tokens_lock);
	arena = old;
	return OK;
}

enum status tokens_load(struct api *api, struct error *err)
{
	struct http_server *server = api->server;

	pthread_mutex_lock(&api->tokens_loading);
	enum status status = load(api, err);
	atomic_store(&api->are_tokens_stale, status != OK);
	pthread_mutex_unlock(&api->tokens_loading);
	if (status == OK && server)
		http_server_recheck(server);
	return status;
}

void tokens_tick(struct api *api)
{
	struct http_server *server = api->server;
	struct error ignored;

	if (person_sessions_expire(api->person_sessions) && server)
		http_server_recheck(server);

	if (atomic_load(&api->are_tokens_stale) && tokens_load(api, &ignored) != OK)
		return; /* the next tick comes soon */
}

bool api_needs_tokens(struct api *api)
{
	if (api->options.is_open || api->options.needs_sign_in)
		return !api->options.is_open;
	pthread_rwlock_rdlock(&api->tokens_lock);
	bool has_any = api->token_count != 0;
	pthread_rwlock_unlock(&api->tokens_lock);
	return has_any;
}

bool api_is_narrow(const struct api *api, const struct principal *principal)
{
	return api->are_reads_own && principal->team[0] && principal->scope != SCOPE_ADMIN;
}

static void copy_text(char *out, size_t cap, struct span text)
{
	size_t len = text.len < cap - 1 ? text.len : cap - 1;

	memcpy(out, text.ptr, len);
	out[len] = 0;
}

static bool fill_principal(const struct token_row *row, struct principal *out)
{
	*out = (struct principal){.id = (uint64_t)row->token_id,
		.rate_requests_per_s = row->rate_requests,
		.rate_bytes_per_s = row->rate_bytes};
	copy_text(out->name, sizeof out->name, row->name);
	copy_text(out->team, sizeof out->team, row->team);
	return http_scope_parse(row->scope, &out->scope);
}

/* Looks at every token whatever matched before, so that the time says nothing. */
static bool find_token(struct api *api, struct span token, struct principal *out)
{
	unsigned char hash[SHA256_BYTES];
	bool is_found = false;

	crypto_sha256(token, hash);
	pthread_rwlock_rdlock(&api->tokens_lock);
	for (size_t i = 0; i < api->token_count; i++)
		if (api->tokens[i].hash.len == sizeof hash && crypto_equal(api->tokens[i].hash.ptr, hash, sizeof hash))
			is_found = fill_principal(&api->tokens[i], out);
	pthread_rwlock_unlock(&api->tokens_lock);
	return is_found;
}

/* Whoever needed no token has the id 0, and no token has that. */
static bool find_id(struct api *api, uint64_t token_id, struct principal *out)
{
	bool is_found = false;

	pthread_rwlock_rdlock(&api->tokens_lock);
	for (size_t i = 0; i < api->token_count && !is_found; i++)
		is_found = (uint64_t)api->tokens[i].token_id == token_id && fill_principal(&api->tokens[i], out);
	pthread_rwlock_unlock(&api->tokens_lock);
	return is_found;
}

bool tokens_may_read(struct api *api, uint64_t token_id)
{
	struct principal principal;

	if (!api_needs_tokens(api))
		return true;
	return find_id(api, token_id, &principal) && http_may(&principal, SCOPE_READ);
}

enum status tokens_find_holder(void *context, uint64_t token_id, struct principal *out, struct error *err)
{
	struct api *api = context;

	if (!api_needs_tokens(api))
		return tokens_authenticate(api, SPAN(""), out, err);
	return find_id(api, token_id, out)
		       ? OK
		       : error_set(err, ERR_UNAUTHORIZED, "the token that gave this leave is no longer known here");
}

static struct span seal_key_of(const struct api *api)
{
	return span_of((const char *)api->options.seal_key, SEAL_KEY_BYTES);
}

enum status tokens_begin_session(struct api *api, uint64_t token_id, struct buf *out, struct error *err)
{
	bool is_found = false;

	pthread_rwlock_rdlock(&api->tokens_lock);
	for (size_t i = 0; i < api->token_count && !is_found; i++) {
		is_found = (uint64_t)api->tokens[i].token_id == token_id;
		if (!is_found)
			continue;
		int64_t now_ms = clock_wall_ms();
		struct page_session session =
			page_session_make(seal_key_of(api), token_id, api->tokens[i].hash, now_ms);
		/* in the second in which all of them were ended */
		while (page_sessions_has(api->ended_sessions, &session) && now_ms < INT64_MAX - 1000)
			session = page_session_make(seal_key_of(api), token_id, api->tokens[i].hash, now_ms += 1000);
		page_session_print(&session, out);
	}
	pthread_rwlock_unlock(&api->tokens_lock);
	if (!is_found)
		return error_set(err, ERR_UNAUTHORIZED, "this token is not known here");
	return buf_status(out, err);
}

static bool find_session(struct api *api, struct span text, struct principal *out)
{
	struct page_session session;
	bool is_good = false;

	if (!page_session_parse(text, &session) || page_sessions_has(api->ended_sessions, &session))
		return false;
	pthread_rwlock_rdlock(&api->tokens_lock);
	for (size_t i = 0; i < api->token_count && !is_good; i++)
		is_good = (uint64_t)api->tokens[i].token_id == session.token_id &&
			  page_session_is_good(&session, seal_key_of(api), api->tokens[i].hash, clock_wall_ms()) &&
			  fill_principal(&api->tokens[i], out);
	pthread_rwlock_unlock(&api->tokens_lock);
	if (is_good) {
		out->session = session.id;
		out->session_until_s = session.until_s;
	}
	return is_good;
}

bool tokens_are_known(void *context, const struct principal *principal)
{
	struct api *api = context;
	struct principal now;

	const struct page_session session = {
		.id = principal->session, .token_id = principal->id, .until_s = principal->session_until_s};
	if (principal->is_person)
		return !principal->session || person_sessions_has(api->person_sessions, principal);
	if (principal->session && page_sessions_has(api->ended_sessions, &session))
		return false;
	return find_id(api, principal->id, &now) || (!principal->id && !api_needs_tokens(api));
}

enum status tokens_authenticate(void *context, struct span token, struct principal *out, struct error *err)
{
	struct api *api = context;

	if (token.len && (find_session(api, token, out) || person_sessions_find(api->person_sessions, token, out) ||
				 find_token(api, token, out)))
		return OK;
	if (!api_needs_tokens(api)) {
		*out = (struct principal){.scope = SCOPE_ADMIN};
		return OK;
	}
	return error_set(err, ERR_UNAUTHORIZED,
		token.len ? "this token is not known here" : "a token is needed: Authorization: Bearer TOKEN");
}

bool api_find_aws_key(void *context, struct span key_id, struct principal *out, struct buf *secret)
{
	struct api *api = context;
	bool is_found = false;

	pthread_rwlock_rdlock(&api->tokens_lock);
	for (size_t i = 0; i < api->token_count && !is_found; i++) {
		if (!span_equal(key_id, span_from(api->aws_keys[i].id)))
			continue;
		put_secret(api, api->tokens[i].hash, secret);
		is_found = secret->failure == OK && fill_principal(&api->tokens[i], out);
	}
	pthread_rwlock_unlock(&api->tokens_lock);
	return is_found;
}

void api_print_aws_pair(struct api *api, struct span token, struct buf *key_id, struct buf *secret)
{
	unsigned char hash[SHA256_BYTES];
	struct aws_key key;

	crypto_sha256(token, hash);
	make_key_id(span_of((const char *)hash, sizeof hash), &key);
	buf_append_text(key_id, key.id);
	put_secret(api, span_of((const char *)hash, sizeof hash), secret);
}

static enum status write_token(void *context, struct store_tx *tx, struct error *err)
{
	struct token_row row =
		*(const struct token_row *)context; /* a copy: after a commit that failed this runs again */

	return store_put_token(tx, &row, err);
}

enum status api_create_token(struct api *api, const struct new_token *asked, struct buf *token, struct error *err)
{
	unsigned char random[TOKEN_RANDOM_BYTES], hash[SHA256_BYTES];
	char digits[2 * TOKEN_RANDOM_BYTES + 1];

	if (people_owns_name(asked->name))
		return error_set_field(err, ERR_SEMANTIC, "name",
			"a token's name does not begin as those of signed-in people do: '%.*s'",
			SPAN_ARGS(asked->name));
	if (!asked->name.len || asked->name.len > NAME_MAX_BYTES || asked->team.len > NAME_MAX_BYTES ||
		!span_is_utf8(asked->name) || !span_is_utf8(asked->team))
		return error_set_field(err, ERR_SEMANTIC, "name",
			"a token's name has 1 to %d bytes of UTF-8, its team at most as many", NAME_MAX_BYTES);
	crypto_random(random, sizeof random);
	crypto_hex(random, sizeof random, digits);
	buf_printf(token, "smf-%s", digits); /* older clients of W&B want exactly 40 characters behind a dash */
	TRY(buf_status(token, err));
	crypto_sha256(buf_span(token), hash);
	struct token_row row = {.name = asked->name,
		.hash = span_of((const char *)hash, sizeof hash),
		.scope = span_from(http_scope_name(asked->scope)),
		.team = asked->team,
		.rate_requests = asked->rate_requests,
		.rate_bytes = asked->rate_bytes,
		.created_ms = clock_wall_ms()};
	TRY(writer_execute(api->options.pipeline, write_token, &row, err));
	return tokens_load(api, err);
}

/* ---- handlers ---- */

enum status api_tokens_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct json_writer w = api_reply(response);

	(void)worker;
	(void)request;
	(void)err;
	json_object(&w);
	json_key(&w, "tokens");
	json_array(&w);
	pthread_rwlock_rdlock(&api->tokens_lock);
	for (size_t i = 0; i < api->token_count; i++) {
		json_object(&w);
		json_put_span(&w, "name", api->tokens[i].name);
		json_put_span(&w, "scope", api->tokens[i].scope);
		json_put_span(&w, "team", api->tokens[i].team);
		json_put_i64(&w, "created_ms", api->tokens[i].created_ms);
		if (api->tokens[i].rate_requests)
			json_put_i64(&w, "rate_requests", (int64_t)api->tokens[i].rate_requests);
		if (api->tokens[i].rate_bytes)
			json_put_i64(&w, "rate_bytes", (int64_t)api->tokens[i].rate_bytes);
		json_object_end(&w);
	}
	pthread_rwlock_unlock(&api->tokens_lock);
	json_array_end(&w);
	json_object_end(&w);
	return OK;
}

/* Of one token, a second; 0: as --rate-requests and --rate-bytes say for all. */
static enum status read_rate(const struct json *body, const char *key, uint64_t *out, struct error *err)
{
	int64_t rate = 0;

	TRY(json_want_i64(body, key, &rate, err));
	if (rate < 0)
		return error_set_field(err, ERR_SEMANTIC, key, "%s is not below 0", key);
	*out = (uint64_t)rate;
	return OK;
}

enum status api_tokens_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(json) body = NULL;
	AUTO_DONE(buf) token = BUF_INIT(256);
	AUTO_DONE(buf) key_id = BUF_INIT(128), secret = BUF_INIT(128);
	struct new_token asked = {.name = SPAN(""), .team = SPAN("")};
	struct span scope_name = SPAN("read");
	bool wants_pair = false;

	(void)worker;
	TRY(api_body_object(request, &body, err));
	TRY(json_want_string(body, "name", &asked.name, err));
	TRY(json_want_string(body, "scope", &scope_name, err));
	TRY(json_want_string(body, "team", &asked.team, err));
	TRY(json_want_bool(body, "aws", &wants_pair, err));
	TRY(read_rate(body, "rate_requests", &asked.rate_requests, err));
	TRY(read_rate(body, "rate_bytes", &asked.rate_bytes, err));
	TRY(api_own_team(request, &asked.team, err));
	if (!http_scope_parse(scope_name, &asked.scope) || asked.scope == SCOPE_PUBLIC)
		return error_set_field(err, ERR_SEMANTIC, "scope", "scope '%.*s' is none of read, write, admin",
			SPAN_ARGS(scope_name));
	TRY(api_create_token(context, &asked, &token, err));
	struct json_writer w = api_reply(response);
	response->status = 201;
	json_object(&w);
	json_put_span(&w, "name", asked.name);
	json_put_span(&w, "scope", scope_name);
	json_put_span(&w, "token", buf_span(&token));
	if (wants_pair) {
		api_print_aws_pair(context, buf_span(&token), &key_id, &secret);
		json_put_span(&w, "aws_access_key_id", buf_span(&key_id));
		json_put_span(&w, "aws_secret_access_key", buf_span(&secret));
	}
	json_object_end(&w);
	return OK;
}

struct removal {
	struct span name;
	struct span team; /* the one who asks; "": any */
};

static enum status remove_token(void *context, struct store_tx *tx, struct error *err)
{
	const struct removal *removal = context;
	AUTO(arena) arena = NULL;
	struct token_row *rows;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(store_read_tokens(store_tx_reader(tx), arena, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (!span_equal(rows[i].name, removal->name))
			continue;
		if (removal->team.len && !span_equal(rows[i].team, removal->team))
			return error_set(err, ERR_FORBIDDEN, "token '%.*s' belongs to %s%.*s", SPAN_ARGS(removal->name),
				rows[i].team.len ? "team " : "no team", SPAN_ARGS(rows[i].team));
		/* without any everybody is an admin: that is for a first start, nothing that a request may bring about */
		if (count == 1)
			return error_set(err, ERR_CONFLICT,
				"'%.*s' is the last token: without it nobody would need one; make another first",
				SPAN_ARGS(removal->name));
	}
	return store_delete_token(tx, removal->name, err);
}

enum status api_tokens_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct removal removal = {http_request_segment(request, 0), api_team(request)};

	(void)worker;
	TRY(writer_execute(api->options.pipeline, remove_token, &removal, err));
	response->status = 204;
	return tokens_load(api, err);
}
