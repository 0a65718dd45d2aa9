#include "base/clock.h"
#include "net/address.h"
#include "net/http_client.h"
#include "toy_server.h"

#include <stdatomic.h>

static const struct http_client_options open_options = {
	.connect_ms = 2000, .total_ms = 4000, .allows_private = true, .user_agent = "smfleet/test"};

static atomic_bool is_cut_off;

/* One request from its start to its end; ERR_UNAVAILABLE: cancelled. */
static enum status run(struct http_client *client, const char *url, const struct http_client_header *headers,
	size_t count, struct span body, int *code, struct buf *reply, struct error *err)
{
	struct http_client_request request = {.url = url, .headers = headers, .header_count = count, .body = body};
	struct http_client_answer answer;
	int64_t until_ms = clock_mono_ms() + 20000;

	TRY(http_client_start(client, &request, NULL, err));
	while (!http_client_wait(client, 1000, &answer))
		if (clock_mono_ms() > until_ms || atomic_load(&is_cut_off))
			return error_set(err, ERR_UNAVAILABLE, "cut off");
	if (answer.status != OK)
		return error_set(err, answer.status, "%s", answer.err.text);
	*code = answer.code;
	if (reply)
		buf_append_span(reply, answer.reply);
	return OK;
}

static enum status post(
	const struct http_client_options *options, const char *url, int *code, struct buf *reply, struct error *err)
{
	static const struct http_client_header headers[] = {
		{"Content-Type", "application/json"}, {"webhook-id", "msg_1"}};
	AUTO(http_client) client = NULL;

	TRY(http_client_new(&client, options, err));
	return run(client, url, headers, 2, SPAN("{\"a\":1}"), code, reply, err);
}

static const char *url_of(const struct toy_server *server, char url[64])
{
	snprintf(url, 64, "http://127.0.0.1:%d/hook", server->port);
	return url;
}

TEST(posts_headers_and_body)
{
	static const char *const answers[] = {
		"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"};
	struct toy_server *server = malloc(sizeof *server);
	AUTO_DONE(buf) reply = BUF_INIT(8192);
	char url[64];
	int code = 0;

	toy_server_start(server, answers, 1);
	CHECK_OK(post(&open_options, url_of(server, url), &code, &reply, &err));
	CHECK_INT(code, 202);
	CHECK_SPAN(buf_span(&reply), SPAN("hello"));
	const char *request = server->requests[0];
	CHECK(strstr(request, "POST /hook HTTP/1.1\r\n") == request);
	CHECK(strstr(request, "User-Agent: smfleet/test\r\n"));
	CHECK(strstr(request, "Content-Type: application/json\r\n"));
	CHECK(strstr(request, "webhook-id: msg_1\r\n"));
	CHECK(!strstr(request, "Expect:"));
	CHECK(strstr(request, "\r\n\r\n{\"a\":1}"));
	toy_server_stop(server);
	free(server);
}

TEST(follows_no_redirect)
{
	static const char *const answers[] = {
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct toy_server *server = malloc(sizeof *server);
	char url[64];
	int code = 0;

	toy_server_start(server, answers, 1);
	CHECK_OK(post(&open_options, url_of(server, url), &code, NULL, &err));
	CHECK_INT(code, 302);
	CHECK_INT(server->count, 1);
	toy_server_stop(server);
	free(server);
}

TEST(a_long_reply_is_cut)
{
	static char answer[100000];
	const char *answers[] = {answer};
	struct toy_server *server = malloc(sizeof *server);
	AUTO_DONE(buf) reply = BUF_INIT(8192);
	char url[64];
	int code = 0;

	memset(answer, 'x', sizeof answer - 1);
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
	memcpy(answer, head, sizeof head - 1);
	toy_server_start(server, answers, 1);
	CHECK_OK(post(&open_options, url_of(server, url), &code, &reply, &err));
	CHECK_INT(code, 200);
	CHECK_INT(reply.len, 4096);
	toy_server_stop(server);
	free(server);
}

TEST(refuses_private_and_link_local_addresses)
{
	struct http_client_options closed = open_options;
	char url[64];
	int code = 0;

	closed.allows_private = false;
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\n\r\n"};
	struct toy_server *server = malloc(sizeof *server);
	toy_server_start(server, answers, 1);
	CHECK_FAILS(post(&closed, url_of(server, url), &code, NULL, &err), ERR_FORBIDDEN, "127.0.0.1");
	snprintf(url, sizeof url, "http://localhost:%d/", server->port);
	CHECK_FAILS(post(&closed, url, &code, NULL, &err), ERR_FORBIDDEN, "not allowed");
	CHECK_INT(server->count, 0);
	toy_server_stop(server);
	free(server);
	CHECK_FAILS(post(&open_options, "http://169.254.169.254/latest/meta-data", &code, NULL, &err), ERR_FORBIDDEN,
		"169.254.169.254");
	/* the same address in other clothes */
	CHECK_FAILS(post(&open_options, "http://2852039166/", &code, NULL, &err), ERR_FORBIDDEN, "169.254.169.254");
	CHECK_FAILS(post(&open_options, "http://[::ffff:169.254.169.254]/", &code, NULL, &err), ERR_FORBIDDEN,
		"169.254.169.254");
	CHECK_FAILS(post(&open_options, "http://0.0.0.0/", &code, NULL, &err), ERR_FORBIDDEN, "0.0.0.0");
}

TEST(no_answer_and_no_url)
{
	struct http_client_options hasty = open_options;
	struct toy_server *server = malloc(sizeof *server);
	const char *answers[] = {NULL};
	char url[64];
	int code = 0;

	CHECK_FAILS(post(&open_options, "ftp://example.com/", &code, NULL, &err), ERR_INVALID, "http://");
	CHECK_FAILS(post(&open_options, "file:///etc/passwd", &code, NULL, &err), ERR_INVALID, "http://");
	CHECK_FAILS(post(&open_options, "http://:x/", &code, NULL, &err), ERR_INVALID, "URL");
	hasty.total_ms = 50;
	toy_server_start(server, answers, 1);
	CHECK_FAILS(post(&hasty, url_of(server, url), &code, NULL, &err), ERR_IO, "no answer");
	toy_server_stop(server);
	CHECK_FAILS(post(&hasty, url, &code, NULL, &err), ERR_IO, "no answer");
	free(server);
}

TEST(headers_hold_no_line_ends)
{
	AUTO(http_client) client = NULL;
	struct http_client_header header = {"a", "b\r\nc: d"};
	int code;

	CHECK_OK(http_client_new(&client, &open_options, &err));
	CHECK_FAILS(
		run(client, "http://127.0.0.1:1/", &header, 1, SPAN(""), &code, NULL, &err), ERR_INVALID, "line end");
}

static void *cancel_when_asked(void *context)
{
	void **both = context;

	toy_server_wait(both[0], 1);
	atomic_store(&is_cut_off, true);
	http_client_cancel(both[1]);
	return NULL;
}

TEST(a_post_is_cut_off_at_once)
{
	AUTO(http_client) client = NULL;
	struct toy_server *server = malloc(sizeof *server);
	const char *answers[] = {NULL};
	char url[64];
	pthread_t thread;
	int code;

	toy_server_start(server, answers, 1);
	CHECK_OK(http_client_new(&client, &open_options, &err));
	void *both[] = {server, client};
	CHECK(pthread_create(&thread, NULL, cancel_when_asked, both) == 0);
	CHECK_FAILS(
		run(client, url_of(server, url), NULL, 0, SPAN("x"), &code, NULL, &err), ERR_UNAVAILABLE, "cut off");
	pthread_join(thread, NULL);
	CHECK(http_client_drop(client) == NULL);
	atomic_store(&is_cut_off, false);
	http_client_free(client);
	client = NULL;
	toy_server_stop(server);
	free(server);
}

static void check_class(const char *text, enum address_class want)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	enum address_class got = ADDRESS_PUBLIC;

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		got = address_classify((struct sockaddr *)&v4);
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		got = address_classify((struct sockaddr *)&v6);
	else
		test_fail(__FILE__, __LINE__, "'%s' is no address", text);
	if (got != want)
		test_fail(__FILE__, __LINE__, "%s is of class %d, not %d", text, (int)got, (int)want);
	CHECK_INT(address_of_host(span_from(text)), want);
}

TEST(a_host_in_numbers_is_classified_however_they_are_written)
{
	CHECK_INT(address_of_host(SPAN("2852039166")), ADDRESS_FORBIDDEN);
	CHECK_INT(address_of_host(SPAN("0xa9fea9fe")), ADDRESS_FORBIDDEN);
	CHECK_INT(address_of_host(SPAN("127.1")), ADDRESS_PRIVATE);
	CHECK_INT(address_of_host(SPAN("hooks.example.org")), ADDRESS_PUBLIC);
	CHECK_INT(address_of_host(SPAN("169.254.169.254.example.org")), ADDRESS_PUBLIC);
	CHECK_INT(address_of_host(SPAN("")), ADDRESS_PUBLIC);
}

TEST(classes_of_addresses)
{
	static const char *const public[] = {"8.8.8.8", "172.32.0.1", "172.15.255.255", "100.128.0.1", "192.0.1.1",
		"223.255.255.255", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"};
	static const char *const private[] = {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1",
		"100.64.0.1", "::1", "fd00::1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1",
		"fec0::1"};
	static const char *const forbidden[] = {"0.0.0.0", "0.1.2.3", "169.254.0.1", "169.254.169.254", "224.0.0.1",
		"239.1.1.1", "255.255.255.255", "240.0.0.1", "192.0.0.192", "100.100.100.200", "::", "fe80::1",
		"febf::1", "ff02::1", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254",
		"::169.254.169.254", "2002:a9fe:a9fe::1", "2001::1", "168.63.129.16", "64:ff9b:1::1"};

	for (size_t i = 0; i < sizeof public / sizeof public[0]; i++)
		check_class(public[i], ADDRESS_PUBLIC);
	for (size_t i = 0; i < sizeof private / sizeof private[0]; i++)
		check_class(private[i], ADDRESS_PRIVATE);
	for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
		check_class(forbidden[i], ADDRESS_FORBIDDEN);
	struct sockaddr local = {.sa_family = AF_UNIX};
	CHECK_INT(address_classify(&local), ADDRESS_FORBIDDEN);
}
