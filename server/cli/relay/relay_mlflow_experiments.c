/*
 * Experiments have numbers that the server gives. While it is away the relay gives one of its own, and what is said of it goes to the
 * server by the experiment's name.
 */
#include "cli/relay/relay_mlflow.h"

#include "base/crypto.h"
#include "cli/http/url.h"

enum { TEXT_MAX_BYTES = 8 << 10, PATH_MAX_BYTES = 32 << 10 };
static const uint64_t OUR_FIRST = (uint64_t)1 << 52; /* below 2^53, and no server counts so far */

static const char default_name[] = "Default";

static void write_experiment(struct relay_call *call, const struct known_experiment *experiment)
{
	struct json_writer *w = &call->w;

	json_key(w, "experiment");
	json_object(w);
	json_put_text(w, "experiment_id", experiment->id);
	json_put_text(w, "name", experiment->name);
	json_put_text(w, "artifact_location", experiment->location);
	json_put_text(w, "lifecycle_stage", "active");
	json_key(w, "tags");
	json_array(w);
	json_array_end(w);
	json_object_end(w);
}

/* Files never come through here, so that no training waits for one, or fails: what the server would keep stays with the client. */
static struct span place_of_files(struct span location, struct span id, struct buf *own)
{
	if (!span_starts_with(location, SPAN("mlflow-artifacts:")))
		return location;
	buf_append_text(own, "./mlflow-artifacts/");
	buf_append_span(own, id);
	return buf_span(own);
}

/* What the server says of an experiment is remembered. Under the mutex. */
static const struct known_experiment *learn(struct known *known, struct span reply)
{
	AUTO_DONE(buf) place = BUF_INIT(TEXT_MAX_BYTES);
	AUTO(json) document = NULL;

	if (json_parse(&document, reply, NULL) != OK)
		return NULL;
	struct span id = json_string_of(json_get_path(document, "experiment.experiment_id"));
	struct span name = json_string_of(json_get_path(document, "experiment.name"));
	struct span location = json_string_of(json_get_path(document, "experiment.artifact_location"));
	location = place_of_files(location, id, &place);
	if (!id.len || !name.len || place.failure != OK)
		return NULL;
	const struct known_experiment *there = known_by_id(known, id);
	return there ? there : known_add_experiment(known, id, name, location, false);
}

/* The server's answer to "GET experiments/WHICH?NAME=VALUE"; its status, 0: it is away. */
static int ask(struct relay_call *call, const char *question, struct span value, struct http_reply *reply)
{
	AUTO_DONE(buf) path = BUF_INIT(PATH_MAX_BYTES);
	struct error err;

	buf_append_text(&path, MLFLOW_PREFIX "experiments/");
	url_put_value(&path, question, value);
	if (buf_status(&path, &err) != OK)
		return 0;
	return relay_ask(call->core, "GET", buf_span(&path), SPAN(""), reply, &err) == OK ? reply->status_code : 0;
}

/* While the server is away: an experiment of that name is there from now on. Under the mutex. */
static const struct known_experiment *invent(struct known *known, struct span name, struct span location)
{
	AUTO_DONE(buf) id = BUF_INIT(32);
	AUTO_DONE(buf) place = BUF_INIT(64);
	uint64_t random;

	crypto_random(&random, sizeof random);
	buf_printf(&id, "%llu", (unsigned long long)(OUR_FIRST + random % OUR_FIRST));
	buf_append_text(&place, "./mlflow-artifacts/");
	buf_append_span(&place, buf_span(&id));
	if (id.failure != OK || place.failure != OK)
		return NULL;
	if (span_equal(name, span_from(default_name)))
		return known_add_experiment(known, SPAN("0"), name, SPAN("./mlflow-artifacts/0"), false);
	return known_add_experiment(known, buf_span(&id), name, location.len ? location : buf_span(&place), true);
}

/* Writes it where it is known. */
static bool write_known(struct relay_call *call, struct span name, struct span id)
{
	struct known *known = call->core->known[RELAY_MLFLOW];

	pthread_mutex_lock(&call->core->mutex);
	const struct known_experiment *there = id.len ? known_by_id(known, id) : known_by_name(known, name);
	if (there)
		write_experiment(call, there);
	pthread_mutex_unlock(&call->core->mutex);
	return there != NULL;
}

static void learn_reply(struct relay_call *call, const struct http_reply *reply)
{
	pthread_mutex_lock(&call->core->mutex);
	(void)learn(call->core->known[RELAY_MLFLOW], buf_span(&reply->body));
	pthread_mutex_unlock(&call->core->mutex);
	relay_reply_with(call, reply->status_code, buf_span(&reply->body));
}

static enum status write_invented(
	struct relay_call *call, struct span name, struct span location, bool is_whole, struct error *err)
{
	pthread_mutex_lock(&call->core->mutex);
	const struct known_experiment *made = invent(call->core->known[RELAY_MLFLOW], name, location);
	if (made && is_whole)
		write_experiment(call, made);
	else if (made)
		json_put_text(&call->w, "experiment_id", made->id);
	pthread_mutex_unlock(&call->core->mutex);
	return made ? OK : error_no_memory(err);
}

enum status relay_experiment_get_by_name(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	if (!relay_text(call, "experiment_name", &name))
		return error_set(err, ERR_INVALID, "Missing value for required parameter 'experiment_name'");
	if (write_known(call, buf_span(&name), SPAN("")))
		return OK;
	if (ask(call, "get-by-name?experiment_name=", buf_span(&name), &reply)) {
		learn_reply(call, &reply);
		return OK;
	}
	return write_invented(call, buf_span(&name), SPAN(""), true, err);
}

/* One that nobody can be asked about is as it is called. */
static void write_unknown(struct relay_call *call, struct span id)
{
	struct json_writer *w = &call->w;

	json_key(w, "experiment");
	json_object(w);
	json_put_span(w, "experiment_id", id);
	json_put_span(w, "name", span_equal(id, SPAN("0")) ? span_from(default_name) : id);
	json_put_text(w, "artifact_location", "./mlflow-artifacts");
	json_put_text(w, "lifecycle_stage", "active");
	json_object_end(w);
}

enum status relay_experiment_get(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	if (!relay_text(call, "experiment_id", &id))
		return error_set(err, ERR_INVALID, "Missing value for required parameter 'experiment_id'");
	if (write_known(call, SPAN(""), buf_span(&id)))
		return OK;
	if (ask(call, "get?experiment_id=", buf_span(&id), &reply))
		learn_reply(call, &reply);
	else
		write_unknown(call, buf_span(&id));
	return OK;
}

enum status relay_experiment_create(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(buf) location = BUF_INIT(TEXT_MAX_BYTES);

	if (!relay_text(call, "name", &name))
		return error_set(err, ERR_INVALID, "Missing value for required parameter 'name'");
	pthread_mutex_lock(&call->core->mutex);
	bool is_there = known_by_name(call->core->known[RELAY_MLFLOW], buf_span(&name)) != NULL;
	pthread_mutex_unlock(&call->core->mutex);
	if (is_there)
		return error_set(err, ERR_CONFLICT, "there is an experiment '%.300s' already", name.ptr);
	if (relay_pass(call, err) == OK)
		return OK;
	(void)relay_text(call, "artifact_location", &location);
	return write_invented(call, buf_span(&name), buf_span(&location), false, err);
}

/* ---- for runs ---- */

static bool copy_known(struct relay_call *call, struct span id, struct relay_experiment *out)
{
	pthread_mutex_lock(&call->core->mutex);
	const struct known_experiment *there = known_by_id(call->core->known[RELAY_MLFLOW], id);
	if (there) {
		buf_append_text(&out->location, there->location);
		if (there->is_ours)
			buf_append_text(&out->name, there->name);
	}
	pthread_mutex_unlock(&call->core->mutex);
	return there != NULL;
}

void relay_find_experiment(struct relay_call *call, struct span id, struct relay_experiment *out)
{
	AUTO_DONE(http_reply) reply = {0};

	out->name = BUF_INIT(TEXT_MAX_BYTES);
	out->location = BUF_INIT(TEXT_MAX_BYTES);
	if (copy_known(call, id, out))
		return;
	if (ask(call, "get?experiment_id=", id, &reply)) {
		pthread_mutex_lock(&call->core->mutex);
		(void)learn(call->core->known[RELAY_MLFLOW], buf_span(&reply.body));
		pthread_mutex_unlock(&call->core->mutex);
		if (copy_known(call, id, out))
			return;
	}
	buf_append_text(&out->location, "./mlflow-artifacts/");
	buf_append_span(&out->location, id);
}

bool relay_server_id(struct relay_call *call, struct span id, struct buf *out)
{
	AUTO_DONE(buf) name = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;

	pthread_mutex_lock(&call->core->mutex);
	const struct known_experiment *there = known_by_id(call->core->known[RELAY_MLFLOW], id);
	if (there && there->is_ours)
		buf_append_text(&name, there->name);
	pthread_mutex_unlock(&call->core->mutex);
	if (!name.len || ask(call, "get-by-name?experiment_name=", buf_span(&name), &reply) != 200 ||
		json_parse(&document, buf_span(&reply.body), NULL) != OK)
		return false;
	buf_reset(out);
	buf_append_span(out, json_string_of(json_get_path(document, "experiment.experiment_id")));
	return out->len && out->failure == OK;
}

void relay_client_id(struct relay_call *call, struct span server_id, struct buf *out)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO(json) document = NULL;

	buf_reset(out);
	if (ask(call, "get?experiment_id=", server_id, &reply) == 200 &&
		json_parse(&document, buf_span(&reply.body), NULL) == OK) {
		struct span name = json_string_of(json_get_path(document, "experiment.name"));
		pthread_mutex_lock(&call->core->mutex);
		const struct known_experiment *there = known_by_name(call->core->known[RELAY_MLFLOW], name);
		if (there && there->is_ours)
			buf_append_text(out, there->id);
		pthread_mutex_unlock(&call->core->mutex);
	}
	if (!out->len)
		buf_append_span(out, server_id);
}
