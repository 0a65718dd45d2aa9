#include "alert/format.h"
#include "alert/webhook.h"
#include "base/clock.h"
#include "store/alerts.h"
#include "toy_server.h"

/* A database with one incident's message in its outbox, and what the sender said about it. */
struct outbox {
	char folder[64];
	char path[96];
	struct store *store;
	pthread_mutex_t mutex;
	pthread_cond_t reported;
	size_t reports;
	struct delivery_row last; /* without its spans */
	char last_error[256];
	bool is_full; /* nothing is stored any more */
	struct webhook_formats *formats;
};

static void outbox_open(struct outbox *o)
{
	*o = (struct outbox){.folder = "/tmp/smfleet-alert-XXXXXX"};
	CHECK(mkdtemp(o->folder) != NULL);
	snprintf(o->path, sizeof o->path, "%s/test.db", o->folder);
	struct store_options options = {.path = o->path};
	CHECK_OK(store_open(&o->store, &options, &err));
	pthread_mutex_init(&o->mutex, NULL);
	pthread_cond_init(&o->reported, NULL);
}

static void outbox_done(struct outbox *o)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	char name[128];

	store_free(o->store);
	webhook_formats_free(o->formats);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		snprintf(name, sizeof name, "%s%s", o->path, suffixes[i]);
		unlink(name);
	}
	CHECK(rmdir(o->folder) == 0);
	pthread_cond_destroy(&o->reported);
	pthread_mutex_destroy(&o->mutex);
}

/* The reports come from the sender's thread, one after the other, and nobody else writes meanwhile. */
static enum status report(void *context, const struct delivery_row *row, struct error *err)
{
	struct outbox *o = context;
	struct delivery_row copy = *row;
	struct store_tx *tx;

	pthread_mutex_lock(&o->mutex);
	enum status status = o->is_full ? error_set(err, ERR_IO, "full") : store_tx_begin(&tx, o->store, err);
	if (status == OK) {
		status = store_put_delivery(tx, &copy, err);
		if (status == OK)
			status = store_tx_commit(tx, err);
		else
			store_tx_rollback(tx);
	}
	o->reports++;
	o->last = copy;
	snprintf(o->last_error, sizeof o->last_error, "%.*s", SPAN_ARGS(copy.last_error));
	pthread_cond_broadcast(&o->reported);
	pthread_mutex_unlock(&o->mutex);
	return status;
}

static void wait_for_reports(struct outbox *o, size_t count)
{
	struct timespec deadline;
	int failed = 0;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 10;
	pthread_mutex_lock(&o->mutex);
	while (o->reports < count && !failed)
		failed = pthread_cond_timedwait(&o->reported, &o->mutex, &deadline);
	pthread_mutex_unlock(&o->mutex);
	CHECK(!failed);
}

static const unsigned char seal_key[SEAL_KEY_BYTES] = {1, 2, 3};

static int64_t put_webhook(struct outbox *o, const char *url)
{
	AUTO_DONE(buf) sealed = BUF_INIT(1024);
	struct store_tx *tx;

	CHECK_OK(crypto_seal(seal_key, SPAN("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &sealed, &err));
	struct webhook_row row = {
		.url = span_from(url), .format = SPAN("json"), .sealed_secret = buf_span(&sealed), .is_enabled = true};
	pthread_mutex_lock(&o->mutex);
	CHECK_OK(store_tx_begin(&tx, o->store, &err));
	CHECK_OK(store_put_webhook(tx, &row, &err));
	CHECK_OK(store_tx_commit(tx, &err));
	pthread_mutex_unlock(&o->mutex);
	return row.webhook_id;
}

static void put_delivery(struct outbox *o, int64_t webhook_id, uint32_t incident_id)
{
	struct delivery_row row = {.webhook_id = webhook_id,
		.job_id = 1,
		.incident_id = incident_id,
		.message_id = SPAN("msg_x"),
		.payload = SPAN("{\"n\":1}"),
		.created_ms = clock_wall_ms()};
	struct store_tx *tx;

	row.next_ms = row.created_ms;
	pthread_mutex_lock(&o->mutex);
	CHECK_OK(store_tx_begin(&tx, o->store, &err));
	CHECK_OK(store_put_delivery(tx, &row, &err));
	CHECK_OK(store_tx_commit(tx, &err));
	pthread_mutex_unlock(&o->mutex);
}

static struct webhook_sender *start_sender(struct outbox *o, bool allows_private)
{
	CHECK_OK(webhook_formats_new(&o->formats, SPAN("{\"formats\":[{\"name\":\"x\"}]}"), &err));
	struct webhook_sender_options options = {.store = o->store,
		.http = {.connect_ms = 2000,
			.total_ms = 5000,
			.allows_private = allows_private,
			.user_agent = "smfleet/" SM_VERSION},
		.formats = o->formats,
		.public_url = SPAN("http://here"),
		.limits = {5000, 3600000, 86400000},
		.report = report,
		.context = o};
	struct webhook_sender *sender;

	memcpy(options.seal_key, seal_key, sizeof seal_key);
	CHECK_OK(webhook_sender_start(&sender, &options, &err));
	return sender;
}

static void check_signature(const char *request)
{
	AUTO_DONE(buf) key = BUF_INIT(256);
	AUTO_DONE(buf) want = BUF_INIT(256);
	const char *timestamp = strstr(request, "webhook-timestamp: ");

	CHECK(timestamp != NULL);
	CHECK(webhook_secret_parse(SPAN("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &key));
	buf_append_text(&want, "webhook-signature: ");
	webhook_sign(buf_span(&key), SPAN("msg_x"), strtoll(timestamp + 19, NULL, 10), SPAN("{\"n\":1}"), &want);
	buf_append_char(&want, 0);
	CHECK(strstr(request, want.ptr) != NULL);
}

TEST(a_message_is_delivered_signed)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct toy_server *server = malloc(sizeof *server);
	struct outbox o;
	char url[64];

	toy_server_start(server, answers, 1);
	outbox_open(&o);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", server->port);
	struct webhook_sender *sender = start_sender(&o, true);
	put_delivery(&o, put_webhook(&o, url), 1);
	webhook_sender_wake(sender);
	wait_for_reports(&o, 1);
	webhook_sender_free(sender);
	CHECK_INT(o.last.state, DELIVERY_DONE);
	CHECK_INT(o.last.last_code, 200);
	CHECK_INT(o.last.attempts, 1);
	const char *request = server->requests[0];
	CHECK(strstr(request, "POST /hook HTTP/1.1\r\n") == request);
	CHECK(strstr(request, "User-Agent: smfleet/" SM_VERSION "\r\n"));
	CHECK(strstr(request, "Content-Type: application/json\r\n"));
	CHECK(strstr(request, "webhook-id: msg_x\r\n"));
	CHECK(strstr(request, "\r\n\r\n{\"n\":1}"));
	check_signature(request);
	outbox_done(&o);
	toy_server_stop(server);
	free(server);
}

TEST(a_failure_is_retried_later_and_a_refusal_is_final)
{
	static const char *const answers[] = {"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct toy_server *server = malloc(sizeof *server);
	struct outbox o;
	char url[64];

	toy_server_start(server, answers, 2);
	outbox_open(&o);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", server->port);
	int64_t webhook_id = put_webhook(&o, url);
	put_delivery(&o, webhook_id, 1);
	struct webhook_sender *sender = start_sender(&o, true);
	wait_for_reports(&o, 1);
	CHECK_INT(o.last.state, DELIVERY_PENDING);
	CHECK_INT(o.last.last_code, 503);
	CHECK(o.last.next_ms >= o.last.created_ms + 5000);
	CHECK_TEXT(o.last_error, "the answer was 503");
	put_delivery(&o, webhook_id, 2);
	webhook_sender_wake(sender);
	wait_for_reports(&o, 2);
	webhook_sender_free(sender);
	CHECK_INT(o.last.state, DELIVERY_DEAD);
	CHECK_INT(o.last.last_code, 404);
	outbox_done(&o);
	toy_server_stop(server);
	free(server);
}

TEST(no_answer_keeps_the_other_messages_back)
{
	struct outbox o;

	outbox_open(&o);
	int64_t webhook_id = put_webhook(&o, "http://127.0.0.1:9/");
	put_delivery(&o, webhook_id, 1);
	put_delivery(&o, webhook_id, 2);
	struct webhook_sender *sender = start_sender(&o, true);
	wait_for_reports(&o, 1);
	webhook_sender_wake(sender);
	webhook_sender_free(sender);
	CHECK_INT(o.reports, 1);
	CHECK_INT(o.last.state, DELIVERY_PENDING);
	CHECK(o.last.next_ms >= o.last.created_ms + 5000);
	CHECK(strstr(o.last_error, "no answer"));
	outbox_done(&o);
}

TEST(what_cannot_be_noted_down_is_not_sent_again_at_once)
{
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct toy_server *full = malloc(sizeof *full), *other = malloc(sizeof *other);
	struct outbox o;
	char url[64];

	toy_server_start(full, answers, 2);
	toy_server_start(other, answers, 1);
	outbox_open(&o);
	o.is_full = true;
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", full->port);
	put_delivery(&o, put_webhook(&o, url), 1);
	struct webhook_sender *sender = start_sender(&o, true);
	wait_for_reports(&o, 1);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", other->port);
	put_delivery(&o, put_webhook(&o, url), 1); /* its turn comes behind the first one's */
	webhook_sender_wake(sender);
	wait_for_reports(&o, 2);
	CHECK_INT(o.last.webhook_id, 2);
	webhook_sender_free(sender);
	CHECK_INT(full->count, 1);
	outbox_done(&o);
	toy_server_stop(full);
	toy_server_stop(other);
	free(full);
	free(other);
}

TEST(private_addresses_are_refused)
{
	struct outbox o;

	outbox_open(&o);
	put_delivery(&o, put_webhook(&o, "http://127.0.0.1:9/"), 1);
	struct webhook_sender *sender = start_sender(&o, false);
	wait_for_reports(&o, 1);
	webhook_sender_free(sender);
	CHECK_INT(o.last.state, DELIVERY_PENDING);
	CHECK_INT(o.last.last_code, 0);
	CHECK(strstr(o.last_error, "127.0.0.1 is not allowed"));
	outbox_done(&o);
}

TEST(one_that_hangs_delays_no_other)
{
	static const char *const silence[] = {NULL};
	static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
	struct toy_server *hanging = malloc(sizeof *hanging), *quick = malloc(sizeof *quick);
	struct outbox o;
	char url[64];

	toy_server_start(hanging, silence, 1);
	toy_server_start(quick, answers, 1);
	outbox_open(&o);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", hanging->port);
	int64_t slow_id = put_webhook(&o, url);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", quick->port);
	int64_t quick_id = put_webhook(&o, url);
	for (uint32_t i = 1; i <= 4; i++) {
		put_delivery(&o, slow_id, i);
		put_delivery(&o, quick_id, i);
	}
	struct webhook_sender *sender = start_sender(&o, true);
	toy_server_wait(hanging, 1);
	wait_for_reports(&o, 4); /* while the other one hangs, for five seconds */
	CHECK_INT(hanging->count, 1);
	CHECK_INT(o.last.webhook_id, quick_id);
	CHECK_INT(o.last.state, DELIVERY_DONE);
	webhook_sender_free(sender);
	CHECK_INT(o.reports, 4);
	outbox_done(&o);
	toy_server_stop(hanging);
	toy_server_stop(quick);
	free(hanging);
	free(quick);
}

TEST(the_stop_cuts_a_delivery_off)
{
	const char *answers[] = {NULL};
	struct toy_server *server = malloc(sizeof *server);
	struct outbox o;
	char url[64];

	toy_server_start(server, answers, 1);
	outbox_open(&o);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/", server->port);
	put_delivery(&o, put_webhook(&o, url), 1);
	struct webhook_sender *sender = start_sender(&o, true);
	toy_server_wait(server, 1);
	int64_t before_ms = clock_mono_ms();
	webhook_sender_free(sender);
	CHECK(clock_mono_ms() - before_ms < 4000); /* not the five seconds of the post */
	CHECK_INT(o.reports, 0);
	outbox_done(&o);
	toy_server_stop(server);
	free(server);
}
