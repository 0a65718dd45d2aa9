#include "api/core/persons.h"

#include "base/crypto.h"
#include "people/people.h"

#include <stdio.h>

enum { GROUPS_MAX = 1000 };

/* Rate limits go by it. Of tokens, numbers begin at 1 and never come so far. */
static uint64_t number_of(const char *name)
{
	unsigned char hash[SHA256_BYTES];
	uint64_t number;

	crypto_sha256(span_from(name), hash);
	memcpy(&number, hash, sizeof number);
	return number | 1ULL << 63;
}

static size_t split_groups(struct span list, struct span out[GROUPS_MAX])
{
	struct span part;
	size_t count = 0;

	while (count < GROUPS_MAX && span_next(&list, ',', &part))
		if ((part = span_trim(part)).len)
			out[count++] = part;
	return count;
}

enum status persons_fill(struct principal *out, struct span name, const struct grant *grant, struct error *err)
{
	*out = (struct principal){.is_person = true, .scope = grant->scope};
	if (name.len >= sizeof out->name)
		return error_set(err, ERR_FORBIDDEN,
			"the name of whoever is signed in is longer than %zu bytes: '%.*s'", sizeof out->name - 1,
			SPAN_ARGS(span_cut(name, sizeof out->name)));
	snprintf(out->name, sizeof out->name, "%.*s", SPAN_ARGS(name));
	snprintf(out->team, sizeof out->team, "%.*s", SPAN_ARGS(grant->team));
	out->id = number_of(out->name);
	return OK;
}

enum status persons_authenticate(
	void *context, struct span name, struct span groups, struct principal *out, struct error *err)
{
	const struct api *api = context;
	struct span parts[GROUPS_MAX];
	struct person person = {.name = name, .groups = parts, .group_count = split_groups(groups, parts)};
	AUTO_DONE(buf) full = BUF_INIT(sizeof PEOPLE_PROXY + name.len);
	struct grant grant;

	TRY(grants_find(people_of_proxy(api->options.people), &person, &grant, err));
	buf_printf(&full, PEOPLE_PROXY "%.*s", SPAN_ARGS(name));
	TRY(buf_status(&full, err));
	return persons_fill(out, buf_span(&full), &grant, err);
}
