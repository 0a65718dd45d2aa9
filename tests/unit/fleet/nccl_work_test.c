#include "fleet/nccl_work.h"
#include "test.h"

#include <stdio.h>

/* As PyTorch 2.7, 2.5 and 2.3 print it: ProcessGroupNCCL.cpp. */
TEST(how_far_a_rank_had_come)
{
	struct nccl_work got;

	CHECK(nccl_work_read(
		SPAN("[rank12]:[E1218 20:27:21.484903450 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 3(dp) Rank 1]  failure "
		     "detected by watchdog at work sequence id: 548 PG status: last enqueued work: 548, last completed work: 547"),
		&got));
	CHECK(got.rank == 12 && got.completed == 547 && !got.is_default);
	CHECK(nccl_work_read(
		SPAN("[PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 7753, last enqueued NCCL "
		     "work: 7755, last completed NCCL work: 7752."),
		&got));
	CHECK(got.rank == 0 && got.completed == 7752 && !got.is_default);
	CHECK(nccl_work_read(SPAN("[rank1]:[E1] [PG ID 1 PG GUID 1 Rank 1] last completed work: -1"), &got) &&
		got.completed == -1);
}

TEST(the_default_group_alone_is_the_same_everywhere)
{
	static const struct {
		const char *group;
		bool is_default;
	} cases[] = {{"ID 0 PG GUID 0(default_pg)", true}, {"ID 0 PG GUID 0", true}, {"0", true},
		{"0 (default_pg)", true}, {"ID 0 PG GUID 3(dp)", false}, {"ID 1 PG GUID 0(default_pg)", false},
		{"1", false}};
	char line[128];
	struct nccl_work got;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(line, sizeof line, "[rank4]: [PG %s Rank 4] last completed NCCL work: 7", cases[i].group);
		if (!nccl_work_read(span_from(line), &got) || got.is_default != cases[i].is_default)
			test_fail(__FILE__, __LINE__, "'%s'", cases[i].group);
	}
	/* made before the default one: of a part of the ranks */
	CHECK(nccl_work_read(SPAN("[rank4]: [PG 0 Rank 0] last completed NCCL work: 7"), &got) && !got.is_default);
}

TEST(sends_and_receives_are_no_collectives)
{
	bool is_told;

	CHECK(nccl_work_is_collective(SPAN("WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1"), &is_told) && is_told);
	CHECK(!nccl_work_is_collective(SPAN("WorkNCCL(SeqNum=1, OpType=SEND, NumelIn=1"), &is_told) && is_told);
	CHECK(!nccl_work_is_collective(SPAN("WorkNCCL(SeqNum=1, OpType=RECVANYSOURCE"), &is_told) && is_told);
	CHECK(!nccl_work_is_collective(SPAN("WorkNCCL(SeqNum=1, OpType=COALESCED"), &is_told) && is_told);
	CHECK(!nccl_work_is_collective(SPAN("it is over"), &is_told) && !is_told);
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
	int rank, completed;
	const char *place;
};

static struct nccl_rank ranks[16];

/* The rank of what is found; -1: nobody. */
static int find(const struct row *rows, size_t count, struct nccl_behind *out)
{
	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct nccl_rank){{true, rows[i].rank, rows[i].completed}, span_from(rows[i].place), i};
	return nccl_work_find_behind(ranks, count, out) ? (int)out->first->work.rank : -1;
}

#define FIND(...)                                                                                                      \
	find((const struct row[]){__VA_ARGS__}, sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row), &got)

TEST(who_stopped_first)
{
	struct nccl_behind got;

	CHECK_INT(FIND({2, 123, "c"}, {0, 122, "a"}, {1, 121, "b"}), 1);
	CHECK(got.is_alone && got.ranks == 1 && got.others == 2 && got.others_least == 122 && got.others_most == 123 &&
		got.first->hit == 2);
	CHECK_INT(FIND({0, 121, "a"}, {1, 121, "a"}, {2, 122, "b"}, {3, 122, "c"}), 0);
	CHECK(got.is_alone && got.ranks == 2 && got.others == 2);
	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "b"}, {2, 122, "c"}, {1, 121, "b"}), 1); /* said twice */
	CHECK(got.others == 2);
}

TEST(a_rank_is_named_without_its_place_where_the_place_may_be_who_gathers_the_lines)
{
	struct nccl_behind got;

	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "a"}, {2, 122, "a"}), 1);
	CHECK(!got.is_alone);
	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "b"}, {2, 122, "b"}, {3, 122, "c"}), 1);
	CHECK(!got.is_alone);
}

TEST(where_it_proves_nothing_nobody_is_named)
{
	struct nccl_behind got;

	CHECK_INT(FIND({0, 122, "a"}, {1, 122, "b"}, {2, 122, "c"}), -1); /* all at the same */
	CHECK_INT(FIND({0, 121, "a"}, {1, 121, "b"}, {2, 122, "c"}), -1); /* two places are behind */
	CHECK_INT(FIND({0, 121, "a"}, {1, 122, "b"}, {2, 122, "b"}), -1); /* two places spoke */
	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "b"}, {3, 122, "c"}), -1); /* a hole */
	CHECK_INT(FIND({1, 122, "a"}, {2, 121, "b"}, {3, 122, "c"}), -1);
	CHECK_INT(FIND({0, 122, "a"}, {1, 119, "b"}, {2, 122, "c"}), -1); /* too far apart */
	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "b"}, {2, 122, "c"}, {1, 122, "b"}), -1); /* two attempts */
	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "b"}, {2, 122, "c"}, {0, 122, "d"}), -1); /* two groups' rank 0 */
	CHECK_INT(FIND({0, 121, "a"}, {1, 122, "b"}), -1);
	CHECK(!nccl_work_find_behind(ranks, 0, &got));
	CHECK_INT(FIND({0, 122, "a"}, {1, 121, "b"}, {2, 122, "c"}), 1);
	ranks[2].work.is_default = false;
	CHECK(!nccl_work_find_behind(ranks, 3, &got));
}
