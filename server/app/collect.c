#include "app/collect.h"

#include "base/text_file.h"

#include <stdlib.h>

enum { TEXT_BYTES = 8192, FILE_BYTES = 64 << 10 };

struct collect_setup {
	struct collector_options options;
	struct buf sagemaker_url, logs_url, credentials, token;
};

void collect_setup_free(struct collect_setup *setup)
{
	if (!setup)
		return;
	buf_done(&setup->sagemaker_url);
	buf_done(&setup->logs_url);
	buf_done(&setup->credentials);
	buf_done(&setup->token);
	mem_free(setup);
}

/* ---- credentials: of the file, as AWS's own tools write it, else of the environment ---- */

struct keys {
	struct span id, secret, token;
};

static void take_line(struct span line, struct keys *keys)
{
	ptrdiff_t at = span_find_char(line, '=');
	struct span key = span_trim(span_of(line.ptr, at < 0 ? line.len : (size_t)at)), value;

	if (at < 0)
		return;
	value = span_trim(span_skip(line, (size_t)at + 1));
	if (span_equal(key, SPAN("aws_access_key_id")))
		keys->id = value;
	else if (span_equal(key, SPAN("aws_secret_access_key")))
		keys->secret = value;
	else if (span_equal(key, SPAN("aws_session_token")))
		keys->token = value;
}

/* The first profile, whatever its name. */
static void read_profile(struct span text, struct keys *keys)
{
	bool has_profile = false;
	struct span line;

	while (text.len) {
		if (!span_next(&text, '\n', &line)) {
			line = text;
			text = SPAN("");
		}
		line = span_trim(line);
		if (span_starts_with(line, SPAN("["))) {
			if (has_profile)
				return;
			has_profile = true;
		} else if (!span_starts_with(line, SPAN("#"))) {
			take_line(line, keys);
		}
	}
}

static struct span environment(const char *name)
{
	const char *value = getenv(name);

	return span_from(value ? value : "");
}

static enum status find_credentials(struct collect_setup *setup, const char *path, struct error *err)
{
	struct keys keys = {SPAN(""), SPAN(""), SPAN("")};
	AUTO_DONE(buf) text = BUF_INIT(FILE_BYTES);

	if (path) {
		TRY(text_file_read_secret(path, "collect-credentials-file", &text, err));
		read_profile(buf_span(&text), &keys);
	} else {
		keys = (struct keys){environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
			environment("AWS_SESSION_TOKEN")};
	}
	if (!keys.id.len != !keys.secret.len || (path && !keys.id.len))
		return error_set_field(err, ERR_SEMANTIC, "collect-credentials-file",
			"aws_access_key_id and aws_secret_access_key are needed, both");
	if (!keys.id.len)
		return OK;
	buf_printf(&setup->credentials, "%.*s:%.*s", SPAN_ARGS(keys.id), SPAN_ARGS(keys.secret));
	buf_append_span(&setup->token, keys.token);
	buf_append_char(&setup->token, 0);
	setup->options.credentials = setup->credentials.ptr;
	setup->options.session_token = setup->token.ptr;
	TRY(buf_status(&setup->token, err));
	return buf_status(&setup->credentials, err);
}

/* ---- where ---- */

static enum status find_urls(struct collect_setup *setup, const char *region, const char *endpoint, struct error *err)
{
	if (endpoint) {
		buf_append_text(&setup->sagemaker_url, endpoint);
		buf_append_text(&setup->logs_url, endpoint);
	} else {
		/* docs.aws.amazon.com/general/latest/gr/sagemaker.html, …/cwl_region.html */
		const char *end = span_starts_with(span_from(region), SPAN("cn-")) ? ".cn" : "";
		buf_printf(&setup->sagemaker_url, "https://api.sagemaker.%s.amazonaws.com%s/", region, end);
		buf_printf(&setup->logs_url, "https://logs.%s.amazonaws.com%s/", region, end);
	}
	buf_append_char(&setup->sagemaker_url, 0);
	buf_append_char(&setup->logs_url, 0);
	TRY(buf_status(&setup->sagemaker_url, err));
	setup->options.sagemaker_url = setup->sagemaker_url.ptr;
	setup->options.logs_url = setup->logs_url.ptr;
	return buf_status(&setup->logs_url, err);
}

enum status collect_setup_new(struct collect_setup **out, const struct options *options, struct error *err)
{
	const char *region = options_text(options, "collect-region"),
		   *endpoint = options_text(options, "collect-endpoint");
	AUTO(collect_setup) setup = mem_zeroed(sizeof *setup);

	*out = NULL;
	if (!setup)
		return error_no_memory(err);
	if (!region)
		return endpoint ? error_set_field(err, ERR_SEMANTIC, "collect-region",
					  "--collect-endpoint needs --collect-region, as requests are signed for one")
				: OK;
	setup->sagemaker_url = setup->logs_url = setup->credentials = setup->token = BUF_INIT(TEXT_BYTES);
	setup->options = (struct collector_options){.region = region,
		.name_contains = options_text(options, "collect-jobs"),
		.every_ms = options_i64(options, "collect-every"),
		.since_ms = options_i64(options, "collect-since"),
		.requests_per_s = options_i64(options, "collect-rate"),
		.max_line_bytes = (size_t)options_i64(options, "max-line-bytes")};
	TRY(find_urls(setup, region, endpoint, err));
	TRY(find_credentials(setup, options_text(options, "collect-credentials-file"), err));
	*out = TAKE(setup);
	return OK;
}

enum status collect_start(struct collector **out, const struct collect_setup *setup, struct store *store,
	struct pipeline *pipeline, struct error *err)
{
	struct collector_options options = setup->options;

	options.store = store;
	options.pipeline = pipeline;
	return collector_start(out, &options, err);
}
