#include "api/core/session_endings.h"

#include <string.h>

/* False: nobody is called so. */
static bool find_place(const struct session_endings *endings, struct span name, struct span team, size_t *place)
{
	struct principal as;
	char text[sizeof as.name + sizeof as.team];
	unsigned char hash[SHA256_BYTES];
	uint64_t number;

	if (!name.len || name.len >= sizeof as.name || team.len >= sizeof as.team)
		return false;
	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0'; /* which no name holds */
	memcpy(text + name.len + 1, team.ptr, team.len);
	crypto_hmac_sha256(span_of((const char *)endings->seed, sizeof endings->seed),
		span_of(text, name.len + 1 + team.len), hash);
	memcpy(&number, hash, sizeof number);
	*place = number % SESSION_ENDINGS_PLACES;
	return true;
}

void session_endings_note(struct session_endings *endings, struct span name, struct span team)
{
	size_t place;

	if (find_place(endings, name, team, &place))
		endings->newest[place] = ++endings->count;
}

bool session_ending_means(struct span name, struct span team, const struct principal *person)
{
	return span_equal(span_from(person->name), name) && (!team.len || span_equal(span_from(person->team), team));
}

static bool has_after(const struct session_endings *endings, uint64_t since, struct span name, struct span team)
{
	size_t place;

	return find_place(endings, name, team, &place) && endings->newest[place] > since;
}

bool session_endings_have(const struct session_endings *endings, uint64_t since, const struct principal *person)
{
	struct span name = span_from(person->name);

	return has_after(endings, since, name, SPAN("")) || has_after(endings, since, name, span_from(person->team));
}
