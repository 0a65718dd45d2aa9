#include "people/provider_settings.h"

#include "base/text_file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS "name label issuer client_id client_secret_file scopes person_claim groups_claim ca_file rules"

enum { NAME_BYTES = 20, LABEL_BYTES = 60, URL_BYTES = 500, TEXT_BYTES = 500, SECRET_BYTES = 4096, WHERE_BYTES = 64 };

void provider_settings_free(struct provider_settings *settings)
{
	if (!settings)
		return;
	grants_free(settings->grants);
	arena_free(settings->arena);
	mem_free(settings);
}

/* "http://127.0.0.1:8080/x": "127.0.0.1"; "[::1]" has colons inside. */
static struct span host_of(struct span rest)
{
	size_t len = span_starts_with(rest, SPAN("[")) ? (size_t)(span_find_char(rest, ']') + 1) : 0;

	while (len < rest.len && !strchr(":/?#", rest.ptr[len]))
		len++;
	return span_of(rest.ptr, len);
}

static bool is_loopback(struct span host)
{
	bool is_number = span_starts_with(host, SPAN("127."));

	for (size_t i = 0; i < host.len && is_number; i++)
		is_number = isdigit((unsigned char)host.ptr[i]) || host.ptr[i] == '.';
	return is_number || span_equal(host, SPAN("localhost")) || span_equal(host, SPAN("[::1]"));
}

bool provider_is_safe_url(struct span url)
{
	struct span rest = url;
	bool is_tls = span_take(&rest, SPAN("https://"));

	if ((!is_tls && !span_take(&rest, SPAN("http://"))) || url.len > URL_BYTES)
		return false;
	for (size_t i = 0; i < url.len;
		i++) /* a name before @ is no host, and what libcurl takes for a host has to be what this does */
		if (url.ptr[i] <= ' ' || url.ptr[i] >= 0x7f || strchr("@\\#\"<>", url.ptr[i]))
			return false;
	struct span host = host_of(rest);
	return host.len && (is_tls || is_loopback(host));
}

static enum status refuse(struct error *err, const char *where, const char *what)
{
	return error_set_field(err, ERR_SEMANTIC, "sign-in", "--sign-in: %s: %s", where, what);
}

/* *out stays as it is when it is not there. */
static enum status want(struct provider_settings *settings, const struct json *from, const char *where,
	const char *name, size_t most, const char **out, struct error *err)
{
	const struct json *value = json_get(from, name);
	struct span text = json_string_of(value);

	if (!value)
		return OK;
	if (json_kind(value) != JSON_STRING || !text.len || text.len > most || !span_is_utf8(text))
		return error_set_field(err, ERR_SEMANTIC, "sign-in",
			"--sign-in: %s: \"%s\" is no text of 1 to %zu bytes", where, name, most);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ')
			return error_set_field(err, ERR_SEMANTIC, "sign-in",
				"--sign-in: %s: \"%s\" holds a control character", where, name);
	char *copy = arena_alloc(settings->arena, text.len + 1);
	if (!copy)
		return error_no_memory(err);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	*out = copy;
	return OK;
}

static bool is_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '-')
			return false;
	return true;
}

static enum status read_secret(
	struct provider_settings *settings, const char *path, const char *where, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SECRET_BYTES);

	if (!path)
		return OK;
	if (text_file_read_secret(path, "sign-in", &text, err) != OK) {
		error_prefix(err, "--sign-in: %s", where);
		return ERR_SEMANTIC;
	}
	struct span secret = span_trim(buf_span(&text));
	if (!secret.len)
		return refuse(err, where, "the file of \"client_secret_file\" is empty");
	settings->secret = arena_copy(settings->arena, secret);
	return settings->secret.ptr ? OK : error_no_memory(err);
}

static bool has_scope(struct span scopes, struct span wanted)
{
	struct span scope;

	while (span_next(&scopes, ' ', &scope))
		if (span_equal(scope, wanted))
			return true;
	return false;
}

static enum status check(
	const struct provider_settings *settings, const char *client_id, const char *where, struct error *err)
{
	if (!settings->name || !is_name(settings->name))
		return refuse(err, where, "\"name\" is needed, of letters, digits and -");
	if (!settings->issuer || !provider_is_safe_url(span_from(settings->issuer)) || strchr(settings->issuer, '?'))
		return refuse(err, where,
			"\"issuer\" is needed: an https address without ? and #, or an http one of this very machine");
	if (!client_id)
		return refuse(err, where, "\"client_id\" is needed");
	if (!has_scope(settings->scopes, SPAN("openid")))
		return refuse(err, where, "\"scopes\" has to hold openid, as \"openid email profile\"");
	return OK;
}

static enum status read_texts(
	struct provider_settings *settings, const struct json *from, const char *where, struct error *err)
{
	const char *client_id = NULL, *scopes = "openid email profile", *secret_file = NULL;

	settings->person_claim = "email";
	settings->groups_claim = "groups";
	TRY(want(settings, from, where, "name", NAME_BYTES, &settings->name, err));
	settings->label = settings->name;
	TRY(want(settings, from, where, "label", LABEL_BYTES, &settings->label, err));
	TRY(want(settings, from, where, "issuer", URL_BYTES, &settings->issuer, err));
	TRY(want(settings, from, where, "client_id", TEXT_BYTES, &client_id, err));
	TRY(want(settings, from, where, "client_secret_file", TEXT_BYTES, &secret_file, err));
	TRY(want(settings, from, where, "scopes", TEXT_BYTES, &scopes, err));
	TRY(want(settings, from, where, "person_claim", TEXT_BYTES, &settings->person_claim, err));
	TRY(want(settings, from, where, "groups_claim", TEXT_BYTES, &settings->groups_claim, err));
	TRY(want(settings, from, where, "ca_file", TEXT_BYTES, &settings->ca_file, err));
	settings->client_id = span_from(client_id);
	settings->scopes = span_from(scopes);
	TRY(check(settings, client_id, where, err));
	return read_secret(settings, secret_file, where, err);
}

enum status provider_settings_read(struct provider_settings **out, const struct json *from, size_t i, struct error *err)
{
	AUTO(provider_settings) settings = mem_zeroed(sizeof *settings);
	const struct json *other = json_find_other(from, MEMBERS);
	char where[WHERE_BYTES];

	if (!settings || !(settings->arena = arena_new()))
		return error_no_memory(err);
	snprintf(where, sizeof where, "provider %zu", i + 1);
	if (json_kind(from) != JSON_OBJECT)
		return refuse(err, where, "it is no object");
	if (other)
		return error_set_field(err, ERR_SEMANTIC, "sign-in",
			"--sign-in: %s: '%.*s' is not known; there are: %s", where,
			SPAN_ARGS(span_cut(json_key_of(other), 40)), MEMBERS);
	settings->secret = SPAN("");
	TRY(read_texts(settings, from, where, err));
	snprintf(where, sizeof where, "provider %s", settings->name);
	TRY(grants_new(&settings->grants, json_get(from, "rules"), where, err));
	*out = TAKE(settings);
	return OK;
}
