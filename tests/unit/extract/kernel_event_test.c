#include "extract/line/kernel_event.h"
#include "test.h"

#define XID "NVRM: Xid (PCI:0000:53:00): 79, pid=1, GPU has fallen off the bus."

enum { NOW_S = 1796000000 }; /* 2026-11-30 */

static bool is_same(struct span a, struct span b)
{
	struct kernel_event first = kernel_event_of(a), second = kernel_event_of(b);

	return kernel_event_is_same(&first, &second);
}

TEST(a_kernels_line_is_of_the_time_that_stands_nearest_to_its_words)
{
	static const struct span old[] = {
		SPAN("2026-11-29T05:00:00Z INFO kern.log.1: Nov 12 01:00:00 gpu07 kernel: " XID),
		SPAN("2026-11-29T05:00:00Z sosreport/var/log/kern.log:Nov 12 01:00:00 gpu07 kernel: " XID),
		SPAN("2026-11-29T05:00:00Z Nov 12 01:00:00 gpu07 kernel: EDAC MC0: 1 UE"),
		SPAN("2026-11-29T05:00:00Z [Thu Nov 12 01:00:00 2026] " XID),
		SPAN("Nov 12 01:00:00 gpu07 kernel: " XID)};
	int64_t at_ms, first_ms = 0;

	for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
		CHECK(kernel_event_time(old[i], NOW_S * INT64_C(1000), &at_ms));
		first_ms = i ? first_ms : at_ms;
		CHECK_INT(at_ms, first_ms);
	}
	CHECK(first_ms < (NOW_S - 10 * 86400) * INT64_C(1000));
	CHECK(!kernel_event_time(SPAN("[ 5555.123456] " XID), NOW_S * INT64_C(1000), &at_ms));
	CHECK(!kernel_event_time(SPAN("step 1 loss 2.0"), NOW_S * INT64_C(1000), &at_ms));
}

TEST(a_machines_uptime_is_read_where_nothing_else_says_when)
{
	CHECK_SPAN(kernel_event_uptime(SPAN("[ 5555.123456] " XID)), SPAN("[ 5555.123456]"));
	CHECK_SPAN(kernel_event_uptime(SPAN("2026-11-30T01:10:00.5Z stdout F [ 5555.123456] " XID)),
		SPAN("[ 5555.123456]"));
	CHECK_SPAN(kernel_event_uptime(SPAN("Nov 30 01:10:00 gpu07 kernel: [ 5555.123456] " XID)), SPAN(""));
	CHECK_SPAN(kernel_event_uptime(SPAN("[Thu Nov 12 01:00:00 2026] " XID)), SPAN(""));
	CHECK_SPAN(kernel_event_uptime(SPAN("[rank3]: " XID)), SPAN(""));
	CHECK_SPAN(kernel_event_uptime(SPAN("[1796000000.123456] " XID)), SPAN(""));
	CHECK_SPAN(kernel_event_uptime(SPAN("")), SPAN(""));
}

TEST(one_event_is_the_same_words)
{
	CHECK(kernel_event_has_same_words(SPAN("Nov 30 01:10:00 gpu07 kernel: " XID), SPAN("kernel: " XID)));
	CHECK(kernel_event_has_same_words(
		SPAN("2026-11-30T01:10:00Z gpu07 kernel: [4711.123456] " XID), SPAN(XID "\n")));
	CHECK(kernel_event_has_same_words(SPAN("[GPU 0] " XID), SPAN("kernel: " XID)));
	CHECK(!kernel_event_has_same_words(
		SPAN("kernel: " XID), SPAN("kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=1")));
	CHECK(is_same(SPAN("[ 5555.123456] " XID), SPAN("[ 5555.123456] " XID)));
	CHECK(!is_same(SPAN("[ 5555.123456] " XID), SPAN("[ 6555.123456] " XID)));
	CHECK(!is_same(SPAN("kernel: " XID), SPAN("kernel: " XID)));
}

TEST(an_uptime_is_that_of_the_event_whatever_stands_in_front_of_it)
{
	static const struct span forms[] = {SPAN("[ 5555.123456] " XID),
		SPAN("2026-11-30T01:10:00Z [5555.123456] " XID),
		SPAN("Nov 30 01:10:00 gpu07 kernel: [ 5555.123456] " XID), SPAN("gpu07 kernel: [5555.123456] " XID),
		SPAN("2026-11-30T01:10:00Z kernel: [ 5555.123456] " XID), SPAN("gpu07: [ 5555.123456] " XID),
		SPAN("<4>[ 5555.123456] " XID), SPAN("[ 5555.123456] [ T4711] " XID),
		SPAN("[ 5555.123456 <    0.543210>] " XID)};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		CHECK(is_same(forms[0], forms[i]));
		CHECK(is_same(forms[i], forms[0]));
		CHECK(!is_same(forms[i], SPAN("Nov 30 01:10:00 gpu07 kernel: [ 5555.123457] " XID)));
		CHECK(!is_same(forms[i], SPAN("Nov 30 01:10:00 gpu07 kernel: " XID)));
	}
	CHECK(!is_same(SPAN("[1796000000.123456] " XID), SPAN("[1796000000.123456] " XID)));
}

TEST(a_shell_says_that_it_prints_a_kernels_log)
{
	CHECK(kernel_event_is_dump_begun(SPAN("+ dmesg | grep -i xid")));
	CHECK(kernel_event_is_dump_begun(SPAN("2026-11-30T01:10:00Z ++ sudo dmesg -T")));
	CHECK(kernel_event_is_dump_begun(SPAN("[rank0]: + journalctl -k -n 100")));
	CHECK(!kernel_event_is_dump_begun(SPAN("+ dmesg -w")));
	CHECK(!kernel_event_is_dump_begun(SPAN("+ dmesg --follow")));
	CHECK(!kernel_event_is_dump_begun(SPAN("+ journalctl -kf")));
	CHECK(!kernel_event_is_dump_begun(SPAN("+ nvidia-smi -L")));
	CHECK(!kernel_event_is_dump_begun(SPAN("a + b of dmesg")));
	CHECK(!kernel_event_is_dump_begun(SPAN("")));
}
