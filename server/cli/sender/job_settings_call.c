/* Settings that files hold beside points, and those that options state of a job that is there: added to what it states, never over it. */
#include "base/json/json_write.h"
#include "cli/sender/job_calls.h"
#include "cli/http/url.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 8192, MAX_BODY_BYTES = 16 << 20, SAYS_BYTES = 512 };

/* {"hp": {…}} of all lines that hold settings; empty when none does. */
static enum status put_body(struct buf *body, struct span text, struct error *err)
{
	struct span line, word;

	while (span_next(&text, '\n', &line)) {
		struct span object = line;
		if (!span_next(&object, '\t', &word) || !span_equal(word, SPAN(JOB_POINTS_SETTING)) || object.len < 2)
			continue;
		buf_append_text(body, body->len ? "," : "{\"hp\":{");
		buf_append_span(body, span_of(object.ptr + 1, object.len - 2)); /* its one member */
	}
	if (body->len)
		buf_append_text(body, "}}");
	return buf_status(body, err);
}

static struct span text_of(const struct json *node, struct buf *out)
{
	if (json_kind(node) == JSON_STRING)
		return json_string_of(node);
	buf_reset(out);
	json_print(node, out);
	return buf_span(out);
}

/* What does not fit is not in it. */
static void put_kept(struct buf *out, struct span key, struct span value, struct span stays)
{
	size_t before = out->len;

	buf_append_text(out, before ? ", " : "");
	buf_append_span(out, key);
	buf_append_char(out, '=');
	buf_append_span(out, value);
	buf_append_text(out, " (the job has ");
	buf_append_span(out, stays);
	buf_append_char(out, ')');
	if (out->failure) {
		out->failure = OK;
		out->len = before;
	}
}

/* says: who says otherwise, as "the files of its stream 'algo-1'" or "--hp". */
static void tell_kept(
	const char *program, const char *job, const char *says, struct span asked, struct span reply, struct buf *told)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_BODY_BYTES);
	AUTO(json) body = NULL;
	AUTO(json) document = NULL;

	if (json_parse(&body, asked, NULL) != OK || json_parse(&document, reply, NULL) != OK)
		return;
	const struct json *kept = json_get(document, "kept"), *settings = json_get(body, "hp");
	for (const struct json *at = kept ? json_first(kept) : NULL; at; at = json_next(at))
		for (const struct json *own = json_first(settings); own; own = json_next(own))
			if (span_equal(json_key_of(own), json_key_of(at))) {
				struct span value = text_of(own, &text);
				client_say(program, "job '%s' has %.*s = '%.*s', and %s '%.*s': it is left as it is",
					job, SPAN_ARGS(json_key_of(at)), SPAN_ARGS(json_string_of(at)), says,
					SPAN_ARGS(value));
				if (told)
					put_kept(told, json_key_of(at), value, json_string_of(at));
			}
}

static enum status patch_job(
	struct http_client *client, const char *job, struct span body, struct http_reply *reply, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	url_put_value(&path, "/api/v1/jobs/", span_from(job));
	TRY(buf_status(&path, err));
	struct http_request request = {
		.method = "PATCH", .path = buf_span(&path), .content_type = "application/json", .body = body};
	return client_call(client, &request, reply, err);
}

enum status job_send_settings(struct http_client *client, const struct job_points *points, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	char says[SAYS_BYTES];
	AUTO_DONE(http_reply) reply = {0};

	TRY(put_body(&body, points->text, err));
	if (body.len == 0)
		return OK;
	snprintf(says, sizeof says, "the files of its stream '%s'", points->stream);
	enum status status = patch_job(client, points->job, buf_span(&body), &reply, err);
	if (client_is_passing(status))
		return status;
	if (status != OK) /* no reason to keep the points from it */
		client_say(points->program, "the server did not take the hyperparameters of stream '%s': %s",
			points->stream, err->text);
	else
		tell_kept(points->program, points->job, says, buf_span(&body), buf_span(&reply.body), NULL);
	return OK;
}

/* ---- what options say of a job that is there already ---- */

/* Of [{"Key": …, "Value": …}] or the like. */
static bool has_pair(const struct json *list, const char *key, const char *value, const struct setting *setting)
{
	for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at))
		if (span_equal(json_string_of(json_get(at, key)), span_from(setting->key)) &&
			span_equal(json_string_of(json_get(at, value)), span_from(setting->value)))
			return true;
	return false;
}

static bool has_setting(const struct json *document, const struct setting *setting)
{
	static const char *const sections[] = {"HyperParameters", "OtherHyperParameters"};

	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		const struct json *section = json_get(document, sections[i]);
		for (const struct json *at = section ? json_first(section) : NULL; at; at = json_next(at))
			if (span_equal(json_key_of(at), span_from(setting->key)) &&
				span_equal(json_string_of(at), span_from(setting->value)))
				return true;
	}
	return false;
}

static void put_members(struct json_writer *w, const char *name, const struct settings *settings)
{
	json_key(w, name);
	json_object(w);
	for (size_t i = 0; i < settings->count; i++)
		json_put_text(w, settings->items[i].key, settings->items[i].value);
	json_object_end(w);
}

/* Only what changes something is asked for. */
static enum status put_changes(const struct job_stated *stated, struct buf *body, struct error *err)
{
	const struct json *tags = json_get(stated->document, "Tags");
	struct json_writer w = json_writer_on(body);
	bool has_tags = true, has_settings = true;

	for (size_t i = 0; i < stated->tags.count; i++)
		has_tags &= has_pair(tags, "Key", "Value", &stated->tags.items[i]);
	for (size_t i = 0; i < stated->hyper_parameters.count; i++)
		has_settings &= has_setting(stated->document, &stated->hyper_parameters.items[i]);
	if (has_tags && has_settings)
		return OK;
	json_object(&w);
	if (!has_tags)
		put_members(&w, "tags", &stated->tags);
	if (!has_settings)
		put_members(&w, "hp", &stated->hyper_parameters);
	json_object_end(&w);
	return buf_status(body, err);
}

static void tell_definitions(const struct job_stated *stated)
{
	const struct json *own = json_get_path(stated->document, "AlgorithmSpecification.MetricDefinitions");

	for (size_t i = 0; i < stated->metrics.count; i++)
		if (!has_pair(own, "Name", "Regex", &stated->metrics.items[i]))
			client_say(stated->program,
				"job '%s' is there already: --metric %s=%s is not applied (PUT /api/v1/jobs/%s/definitions?backfill=true changes its definitions, also for the log that it has)",
				stated->job, stated->metrics.items[i].key, stated->metrics.items[i].value, stated->job);
}

enum status job_send_stated(struct http_client *client, const struct job_stated *stated, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	tell_definitions(stated);
	TRY(put_changes(stated, &body, err));
	if (!body.len)
		return OK;
	enum status status = patch_job(client, stated->job, buf_span(&body), &reply, err);
	if (client_is_passing(status))
		return status;
	if (status != OK)
		client_say(stated->program,
			"the server did not take --tag and --hp of job '%s', which is there already: %s", stated->job,
			err->text);
	else
		tell_kept(stated->program, stated->job, stated->says, buf_span(&body), buf_span(&reply.body),
			stated->kept);
	return OK;
}

/* ---- and of its machines ---- */

/* "": it states none. */
static void print_stated(const struct json *document, const char *by_hand, const char *stated, char out[SAYS_BYTES])
{
	const struct json *node = json_get_path(document, by_hand);
	AUTO_DONE(buf) text = BUF_INIT(MAX_BODY_BYTES);

	if (!node || json_kind(node) == JSON_NULL)
		node = json_get_path(document, stated);
	struct span value = node ? text_of(node, &text) : SPAN("");
	snprintf(out, SAYS_BYTES, "%.*s", SPAN_ARGS(value));
	if (!value.len && json_get_path(document, "ResourceConfig.InstanceGroups"))
		snprintf(out, SAYS_BYTES, "InstanceGroups");
}

/* True: it is to be set. */
static bool is_unstated(
	const struct job_machines *machines, const char *option, const char *stated, const char *is_asked)
{
	if (stated[0] && strcmp(stated, is_asked) != 0)
		client_say(machines->program,
			"job '%s' has %s, and %s says '%s': it is left as it is (PATCH /api/v1/jobs/%s with by_hand sets it right)",
			machines->job, stated, option, is_asked, machines->job);
	return !stated[0];
}

static enum status put_machines(const struct job_machines *machines, struct buf *body, struct error *err)
{
	char stated[SAYS_BYTES], count[24];
	struct json_writer w = json_writer_on(body);
	bool sets_type = false, sets_count = false;

	if (machines->type) {
		print_stated(machines->document, "by_hand.instance_type", "ResourceConfig.InstanceType", stated);
		sets_type = is_unstated(machines, "--instance-type", stated, machines->type);
	}
	if (machines->count) {
		snprintf(count, sizeof count, "%" PRId64, machines->count);
		print_stated(machines->document, "by_hand.nodes", "ResourceConfig.InstanceCount", stated);
		sets_count = is_unstated(machines, "--instance-count", stated, count);
	}
	if (!sets_type && !sets_count)
		return OK;
	json_object(&w);
	json_key(&w, "by_hand");
	json_object(&w);
	if (sets_type)
		json_put_text(&w, "instance_type", machines->type);
	if (sets_count)
		json_put_i64(&w, "nodes", machines->count);
	json_object_end(&w);
	json_object_end(&w);
	return buf_status(body, err);
}

enum status job_send_machines(struct http_client *client, const struct job_machines *machines, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(MAX_BODY_BYTES);
	AUTO_DONE(http_reply) reply = {0};

	TRY(put_machines(machines, &body, err));
	if (!body.len)
		return OK;
	enum status status = patch_job(client, machines->job, buf_span(&body), &reply, err);
	if (client_is_passing(status))
		return status;
	if (status != OK)
		client_say(machines->program,
			"the server did not take --instance-type and --instance-count of job '%s', which is there already: %s",
			machines->job, err->text);
	return OK;
}
