#include "test.h"

#include <stdio.h>

TEST(error_holds_status_and_text)
{
	struct error err = {.line = 7, .field = "old"};

	CHECK_INT(error_set(&err, ERR_IO, "cannot open '%s'", "a.db"), ERR_IO);
	CHECK_INT(err.status, ERR_IO);
	CHECK_INT(err.line, 0);
	CHECK_TEXT(err.field, "");
	CHECK_TEXT(err.text, "cannot open 'a.db'");
	CHECK_INT(error_set_field(&err, ERR_SEMANTIC, "limit", "%d is too many", 9), ERR_SEMANTIC);
	CHECK_TEXT(err.field, "limit");
	CHECK_TEXT(err.text, "9 is too many");
}

TEST(error_may_be_null)
{
	CHECK_INT(error_set(NULL, ERR_BUSY, "x"), ERR_BUSY);
	error_prefix(NULL, "x");
}

TEST(error_can_quote_the_one_it_replaces)
{
	struct error err;

	error_set(&err, ERR_IO, "disk full");
	error_set(&err, ERR_UNAVAILABLE, "cannot append: %s", err.text);
	CHECK_TEXT(err.text, "cannot append: disk full");
}

TEST(error_prefix_goes_first)
{
	struct error err;

	error_set_field(&err, ERR_INVALID, "name", "too long");
	error_prefix(&err, "file %d", 3);
	CHECK_TEXT(err.text, "file 3: too long");
	CHECK_TEXT(err.field, "name");
	CHECK_INT(err.status, ERR_INVALID);
}

TEST(error_long_texts_are_cut)
{
	char text[2000];
	struct error err;

	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = 0;
	error_set_field(&err, ERR_INVALID, text, "%s", text);
	CHECK_INT(strlen(err.text), sizeof err.text - 1);
	CHECK_INT(strlen(err.field), sizeof err.field - 1);
	for (int len = 500; len < 520; len++) {
		error_set(&err, ERR_INVALID, "cause");
		error_prefix(&err, "%.*s", len, text);
		CHECK(strlen(err.text) < sizeof err.text);
		CHECK_INT(strspn(err.text, "a"), len < 511 ? len : 511);
	}
}

TEST(error_every_status_has_a_name)
{
	for (int status = 0; status < STATUS_COUNT; status++)
		CHECK(span_find(span_from(status_name((enum status)status)), SPAN("unknown")) < 0);
	CHECK_TEXT(status_name(ERR_NOT_FOUND), "not_found");
	CHECK_TEXT(status_name(STATUS_COUNT), "unknown");
}
