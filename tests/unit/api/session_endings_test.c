#include "api/core/session_endings.h"

#include "test.h"

#include <stdio.h>

static struct principal person(const char *name, const char *team)
{
	struct principal person = {.scope = SCOPE_READ};

	snprintf(person.name, sizeof person.name, "%s", name);
	snprintf(person.team, sizeof person.team, "%s", team);
	return person;
}

TEST(an_ending_is_of_one_person_and_of_who_began_before)
{
	struct session_endings endings = {0};
	const struct principal ann = person("oidc/a/ann", "ml"), anna = person("oidc/a/anna", "ml");

	session_endings_note(&endings, SPAN("oidc/a/ann"), SPAN(""));
	CHECK(session_endings_have(&endings, 0, &ann));
	CHECK(!session_endings_have(&endings, 0, &anna));
	CHECK(!session_endings_have(&endings, endings.count, &ann));
	session_endings_note(&endings, SPAN("oidc/a/ann"), SPAN("vision"));
	CHECK(!session_endings_have(&endings, 1, &ann)); /* of another team */
	session_endings_note(&endings, SPAN("oidc/a/ann"), SPAN("ml"));
	CHECK(session_endings_have(&endings, 1, &ann));
}

TEST(nobody_is_meant_by_no_name_or_one_too_long)
{
	struct session_endings endings = {0};
	char name[sizeof endings.kept[0].name + 1];

	memset(name, 'a', sizeof name);
	session_endings_note(&endings, SPAN(""), SPAN("ml"));
	session_endings_note(&endings, span_of(name, sizeof endings.kept[0].name), SPAN(""));
	CHECK(endings.count == 0);
	session_endings_note(&endings, span_of(name, sizeof endings.kept[0].name - 1), SPAN(""));
	CHECK(endings.count == 1);
}

/* Of so many each is told apart; of one more it is not known who was meant by the first. */
TEST(who_began_before_more_endings_than_are_kept_begins_again)
{
	struct session_endings endings = {0};
	const struct principal ann = person("oidc/a/ann", "");

	for (int i = 0; i < SESSION_ENDINGS_KEPT; i++)
		session_endings_note(&endings, SPAN("oidc/a/bob"), SPAN(""));
	CHECK(!session_endings_have(&endings, 0, &ann));
	session_endings_note(&endings, SPAN("oidc/a/bob"), SPAN(""));
	CHECK(session_endings_have(&endings, 0, &ann));
	CHECK(!session_endings_have(&endings, 1, &ann));
}
