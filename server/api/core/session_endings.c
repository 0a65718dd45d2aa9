#include "api/core/session_endings.h"

#include <string.h>

void session_endings_note(struct session_endings *endings, struct span name, struct span team)
{
	struct session_ending *ending = &endings->kept[endings->count % SESSION_ENDINGS_KEPT];

	if (!name.len || name.len >= sizeof ending->name || team.len >= sizeof ending->team)
		return; /* nobody is called so */
	*ending = (struct session_ending){0};
	memcpy(ending->name, name.ptr, name.len);
	memcpy(ending->team, team.ptr, team.len);
	endings->count++;
}

bool session_ending_means(struct span name, struct span team, const struct principal *person)
{
	return span_equal(span_from(person->name), name) && (!team.len || span_equal(span_from(person->team), team));
}

bool session_endings_have(const struct session_endings *endings, uint64_t since, const struct principal *person)
{
	bool have = endings->count - since > SESSION_ENDINGS_KEPT;

	for (uint64_t i = since; i < endings->count && !have; i++) {
		const struct session_ending *ending = &endings->kept[i % SESSION_ENDINGS_KEPT];
		have = session_ending_means(span_from(ending->name), span_from(ending->team), person);
	}
	return have;
}
