/* MLflow's tracking server, or what speaks its REST protocol: experiments page by page, their runs page by page, histories of metrics. */
#include "base/crypto.h"
#include "base/json/json_write.h"
#include "cli/http/client.h"
#include "cli/moving/mlflow_talk.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	BODY_MAX_BYTES = 1 << 20,
	REPLY_MAX_BYTES = 256 << 20, /* a page of runs, whose params may be long */
	CONNECT_TIMEOUT_MS = 5000,
	REQUEST_TIMEOUT_MS = 120000,
	PAGE_RUNS = 200,
	PAGE_EXPERIMENTS = 1000,
	HEADER_MAX_BYTES = 8192,
};

struct experiment {
	char *id, *name;
	bool is_deleted;
};
struct server {
	struct http_client *client;
	struct mlflow_talk talk;
	char headers[HEADER_MAX_BYTES];
	struct experiment *experiments;
	size_t count, cap, at;
	struct json *page; /* of runs of the experiment `at` */
	const struct json *run; /* the next one of the page */
};

static enum status put_experiment(struct server *server, const struct json *node, struct error *err)
{
	struct span id = json_string_of(json_get(node, "experiment_id")), name = json_string_of(json_get(node, "name"));

	if (!id.len)
		return error_set(err, ERR_INVALID, "the server's answer has an experiment without an id");
	if (!mem_grow((void **)&server->experiments, server->count, &server->cap, sizeof *server->experiments))
		return error_no_memory(err);
	struct experiment *experiment = &server->experiments[server->count++];
	*experiment = (struct experiment){.id = mem_copy_bytes(id.ptr, id.len),
		.name = name.len ? mem_copy_bytes(name.ptr, name.len) : mem_copy_string(""),
		.is_deleted = span_equal(json_string_of(json_get(node, "lifecycle_stage")), SPAN("deleted"))};
	return experiment->id && experiment->name ? OK : error_no_memory(err);
}

static enum status read_experiments(struct server *server, struct error *err)
{
	AUTO_DONE(buf) token = BUF_INIT(BODY_MAX_BYTES);

	do {
		AUTO_DONE(buf) body = BUF_INIT(BODY_MAX_BYTES);
		AUTO(json) document = NULL;
		struct json_writer w = json_writer_on(&body);
		json_object(&w);
		json_put_i64(&w, "max_results", PAGE_EXPERIMENTS);
		json_put_text(&w, "view_type", "ALL");
		if (token.len)
			json_put_span(&w, "page_token", buf_span(&token));
		json_object_end(&w);
		TRY(buf_status(&body, err));
		TRY(mlflow_talk(
			&server->talk, SPAN(MLFLOW_CALLS "experiments/search"), buf_span(&body), &document, err));
		const struct json *list = json_get(document, "experiments");
		for (const struct json *at = json_first(list); at; at = json_next(at))
			TRY(put_experiment(server, at, err));
		buf_reset(&token);
		buf_append_span(&token, json_string_of(json_get(document, "next_page_token")));
		TRY(buf_status(&token, err));
	} while (token.len);
	return OK;
}

/* ---- runs ---- */

static enum status read_page(struct server *server, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_MAX_BYTES);
	struct json_writer w = json_writer_on(&body);
	struct span token = json_string_of(json_get(server->page, "next_page_token"));

	json_object(&w);
	json_key(&w, "experiment_ids");
	json_array(&w);
	json_text(&w, server->experiments[server->at].id);
	json_array_end(&w);
	json_put_text(&w, "run_view_type", "ALL");
	json_key(&w, "order_by"); /* of one name the first one gets it */
	json_array(&w);
	json_text(&w, "attributes.start_time ASC");
	json_array_end(&w);
	json_put_i64(&w, "max_results", PAGE_RUNS);
	if (token.len)
		json_put_span(&w, "page_token", token);
	json_object_end(&w);
	TRY(buf_status(&body, err));
	json_free(TAKE(server->page));
	TRY(mlflow_talk(&server->talk, SPAN(MLFLOW_CALLS "runs/search"), buf_span(&body), &server->page, err));
	server->run = json_first(json_get(server->page, "runs"));
	return OK;
}

/* server->run is NULL behind the last one. */
static enum status find_run(struct server *server, struct error *err)
{
	while (!server->run && server->at < server->count) {
		if (server->page && !json_string_of(json_get(server->page, "next_page_token")).len) {
			json_free(TAKE(server->page));
			server->at++;
			continue;
		}
		TRY(read_page(server, err));
	}
	return OK;
}

static enum status read_pairs(
	struct mlflow_past_run *run, const struct json *list, struct mlflow_pairs *pairs, struct error *err)
{
	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (!mlflow_pairs_add(run->arena, pairs, json_string_of(json_get(at, "key")),
			    pairs == &run->metrics ? SPAN("") : json_string_of(json_get(at, "value"))))
			return error_no_memory(err);
	return OK;
}

static bool copy_texts(struct mlflow_past_run *run, const struct json *info)
{
	const struct {
		const char *member;
		struct span *text;
	} texts[] = {{"run_uuid", &run->id}, {"run_id", &run->id}, {"run_name", &run->name}, {"user_id", &run->user},
		{"status", &run->status}, {"artifact_uri", &run->artifacts}};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct span text = json_string_of(json_get(info, texts[i].member));
		if (text.len || !texts[i].text->ptr)
			*texts[i].text = arena_copy(run->arena, text.len ? text : SPAN(""));
		if (!texts[i].text->ptr)
			return false;
	}
	return true;
}

static enum status server_next(void *state, struct mlflow_past_run *out, bool *is_end, struct error *err)
{
	struct server *server = state;

	TRY(find_run(server, err));
	*is_end = !server->run;
	if (*is_end)
		return OK;
	const struct json *info = json_get(server->run, "info"), *data = json_get(server->run, "data");
	const struct experiment *experiment = &server->experiments[server->at];
	const struct json *inputs = json_get_path(server->run, "inputs.dataset_inputs");
	server->run = json_next(server->run);
	if (!(out->arena = arena_new()) || !copy_texts(out, info))
		return error_no_memory(err);
	out->experiment = span_from(experiment->name);
	out->is_deleted = experiment->is_deleted ||
			  span_equal(json_string_of(json_get(info, "lifecycle_stage")), SPAN("deleted"));
	mlflow_talk_integer(json_get(info, "start_time"), &out->start_ms);
	mlflow_talk_integer(json_get(info, "end_time"), &out->end_ms);
	TRY(read_pairs(out, json_get(data, "params"), &out->params, err));
	TRY(read_pairs(out, json_get(data, "tags"), &out->tags, err));
	TRY(read_pairs(out, json_get(data, "metrics"), &out->metrics, err));
	out->left.datasets = inputs ? json_count(inputs) : 0;
	return out->id.len ? OK : error_set(err, ERR_INVALID, "the server's answer has a run without an id");
}

struct taking {
	mlflow_take_point *take;
	void *context;
};

static enum status take_stored(void *context, const struct mlflow_point *point, struct error *err)
{
	const struct taking *taking = context;
	struct mlflow_point stored = *point;

	stored.value = mlflow_stored_value(point->value);
	return taking->take(taking->context, &stored, err);
}

static enum status server_points(void *state, const struct mlflow_past_run *run, const struct mlflow_pair *metric,
	mlflow_take_point *take, void *context, struct error *err)
{
	struct server *server = state;

	struct taking taking = {take, context};

	return mlflow_talk_history(&server->talk, run->id, metric->key, take_stored, &taking, err);
}

static void server_free(void *state)
{
	struct server *server = state;

	for (size_t i = 0; i < server->count; i++) {
		mem_free(server->experiments[i].id);
		mem_free(server->experiments[i].name);
	}
	mem_free(server->experiments);
	json_free(server->page);
	http_client_free(server->client);
	mem_free(server);
}

/* ---- opening ---- */

static enum status put_login(struct server *server, const struct mlflow_server_options *options, struct error *err)
{
	AUTO_DONE(buf) login = BUF_INIT(HEADER_MAX_BYTES), coded = BUF_INIT(HEADER_MAX_BYTES);

	if (!options->user || !options->password || options->token)
		return OK;
	buf_printf(&login, "%s:%s", options->user, options->password);
	crypto_base64(buf_span(&login), &coded);
	TRY(buf_status(&login, err));
	TRY(buf_status(&coded, err));
	if (snprintf(server->headers, sizeof server->headers, "Authorization: Basic %.*s\r\n",
		    SPAN_ARGS(buf_span(&coded))) >= (int)sizeof server->headers)
		return error_set(err, ERR_INVALID, "MLFLOW_TRACKING_PASSWORD is too long");
	server->talk.headers = server->headers;
	return OK;
}

enum status mlflow_server_open(
	struct mlflow_source *out, const struct mlflow_server_options *options, struct error *err)
{
	static const struct mlflow_source_kind kind = {server_next, server_points, server_free};
	struct server *server = mem_zeroed(sizeof *server);

	if (!server)
		return error_no_memory(err);
	*out = (struct mlflow_source){.kind = &kind, .state = server};
	TRY(http_client_new(&server->client,
		&(struct http_client_options){.server = options->address,
			.token = options->token,
			.ca_file = options->ca_file,
			.agent = "sm-ship/" SM_VERSION,
			.connect_timeout_ms = CONNECT_TIMEOUT_MS,
			.request_timeout_ms = REQUEST_TIMEOUT_MS,
			.max_reply_bytes = REPLY_MAX_BYTES},
		err));
	server->talk = (struct mlflow_talk){
		.client = server->client, .patience_ms = options->patience_ms, .wait = options->wait};
	TRY(put_login(server, options, err));
	return read_experiments(server, err);
}
