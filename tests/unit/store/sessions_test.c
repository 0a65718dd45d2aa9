#include "harness.h"
#include "store/jobs.h"
#include "store/sessions.h"

TEST(a_run_keeps_its_name)
{
	struct harness h = harness_new();
	struct span name;

	harness_begin(&h);
	CHECK_OK(store_read_run_name(store_tx_reader(h.tx), h.arena, SPAN("j"), SPAN("a"), &name, &err));
	CHECK_INT(name.len, 0);
	CHECK_OK(store_put_run_name(h.tx, SPAN("j"), SPAN("a"), SPAN("j-2"), &err));
	CHECK_OK(store_put_run_name(h.tx, SPAN("j"), SPAN("b"), SPAN("j-3"), &err));
	harness_commit(&h);
	harness_reopen(&h);
	CHECK_OK(store_read_run_name(h.reader, h.arena, SPAN("j"), SPAN("a"), &name, &err));
	CHECK_SPAN(name, SPAN("j-2"));
	CHECK_OK(store_read_run_name(h.reader, h.arena, SPAN("j"), SPAN("b"), &name, &err));
	CHECK_SPAN(name, SPAN("j-3"));
	harness_done(&h);
}

TEST(the_names_of_a_deleted_job_go_with_it)
{
	struct harness h = harness_new();
	struct span name;

	harness_begin(&h);
	int64_t job = harness_job(&h, "j-2");
	CHECK_OK(store_put_run_name(h.tx, SPAN("j"), SPAN("a"), SPAN("j-2"), &err));
	CHECK_OK(store_put_run_name(h.tx, SPAN("j"), SPAN("b"), SPAN("j-3"), &err));
	CHECK_OK(store_delete_job(h.tx, job, &err));
	CHECK_OK(store_read_run_name(store_tx_reader(h.tx), h.arena, SPAN("j"), SPAN("a"), &name, &err));
	CHECK_INT(name.len, 0);
	CHECK_OK(store_read_run_name(store_tx_reader(h.tx), h.arena, SPAN("j"), SPAN("b"), &name, &err));
	CHECK_SPAN(name, SPAN("j-3"));
	harness_commit(&h);
	harness_done(&h);
}

TEST(sources_stand_where_they_were_put)
{
	struct harness h = harness_new();
	struct source_row row = {.job_id = 1, .stream_id = 2, .source = SPAN("a"), .next_byte = 77}, read = row;
	size_t count;
	bool is_known;

	harness_begin(&h);
	CHECK_OK(store_read_source(store_tx_reader(h.tx), &read, &is_known, &count, &err));
	CHECK(!is_known && read.next_byte == 0 && count == 0);
	CHECK_OK(store_put_source(h.tx, &row, &err));
	row.next_byte = 99;
	CHECK_OK(store_put_source(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_OK(store_read_source(h.reader, &read, &is_known, &count, &err));
	CHECK(is_known && read.next_byte == 99);
	read.source = SPAN("b");
	CHECK_OK(store_read_source(h.reader, &read, &is_known, &count, &err));
	CHECK(!is_known && count == 1);
	read.stream_id = 3;
	CHECK_OK(store_read_source(h.reader, &read, &is_known, &count, &err));
	CHECK(!is_known && count == 0);
	harness_done(&h);
}

TEST(exits_are_put_replaced_and_taken_away)
{
	struct harness h = harness_new();
	struct exit_row row = {.job_id = 1, .stream_id = 2, .code = 3, .reason = SPAN("exit code 3"), .at_ms = 5},
			*rows;
	size_t count;

	harness_begin(&h);
	CHECK_OK(store_put_exit(h.tx, &row, &err));
	row = (struct exit_row){.job_id = 1, .stream_id = 2, .signal = 9, .reason = SPAN("killed"), .at_ms = 6};
	CHECK_OK(store_put_exit(h.tx, &row, &err));
	row.stream_id = 1;
	CHECK_OK(store_put_exit(h.tx, &row, &err));
	harness_commit(&h);
	CHECK_OK(store_read_exits(h.reader, h.arena, 1, &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK(rows[0].stream_id == 1 && rows[1].stream_id == 2);
	CHECK(rows[1].code == 0 && rows[1].signal == 9 && rows[1].at_ms == 6);
	CHECK_SPAN(rows[1].reason, SPAN("killed"));
	harness_begin(&h);
	CHECK_OK(store_delete_exit(h.tx, 1, 2, &err));
	harness_commit(&h);
	CHECK_OK(store_read_exits(h.reader, h.arena, 1, &rows, &count, &err));
	CHECK_INT(count, 1);
	harness_done(&h);
}

TEST(commands_are_numbered_within_their_job_and_answered_once)
{
	struct harness h = harness_new();
	struct command_row row = {.job_id = 1, .command = SPAN("stop"), .stream = SPAN(""), .created_ms = 7}, *rows;
	struct command_ack_row ack = {.job_id = 1,
				       .command_id = 1,
				       .stream = SPAN("a"),
				       .delivered_ms = 8,
				       .acknowledged_ms = 9,
				       .result = SPAN("sent")},
			       *acks;
	size_t count;
	bool has_one;

	harness_begin(&h);
	CHECK_OK(store_add_command(h.tx, &row, &err));
	CHECK_INT(row.command_id, 1);
	row.stream = SPAN("b");
	CHECK_OK(store_add_command(h.tx, &row, &err));
	CHECK_INT(row.command_id, 2);
	row.job_id = 2;
	CHECK_OK(store_add_command(h.tx, &row, &err));
	CHECK_INT(row.command_id, 1);
	CHECK_OK(store_put_command_ack(h.tx, &ack, &err));
	ack.result = SPAN("again");
	CHECK_OK(store_put_command_ack(h.tx, &ack, &err));
	harness_commit(&h);
	CHECK_OK(store_read_commands(h.reader, h.arena, 1, &rows, &count, &err));
	CHECK_INT(count, 2);
	for (int64_t id = 0; id <= 3; id++) {
		CHECK_OK(store_has_command(h.reader, 1, id, &has_one, &err));
		CHECK(has_one == (id == 1 || id == 2));
	}
	CHECK_SPAN(rows[0].command, SPAN("stop"));
	CHECK_SPAN(rows[1].stream, SPAN("b"));
	CHECK_INT(rows[0].created_ms, 7);
	CHECK_OK(store_read_command_acks(h.reader, h.arena, 1, &acks, &count, &err));
	CHECK_INT(count, 1);
	CHECK_SPAN(acks[0].result, SPAN("sent"));
	CHECK(acks[0].delivered_ms == 8 && acks[0].acknowledged_ms == 9);
	harness_done(&h);
}
