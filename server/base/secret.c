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

/* Through the secrets of the URLs in a text: what stands between a scheme and its '@', and values of queries. */
struct url_walk {
	struct span text;
	size_t at; /* in a URL, behind what was looked at */
	size_t end; /* of this URL */
};

static size_t skip_until(struct span text, size_t from, size_t end, const char *marks)
{
	while (from < end && !strchr(marks, text.ptr[from]))
		from++;
	return from;
}

static struct span part_of(struct span text, size_t from, size_t end)
{
	return span_of(text.ptr + from, end - from);
}

/* Of user:password@host the password; of web addresses also a user alone, which is a token. */
static struct span secret_of_user(struct span scheme, struct span authority)
{
	size_t sign = authority.len;

	while (sign > 0 && authority.ptr[sign - 1] != '@')
		sign--;
	struct span user = span_of(authority.ptr, sign ? sign - 1 : 0);
	ptrdiff_t colon = span_find_char(user, ':');
	bool is_web = span_ends_with(scheme, SPAN("http")) || span_ends_with(scheme, SPAN("https"));
	return colon >= 0 ? span_skip(user, (size_t)colon + 1) : is_web ? user : SPAN("");
}

/* sig: of Azure's signed addresses; those of AWS and Google have X-…-Signature, and a credential. */
static bool is_query_secret(struct span name)
{
	char text[NAME_MAX_BYTES];
	struct span folded = fold(name, text);

	return secret_is_name(name) || span_equal(folded, SPAN("sig")) || span_ends_with(folded, SPAN("signature"));
}

/* name=value at w->at, behind one of the marks. */
static struct span secret_of_pair(struct url_walk *w)
{
	size_t name = skip_until(w->text, w->at, w->end, "?&#") + 1;

	if (name >= w->end) {
		w->at = w->end;
		return SPAN("");
	}
	size_t equals = skip_until(w->text, name, w->end, "=&#");
	w->at = skip_until(w->text, equals, w->end, "&#");
	if (equals >= w->at || !is_query_secret(part_of(w->text, name, equals)))
		return SPAN("");
	return part_of(w->text, equals + 1, w->at);
}

/* Of the URL whose "://" is at `at`: its scheme, and the mark between two of a list, are nothing of the URL before it. */
static size_t end_before(struct span text, size_t from, size_t at)
{
	while (at > from && (isalnum((unsigned char)text.ptr[at - 1]) || strchr("+.-", text.ptr[at - 1])))
		at--;
	return at > from && strchr(",;|", text.ptr[at - 1]) ? at - 1 : at;
}

static bool next_url(struct url_walk *w, struct span *secret)
{
	ptrdiff_t at = span_find(span_skip(w->text, w->end), SPAN("://"));

	if (at < 0)
		return false;
	struct span scheme = span_of(w->text.ptr, w->end + (size_t)at);
	size_t from = scheme.len + 3;
	w->end = skip_until(w->text, from, w->text.len, "\"'<> \t\r\n");
	ptrdiff_t inner = span_find(part_of(w->text, from, w->end), SPAN("://")); /* another URL in its query */
	w->end = inner < 0 ? w->end : end_before(w->text, from, from + (size_t)inner);
	w->at = skip_until(w->text, from, w->end, "/?#");
	*secret = secret_of_user(scheme, part_of(w->text, from, w->at));
	return true;
}

/* Empty: there is none left. */
static struct span next_in_urls(struct url_walk *w)
{
	struct span secret = {0};

	while (w->at < w->end || next_url(w, &secret)) {
		if (!secret.len)
			secret = secret_of_pair(w);
		if (secret.len && !secret_is_masked(secret))
			return secret;
		secret = SPAN("");
	}
	return SPAN("");
}

bool secret_is_in_url(struct span text)
{
	struct url_walk walk = {.text = text};

	return text.len && next_in_urls(&walk).len > 0;
}

void secret_mask_urls(struct span text, struct buf *out)
{
	struct url_walk walk = {.text = text};
	char masked[SECRET_MASK_BYTES];
	size_t done = 0;

	for (struct span found; text.len && (found = next_in_urls(&walk)).len;) {
		size_t at = (size_t)(found.ptr - text.ptr);
		secret_mask(found, masked);
		buf_append(out, text.ptr + done, at - done);
		buf_append_text(out, masked);
		done = at + found.len;
	}
	buf_append_span(out, span_skip(text, done));
}
