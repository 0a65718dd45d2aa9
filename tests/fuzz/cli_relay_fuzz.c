/*
 * What a training's client sends to the relay: whole or in pieces it is the same; each call has an answer in JSON, of both trackers, while the
 * server is away; and records of the spool as requests.
 */
#include "cli/relay/relay_core.h"
#include "cli/relay/relay_mlflow.h"
#include "cli/relay/relay_wandb.h"

#include <stdint.h>
#include <stdlib.h>

enum { BODY_MAX_BYTES = 4096, SPOOL_BYTES = 1 << 20 };
#define SECRET "0000000000000000000000000000000000000000"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- requests ---- */

static struct relay_core *new_core(void)
{
	static struct relay_shared shared;
	struct relay_core *core = mem_zeroed(sizeof *core);

	if (!core)
		abort();
	*core = (struct relay_core){.program = "fuzz",
		.server = "http://127.0.0.1:1",
		.shared = &shared,
		.url = "http://127.0.0.1:2",
		.token = SECRET,
		.away_until_ms = INT64_MAX,
		.has_told_loss = true};
	pthread_mutex_init(&core->mutex, NULL);
	pthread_cond_init(&core->changed, NULL);
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++)
		if (!(core->known[i] = relay_dialects[i]->known_new()))
			abort();
	if (relay_journal_new(&core->own, "/dev/null/none", core->server, "job", SPOOL_BYTES, NULL) != OK)
		abort();
	return core;
}

static void free_core(struct relay_core *core)
{
	relay_journal_free(core->own);
	known_free(core->known[RELAY_MLFLOW]);
	wandb_known_free(core->known[RELAY_WANDB]);
	pthread_cond_destroy(&core->changed);
	pthread_mutex_destroy(&core->mutex);
	mem_free(core);
}

static void answer(struct relay_core *core, const struct relay_dialect *dialect, const struct relay_request *request)
{
	struct relay_reply reply = {.body = BUF_INIT(RELAY_REPLY_MAX_BYTES)};
	struct error err = {0};
	AUTO(json) document = NULL;
	enum status status = dialect->answer(core, request, &reply, &err);

	if (status != OK) {
		err.status = status;
		dialect->refuse(&err, &reply);
	}
	if (reply.body.failure != OK || json_parse(&document, buf_span(&reply.body), NULL) != OK || reply.status < 200)
		abort();
	buf_done(&reply.body);
}

static void read_request(struct span bytes)
{
	struct relay_request whole, part;
	bool is_whole, is_part;
	AUTO_DONE(buf) value = BUF_INIT(4096);

	if (relay_request_read(bytes, BODY_MAX_BYTES, &whole, &is_whole, NULL) != OK || !is_whole)
		return;
	(void)relay_request_query(&whole, "run_id", &value);
	if (whole.whole_bytes > bytes.len ||
		relay_request_read(span_of(bytes.ptr, whole.whole_bytes - 1), BODY_MAX_BYTES, &part, &is_part, NULL) !=
			OK ||
		is_part)
		abort();
	struct relay_core *core = new_core();
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++)
		if (relay_dialects[i]->is_its(core, &whole))
			answer(core, relay_dialects[i], &whole);
	free_core(core);
}

/* ---- records ---- */

static void compose(struct span records, const struct relay_dialect *dialect)
{
	static const struct relay_terms terms = {.job = "a job", .is_shipped = true, .has_system = true};

	while (records.len) {
		struct relay_sending sending = {
			.path = BUF_INIT(4096), .headers = BUF_INIT(4096), .body = BUF_INIT(1 << 20)};
		enum status status = dialect->compose(records, &terms, &sending, NULL);
		if (sending.bytes == 0 || sending.bytes > records.len)
			abort();
		if (status == OK && sending.body.failure == OK && sending.path.failure == OK &&
			!sending.is_keyed_by_path) {
			AUTO(json) document = NULL;
			buf_append_char(&sending.body, '}');
			if (sending.body.failure == OK && json_parse(&document, buf_span(&sending.body), NULL) != OK)
				abort();
		}
		records = span_skip(records, sending.bytes);
		buf_done(&sending.path);
		buf_done(&sending.headers);
		buf_done(&sending.body);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span bytes = span_of((const char *)data, size);

	read_request(bytes);
	for (size_t i = 0; i < RELAY_DIALECT_COUNT; i++)
		compose(bytes, relay_dialects[i]);
	return 0;
}
