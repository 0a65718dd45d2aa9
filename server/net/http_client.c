#include "net/http_client.h"

#include "net/address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { REPLY_MAX_BYTES = 4096, HEADER_MAX_BYTES = 16384, POLL_MS = 1000 };

struct http_client {
	CURL *easy;
	CURLM *multi; /* drives the one handle, because it can be woken */
	bool allows_private;
	atomic_bool is_cancelled;
	/* of the post under way */
	struct buf reply;
	bool is_reply_full;
	char refused[INET6_ADDRSTRLEN]; /* the address, "" : none was */
	char reason[CURL_ERROR_SIZE];
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
	struct http_client *client = context;
	enum address_class class = address_classify(&target->addr);

	(void)purpose;
	if (class == ADDRESS_FORBIDDEN || (class == ADDRESS_PRIVATE && !client->allows_private)) {
		print_address(&target->addr, client->refused);
		return CURL_SOCKET_BAD;
	}
	return socket(target->family, target->socktype | SOCK_CLOEXEC, target->protocol);
}

/* What does not fit is not wanted: the transfer ends there, and the answer counts. */
static size_t take_reply(char *bytes, size_t size, size_t count, void *context)
{
	struct http_client *client = context;
	size_t len = size * count, room = REPLY_MAX_BYTES - client->reply.len;

	buf_append(&client->reply, bytes, len < room ? len : room);
	client->is_reply_full = len > room;
	return client->is_reply_full ? 0 : len;
}

static bool set_options(struct http_client *client, const struct http_client_options *options)
{
	CURL *easy = client->easy;
	CURLcode bad = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else /* Ubuntu 22.04 */
	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	bad |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* not even the environment's: it would hide the address */
	bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	bad |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_ms);
	bad |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)options->total_ms);
	bad |= curl_easy_setopt(easy, CURLOPT_USERAGENT, options->user_agent);
	bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, client);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_reply);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
	bad |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->reason);
#if LIBCURL_VERSION_NUM >= 0x075700
	bad |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* a hanging resolver does not hold up the stop */
#endif
	return bad == CURLE_OK;
}

enum status http_client_new(struct http_client **out, const struct http_client_options *options, struct error *err)
{
	AUTO(http_client) client = mem_zeroed(sizeof *client);

	if (!client)
		return error_set(err, ERR_MEMORY, "out of memory");
	pthread_once(&state.once, init_curl);
	if (state.code != CURLE_OK)
		return error_set(err, ERR_INTERNAL, "libcurl does not start: %s", curl_easy_strerror(state.code));
	client->allows_private = options->allows_private;
	client->reply = BUF_INIT(REPLY_MAX_BYTES);
	client->easy = curl_easy_init();
	client->multi = curl_multi_init();
	if (!client->easy || !client->multi || !set_options(client, options))
		return error_set(err, ERR_MEMORY, "libcurl has no memory or is too old");
	*out = client;
	client = NULL;
	return OK;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->easy);
	curl_multi_cleanup(client->multi);
	buf_done(&client->reply);
	mem_free(client);
}

void http_client_cancel(struct http_client *client)
{
	atomic_store(&client->is_cancelled, true);
	curl_multi_wakeup(client->multi);
}

static void slist_cleanup(struct curl_slist **list)
{
	curl_slist_free_all(*list);
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
		return error_set(err, ERR_MEMORY, "out of memory");
	*list = longer;
	return OK;
}

/* Runs the handle to its end; false: cancelled. */
static bool run(struct http_client *client, CURLcode *code)
{
	int running = 1, left;
	CURLMsg *message;

	*code = CURLE_OUT_OF_MEMORY;
	if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
		return true;
	while (running && !atomic_load(&client->is_cancelled)) {
		if (curl_multi_perform(client->multi, &running) != CURLM_OK)
			break;
		if (running && curl_multi_poll(client->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
			break;
	}
	while ((message = curl_multi_info_read(client->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			*code = message->data.result;
	curl_multi_remove_handle(client->multi, client->easy);
	return running == 0 || !atomic_load(&client->is_cancelled);
}

static enum status judge(const struct http_client *client, CURLcode code, struct error *err)
{
	const char *reason = client->reason[0] ? client->reason : curl_easy_strerror(code);

	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && client->is_reply_full))
		return OK;
	if (client->refused[0])
		return error_set(
			err, ERR_FORBIDDEN, "the address %s is not allowed for outgoing requests", client->refused);
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return error_set(err, ERR_INVALID, "not a usable URL: %s", reason);
	if (code == CURLE_OUT_OF_MEMORY)
		return error_set(err, ERR_MEMORY, "out of memory");
	return error_set(err, ERR_IO, "no answer: %s", reason);
}

static bool is_http(const char *url)
{
	struct span text = span_from(url);

	return (text.len > 7 && span_equal_fold(span_of(url, 7), SPAN("http://"))) ||
	       (text.len > 8 && span_equal_fold(span_of(url, 8), SPAN("https://")));
}

enum status http_client_post(struct http_client *client, const char *url, const struct http_client_header *headers,
	size_t header_count, struct span body, int *code, struct buf *reply, struct error *err)
{
	__attribute__((cleanup(slist_cleanup))) struct curl_slist *list = NULL;
	CURLcode result;
	long answer = 0;

	if (!is_http(url))
		return error_set_field(err, ERR_INVALID, "url", "the URL does not begin with http:// or https://");
	TRY(add_header(&list, "Expect", "", err)); /* no 100-continue: bodies are small */
	for (size_t i = 0; i < header_count; i++)
		TRY(add_header(&list, headers[i].name, headers[i].value, err));
	buf_reset(&client->reply);
	client->is_reply_full = false;
	client->refused[0] = client->reason[0] = 0;
	CURLcode bad = curl_easy_setopt(client->easy, CURLOPT_URL, url);
	bad |= curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, list);
	bad |= curl_easy_setopt(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
	bad |= curl_easy_setopt(client->easy, CURLOPT_POSTFIELDS, body.len ? body.ptr : "");
	if (bad != CURLE_OK)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (!run(client, &result))
		return error_set(err, ERR_UNAVAILABLE, "the request was cut off by the stop");
	curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, NULL); /* the list ends here */
	TRY(judge(client, result, err));
	curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &answer);
	*code = (int)answer;
	if (reply)
		buf_append_span(reply, buf_span(&client->reply));
	return OK;
}
