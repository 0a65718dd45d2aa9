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

/* Of one seed, so that who shares a place with whom is always the same. */
static struct session_endings *endings_new(void)
{
	struct session_endings *endings = mem_zeroed(sizeof *endings);

	CHECK(endings != NULL);
	return endings;
}

TEST(an_ending_is_of_one_person_and_of_who_began_before)
{
	AUTO_MEM struct session_endings *endings = endings_new();
	const struct principal ann = person("oidc/a/ann", "ml"), anna = person("oidc/a/anna", "ml");

	session_endings_note(endings, SPAN("oidc/a/ann"), SPAN(""));
	CHECK(session_endings_have(endings, 0, &ann));
	CHECK(!session_endings_have(endings, 0, &anna));
	CHECK(!session_endings_have(endings, endings->count, &ann));
	session_endings_note(endings, SPAN("oidc/a/ann"), SPAN("vision"));
	CHECK(!session_endings_have(endings, 1, &ann)); /* of another team */
	session_endings_note(endings, SPAN("oidc/a/ann"), SPAN("ml"));
	CHECK(session_endings_have(endings, 1, &ann));
	session_endings_note(endings, SPAN("oidc/a/ann"), SPAN("vision"));
	CHECK(session_endings_have(endings, 1, &ann)); /* one after it takes nothing back */
}

TEST(nobody_is_meant_by_no_name_or_one_too_long)
{
	AUTO_MEM struct session_endings *endings = endings_new();
	struct principal as;
	char name[sizeof as.name + 1], team[sizeof as.team];

	memset(name, 'a', sizeof name);
	memset(team, 'a', sizeof team);
	session_endings_note(endings, SPAN(""), SPAN("ml"));
	session_endings_note(endings, span_of(name, sizeof as.name), SPAN(""));
	session_endings_note(endings, SPAN("oidc/a/ann"), span_of(team, sizeof team));
	CHECK(endings->count == 0);
	session_endings_note(endings, span_of(name, sizeof as.name - 1), span_of(team, sizeof team - 1));
	CHECK(endings->count == 1);
}

/* Nor does one who ends what nobody has, as a team's administrator may, end the sign-ins of others. */
TEST(many_endings_of_others_keep_nobody_out)
{
	AUTO_MEM struct session_endings *endings = endings_new();
	const struct principal ann = person("oidc/a/ann", ""), bob = person("oidc/a/bob", "vision");
	char name[64];

	session_endings_note(endings, SPAN("oidc/a/ann"), SPAN(""));
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "oidc/a/nobody-%d", i);
		session_endings_note(endings, span_from(name), SPAN("vision"));
	}
	CHECK(!session_endings_have(endings, 1, &ann));
	CHECK(!session_endings_have(endings, 0, &bob));
	CHECK(session_endings_have(endings, 0, &ann)); /* and what is long ago is not forgotten */
}
