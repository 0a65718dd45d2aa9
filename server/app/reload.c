#include "app/reload.h"

#include "app/data_files.h"
#include "app/storage.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "http/http.h"
#include "pipeline/pipeline.h"
#include "pipeline/retention/retention_limits.h"

static enum status find_level(const struct options *options, enum log_level *level, struct error *err)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};

	for (int i = 0; i < 4; i++)
		if (strcmp(names[i], options_text(options, "log-level")) == 0) {
			*level = (enum log_level)i;
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, "log-level",
		"--log-level is none of debug, info, warning, error: '%s'", options_text(options, "log-level"));
}

enum status reload_set_level(const struct options *options, struct error *err)
{
	enum log_level level;

	TRY(find_level(options, &level, err));
	log_set_level(level);
	return OK;
}

void reload_ready(struct reload *reload, struct pipeline *pipeline, struct http_server *server)
{
	pthread_mutex_lock(&reload->mutex);
	reload->pipeline = pipeline;
	reload->server = server;
	reload->is_ready = true;
	pthread_mutex_unlock(&reload->mutex);
}

/* One that is no longer stated falls back to what a start decides. */
static bool is_applied_now(const struct options *new, const struct option_spec *spec)
{
	return spec->is_live && options_origin(new, spec->name) != OPTION_FROM_NOWHERE;
}

static enum status apply(struct reload *reload, const struct options *new, const char *name, struct error *err)
{
	if (strcmp(name, "log-level") == 0)
		return reload_set_level(new, err);
	if (strcmp(name, "log-bytes") == 0)
		return pipeline_limit_space(reload->pipeline, (uint64_t)options_i64(new, name), err);
	/* these are set from all options that are new by then */
	http_server_set_rates(
		reload->server, (uint64_t)options_i64(new, "rate-requests"), (uint64_t)options_i64(new, "rate-bytes"));
	pipeline_set_limits(reload->pipeline, (uint64_t)options_i64(new, "audit-bytes"),
		(uint64_t)options_i64(new, "min-free-bytes"));
	return OK;
}

static bool comes_from_there(const struct options *old, const struct options *new, const char *name)
{
	return strcmp(options_origin_text(old, name), options_origin_text(new, name)) == 0;
}

static void name_waiting(struct json_writer *w, const char *name)
{
	json_text(w, name);
	log_line(LOG_WARNING, "option_waits_for_a_restart", "name=%s", name);
}

/* Of another file the option itself differs. */
static void write_waiting(const struct reload *reload, const struct options *new, struct json_writer *w)
{
	const char *files[DATA_FILES];
	size_t count = data_files_list_changed(reload->data, reload->options, files);

	json_key(w, "needs_restart");
	json_array(w);
	for (const struct option_spec *spec = options_table(new); spec->name; spec = option_next(spec))
		if (options_differ(reload->options, new, spec->name))
			name_waiting(w, spec->name);
	for (size_t i = 0; i < count; i++)
		if (!options_differ(reload->options, new, files[i]))
			name_waiting(w, files[i]);
	json_array_end(w);
}

static enum status take_over(struct reload *reload, const struct options *new, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	bool has_new_certificate;

	TRY(http_server_reread_certificate(reload->server, &has_new_certificate, err)); /* first: it may fail */
	json_object(&w);
	json_key(&w, "changed");
	json_array(&w);
	if (has_new_certificate) {
		json_text(&w, "tls-cert");
		log_line(LOG_INFO, "certificate_changed", "file=\"%s\"", options_text(reload->options, "tls-cert"));
	}
	for (const struct option_spec *spec = options_table(new); spec->name; spec = option_next(spec)) {
		bool is_changed = options_differ(reload->options, new, spec->name);
		if (!is_applied_now(new, spec))
			continue;
		if (is_changed)
			TRY(apply(reload, new, spec->name, err));
		if (is_changed || !comes_from_there(reload->options, new, spec->name))
			TRY(options_take(reload->options, new, spec->name, err));
		if (!is_changed)
			continue;
		json_text(&w, spec->name);
		log_line(LOG_INFO, "option_changed", "name=%s value=\"%s\"", spec->name, options_text(new, spec->name));
	}
	json_array_end(&w);
	write_waiting(reload, new, &w);
	json_object_end(&w);
	return buf_status(out, err);
}

enum status reload_run(struct reload *reload, struct buf *out, struct error *err)
{
	AUTO(options) new = NULL;
	enum log_level level;

	TRY(options_parse_again(&new, reload->options, err));
	TRY(find_level(new, &level, err));
	TRY(storage_check(new, err));
	pthread_mutex_lock(&reload->mutex);
	enum status status = reload->is_ready ? take_over(reload, new, out, err)
					      : error_set(err, ERR_UNAVAILABLE, "the server is starting");
	pthread_mutex_unlock(&reload->mutex);
	return status;
}
