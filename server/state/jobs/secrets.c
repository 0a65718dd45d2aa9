#include "state/jobs/secrets.h"

#include "base/secret.h"

static enum status mask(const struct json *entry, struct error *err)
{
	char masked[SECRET_MASK_BYTES];

	secret_mask(json_string_of(entry), masked);
	return json_replace_string(entry, masked) ? OK : error_no_memory(err);
}

static bool is_secret(struct span name, const struct json *value)
{
	return value && json_kind(value) == JSON_STRING && !secret_is_masked(json_string_of(value)) &&
	       (secret_is_name(name) || secret_is_value(json_string_of(value)));
}

static enum status mask_tags(const struct json *tags, struct error *err)
{
	for (const struct json *tag = json_first(tags); tag; tag = json_next(tag)) {
		const struct json *value = json_get(tag, "Value");
		if (is_secret(json_string_of(json_get(tag, "Key")), value))
			TRY(mask(value, err));
	}
	return OK;
}

enum status secrets_mask(const struct json *document, struct error *err)
{
	static const char *const sections[] = {"Environment", "HyperParameters", "OtherHyperParameters"};

	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		const struct json *entry = json_first(json_get(document, sections[i]));
		for (; entry; entry = json_next(entry))
			if (is_secret(json_key_of(entry), entry))
				TRY(mask(entry, err));
	}
	TRY(mask_tags(json_get(document, "Tags"), err));
	return mask_tags(json_get(document, "OtherTags"), err);
}
