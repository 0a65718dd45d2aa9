#include "people/people.h"

#include "base/text_file.h"

enum { FILE_BYTES = 1 << 20 };

struct people {
	struct grants *of_proxy;
};

void people_free(struct people *people)
{
	if (!people)
		return;
	grants_free(people->of_proxy);
	mem_free(people);
}

const struct grants *people_of_proxy(const struct people *people)
{
	return people->of_proxy;
}

bool people_owns_name(const struct people *people, struct span name)
{
	return people && people->of_proxy && span_starts_with(name, SPAN(PEOPLE_PROXY));
}

static enum status take(struct people *people, const struct json *file, struct error *err)
{
	const struct json *proxy = json_get(file, "proxy");

	if (json_kind(file) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "sign-in", "--sign-in: the file is no JSON object");
	for (const struct json *one = json_first(file); one; one = json_next(one))
		if (!span_equal(json_key_of(one), SPAN("proxy")))
			return error_set_field(err, ERR_SEMANTIC, "sign-in",
				"--sign-in: '%.*s' is not known; the file has proxy", SPAN_ARGS(json_key_of(one)));
	return proxy ? grants_new(&people->of_proxy, json_get(proxy, "rules"), "proxy", err) : OK;
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
