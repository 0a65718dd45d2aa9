#include "base/secret.h"

#include "base/crypto.h"

#include <ctype.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = 256, TOKEN_MIN_BYTES = 16 };

/* Letters and digits alone, in lower case: "API-Key" and "api_key" read alike. */
static struct span fold(struct span name, char out[NAME_MAX_BYTES])
{
	size_t len = 0;

	for (size_t i = 0; i < name.len && len < NAME_MAX_BYTES; i++)
		if (isalnum((unsigned char)name.ptr[i]))
			out[len++] = (char)tolower((unsigned char)name.ptr[i]);
	return span_of(out, len);
}

bool secret_is_name(struct span name)
{
	static const char *const words[] = {
		"secret", "passw", "apikey", "accesskey", "privatekey", "credential", "token"};
	/* a quantity of tokens, or what is done with them: of a token that opens a door nobody says these */
	static const char *const settings[] = {"tokeniz", "tokens", "numtoken", "pertoken", "tokenid", "tokenlen",
		"tokensize", "tokenbudget", "tokencount", "tokenlimit", "tokendrop", "tokenrate", "tokenratio",
		"tokenweight", "tokenloss", "tokenembed", "tokendispatch", "tokenchoice", "tokenshift"};
	char text[NAME_MAX_BYTES];
	struct span folded = fold(name, text);
	size_t last = sizeof words / sizeof *words - 1;

	for (size_t i = 0; i < last; i++)
		if (span_find(folded, span_from(words[i])) >= 0)
			return true;
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (span_find(folded, span_from(settings[i])) >= 0)
			return false;
	return span_find(folded, span_from(words[last])) >= 0;
}

bool secret_is_value(struct span value)
{
	static const char *const shapes[] = {"hf_", "sk-", "ghp_", "github_pat_", "glpat-", "AKIA", "ASIA", "xoxb-",
		"xoxp-", "whsec_", "smf_", "smf-"};

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (value.len >= TOKEN_MIN_BYTES && span_starts_with(value, span_from(shapes[i])))
			return true;
	return false;
}

void secret_mask(struct span value, char out[SECRET_MASK_BYTES])
{
	unsigned char hash[SHA256_BYTES];
	char digits[2 * SHA256_BYTES + 1];

	crypto_sha256(value, hash);
	crypto_hex(hash, sizeof hash, digits);
	snprintf(out, SECRET_MASK_BYTES, "***%.4s", digits);
}

bool secret_is_masked(struct span value)
{
	if (value.len != SECRET_MASK_BYTES - 1 || !span_starts_with(value, SPAN("***")))
		return false;
	for (size_t i = 3; i < value.len; i++)
		if (span_hex_digit(value.ptr[i]) < 0)
			return false;
	return true;
}

/* The next secret at or behind `from`: what stands between a URL's scheme and its '@'; empty: there is none. */
static struct span next_in_url(struct span text, size_t from)
{
	for (ptrdiff_t at; (at = span_find(span_skip(text, from), SPAN("://"))) >= 0;) {
		struct span scheme = span_of(text.ptr, from + (size_t)at);
		from += (size_t)at + 3;
		size_t end = from, sign = 0;
		for (; end < text.len && !strchr("/?#\"'<> \t\r\n", text.ptr[end]); end++)
			sign = text.ptr[end] == '@' ? end : sign;
		struct span user = span_of(text.ptr + from, sign > from ? sign - from : 0);
		ptrdiff_t colon = span_find_char(user, ':');
		bool is_web = span_ends_with(scheme, SPAN("http")) || span_ends_with(scheme, SPAN("https"));
		struct span secret = colon >= 0 ? span_skip(user, (size_t)colon + 1) : is_web ? user : SPAN("");
		if (secret.len && !secret_is_masked(secret))
			return secret;
	}
	return span_of(NULL, 0);
}

bool secret_is_in_url(struct span text)
{
	return text.len && next_in_url(text, 0).len > 0;
}

void secret_mask_urls(struct span text, struct buf *out)
{
	char masked[SECRET_MASK_BYTES];
	size_t done = 0;

	for (struct span found; text.len && (found = next_in_url(text, done)).len;) {
		size_t at = (size_t)(found.ptr - text.ptr);
		secret_mask(found, masked);
		buf_append(out, text.ptr + done, at - done);
		buf_append_text(out, masked);
		done = at + found.len;
	}
	buf_append_span(out, span_skip(text, done));
}
