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

enum { TEXT_MAX_BYTES = 16 << 20 };

/* Addresses of inputs, outputs and images, settings: wherever a text is. The depth is the parser's. */
static enum status mask_urls(const struct json *node, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES);

	for (const struct json *at = json_first(node); at; at = json_next(at))
		TRY(mask_urls(at, err));
	if (json_kind(node) != JSON_STRING || !secret_is_in_url(json_string_of(node)))
		return OK;
	secret_mask_urls(json_string_of(node), &text);
	buf_append_char(&text, 0);
	TRY(buf_status(&text, err));
	return json_replace_string(node, text.ptr) ? OK : error_no_memory(err);
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

static enum status mask_settings(const struct json *settings, struct error *err)
{
	for (const struct json *entry = json_first(settings); entry; entry = json_next(entry))
		if (is_secret(json_key_of(entry), entry))
			TRY(mask(entry, err));
	return OK;
}

enum status secrets_mask_settings(const struct json *settings, struct error *err)
{
	TRY(mask_settings(settings, err));
	return mask_urls(settings, err);
}

enum status secrets_mask(const struct json *document, struct error *err)
{
	static const char *const sections[] = {"Environment", "HyperParameters", "OtherHyperParameters"};

	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		TRY(mask_settings(json_get(document, sections[i]), err));
	TRY(mask_settings(json_get_path(document, "by_hand.settings"), err));
	TRY(mask_tags(json_get(document, "Tags"), err));
	TRY(mask_tags(json_get(document, "OtherTags"), err));
	return mask_urls(document, err);
}
