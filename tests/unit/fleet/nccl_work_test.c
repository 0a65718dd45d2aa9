#include "fleet/nccl_work.h"
#include "test.h"

/* As PyTorch 2.7, 2.5 and 2.3 print it: ProcessGroupNCCL.cpp. */
TEST(how_far_a_rank_had_come)
{
	struct nccl_work got;

	CHECK(nccl_work_read(
		SPAN("[rank12]:[E1218 20:27:21.484903450 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 3(dp) Rank 1]  failure "
		     "detected by watchdog at work sequence id: 548 PG status: last enqueued work: 548, last completed work: 547"),
		&got));
	CHECK(got.rank == 12 && got.completed == 547 && span_equal(got.group, SPAN("3(dp)")));
	CHECK(nccl_work_read(
		SPAN("[PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 7753, last enqueued NCCL "
		     "work: 7755, last completed NCCL work: 7752."),
		&got));
	CHECK(got.rank == 0 && got.completed == 7752 && span_equal(got.group, SPAN("1")));
	CHECK(nccl_work_read(SPAN("[rank1]:[E1] [PG ID 1 PG GUID 1 Rank 1] last completed work: -1"), &got) &&
		got.completed == -1);
}

TEST(other_lines_say_nothing_of_it)
{
	static const char *const lines[] = {"", "last completed NCCL work: 7",
		"[PG 1 Rank 0] last completed NCCL work: ", "[PG 1 Rank x] last completed NCCL work: 7",
		"[PG 1 Rank -1] last completed NCCL work: 7", "[PG 1 Rank 0] last completed NCCL work: -2",
		"[PG 1 Rank 0] last completed NCCL work: 99999999999999999999",
		"[rank3]: [PG ID 0 PG GUID 0 Rank 3] Process group watchdog thread terminated with exception"};
	struct nccl_work got;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (nccl_work_read(span_from(lines[i]), &got))
			test_fail(__FILE__, __LINE__, "'%s' is one", lines[i]);
}

struct row {
	const char *group;
	int rank, completed;
	const char *place;
};

/* at of what is found; -1: nobody. */
static int find(const struct row *rows, size_t count, struct nccl_behind *out)
{
	struct nccl_rank ranks[16];

	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct nccl_rank){
			{span_from(rows[i].group), rows[i].rank, rows[i].completed}, span_from(rows[i].place)};
	return nccl_work_find_behind(ranks, count, out) ? (int)out->at : -1;
}

#define FIND(...)                                                                                                      \
	find((const struct row[]){__VA_ARGS__}, sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row), &got)

TEST(who_stopped_first)
{
	struct nccl_behind got;

	CHECK_INT(FIND({"0", 0, 122, "a"}, {"0", 1, 121, "b"}, {"0", 2, 124, "c"}), 1);
	CHECK(got.ranks == 1 && got.others == 2 && got.completed == 121 && got.others_least == 122 &&
		got.others_most == 124);
	CHECK_INT(FIND({"0", 0, 121, "a"}, {"0", 1, 121, "a"}, {"0", 2, 122, "b"}), 0);
	CHECK(got.ranks == 2 && got.others == 1);
	CHECK_INT(FIND({"0", 0, 122, "a"}, {"0", 1, 122, "b"}), -1);
	CHECK_INT(FIND({"0", 0, 121, "a"}, {"0", 1, 121, "b"}, {"0", 2, 122, "c"}), -1);
	CHECK_INT(FIND({"0", 0, 122, "a"}), -1);
	/* a rank's last line counts */
	CHECK_INT(FIND({"0", 0, 120, "a"}, {"0", 1, 121, "b"}, {"0", 0, 122, "a"}), 1);
}

TEST(groups_count_by_themselves)
{
	struct nccl_behind got;

	CHECK_INT(FIND({"1", 0, 3, "a"}, {"0", 0, 122, "a"}, {"0", 1, 122, "b"}), -1);
	CHECK_INT(FIND({"1", 0, 3, "a"}, {"1", 1, 4, "b"}, {"0", 0, 121, "a"}, {"0", 1, 122, "b"}, {"0", 2, 122, "c"}),
		2);
	CHECK(got.others == 2);
	CHECK_INT(FIND({"1", 0, 3, "a"}, {"1", 1, 4, "b"}, {"0", 0, 122, "a"}, {"0", 1, 121, "b"}), -1);
}
