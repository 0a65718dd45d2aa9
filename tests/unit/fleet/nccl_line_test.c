#include "fleet/nccl_line.h"
#include "test.h"

#include <math.h>

static struct nccl_line read_line(const char *text)
{
	struct nccl_line got;

	nccl_line_read(span_from(text), &got);
	return got;
}

/* As src/common.cu of 2.13 and later prints them. */
TEST(rows)
{
	struct nccl_line got = read_line(
		"  8589934592    2147483648     float     sum      -1    38187  224.94  421.77      0    38249  224.58  421.08      0");

	CHECK(got.kind == NCCL_ROW && got.size == 8589934592 && span_equal(got.type, SPAN("float")));
	CHECK(got.out.time_us == 38187 && got.out.algbw == 224.94 && got.out.busbw == 421.77 && got.out.wrong == 0);
	CHECK(got.in.time_us == 38249 && got.in.algbw == 224.58 && got.in.busbw == 421.08 && got.in.wrong == 0);
	got = read_line(
		"[1,0]<stdout>:        8             2     float     sum      -1    35.51    0.00    0.00    N/A    35.05    0.00    0.00    N/A");
	CHECK(got.kind == NCCL_ROW && got.size == 8 && isnan(got.out.wrong) && got.in.time_us == 35.05);
	/* before 2.11 there was no root, and the error was a number */
	got = read_line(
		"   134217728      33554432     float     sum    918.2  146.18  274.08  5e-07    917.6  146.27  274.26  5e-07");
	CHECK(got.kind == NCCL_ROW && got.size == 134217728 && got.out.busbw == 274.08);
}

/* src/util.cu of 2.18: four columns more a half with times by iteration, and two behind both with timestamps. */
TEST(rows_with_more_columns)
{
	struct nccl_line got = read_line(
		"  8589934592    2147483648     float     sum      -1  44739.2  192.00  360.00       0  43844.5  46528.8  46081.4     1.25  44701.1  192.16  360.31       0"
		"  43807.1  46489.1  46042.1     1.25");

	CHECK(got.kind == NCCL_ROW && got.size == 8589934592 && got.out.time_us == 44739.2 && got.out.algbw == 192 &&
		got.out.busbw == 360);
	CHECK(got.in.time_us == 44701.1 && got.in.busbw == 360.31 && got.in.wrong == 0);
	got = read_line(
		"[1,0]<stdout>:     1048576        262144     float    none       3    76.26   13.75   25.78     N/A    76.43   13.72   25.72     N/A  2026-03-02 19:31:05");
	CHECK(got.kind == NCCL_ROW && got.size == 1048576 && got.out.busbw == 25.78 && got.in.busbw == 25.72 &&
		isnan(got.in.wrong));
	got = read_line(
		"     1048576        262144     float     sum      -1    76.26   13.75   25.78       0    74.70    79.31    78.50     1.25    76.43   13.72   25.72       0"
		"    74.90    79.48    78.72     1.25  2026-03-02 19:31:05");
	CHECK(got.kind == NCCL_ROW && got.out.busbw == 25.78 && got.in.time_us == 76.43 && got.in.busbw == 25.72);
}

TEST(lines_around_them)
{
	struct nccl_line got = read_line(
		"# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20");

	CHECK(got.kind == NCCL_BEGIN);
	got = read_line("#  Rank  9 Group  0 Pid  21712 on ip-10-0-0-2 device  1 [0x64] NVIDIA H100 80GB HBM3");
	CHECK(got.kind == NCCL_RANK && span_equal(got.name, SPAN("ip-10-0-0-2")));
	got = read_line("# Collective test starting: all_reduce_perf");
	CHECK(got.kind == NCCL_NAME && span_equal(got.name, SPAN("all_reduce")));
	got = read_line("+ mpirun -np 16 /opt/nccl-tests/build/reduce_scatter_perf -b 8 -e 8G -f 2 -g 1");
	CHECK(got.kind == NCCL_NAME && span_equal(got.name, SPAN("reduce_scatter")));
	got = read_line("# Out of bounds values : 0 OK");
	CHECK(got.kind == NCCL_WRONG && got.value == 0);
	got = read_line("# Avg bus bandwidth    : 123.456 ");
	CHECK(got.kind == NCCL_AVERAGE && got.value == 123.456);
}

TEST(other_lines)
{
	static const char *const lines[] = {"", "float sum",
		"#       size         count      type   redop    root     time   algbw   busbw #wrong",
		"loss: float sum 1 2 3", "x y float sum 1 2 3 4 5 6 7 8", "Rank 0 on fire"};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		CHECK(read_line(lines[i]).kind == NCCL_OTHER);
}
