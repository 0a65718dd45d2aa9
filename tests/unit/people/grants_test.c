#include "people/grants.h"

#include "test.h"

static const char rules[] =
	"[{\"group\":\"a\",\"scope\":\"admin\"},{\"group\":\"b\",\"scope\":\"write\",\"team\":\"t\"},"
	"{\"person\":\"p\",\"scope\":\"read\"}]";

static struct grants *grants_of(const char *text)
{
	AUTO(json) list = NULL;
	struct grants *grants = NULL;

	CHECK_OK(json_parse(&list, span_from(text), NULL));
	CHECK_OK(grants_new(&grants, list, "here", NULL));
	return grants;
}

TEST(the_first_rule_that_fits_counts)
{
	AUTO(grants) grants = grants_of(rules);
	const struct span both[] = {SPAN("b"), SPAN("a")}, one[] = {SPAN("x"), SPAN("b")};
	struct grant grant;

	CHECK_OK(grants_find(grants, &(struct person){SPAN("p"), both, 2}, &grant, NULL));
	CHECK(grant.scope == SCOPE_ADMIN && !grant.team.len);
	CHECK_OK(grants_find(grants, &(struct person){SPAN("q"), one, 2}, &grant, NULL));
	CHECK(grant.scope == SCOPE_WRITE && span_equal(grant.team, SPAN("t")));
	CHECK_OK(grants_find(grants, &(struct person){SPAN("p"), NULL, 0}, &grant, NULL));
	CHECK(grant.scope == SCOPE_READ);
}

TEST(who_fits_no_rule_is_told_the_groups)
{
	AUTO(grants) grants = grants_of(rules);
	const struct span groups[] = {SPAN("A"), SPAN("p")};
	struct grant grant;
	struct error err;

	CHECK(grants_find(grants, &(struct person){SPAN("q"), groups, 2}, &grant, &err) == ERR_FORBIDDEN);
	CHECK(strstr(err.text, "q ") && strstr(err.text, "A, p"));
	CHECK(grants_find(grants, &(struct person){SPAN("a"), NULL, 0}, &grant, &err) == ERR_FORBIDDEN);
	CHECK(strstr(err.text, "no groups"));
	CHECK(grants_find(NULL, &(struct person){SPAN("p"), NULL, 0}, &grant, &err) == ERR_FORBIDDEN);
}

TEST(everybody_is_said_in_so_many_words)
{
	AUTO(grants) grants = grants_of("[{\"everybody\":true,\"scope\":\"read\"}]");
	struct grant grant;

	CHECK_OK(grants_find(grants, &(struct person){SPAN("q"), NULL, 0}, &grant, NULL));
	CHECK(grant.scope == SCOPE_READ);
}

/* A provider may know somebody in thousands of them, and the one that counts may be the last. */
TEST(of_many_groups_each_counts)
{
	AUTO(grants) grants = grants_of(rules);
	AUTO_DONE(buf) groups = BUF_INIT(1 << 20);
	struct grant grant;

	for (int i = 0; i < 3000; i++)
		buf_printf(&groups, "%s\"x%d\"", i ? "," : "[", i);
	buf_append_text(&groups, ",\"a\"]");
	CHECK_OK(grants_find_listed(grants, SPAN("q"), buf_span(&groups), &grant, NULL));
	CHECK(grant.scope == SCOPE_ADMIN);
}
