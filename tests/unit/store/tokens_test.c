#include "harness.h"
#include "store/tokens.h"

TEST(tokens_are_put_listed_and_deleted_by_name)
{
	struct harness h = harness_new();
	struct token_row row = {.name = SPAN("ci"),
		.hash = SPAN("0123456789abcdef0123456789abcd\0f"),
		.scope = SPAN("write"),
		.team = SPAN("nlp"),
		.created_ms = 9};
	struct token_row twin = row, *rows = NULL;
	size_t count = 0;

	harness_begin(&h);
	CHECK_OK(store_put_token(h.tx, &row, &err));
	CHECK_OK(store_tx_savepoint(h.tx, &err));
	CHECK_FAILS(store_put_token(h.tx, &twin, &err), ERR_CONFLICT, "a token 'ci' already");
	CHECK_INT(twin.token_id, 0);
	store_tx_undo(h.tx);
	row.scope = SPAN("admin");
	CHECK_OK(store_put_token(h.tx, &row, &err));
	harness_commit(&h);
	harness_reopen(&h);
	CHECK_OK(store_read_tokens(h.reader, h.arena, &rows, &count, &err));
	CHECK_INT(count, 1);
	CHECK_SPAN(rows[0].name, SPAN("ci"));
	CHECK_SPAN(rows[0].hash, row.hash);
	CHECK_SPAN(rows[0].scope, SPAN("admin"));
	CHECK_SPAN(rows[0].team, SPAN("nlp"));
	CHECK_INT(rows[0].created_ms, 9);
	harness_begin(&h);
	CHECK_OK(store_delete_token(h.tx, SPAN("ci"), &err));
	CHECK_FAILS(store_delete_token(h.tx, SPAN("ci"), &err), ERR_NOT_FOUND, "no token 'ci'");
	harness_commit(&h);
	harness_done(&h);
}

TEST(settings_hold_bytes)
{
	struct harness h = harness_new();
	struct span value = {0};

	harness_begin(&h);
	CHECK_OK(store_put_setting(h.tx, "k", SPAN("\0\xff"), &err));
	CHECK_OK(store_put_setting(h.tx, "k", SPAN("\0\xfe\0"), &err));
	CHECK_OK(store_put_setting(h.tx, "empty", SPAN(""), &err));
	harness_commit(&h);
	CHECK_OK(store_read_setting(h.reader, h.arena, "k", &value, &err));
	CHECK_SPAN(value, SPAN("\0\xfe\0"));
	CHECK_OK(store_read_setting(h.reader, h.arena, "none", &value, &err));
	CHECK_SPAN(value, SPAN(""));
	CHECK_OK(store_read_setting(h.reader, h.arena, "empty", &value, &err));
	CHECK_SPAN(value, SPAN(""));
	harness_done(&h);
}
