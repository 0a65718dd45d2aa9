#include "collect/calls.h"

#include "base/clock.h"
#include "net/http_client.h"

#include <stdio.h>

enum { CONNECT_MS = 10000, TOTAL_MS = 60000, REPLY_BYTES = 16 << 20 };

struct calls {
	const struct collector_options *options;
	struct collector_figures *figures;
	struct http_client *client;
	int64_t next_ms; /* no request before */
	atomic_bool is_stopped;
};

enum status calls_new(struct calls **out, const struct collector_options *options, struct collector_figures *figures,
	struct error *err)
{
	struct http_client_options http = {.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.allows_private = true, /* whose address it is, an administrator said */
		.reply_bytes = REPLY_BYTES,
		.user_agent = "smfleet/" SM_VERSION};
	AUTO(calls) calls = mem_zeroed(sizeof *calls);

	if (!calls)
		return error_no_memory(err);
	calls->options = options;
	calls->figures = figures;
	TRY(http_client_new(&calls->client, &http, err));
	*out = TAKE(calls);
	return OK;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	http_client_free(calls->client);
	mem_free(calls);
}

void calls_stop(struct calls *calls)
{
	atomic_store(&calls->is_stopped, true);
	http_client_cancel(calls->client);
}

static enum status stopped(struct error *err)
{
	return error_set(err, ERR_UNAVAILABLE, "the collector stops");
}

/* Evenly spread: a burst is what is throttled. */
static enum status wait_turn(struct calls *calls, struct error *err)
{
	struct http_client_answer answer;

	for (;;) {
		int64_t wait_ms = calls->next_ms - clock_mono_ms();
		if (atomic_load(&calls->is_stopped))
			return stopped(err);
		if (wait_ms <= 0)
			break;
		(void)http_client_wait(calls->client, wait_ms, &answer); /* none is under way: it only waits */
	}
	calls->next_ms = clock_mono_ms() + 1000 / calls->options->requests_per_s;
	return OK;
}

static bool is_one_of(struct span code, const char *const *names)
{
	for (; *names; names++)
		if (span_equal(code, span_from(*names)))
			return true;
	return false;
}

/* "aws.protocols#ThrottlingException" and the bare name are the same. */
static struct span bare(struct span code)
{
	ptrdiff_t at = span_find_char(code, '#');

	return at < 0 ? code : span_skip(code, (size_t)at + 1);
}

static enum status judge(struct calls *calls, const char *operation, const struct http_client_answer *answer,
	const struct json *reply, struct error *err)
{
	static const char *const busy[] = {"ThrottlingException", "Throttling", "TooManyRequestsException",
		"RequestLimitExceeded", "LimitExceededException", "ServiceUnavailable", "ServiceUnavailableException",
		"InternalFailure", "InternalServerError", NULL};
	static const char *const gone[] = {"ResourceNotFoundException", "ResourceNotFound", NULL};
	struct span code = bare(json_string_of(reply ? json_get(reply, "__type") : NULL));
	struct span why = json_string_of(reply ? json_get(reply, "message") : NULL);
	enum status kind = ERR_INVALID;

	if (!why.len)
		why = json_string_of(reply ? json_get(reply, "Message") : NULL);
	if (answer->code == 429 || answer->code >= 500 || is_one_of(code, busy))
		kind = ERR_BUSY;
	else if (is_one_of(code, gone) || span_ends_with(why, SPAN("not found.")))
		kind = ERR_NOT_FOUND;
	else if (answer->code == 401 || answer->code == 403 || span_starts_with(code, SPAN("AccessDenied")) ||
		 span_starts_with(code, SPAN("UnrecognizedClient")) || span_starts_with(code, SPAN("InvalidSignature")))
		kind = ERR_FORBIDDEN;
	if (kind == ERR_BUSY)
		atomic_fetch_add(&calls->figures->throttled, 1);
	return error_set(err, kind, "%s was answered with %d %.*s: %.*s", operation, answer->code, SPAN_ARGS(code),
		SPAN_ARGS(why));
}

static enum status start(
	struct calls *calls, enum calls_service service, const char *operation, struct span body, struct error *err)
{
	const struct collector_options *o = calls->options;
	bool is_logs = service == CALLS_LOGS;
	AUTO_DONE(buf) target = BUF_INIT(256), scope = BUF_INIT(256);
	const char *token = o->session_token && *o->session_token ? o->session_token : NULL;

	buf_printf(&target, "%s.%s", is_logs ? "Logs_20140328" : "SageMaker", operation);
	buf_printf(&scope, "aws:amz:%s:%s", o->region, is_logs ? "logs" : "sagemaker");
	TRY(buf_status(&target, err));
	TRY(buf_status(&scope, err));
	struct http_client_header headers[] = {{"Content-Type", "application/x-amz-json-1.1"},
		{"X-Amz-Target", target.ptr}, {"X-Amz-Security-Token", token ? token : ""}};
	struct http_client_request request = {.url = is_logs ? o->logs_url : o->sagemaker_url,
		.headers = headers,
		.header_count = token ? 3 : 2,
		.body = body,
		.aws_scope = o->credentials ? scope.ptr : NULL,
		.aws_credentials = o->credentials};
	return http_client_start(calls->client, &request, calls, err);
}

enum status calls_ask(struct calls *calls, enum calls_service service, const char *operation, struct span body,
	struct json **out, struct error *err)
{
	struct http_client_answer answer;
	AUTO(json) reply = NULL;

	TRY(wait_turn(calls, err));
	TRY(start(calls, service, operation, body, err));
	atomic_fetch_add(&calls->figures->requests, 1);
	while (!http_client_wait(calls->client, TOTAL_MS, &answer))
		if (atomic_load(&calls->is_stopped)) {
			(void)http_client_drop(calls->client);
			return stopped(err);
		}
	if (answer.status != OK)
		return error_set(err, ERR_IO, "%s: %s", operation, answer.err.text);
	enum status status = json_parse(&reply, answer.reply, err);
	if (answer.code != 200)
		return judge(calls, operation, &answer, status == OK ? reply : NULL, err);
	if (status != OK || json_kind(reply) != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "%s was answered with something that is no JSON object", operation);
	*out = TAKE(reply);
	return OK;
}
