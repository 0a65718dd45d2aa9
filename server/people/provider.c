#include "people/provider.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "net/http_client.h"
#include "people/id_token.h"
#include "people/key_set.h"
#include "people/person_claims.h"

#include <stdatomic.h>

enum {
	CONNECT_MS = 5000,
	TOTAL_MS = 10000,
	REPLY_BYTES = 256 << 10,
	URL_BYTES = 2048,
	FORM_BYTES = 16 << 10,
	TOKEN_BYTES = 16 << 10,
	FRESH_MS = 60 * 60 * 1000,
	FAILED_MS = 2000, /* who asks meanwhile gets the same answer */
	KEYS_MS = 60 * 1000 /* they are not asked for more often because of a key that is unknown */
};

struct provider {
	const struct provider_settings *settings;
	struct http_client *client;
	atomic_bool is_cancelled;
	struct json *discovered; /* NULL: nothing yet */
	int64_t discovered_mono_ms;
	struct error failure; /* of the last attempt */
	int64_t failed_mono_ms;
	struct key_set *keys;
	int64_t keys_mono_ms;
	int64_t unknown_mono_ms; /* when they were last asked for because of a key that is unknown; 0: never */
};

enum status provider_new(struct provider **out, const struct provider_settings *settings, struct error *err)
{
	struct http_client_options http = {.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.allows_private = true, /* whose address it is, an administrator said */
		.reply_bytes = REPLY_BYTES,
		.ca_file = settings->ca_file,
		.user_agent = "smfleet/" SM_VERSION};
	AUTO(provider) provider = mem_zeroed(sizeof *provider);

	if (!provider)
		return error_no_memory(err);
	provider->settings = settings;
	TRY(http_client_new(&provider->client, &http, err));
	*out = TAKE(provider);
	return OK;
}

void provider_free(struct provider *provider)
{
	if (!provider)
		return;
	http_client_free(provider->client);
	json_free(provider->discovered);
	key_set_free(provider->keys);
	mem_free(provider);
}

void provider_cancel(struct provider *provider)
{
	atomic_store(&provider->is_cancelled, true);
	http_client_cancel(provider->client);
}

void provider_person_done(struct provider_person *person)
{
	buf_done(&person->name);
	buf_done(&person->groups);
}

/* ---- one request ---- */

/* What the reply is of, in messages. The reply is the client's until the next request. */
static enum status ask(struct provider *provider, const char *what, const struct http_client_request *request,
	struct http_client_answer *answer, struct error *err)
{
	TRY(http_client_start(provider->client, request, provider, err));
	while (!http_client_wait(provider->client, TOTAL_MS, answer))
		if (atomic_load(&provider->is_cancelled)) {
			(void)http_client_drop(provider->client);
			return error_set(err, ERR_UNAVAILABLE, "the server is stopping");
		}
	if (answer->status != OK)
		return error_set(err, ERR_IO, "%s: %s", what, answer->err.text);
	if (answer->is_cut)
		return error_set(err, ERR_IO, "%s: the answer is longer than %d KiB", what, REPLY_BYTES >> 10);
	return OK;
}

static enum status ask_bytes(struct provider *provider, const char *what, const struct http_client_request *request,
	struct span *out, struct error *err)
{
	struct http_client_answer answer;

	TRY(ask(provider, what, request, &answer, err));
	*out = answer.reply;
	return answer.code == 200 ? OK : error_set(err, ERR_IO, "%s: the answer is %d", what, answer.code);
}

static enum status ask_object(struct provider *provider, const char *what, const struct http_client_request *request,
	struct json **out, struct error *err)
{
	struct span reply;

	TRY(ask_bytes(provider, what, request, &reply, err));
	if (jwt_read_object(out, reply, err) == OK)
		return OK;
	error_prefix(err, "%s", what);
	return err ? err->status = ERR_IO : ERR_IO;
}

/* ---- what it says of itself ---- */

static enum status check_discovered(const struct provider *provider, const struct json *found, struct error *err)
{
	static const char *const wanted[] = {"authorization_endpoint", "token_endpoint", "jwks_uri"};
	struct span issuer = json_string_of(json_get(found, "issuer"));

	if (!span_equal(issuer, span_from(provider->settings->issuer)))
		return error_set(err, ERR_IO, "its issuer is '%.*s', and --sign-in says '%s'",
			SPAN_ARGS(span_cut(issuer, 200)), provider->settings->issuer);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!provider_is_safe_url(json_string_of(json_get(found, wanted[i]))))
			return error_set(err, ERR_IO, "its %s is no https address", wanted[i]);
	return OK;
}

static enum status discover(struct provider *provider, struct error *err)
{
	AUTO_DONE(buf) url = BUF_INIT(URL_BYTES);
	AUTO(json) found = NULL;
	struct span issuer = span_from(provider->settings->issuer);

	if (span_ends_with(issuer, SPAN("/")))
		issuer.len--;
	buf_printf(&url, "%.*s/.well-known/openid-configuration", SPAN_ARGS(issuer));
	TRY(buf_status(&url, err));
	TRY(ask_object(provider, "its configuration", &(struct http_client_request){.url = url.ptr, .is_get = true},
		&found, err));
	TRY(check_discovered(provider, found, err));
	json_free(provider->discovered);
	provider->discovered = TAKE(found);
	provider->discovered_mono_ms = clock_mono_ms();
	return OK;
}

static bool has_passed(int64_t since_mono_ms, int64_t ms)
{
	return !since_mono_ms || clock_mono_ms() - since_mono_ms >= ms;
}

static enum status prepare(struct provider *provider, struct error *err)
{
	if (provider->discovered && !has_passed(provider->discovered_mono_ms, FRESH_MS))
		return OK;
	if (!has_passed(provider->failed_mono_ms, FAILED_MS) && provider->failed_mono_ms) {
		*err = provider->failure;
		return err->status;
	}
	enum status status = discover(provider, err);
	provider->failed_mono_ms = status ? clock_mono_ms() : 0;
	if (status)
		provider->failure = *err;
	return status;
}

static struct span discovered(const struct provider *provider, const char *name)
{
	return json_string_of(json_get(provider->discovered, name));
}

/* ---- the way there ---- */

static void append_parameter(struct buf *out, const char *name, struct span value)
{
	if (out->len && out->ptr[out->len - 1] != '?')
		buf_append_char(out, '&');
	buf_append_text(out, name);
	buf_append_char(out, '=');
	buf_append_percent_encoded(out, value);
}

enum status provider_write_address(
	struct provider *provider, const struct provider_question *question, struct buf *out, struct error *err)
{
	const struct provider_settings *settings = provider->settings;

	TRY(prepare(provider, err));
	struct span endpoint = discovered(provider, "authorization_endpoint");
	buf_append_span(out, endpoint);
	if (span_find_char(endpoint, '?') < 0)
		buf_append_char(out, '?');
	append_parameter(out, "response_type", SPAN("code"));
	append_parameter(out, "client_id", settings->client_id);
	append_parameter(out, "redirect_uri", question->redirect_uri);
	append_parameter(out, "scope", settings->scopes);
	append_parameter(out, "state", question->state);
	append_parameter(out, "nonce", question->nonce);
	append_parameter(out, "code_challenge", question->challenge);
	append_parameter(out, "code_challenge_method", SPAN("S256"));
	return buf_status(out, err);
}

/* ---- the code for tokens ---- */

static bool offers(const struct provider *provider, const char *method)
{
	const struct json *list = json_get(provider->discovered, "token_endpoint_auth_methods_supported");

	for (const struct json *one = json_first(list); one; one = json_next(one))
		if (span_equal(json_string_of(one), span_from(method)))
			return true;
	return !list && strcmp(method, "client_secret_basic") == 0; /* Discovery 1.0, 3 */
}

/* RFC 6749, 2.3.1: both are encoded as in a form before they are joined. */
static void write_basic(const struct provider_settings *settings, struct buf *out)
{
	AUTO_DONE(buf) pair = BUF_INIT(FORM_BYTES);

	buf_append_percent_encoded(&pair, settings->client_id);
	buf_append_char(&pair, ':');
	buf_append_percent_encoded(&pair, settings->secret);
	buf_append_text(out, "Basic ");
	crypto_base64(buf_span(&pair), out);
	buf_append_char(out, 0);
	out->failure = out->failure ? out->failure : pair.failure;
}

static enum status write_client(
	const struct provider *provider, struct buf *form, struct buf *authorization, struct error *err)
{
	const struct provider_settings *settings = provider->settings;
	bool is_public = !settings->secret.len;

	if (!is_public && offers(provider, "client_secret_basic")) {
		write_basic(settings, authorization);
		return buf_status(authorization, err);
	}
	if (!is_public && !offers(provider, "client_secret_post"))
		return error_set(err, ERR_IO, "it takes no secret by client_secret_basic or client_secret_post");
	append_parameter(form, "client_id", settings->client_id);
	if (!is_public)
		append_parameter(form, "client_secret", settings->secret);
	return OK;
}

/* Of the error's own name alone: its description may repeat what it was sent. */
static enum status refuse_code(const struct http_client_answer *answer, struct error *err)
{
	AUTO(json) reply = NULL;
	struct span name = SPAN("");

	if (jwt_read_object(&reply, answer->reply, NULL) == OK)
		name = json_string_of(json_get(reply, "error"));
	for (size_t i = 0; i < name.len; i++)
		if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || name.ptr[i] == '_'))
			name = SPAN("");
	return error_set(
		err, ERR_IO, "its token endpoint: the answer is %d %.*s", answer->code, SPAN_ARGS(span_cut(name, 40)));
}

static enum status redeem(
	struct provider *provider, const struct provider_answer *answer, struct json **out, struct error *err)
{
	AUTO_DONE(buf) url = BUF_INIT(URL_BYTES), form = BUF_INIT(FORM_BYTES), authorization = BUF_INIT(FORM_BYTES);
	struct http_client_header headers[] = {{"Content-Type", "application/x-www-form-urlencoded"},
		{"Accept", "application/json"}, {"Authorization", ""}};
	struct http_client_answer reply;

	append_parameter(&form, "grant_type", SPAN("authorization_code"));
	append_parameter(&form, "code", answer->code);
	append_parameter(&form, "redirect_uri", answer->redirect_uri);
	append_parameter(&form, "code_verifier", answer->verifier);
	TRY(write_client(provider, &form, &authorization, err));
	buf_printf(&url, "%.*s", SPAN_ARGS(discovered(provider, "token_endpoint")));
	TRY(buf_status(&form, err));
	TRY(buf_status(&url, err));
	if (authorization.len)
		headers[2].value = authorization.ptr;
	struct http_client_request request = {
		.url = url.ptr, .headers = headers, .header_count = authorization.len ? 3 : 2, .body = buf_span(&form)};
	TRY(ask(provider, "its token endpoint", &request, &reply, err));
	if (reply.code != 200)
		return refuse_code(&reply, err);
	if (jwt_read_object(out, reply.reply, err) == OK)
		return OK;
	error_prefix(err, "its token endpoint");
	return err ? err->status = ERR_IO : ERR_IO;
}

/* ---- who it was ---- */

static enum status read_keys(struct provider *provider, struct error *err)
{
	AUTO_DONE(buf) url = BUF_INIT(URL_BYTES);
	AUTO(key_set) keys = NULL;
	struct span reply;

	provider->keys_mono_ms = clock_mono_ms();
	buf_printf(&url, "%.*s", SPAN_ARGS(discovered(provider, "jwks_uri")));
	TRY(buf_status(&url, err));
	TRY(ask_bytes(
		provider, "its keys", &(struct http_client_request){.url = url.ptr, .is_get = true}, &reply, err));
	if (key_set_read(&keys, reply, err) != OK) {
		error_prefix(err, "its keys");
		return err ? err->status = ERR_IO : ERR_IO;
	}
	key_set_free(provider->keys);
	provider->keys = TAKE(keys);
	return OK;
}

static enum status check_signature(struct provider *provider, const struct jwt *token, struct error *err)
{
	if (!provider->keys || has_passed(provider->keys_mono_ms, FRESH_MS))
		TRY(read_keys(provider, err));
	enum status status = key_set_check(provider->keys, token, err);
	if (status == ERR_NOT_FOUND && has_passed(provider->unknown_mono_ms, KEYS_MS)) {
		provider->unknown_mono_ms = clock_mono_ms();
		TRY(read_keys(provider, err));
		status = key_set_check(provider->keys, token, err);
	}
	return status;
}

static enum status check_token(struct provider *provider, const struct provider_answer *answer, struct span text,
	struct jwt **out, struct error *err)
{
	struct id_token_wanted wanted = {.issuer = span_from(provider->settings->issuer),
		.client_id = provider->settings->client_id,
		.nonce = answer->nonce,
		.now_s = clock_wall_ms() / 1000};

	if (!text.len)
		return error_set(err, ERR_IO, "its token endpoint: there is no id_token in the answer");
	TRY(jwt_parse(out, text, err));
	TRY(check_signature(provider, *out, err));
	return id_token_check((*out)->claims, &wanted, err);
}

static enum status read_userinfo(struct provider *provider, struct span access_token, const struct json *claims,
	struct json **out, struct error *err)
{
	AUTO_DONE(buf) url = BUF_INIT(URL_BYTES), authorization = BUF_INIT(TOKEN_BYTES);
	struct span endpoint = discovered(provider, "userinfo_endpoint");

	if (!provider_is_safe_url(endpoint) || !access_token.len)
		return OK;
	buf_printf(&url, "%.*s", SPAN_ARGS(endpoint));
	buf_printf(&authorization, "Bearer %.*s", SPAN_ARGS(access_token));
	TRY(buf_status(&url, err));
	TRY(buf_status(&authorization, err));
	struct http_client_header headers[] = {{"Authorization", authorization.ptr}, {"Accept", "application/json"}};
	struct http_client_request request = {.url = url.ptr, .headers = headers, .header_count = 2, .is_get = true};
	TRY(ask_object(provider, "its userinfo endpoint", &request, out, err));
	if (!span_equal(json_string_of(json_get(*out, "sub")), json_string_of(json_get(claims, "sub"))))
		return error_set(err, ERR_IO, "its userinfo endpoint tells of somebody else (\"sub\")");
	return OK;
}

/* All of it is in the ID token, or the provider is asked once more. */
static enum status name_person(struct provider *provider, const struct json *claims, struct span access_token,
	struct provider_person *out, struct error *err)
{
	const struct provider_settings *settings = provider->settings;
	AUTO(json) more = NULL;

	if (!person_claims_are_enough(claims, settings->person_claim) || !json_get(claims, settings->groups_claim))
		TRY(read_userinfo(provider, access_token, claims, &more, err));
	TRY(person_claims_name(claims, more, settings->person_claim, &out->name, err));
	return person_claims_groups(claims, more, settings->groups_claim, &out->groups, err);
}

static enum status find_person(
	struct provider *provider, const struct provider_answer *answer, struct provider_person *out, struct error *err)
{
	AUTO(json) tokens = NULL;
	AUTO(jwt) id_token = NULL;
	bool must_name_issuer =
		json_is_true(json_get(provider->discovered, "authorization_response_iss_parameter_supported"));

	if (answer->has_issuer ? !span_equal(answer->issuer, span_from(provider->settings->issuer)) : must_name_issuer)
		return error_set(err, ERR_IO, "the answer that came back is not of this provider (\"iss\")");
	TRY(redeem(provider, answer, &tokens, err));
	TRY(check_token(provider, answer, json_string_of(json_get(tokens, "id_token")), &id_token, err));
	return name_person(provider, id_token->claims, json_string_of(json_get(tokens, "access_token")), out, err);
}

enum status provider_find_person(
	struct provider *provider, const struct provider_answer *answer, struct provider_person *out, struct error *err)
{
	TRY(prepare(provider, err));
	enum status status = find_person(provider, answer, out, err);
	/* whatever it said wrong is the provider's fault, and no request's */
	if (status == ERR_INVALID || status == ERR_NOT_FOUND || status == ERR_SEMANTIC)
		return err->status = ERR_IO;
	return status;
}
