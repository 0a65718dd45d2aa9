/*
 * W&B's dialect: which call is answered how. Its address has the secret as its first part, as the client sends whichever key the code of
 * the training logs in with.
 */
#include "cli/relay/relay_wandb.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/options/options.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	SETTINGS_MAX_BYTES = 64 << 10,
	PATH_BYTES = 4096,
	CALL_MAX_BYTES = RELAY_HEAD_MAX_BYTES,
	BODY_MAX_BYTES = 64 << 20
};

/* ---- whether it is ours to say where its runs go ---- */

static const char *const own_variables[] = {
	"WANDB_BASE_URL", "WANDB_MODE", "WANDB_DISABLED", "WANDB_SWEEP_ID", "WANDB_IDENTITY_TOKEN_FILE", NULL};
static const char *const own_files[] = {NULL};

/* As much of it as a file of settings has; "": it is not there. */
static struct span read_settings(const char *path, char bytes[SETTINGS_MAX_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? 0 : read(fd, bytes, SETTINGS_MAX_BYTES);

	if (fd >= 0)
		close(fd);
	return span_of(bytes, got > 0 ? (size_t)got : 0);
}

/* "base_url = https://…", as `wandb login --host` writes; "mode = offline", as `wandb offline` does. */
static bool says_where(const char *path)
{
	static const char *const names[] = {"base_url", "mode", "disabled"};
	char bytes[SETTINGS_MAX_BYTES];
	struct span rest = read_settings(path, bytes), line, name;
	bool is = false;

	while (span_next(&rest, '\n', &line)) {
		(void)span_next(&line, '=', &name);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			is = is || span_equal(span_trim(name), span_from(names[i]));
	}
	return is;
}

static bool has_own(char *const *environment)
{
	const char *folder = environment_find(environment, "WANDB_DIR"),
		   *config = environment_find(environment, "WANDB_CONFIG_DIR"),
		   *home = environment_find(environment, "HOME");
	char path[PATH_BYTES];

	snprintf(path, sizeof path, "%s/wandb/settings", folder && *folder ? folder : ".");
	if (says_where(path))
		return true;
	if (config && *config)
		snprintf(path, sizeof path, "%s/settings", config);
	else
		snprintf(path, sizeof path, "%s/.config/wandb/settings", home ? home : "");
	return says_where(path);
}

/* Who has a key of W&B's has perhaps meant that the runs go there. */
static bool has_key(char *const *environment)
{
	const char *key = environment_find(environment, "WANDB_API_KEY"),
		   *file = environment_find(environment, "NETRC"), *home = environment_find(environment, "HOME");
	char path[PATH_BYTES], bytes[SETTINGS_MAX_BYTES];

	if (key && *key)
		return true;
	if (file && *file)
		snprintf(path, sizeof path, "%s", file);
	else
		snprintf(path, sizeof path, "%s/.netrc", home ? home : "");
	return span_find(read_settings(path, bytes), SPAN("api.wandb.ai")) >= 0;
}

static void set_environment(const struct relay_core *core, char *const *environment)
{
	const char *key = environment_find(environment, "WANDB_API_KEY");
	char url[RELAY_URL_BYTES + RELAY_TOKEN_DIGITS + 2];

	snprintf(url, sizeof url, "%s/%s", core->url, core->token);
	setenv("WANDB_BASE_URL", url, 1);
	setenv("WANDB_APP_URL", core->server, 0); /* the addresses that it prints */
	if (!key || !*key)
		setenv("WANDB_API_KEY", core->token, 1);
	if (has_key(environment))
		client_say(core->program,
			"runs of W&B go to %s; with WANDB_BASE_URL=https://api.wandb.ai, or --no-relay, they go to W&B",
			core->server);
}

/* ---- a request's address ---- */

static bool cut_secret(const struct relay_core *core, const struct relay_request *request, struct span *path)
{
	struct span rest = request->path;

	if (!span_take(&rest, SPAN("/")) || rest.len < RELAY_TOKEN_DIGITS ||
		!crypto_equal(rest.ptr, core->token, RELAY_TOKEN_DIGITS))
		return false;
	*path = span_skip(rest, RELAY_TOKEN_DIGITS);
	return span_starts_with(*path, SPAN("/"));
}

static bool is_its(const struct relay_core *core, const struct relay_request *request)
{
	struct span path;

	return cut_secret(core, request, &path);
}

/* ---- what calls share ---- */

static bool is_word(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] <= ' ' || (unsigned char)text.ptr[i] >= 0x7f)
			return false;
	return text.len > 0;
}

void relay_wandb_put(struct relay_wandb_call *call, struct span path, struct span body)
{
	AUTO_DONE(buf) name = BUF_INIT(CALL_MAX_BYTES + 64);
	struct span writer = call->request->writer;
	struct error err = {0};

	buf_printf(&name, "%" PRId64 " %.*s %.*s", clock_wall_ms(), SPAN_ARGS(is_word(writer) ? writer : SPAN("-")),
		SPAN_ARGS(path));
	buf_append_char(&name, 0);
	if (buf_status(&name, &err) == OK)
		relay_put(call->core, RELAY_WANDB, name.ptr, relay_wandb_is_run(path, body), body);
	else
		relay_lose(call->core, &err);
}

struct span relay_wandb_variable(const struct relay_wandb_call *call, const char *name)
{
	return call->asked.variables ? json_string_of(json_get(call->asked.variables, name)) : SPAN("");
}

enum status relay_wandb_put_operation(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_MAX_BYTES);
	AUTO_DONE(buf) variables = BUF_INIT(BODY_MAX_BYTES);
	AUTO_DONE(buf) path = BUF_INIT(CALL_MAX_BYTES);
	struct json_writer w = json_writer_on(&body);

	if (call->asked.variables)
		json_print(call->asked.variables, &variables);
	else
		buf_append_text(&variables, "{}");
	TRY(buf_status(&variables, err));
	json_object(&w);
	json_put_span(&w, "operationName", call->asked.operation);
	json_key(&w, "variables");
	json_raw(&w, buf_span(&variables));
	json_object_end(&w);
	buf_append_text(&path, "/graphql?operation=");
	buf_append_percent_encoded(&path, call->asked.operation);
	TRY(buf_status(&body, err));
	TRY(buf_status(&path, err));
	relay_wandb_put(call, buf_span(&path), buf_span(&body));
	return OK;
}

enum status relay_wandb_ask(struct relay_wandb_call *call, struct http_reply *reply, struct error *err)
{
	AUTO_DONE(buf) method = BUF_INIT(16);

	http_reply_init(reply, RELAY_REPLY_MAX_BYTES);
	buf_append_span(&method, call->request->method);
	buf_append_char(&method, 0);
	TRY(buf_status(&method, err));
	if (!relay_await_sent(call->core))
		return error_set(err, ERR_UNAVAILABLE, "the server has not got all yet");
	return relay_ask(call->core, method.ptr, call->path, call->request->body, reply, err);
}

void relay_wandb_reply_with(struct relay_wandb_call *call, const struct http_reply *reply)
{
	call->reply->status = reply->status_code;
	buf_reset(&call->reply->body);
	buf_append_span(&call->reply->body, buf_span(&reply->body));
	call->w.depth = 0; /* whole as it is */
}

void relay_wandb_entity(struct relay_wandb_call *call, struct buf *out)
{
	struct span asked = relay_wandb_variable(call, "entity");

	pthread_mutex_lock(&call->core->mutex);
	buf_append_text(out, wandb_known_entity(call->core->known[RELAY_WANDB]));
	pthread_mutex_unlock(&call->core->mutex);
	if (!out->len)
		buf_append_span(out, asked.len ? asked : SPAN(WANDB_NO_TEAM));
}

/* ---- calls of GraphQL ---- */

static enum status pass(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};

	if (relay_wandb_ask(call, &reply, err) != OK)
		return error_set(err, ERR_UNSUPPORTED, "the server is away, and sm-ship's relay cannot answer this");
	relay_wandb_reply_with(call, &reply);
	return OK;
}

static enum status tell_viewer(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;
	AUTO_DONE(buf) entity = BUF_INIT(CALL_MAX_BYTES);

	if (relay_ask(call->core, "POST", SPAN("/graphql"), call->request->body, &reply, err) == OK &&
		json_parse(&document, buf_span(&reply.body), NULL) == OK) {
		struct span team = json_string_of(json_get_path(document, "data.viewer.entity"));
		pthread_mutex_lock(&call->core->mutex);
		wandb_known_set_entity(call->core->known[RELAY_WANDB], team);
		pthread_mutex_unlock(&call->core->mutex);
	}
	relay_wandb_entity(call, &entity);
	wandb_write_viewer(&call->w, buf_span(&entity), SPAN(""));
	return OK;
}

/* Refused as by the server, which says at the run what it lacks, now or when it is back. */
static enum status refuse_artifact(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};

	if (relay_wandb_ask(call, &reply, err) == OK) {
		relay_wandb_reply_with(call, &reply);
		return OK;
	}
	TRY(relay_wandb_put_operation(call, err));
	return error_set(err, ERR_UNSUPPORTED, WANDB_NO_ARTIFACTS);
}

static const struct {
	const char *name;
	relay_wandb_operation *answer;
} operations[] = {
	{"Viewer", tell_viewer},
	{"GetDefaultEntity", tell_viewer},
	{"UpsertBucket", relay_wandb_upsert},
	{"RunResumeStatus", relay_wandb_resume_status},
	{"CreateRunFiles", relay_wandb_create_files},
	{"NotifyScriptableRunAlert", relay_wandb_alert},
	{"CreateArtifact", refuse_artifact},
};

static enum status run_operation(struct relay_wandb_call *call, struct error *err)
{
	if (wandb_write_fixed(&call->w, call->asked.operation))
		return OK;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (span_equal(call->asked.operation, span_from(operations[i].name)))
			return operations[i].answer(call, err);
	return pass(call, err);
}

/* What went wrong is told in a reply: a client asks again for ever if the transport says it. */
static enum status answer_graphql(struct relay_wandb_call *call, struct error *err)
{
	TRY(graphql_read(call->body, &call->asked, err));
	json_object(&call->w);
	json_key(&call->w, "data");
	json_object(&call->w);
	if (run_operation(call, err) != OK) {
		buf_reset(&call->reply->body);
		call->w = json_writer_on(&call->reply->body);
		wandb_write_fault(&call->w, err->text, true);
	} else if (call->w.depth) {
		json_object_end(&call->w);
		json_object_end(&call->w);
	}
	return OK;
}

/* ---- requests ---- */

static enum status want_body(struct relay_wandb_call *call, struct json **body, struct error *err)
{
	TRY(json_parse(body, call->request->body, err));
	if (json_kind(*body) != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "the body must be an object");
	call->body = *body;
	return OK;
}

static enum status run_call(struct relay_wandb_call *call, struct json **body, struct error *err)
{
	struct span method = call->request->method;
	bool is_post = span_equal(method, SPAN("POST")), is_file = span_starts_with(call->path, SPAN("/files/"));

	if (is_post && span_equal(call->path, SPAN("/graphql"))) {
		TRY(want_body(call, body, err));
		return answer_graphql(call, err);
	}
	if (is_file && span_equal(method, SPAN("GET")))
		return pass(call, err);
	json_object(&call->w);
	if (is_post && is_file && span_ends_with(call->path, SPAN("/file_stream"))) {
		TRY(want_body(call, body, err));
		TRY(relay_wandb_stream(call, err));
	} else if (is_file && span_equal(method, SPAN("PUT"))) {
		TRY(relay_wandb_put_file(call, err));
	} else {
		return error_set(err, ERR_NOT_FOUND, "sm-ship's relay has no such address");
	}
	json_object_end(&call->w);
	return OK;
}

static enum status answer(
	struct relay_core *core, const struct relay_request *request, struct relay_reply *reply, struct error *err)
{
	AUTO(json) body = NULL;
	struct relay_wandb_call call = {.core = core, .request = request, .reply = reply};

	(void)cut_secret(core, request, &call.path);
	reply->status = 200;
	call.w = json_writer_on(&reply->body);
	TRY(run_call(&call, &body, err));
	return buf_status(&reply->body, err);
}

static void refuse(const struct error *err, struct relay_reply *reply)
{
	static const struct {
		enum status status;
		int code;
	} table[] = {{ERR_UNAUTHORIZED, 401}, {ERR_TOO_LARGE, 413}, {ERR_NOT_FOUND, 404}, {ERR_UNSUPPORTED, 501},
		{ERR_MEMORY, 500}};
	struct json_writer w;

	reply->status = 400;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].status == err->status)
			reply->status = table[i].code;
	buf_reset(&reply->body);
	w = json_writer_on(&reply->body);
	wandb_write_fault(&w, err->text, false);
}

static void *make_known(void)
{
	return wandb_known_new();
}

const struct relay_dialect relay_wandb = {.id = RELAY_WANDB,
	.name = "wandb",
	.own = own_variables,
	.own_files = own_files,
	.has_own = has_own,
	.set_environment = set_environment,
	.is_its = is_its,
	.is_admitted = is_its,
	.known_new = make_known,
	.answer = answer,
	.refuse = refuse,
	.compose = relay_wandb_compose};
