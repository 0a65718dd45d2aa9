#include "alert/format.h"

#include "base/crypto.h"
#include "model/incident.h"
#include "net/address.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	VALUE_MAX_BYTES = 900,
	TEXT_MAX_BYTES = 8192,
	CODE_FIELD_MAX = 32,
	GROUP_URL_BYTES = 200 /* PagerDuty takes keys of 255 */
};
enum { LINES_MAX_BYTES = 2000 }; /* with title and summary less than what any receiver takes: Slack's 3000 characters */

struct webhook_formats {
	struct json *document;
};

static const struct json *find(const struct webhook_formats *formats, struct span name)
{
	const struct json *list = json_get(formats->document, "formats");

	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (span_equal(json_string_of(json_get(at, "name")), name))
			return at;
	return NULL;
}

static bool is_built_in(struct span format)
{
	return span_equal(format, SPAN("json")) || span_equal(format, SPAN("cloudevents"));
}

enum status webhook_formats_new(struct webhook_formats **out, struct span json, struct error *err)
{
	AUTO(webhook_formats) formats = mem_zeroed(sizeof *formats);

	if (!formats)
		return error_no_memory(err);
	TRY(json_parse(&formats->document, json, err));
	if (!json_count(json_get(formats->document, "formats")))
		return error_set(err, ERR_INTERNAL, "webhooks.json holds no formats");
	*out = TAKE(formats);
	return OK;
}

void webhook_formats_free(struct webhook_formats *formats)
{
	if (!formats)
		return;
	json_free(formats->document);
	mem_free(formats);
}

bool webhook_format_is_known(const struct webhook_formats *formats, struct span name)
{
	return is_built_in(name) || find(formats, name);
}

enum webhook_secret webhook_format_secret(const struct webhook_formats *formats, struct span name)
{
	struct span kind = is_built_in(name) ? SPAN("made") : json_string_of(json_get(find(formats, name), "secret"));

	if (span_equal(kind, SPAN("made")))
		return WEBHOOK_SECRET_MADE;
	if (span_equal(kind, SPAN("required")))
		return WEBHOOK_SECRET_REQUIRED;
	return span_equal(kind, SPAN("text")) ? WEBHOOK_SECRET_TEXT : WEBHOOK_SECRET_NONE;
}

/* ---- whose address it is ---- */

/* The host without user, port and IPv6's brackets, and the path. */
static void split_address(struct span url, struct span *host, struct span *path)
{
	ptrdiff_t at = span_find(url, SPAN("://"));
	size_t end = 0;

	*host = at < 0 ? SPAN("") : span_skip(url, (size_t)at + 3);
	while (end < host->len && !strchr("/?#", host->ptr[end]))
		end++;
	*path = span_skip(*host, end);
	*host = span_of(host->ptr, end);
	while ((at = span_find_char(*host, '@')) >= 0)
		*host = span_skip(*host, (size_t)at + 1);
	bool is_v6 = span_starts_with(*host, SPAN("["));
	*host = is_v6 ? span_skip(*host, 1) : *host;
	if ((at = span_find_char(*host, is_v6 ? ']' : ':')) >= 0)
		*host = span_of(host->ptr, (size_t)at);
}

bool webhook_is_nowhere(struct span url)
{
	struct span host, path;

	split_address(url, &host, &path);
	return address_of_host(host) == ADDRESS_FORBIDDEN;
}

/* pattern: a host, "*." in front of it for those below it, and what the path begins with. */
static bool is_address(struct span pattern, struct span host, struct span path)
{
	ptrdiff_t slash = span_find_char(pattern, '/');
	struct span domain = slash < 0 ? pattern : span_of(pattern.ptr, (size_t)slash);
	struct span prefix = slash < 0 ? SPAN("") : span_skip(pattern, (size_t)slash);

	if (span_starts_with(domain, SPAN("*."))) {
		domain = span_skip(domain, 1);
		if (host.len <= domain.len)
			return false;
		host = span_skip(host, host.len - domain.len);
	}
	if (!span_equal_fold(host, domain) || !span_starts_with(path, prefix))
		return false;
	return path.len == prefix.len || strchr("/?#", path.ptr[prefix.len]);
}

struct span webhook_format_of_address(const struct webhook_formats *formats, struct span url)
{
	const struct json *list = json_get(formats->document, "formats");
	struct span host, path;

	split_address(url, &host, &path);
	for (const struct json *at = json_first(list); at; at = json_next(at))
		for (const struct json *pattern = json_first(json_get(at, "addresses")); pattern;
			pattern = json_next(pattern))
			if (is_address(json_string_of(pattern), host, path))
				return json_string_of(json_get(at, "name"));
	return SPAN("");
}

void webhook_format_names(const struct webhook_formats *formats, struct buf *out)
{
	buf_append_text(out, "json, cloudevents");
	for (const struct json *at = json_first(json_get(formats->document, "formats")); at; at = json_next(at)) {
		buf_append_text(out, ", ");
		buf_append_span(out, json_string_of(json_get(at, "name")));
	}
}

/* ---- what a template can name ---- */

enum name {
	NAME_TITLE,
	NAME_SUMMARY,
	NAME_URL,
	NAME_CHART,
	NAME_COLOR,
	NAME_CARD_COLOR,
	NAME_CARD_TEMPLATE,
	NAME_SEVERITY,
	NAME_ACTION,
	NAME_GROUP,
	NAME_SOURCE,
	NAME_METRIC,
	NAME_KIND,
	NAME_TIMESTAMP,
	NAME_SECRET,
	NAME_SIGN,
	NAME_SIGN_TIMESTAMP,
	NAME_LINES,
	NAME_LINE, /* this and the next: within the format's "line" */
	NAME_LINE_URL,
	NAME_COUNT
};
static const char *const names[NAME_COUNT] = {"title", "summary", "url", "chart", "color", "card_color",
	"card_template", "severity", "action", "group", "source", "metric", "kind", "timestamp", "secret", "sign",
	"sign_timestamp", "lines", "line", "line_url"};

struct values {
	struct span of[NAME_COUNT];
	int64_t color;
	struct buf title, summary, chart, color_text, sign, sign_timestamp, group, lines;
};

static void values_done(struct values *values)
{
	struct buf *const bufs[] = {&values->title, &values->summary, &values->chart, &values->color_text,
		&values->sign, &values->sign_timestamp, &values->group, &values->lines};

	for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
		buf_done(bufs[i]);
}
AUTO_DONE_TYPE(values)

struct look {
	int64_t color;
	const char *card_color, *card_template, *mark;
};

static struct look look_of(struct span severity, bool is_over, bool has_other_end)
{
	if (has_other_end)
		return (struct look){0x7f8c8d, "Default", "grey", "Over"};
	if (is_over)
		return (struct look){0x2e8540, "Good", "green", "Recovered"};
	if (span_equal(severity, SPAN("critical")))
		return (struct look){0xc0392b, "Attention", "red", "Critical"};
	if (span_equal(severity, SPAN("warning")))
		return (struct look){0xe08e0b, "Warning", "orange", "Warning"};
	return (struct look){0x3b7dd8, "Accent", "blue", "Info"};
}

/* EventBridge's: "llama is Completed". */
static void fill_state_change(struct values *v, const struct json *event)
{
	struct span job = json_string_of(json_get_path(event, "detail.TrainingJobName"));
	struct span status = json_string_of(json_get_path(event, "detail.TrainingJobStatus"));
	struct span reason = json_string_of(json_get_path(event, "detail.FailureReason"));

	buf_append_text(&v->title, "Training job ");
	buf_append_span(&v->title, status);
	buf_append_span(&v->summary, job);
	buf_append_text(&v->summary, " is ");
	buf_append_span(&v->summary, status);
	if (reason.len) {
		buf_append_text(&v->summary, ": ");
		buf_append_span(&v->summary, reason);
	}
	bool has_failed = span_equal(status, SPAN("Failed"));
	v->of[NAME_SEVERITY] = has_failed ? SPAN("critical") : SPAN("info");
	v->of[NAME_SOURCE] = job;
	v->of[NAME_KIND] = SPAN("job_state");
	v->of[NAME_TIMESTAMP] = json_string_of(json_get(event, "time"));
	v->of[NAME_GROUP] = json_string_of(json_get(event, "id"));
}

static void fill_chart(struct values *v, const struct json *data, struct span public_url)
{
	if (!v->of[NAME_METRIC].len || !v->of[NAME_SOURCE].len)
		return;
	rule_append_chart_url(&v->chart, json_string_of(json_get(data, "job")), v->of[NAME_METRIC], public_url);
}

static void fill_message(struct values *v, const struct json *message, struct span public_url)
{
	const struct json *data = json_get(message, "data");
	struct span job = json_string_of(json_get(data, "job")), cause = json_string_of(json_get(data, "cause_id"));

	buf_append_span(&v->summary, json_string_of(json_get(data, "summary")));
	v->of[NAME_URL] = json_string_of(json_get(data, "url"));
	v->of[NAME_SEVERITY] = json_string_of(json_get(data, "severity"));
	v->of[NAME_KIND] = json_string_of(json_get(data, "kind"));
	v->of[NAME_METRIC] = json_string_of(json_get(data, "metric"));
	v->of[NAME_SOURCE] = job.len ? job : SPAN("smfleet");
	v->of[NAME_TIMESTAMP] = json_string_of(json_get(message, "timestamp"));
	buf_append_span(&v->group, cause.len ? cause : json_string_of(json_get(data, "id")));
	if (public_url.len) /* several servers count alike */
		buf_printf(&v->group, "@%.*s", SPAN_ARGS(span_cut(public_url, GROUP_URL_BYTES)));
	fill_chart(v, data, public_url);
}

/* As words: "loss spike" of loss_spike. */
static void append_words(struct buf *out, struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		buf_append_char(out, name.ptr[i] == '_' ? ' ' : name.ptr[i]);
}

static void append_title(struct values *v, const struct json *message, const struct look *look)
{
	struct span type = json_string_of(json_get(message, "type"));
	struct span own = json_string_of(json_get_path(message, "data.title"));

	if (own.len) {
		buf_append_span(&v->title, own);
		return;
	}
	buf_append_text(&v->title, look->mark);
	buf_append_text(&v->title, ": ");
	if (v->of[NAME_KIND].len) {
		append_words(&v->title, v->of[NAME_KIND]);
		buf_append_text(&v->title, " in ");
		buf_append_span(&v->title, v->of[NAME_SOURCE]);
	} else {
		buf_append_span(&v->title, type);
	}
}

static void fill_look(struct values *v, const struct look *look, bool is_over)
{
	v->color = look->color;
	buf_printf(&v->color_text, "#%06" PRIx64, (uint64_t)look->color);
	v->of[NAME_COLOR] = buf_span(&v->color_text);
	v->of[NAME_CARD_COLOR] = span_from(look->card_color);
	v->of[NAME_CARD_TEMPLATE] = span_from(look->card_template);
	v->of[NAME_ACTION] = is_over ? SPAN("resolve") : SPAN("trigger");
}

/* Base64 of HMAC-SHA256. Feishu: of nothing, by "time\nsecret"; DingTalk: of "time\nsecret", by the secret. */
static void fill_sign(struct values *v, struct span how, const struct webhook_shape *shape)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES);
	unsigned char digest[SHA256_BYTES];
	bool is_feishu = span_equal(how, SPAN("feishu"));

	v->of[NAME_SECRET] = shape->secret;
	if (!how.len || !shape->secret.len)
		return;
	buf_printf(&v->sign_timestamp, "%" PRId64, is_feishu ? shape->now_ms / 1000 : shape->now_ms);
	buf_append_span(&text, buf_span(&v->sign_timestamp));
	buf_append_char(&text, '\n');
	buf_append_span(&text, shape->secret);
	if (is_feishu)
		crypto_hmac_sha256(buf_span(&text), SPAN(""), digest);
	else
		crypto_hmac_sha256(shape->secret, buf_span(&text), digest);
	crypto_base64(span_of((const char *)digest, sizeof digest), &v->sign);
	v->of[NAME_SIGN] = buf_span(&v->sign);
	v->of[NAME_SIGN_TIMESTAMP] = buf_span(&v->sign_timestamp);
}

static void fill(
	struct values *v, const struct json *message, const struct json *format, const struct webhook_shape *shape)
{
	struct buf *const bufs[] = {
		&v->title, &v->summary, &v->chart, &v->color_text, &v->sign, &v->sign_timestamp, &v->group, &v->lines};

	for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
		*bufs[i] = BUF_INIT(TEXT_MAX_BYTES);
	for (size_t i = 0; i < NAME_COUNT; i++)
		v->of[i] = SPAN("");
	bool is_event = json_get(message, "detail-type") != NULL;
	bool is_over = span_equal(json_string_of(json_get_path(message, "data.state")), SPAN("recovered"));
	if (is_event)
		fill_state_change(v, message);
	else
		fill_message(v, message, shape->public_url);
	bool has_other_end = json_get_path(message, "data.closed_why") != NULL;
	struct look look = look_of(v->of[NAME_SEVERITY], is_over, has_other_end);
	fill_look(v, &look, is_over);
	if (!is_event)
		append_title(v, message, &look);
	if (!v->of[NAME_URL].len)
		v->of[NAME_URL] = shape->public_url;
	if (v->group.len)
		v->of[NAME_GROUP] = buf_span(&v->group);
	if (!v->of[NAME_GROUP].len)
		v->of[NAME_GROUP] = shape->message_id;
	fill_sign(v, json_string_of(json_get(format, "sign")), shape);
	v->of[NAME_TITLE] = buf_span(&v->title);
	v->of[NAME_SUMMARY] = buf_span(&v->summary);
	v->of[NAME_CHART] = buf_span(&v->chart);
}

/* ---- a template, written ---- */

struct rendering {
	const struct values *values;
	const struct json
		*escape; /* what stands for a character that means something to the receiver; NULL: nothing does */
	struct json_writer w;
};

static void append_escaped(struct buf *out, struct span text, const struct json *escape)
{
	size_t len = text.len < VALUE_MAX_BYTES ? text.len : VALUE_MAX_BYTES;

	while (len < text.len && len && (text.ptr[len] & 0xc0) == 0x80)
		len--; /* not within a character */
	for (size_t i = 0; i < len; i++) {
		char c[2] = {text.ptr[i]};
		const struct json *instead = *c ? json_get(escape, c) : NULL;
		if (instead)
			buf_append_span(out, json_string_of(instead));
		else
			buf_append_char(out, *c);
	}
	if (len < text.len)
		buf_append_text(out, "…");
}

static bool find_name(struct span text, enum name *out)
{
	for (unsigned i = 0; i < NAME_COUNT; i++)
		if (span_equal(text, span_from(names[i]))) {
			*out = (enum name)i;
			return true;
		}
	return false;
}

/* The URL is a URL wherever it stands: it is neither cut nor escaped. */
static void expand(const struct rendering *r, struct span text, struct buf *out)
{
	enum name name;

	while (text.len) {
		ptrdiff_t from = span_find(text, SPAN("{{")), to = span_find(text, SPAN("}}"));
		if (from < 0 || to < from) {
			buf_append_span(out, text);
			return;
		}
		buf_append_span(out, span_of(text.ptr, (size_t)from));
		if (find_name(span_of(text.ptr + from + 2, (size_t)(to - from - 2)), &name)) {
			bool is_whole = name == NAME_URL || name == NAME_CHART || name == NAME_SECRET ||
					name == NAME_LINES || name == NAME_LINE_URL;
			if (is_whole)
				buf_append_span(out, r->values->of[name]);
			else
				append_escaped(out, r->values->of[name], r->escape);
		}
		text = span_skip(text, (size_t)to + 2);
	}
}

/* Each line of the message as the format's "line" says it, which has escaped its text; those that are too many are counted. */
static void fill_lines(struct values *values, const struct json *message, const struct json *format)
{
	const struct rendering r = {.values = values, .escape = json_get(format, "escape")};
	struct span template = json_string_of(json_get(format, "line"));
	size_t left = json_count(json_get_path(message, "data.lines"));

	for (const struct json *at = json_first(json_get_path(message, "data.lines")); at && template.len;
		at = json_next(at), left--) {
		AUTO_DONE(buf) line = BUF_INIT(TEXT_MAX_BYTES);
		values->of[NAME_LINE] = json_string_of(json_get(at, "text"));
		values->of[NAME_LINE_URL] = json_string_of(json_get(at, "url"));
		expand(&r, template, &line);
		if (line.failure || values->lines.len + line.len > LINES_MAX_BYTES) {
			buf_printf(&values->lines, "\n… %zu more", left);
			break;
		}
		buf_append_char(&values->lines, '\n');
		buf_append_span(&values->lines, buf_span(&line));
	}
	values->of[NAME_LINES] = buf_span(&values->lines);
}

static bool is_left_out(const struct rendering *r, const struct json *node)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES * 4);
	struct span template = json_string_of(node);

	if (json_kind(node) != JSON_STRING || !span_starts_with(template, SPAN("{{")))
		return false;
	if (span_starts_with(template, SPAN("{{#")))
		return false;
	expand(r, template, &text);
	return text.len == 0;
}

static void render(struct rendering *r, const struct json *node);

static void render_members(struct rendering *r, const struct json *node, bool has_keys)
{
	for (const struct json *at = json_first(node); at; at = json_next(at)) {
		bool is_empty_link = json_kind(at) == JSON_OBJECT && is_left_out(r, json_first(at));
		if (is_left_out(r, at) || (!has_keys && is_empty_link))
			continue;
		if (has_keys)
			json_key_span(&r->w, json_key_of(at));
		render(r, at);
	}
}

static void render_text(struct rendering *r, struct span template)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES * 4);

	if (span_equal(template, SPAN("{{#color}}"))) {
		json_i64(&r->w, r->values->color);
		return;
	}
	expand(r, template, &text);
	json_span(&r->w, buf_span(&text));
	if (text.failure)
		r->w.out->failure = text.failure;
}

static void render(struct rendering *r, const struct json *node)
{
	AUTO_DONE(buf) other = BUF_INIT(TEXT_MAX_BYTES);

	switch (json_kind(node)) {
	case JSON_OBJECT:
		json_object(&r->w);
		render_members(r, node, true);
		json_object_end(&r->w);
		break;
	case JSON_ARRAY:
		json_array(&r->w);
		render_members(r, node, false);
		json_array_end(&r->w);
		break;
	case JSON_STRING:
		render_text(r, json_string_of(node));
		break;
	default:
		json_print(node, &other);
		json_raw(&r->w, buf_span(&other));
	}
}

/* ---- bodies ---- */

/* The attributes in front of the payload's own members. */
static void write_cloudevent(const struct webhook_shape *shape, const struct json *message, struct buf *body)
{
	struct json_writer w = json_writer_on(body);
	struct span job = json_string_of(json_get_path(message, "data.job"));

	json_object(&w);
	json_put_text(&w, "specversion", "1.0");
	json_put_span(&w, "id", shape->message_id);
	json_put_span(&w, "source", shape->public_url.len ? shape->public_url : SPAN("smfleet"));
	json_put_span(&w, "time", json_string_of(json_get(message, "timestamp")));
	json_put_text(&w, "datacontenttype", "application/json");
	if (job.len)
		json_put_span(&w, "subject", job);
	buf_append_char(body, ',');
	buf_append_span(body, span_skip(shape->payload, 1));
}

static void put_url_sign(const struct values *values, struct span how, struct span secret, struct buf *suffix)
{
	if (!span_equal(how, SPAN("dingtalk")) || !secret.len)
		return;
	buf_append_text(suffix, "&timestamp=");
	buf_append_span(suffix, values->of[NAME_SIGN_TIMESTAMP]);
	buf_append_text(suffix, "&sign=");
	buf_append_percent_encoded(suffix, values->of[NAME_SIGN]);
}

enum status webhook_render(const struct webhook_formats *formats, const struct webhook_shape *shape, struct buf *body,
	const char **content_type, struct buf *url_suffix, struct error *err)
{
	AUTO_DONE(values) values = {0};
	AUTO(json) message = NULL;
	const struct json *format = is_built_in(shape->format) ? NULL : find(formats, shape->format);

	*content_type = "application/json";
	TRY(json_parse(&message, shape->payload, err));
	if (!format) {
		if (span_equal(shape->format, SPAN("cloudevents")))
			*content_type = "application/cloudevents+json";
		if (json_get(message, "type"))
			write_cloudevent(shape, message, body);
		else
			buf_append_span(body, shape->payload); /* an event of EventBridge's has a shape of its own */
		return buf_status(body, err);
	}
	fill(&values, message, format, shape);
	fill_lines(&values, message, format);
	struct rendering r = {&values, json_get(format, "escape"), json_writer_on(body)};
	render(&r, json_get(format, "message"));
	put_url_sign(&values, json_string_of(json_get(format, "sign")), shape->secret, url_suffix);
	TRY(buf_status(url_suffix, err));
	return buf_status(body, err);
}

bool webhook_is_refused(const struct webhook_formats *formats, struct span format, struct span reply, struct error *err)
{
	const struct json *known = is_built_in(format) ? NULL : find(formats, format);
	struct span field = json_string_of(json_get(known, "success"));
	AUTO(json) answer = NULL;
	char key[CODE_FIELD_MAX];
	double code = 0;

	if (!field.len || field.len >= sizeof key || json_parse(&answer, reply, NULL) != OK)
		return false;
	memcpy(key, field.ptr, field.len);
	key[field.len] = 0;
	if (!json_number_of(json_get(answer, key), &code) || code == 0)
		return false;
	error_set(err, ERR_IO, "the answer was %s %.0f: %.*s", key, code, (int)(reply.len < 200 ? reply.len : 200),
		reply.ptr);
	return true;
}
