#include "net/http_client.h"

#include "net/address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { REPLY_BYTES = 4096, HEADER_MAX_BYTES = 16384, POLL_MS = 60000 };

/* One post; those that are over are used again, with what libcurl keeps in a handle. */
struct post {
	CURL *easy;
	struct http_client *client;
	struct post *next;
	void *context;
	struct curl_slist *headers;
	struct buf reply;
	bool is_reply_full;
	char refused[INET6_ADDRSTRLEN]; /* the address, "" : none was */
	char reason[CURL_ERROR_SIZE];
};

struct http_client {
	CURLM *multi;
	struct http_client_options options;
	struct post *under_way, *idle;
	atomic_bool is_cancelled;
};

/* libcurl's global state is made once a process, before any thread uses it. */
static struct {
	pthread_once_t once;
	CURLcode code;
} state = {.once = PTHREAD_ONCE_INIT};

static void init_curl(void)
{
	state.code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void print_address(const struct sockaddr *address, char out[INET6_ADDRSTRLEN])
{
	const void *bytes = address->sa_family == AF_INET
				    ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
				    : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;

	if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
		!inet_ntop(address->sa_family, bytes, out, INET6_ADDRSTRLEN))
		memcpy(out, "?", 2);
}

/* The address that is really connected to: whatever the name resolves to by now. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *target)
{
	struct post *post = context;
	enum address_class class = address_classify(&target->addr);

	(void)purpose;
	if (class == ADDRESS_FORBIDDEN || (class == ADDRESS_PRIVATE && !post->client->options.allows_private)) {
		print_address(&target->addr, post->refused);
		return CURL_SOCKET_BAD;
	}
	return socket(target->family, target->socktype | SOCK_CLOEXEC, target->protocol);
}

/* What does not fit is not wanted: the transfer ends there, and the answer counts. */
static size_t take_reply(char *bytes, size_t size, size_t count, void *context)
{
	struct post *post = context;
	size_t len = size * count, room = post->reply.max_bytes - post->reply.len;

	buf_append(&post->reply, bytes, len < room ? len : room);
	post->is_reply_full = len > room;
	return post->is_reply_full ? 0 : len;
}

static bool set_options(struct post *post, const struct http_client_options *options)
{
	CURL *easy = post->easy;
	CURLcode bad = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else /* Ubuntu 22.04 */
	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	bad |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* not even the environment's: it would hide the address */
	bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_PRIVATE, post);
	bad |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	bad |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_ms);
	bad |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)options->total_ms);
	bad |= curl_easy_setopt(easy, CURLOPT_USERAGENT, options->user_agent);
	bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, post);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_reply);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, post);
	bad |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, post->reason);
	if (options->ca_file)
		bad |= curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
#if LIBCURL_VERSION_NUM >= 0x075700
	bad |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* a hanging resolver does not hold up the stop */
#endif
	return bad == CURLE_OK;
}

static void post_free(struct post *post)
{
	curl_easy_cleanup(post->easy);
	curl_slist_free_all(post->headers);
	buf_done(&post->reply);
	mem_free(post);
}

static void posts_free(struct post *first)
{
	for (struct post *next; first; first = next) {
		next = first->next;
		post_free(first);
	}
}

static struct post *post_new(struct http_client *client)
{
	struct post *post = mem_zeroed(sizeof *post);

	if (!post)
		return NULL;
	post->client = client;
	post->reply = BUF_INIT(client->options.reply_bytes ? client->options.reply_bytes : REPLY_BYTES);
	post->easy = curl_easy_init();
	if (post->easy && set_options(post, &client->options))
		return post;
	post_free(post);
	return NULL;
}

enum status http_client_new(struct http_client **out, const struct http_client_options *options, struct error *err)
{
	AUTO(http_client) client = mem_zeroed(sizeof *client);

	if (!client)
		return error_no_memory(err);
	pthread_once(&state.once, init_curl);
	if (state.code != CURLE_OK)
		return error_set(err, ERR_INTERNAL, "libcurl does not start: %s", curl_easy_strerror(state.code));
	client->options = *options;
	client->multi = curl_multi_init();
	if (!client->multi || !(client->idle = post_new(client)))
		return error_set(err, ERR_MEMORY, "libcurl has no memory or is too old");
	*out = TAKE(client);
	return OK;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	for (struct post *post = client->under_way; post; post = post->next)
		curl_multi_remove_handle(client->multi, post->easy);
	posts_free(client->under_way);
	posts_free(client->idle);
	curl_multi_cleanup(client->multi);
	mem_free(client);
}

void http_client_wake(struct http_client *client)
{
	curl_multi_wakeup(client->multi);
}

void http_client_cancel(struct http_client *client)
{
	atomic_store(&client->is_cancelled, true);
	curl_multi_wakeup(client->multi);
}

static bool has_line_end(const char *text)
{
	return strpbrk(text, "\r\n");
}

static enum status add_header(struct curl_slist **list, const char *name, const char *value, struct error *err)
{
	AUTO_DONE(buf) line = BUF_INIT(HEADER_MAX_BYTES);

	if (has_line_end(name) || has_line_end(value))
		return error_set(err, ERR_INVALID, "the header '%s' holds a line end", has_line_end(name) ? "?" : name);
	buf_printf(&line, *value ? "%s: %s" : "%s:%s", name, value);
	TRY(buf_status(&line, err));
	struct curl_slist *longer = curl_slist_append(*list, line.ptr); /* buf_printf ends it by NUL */
	if (!longer)
		return error_no_memory(err);
	*list = longer;
	return OK;
}

static enum status judge(const struct post *post, CURLcode code, struct error *err)
{
	const char *reason = post->reason[0] ? post->reason : curl_easy_strerror(code);

	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && post->is_reply_full))
		return OK;
	if (post->refused[0])
		return error_set(
			err, ERR_FORBIDDEN, "the address %s is not allowed for outgoing requests", post->refused);
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return error_set(err, ERR_INVALID, "not a usable URL: %s", reason);
	if (code == CURLE_OUT_OF_MEMORY)
		return error_no_memory(err);
	return error_set(err, ERR_IO, "no answer: %s", reason);
}

static bool is_http(const char *url)
{
	struct span text = span_from(url);

	return (text.len > 7 && span_equal_fold(span_of(url, 7), SPAN("http://"))) ||
	       (text.len > 8 && span_equal_fold(span_of(url, 8), SPAN("https://")));
}

/* What is the caller's is copied by libcurl, but for the list of headers. */
static enum status fill(struct post *post, const struct http_client_request *request, struct error *err)
{
	curl_slist_free_all(post->headers);
	post->headers = NULL;
	TRY(add_header(&post->headers, "Expect", "", err)); /* no 100-continue: bodies are small */
	for (size_t i = 0; i < request->header_count; i++)
		TRY(add_header(&post->headers, request->headers[i].name, request->headers[i].value, err));
	buf_reset(&post->reply);
	post->is_reply_full = false;
	post->refused[0] = post->reason[0] = 0;
	CURLcode bad = curl_easy_setopt(post->easy, CURLOPT_URL, request->url);
	bad |= curl_easy_setopt(post->easy, CURLOPT_HTTPHEADER, post->headers);
	bad |= curl_easy_setopt(post->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
	bad |= curl_easy_setopt(post->easy, CURLOPT_COPYPOSTFIELDS, request->body.len ? request->body.ptr : "");
	if (request->is_get)
		bad |= curl_easy_setopt(post->easy, CURLOPT_HTTPGET, 1L);
	bad |= curl_easy_setopt(post->easy, CURLOPT_AWS_SIGV4, request->aws_scope);
	bad |= curl_easy_setopt(post->easy, CURLOPT_USERPWD, request->aws_scope ? request->aws_credentials : NULL);
	return bad == CURLE_OK ? OK : error_no_memory(err);
}

enum status http_client_start(
	struct http_client *client, const struct http_client_request *request, void *context, struct error *err)
{
	if (!is_http(request->url))
		return error_set_field(err, ERR_INVALID, "url", "the URL does not begin with http:// or https://");
	if (!client->idle && !(client->idle = post_new(client)))
		return error_no_memory(err);
	struct post *post = client->idle;
	TRY(fill(post, request, err));
	if (curl_multi_add_handle(client->multi, post->easy) != CURLM_OK)
		return error_no_memory(err);
	post->context = context;
	client->idle = post->next;
	post->next = client->under_way;
	client->under_way = post;
	return OK;
}

static void take_out(struct post **list, const struct post *post)
{
	while (*list != post)
		list = &(*list)->next;
	*list = post->next;
}

/* Among the idle ones it keeps what libcurl has in it. */
static void retire(struct http_client *client, struct post *post)
{
	curl_multi_remove_handle(client->multi, post->easy);
	take_out(&client->under_way, post);
	post->next = client->idle;
	client->idle = post;
}

void *http_client_drop(struct http_client *client)
{
	struct post *post = client->under_way;

	if (!post)
		return NULL;
	retire(client, post);
	return post->context;
}

/* It goes to the idle ones; its reply stays as it is until one is started or waited for. */
static void settle(struct http_client *client, struct post *post, CURLcode code, struct http_client_answer *out)
{
	curl_off_t retry_after_s = 0;
	long answer = 0;

	*out = (struct http_client_answer){.context = post->context};
	out->status = judge(post, code, &out->err);
	if (out->status == OK) {
		curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &answer);
		curl_easy_getinfo(post->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	}
	out->code = (int)answer;
	out->retry_after_s = retry_after_s;
	out->reply = buf_span(&post->reply);
	out->is_cut = post->is_reply_full;
	retire(client, post);
}

static bool take_one(struct http_client *client, struct http_client_answer *out)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		struct post *post = NULL;
		CURLcode code = message->data.result; /* the message goes with its handle */
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &post);
		settle(client, post, code, out);
		return true;
	}
	return false;
}

bool http_client_wait(struct http_client *client, int64_t timeout_ms, struct http_client_answer *out)
{
	int running, count;

	if (atomic_load(&client->is_cancelled) || curl_multi_perform(client->multi, &running) != CURLM_OK)
		return false;
	if (take_one(client, out))
		return true;
	/* Also returns for a wake, or when something moved: the caller asks again. */
	curl_multi_poll(client->multi, NULL, 0, (int)(timeout_ms < POLL_MS ? timeout_ms : POLL_MS), &count);
	if (atomic_load(&client->is_cancelled) || curl_multi_perform(client->multi, &running) != CURLM_OK)
		return false;
	return take_one(client, out);
}
