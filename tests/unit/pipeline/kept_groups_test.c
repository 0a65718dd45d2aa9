/* Groups that wait for the sealer: found by their number, the oldest gone where there are too many. */
#include "state/kept_groups.h"
#include "state/group.h"
#include "test.h"

enum { TEXT_BYTES = 1000, ALL = 1 << 20, NEVER_OLD_MS = 1 << 29 };

/* Of one slice, whose text lies behind a byte of something else, in a buffer that has grown beyond it. */
static struct group *group_of(uint64_t seq)
{
	struct group *group = mem_zeroed(sizeof *group);

	CHECK(group && (group->arena = arena_new()));
	atomic_init(&group->refs, 1);
	group->seq = seq;
	group->plain = BUF_INIT(ALL);
	for (int i = 0; i <= TEXT_BYTES; i++)
		buf_append_char(&group->plain, (char)('a' + (i ? seq : 0)));
	group->count = 1;
	group->slices = arena_alloc(group->arena, sizeof *group->slices);
	CHECK(group->slices && group->plain.cap > group->plain.len);
	group->slices[0] = (struct journal_slice){.body = span_of(group->plain.ptr + 1, TEXT_BYTES)};
	return group;
}

static void check_found(struct kept_groups *kept, uint64_t seq)
{
	struct group *found = kept_groups_find(kept, seq);

	CHECK(found);
	CHECK_INT(found->seq, seq);
	CHECK_INT(found->slices[0].body.len, TEXT_BYTES);
	CHECK_INT(found->slices[0].body.ptr[0], 'a' + (int)seq);
	CHECK_INT(found->slices[0].body.ptr[TEXT_BYTES - 1], 'a' + (int)seq);
	kept_group_unref(found);
}

static void check_gone(struct kept_groups *kept, uint64_t seq)
{
	CHECK(!kept_groups_find(kept, seq));
}

TEST(a_group_is_found_by_its_number_in_whatever_order_they_came)
{
	struct kept_groups kept;

	kept_groups_init(&kept);
	kept_groups_put(&kept, group_of(3), ALL);
	kept_groups_put(&kept, group_of(7), ALL);
	kept_groups_put(&kept, group_of(5), ALL);
	check_gone(&kept, 1);
	check_found(&kept, 3);
	check_gone(&kept, 4);
	check_found(&kept, 5);
	check_found(&kept, 7);
	check_gone(&kept, 8);
	kept_groups_done(&kept);
}

TEST(the_oldest_make_room_and_one_that_was_found_stays_whole)
{
	struct kept_groups kept;

	kept_groups_init(&kept);
	kept_groups_put(&kept, group_of(1), ALL);
	size_t one = kept.bytes;
	kept_groups_put(&kept, group_of(2), 2 * one);
	struct group *held = kept_groups_find(&kept, 1);
	kept_groups_put(&kept, group_of(3), 2 * one);
	check_gone(&kept, 1);
	check_found(&kept, 2);
	check_found(&kept, 3);
	CHECK_INT(kept.bytes, 2 * one);
	CHECK_INT(held->slices[0].body.ptr[TEXT_BYTES - 1], 'b');
	kept_group_unref(held);
	kept_groups_put(&kept, group_of(4), 0);
	CHECK_INT(kept.bytes, 0);
	check_gone(&kept, 4);
	kept_groups_done(&kept);
}

TEST(what_no_stream_needs_goes_and_what_is_old)
{
	struct kept_groups kept;

	kept_groups_init(&kept);
	for (uint64_t seq = 1; seq <= 4; seq++)
		kept_groups_put(&kept, group_of(seq), ALL);
	kept_groups_drop(&kept, 3, NEVER_OLD_MS);
	check_gone(&kept, 2);
	check_found(&kept, 3);
	kept.items[0]->kept_ms -= 2 * NEVER_OLD_MS;
	kept_groups_drop(&kept, 0, NEVER_OLD_MS);
	check_gone(&kept, 3);
	check_found(&kept, 4);
	kept_groups_done(&kept);
}
