#include "people/people.h"

#include "base/text_file.h"
#include "model/json_form.h"

enum { FILE_BYTES = 1 << 20, PROVIDERS_MAX = 16 };

struct people {
	struct grants *of_proxy;
	size_t provider_count;
	struct provider_settings *providers[PROVIDERS_MAX];
};

void people_free(struct people *people)
{
	if (!people)
		return;
	grants_free(people->of_proxy);
	for (size_t i = 0; i < people->provider_count; i++)
		provider_settings_free(people->providers[i]);
	mem_free(people);
}

const struct grants *people_of_proxy(const struct people *people)
{
	return people->of_proxy;
}

const struct provider_settings *people_provider(const struct people *people, size_t i)
{
	return people && i < people->provider_count ? people->providers[i] : NULL;
}

bool people_owns_name(struct span name)
{
	return span_starts_with(name, SPAN(PEOPLE_PROXY)) || span_starts_with(name, SPAN(PEOPLE_OIDC));
}

static enum status refuse_other(const struct json *object, const char *names, const char *what, struct error *err)
{
	const struct json *other = json_find_other(object, names);

	return other ? error_set_field(err, ERR_SEMANTIC, "sign-in", "--sign-in: '%.*s' is not known; %s has: %s",
			       SPAN_ARGS(span_cut(json_key_of(other), 40)), what, names)
		     : OK;
}

static bool has_provider(const struct people *people, const char *name)
{
	for (size_t i = 0; i < people->provider_count; i++)
		if (strcmp(people->providers[i]->name, name) == 0)
			return true;
	return false;
}

static enum status take_providers(struct people *people, const struct json *list, struct error *err)
{
	if (!list)
		return OK;
	if (json_kind(list) != JSON_ARRAY || json_count(list) > PROVIDERS_MAX)
		return error_set_field(err, ERR_SEMANTIC, "sign-in",
			"--sign-in: \"providers\" is no array of at most %d objects", PROVIDERS_MAX);
	for (const struct json *one = json_first(list); one; one = json_next(one)) {
		AUTO(provider_settings) settings = NULL;
		TRY(provider_settings_read(&settings, one, people->provider_count, err));
		if (has_provider(people, settings->name))
			return error_set_field(
				err, ERR_SEMANTIC, "sign-in", "--sign-in: two providers are called %s", settings->name);
		people->providers[people->provider_count++] = TAKE(settings);
	}
	return OK;
}

static enum status take(struct people *people, const struct json *file, struct error *err)
{
	const struct json *proxy = json_get(file, "proxy");

	if (json_kind(file) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "sign-in", "--sign-in: the file is no JSON object");
	TRY(json_check_form(file, err));
	TRY(refuse_other(file, "proxy providers", "the file", err));
	TRY(refuse_other(proxy, "rules", "proxy", err));
	if (proxy)
		TRY(grants_new(&people->of_proxy, json_get(proxy, "rules"), "proxy", err));
	return take_providers(people, json_get(file, "providers"), err);
}

enum status people_read(struct people **out, const char *path, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FILE_BYTES);
	AUTO(people) people = mem_zeroed(sizeof *people);
	AUTO(json) file = NULL;

	if (!people)
		return error_no_memory(err);
	if (path) {
		TRY(text_file_read(path, "sign-in", &text, err));
		if (json_parse(&file, buf_span(&text), err) != OK) {
			error_prefix(err, "--sign-in %s", path);
			return ERR_SEMANTIC;
		}
		TRY(take(people, file, err));
	}
	*out = TAKE(people);
	return OK;
}
