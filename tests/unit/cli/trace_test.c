#include "cli/trace/trace.h"
#include "cli/trace/intervals.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

/* A document in memory, which comes `step` bytes at a time. */
struct text {
	struct span document, rest;
	size_t step;
};

static enum status rewind_text(void *context, struct error *err)
{
	struct text *text = context;

	(void)err;
	text->rest = text->document;
	return OK;
}

static enum status fill_text(void *context, char *room, size_t bytes, size_t *got, struct error *err)
{
	struct text *text = context;

	(void)err;
	*got = text->rest.len < text->step ? text->rest.len : text->step;
	*got = *got < bytes ? *got : bytes;
	memcpy(room, text->rest.ptr, *got);
	text->rest = span_skip(text->rest, *got);
	return OK;
}

static enum status read_text(const char *document, size_t step, struct trace_summary *out, struct error *err)
{
	struct text text = {.document = span_from(document), .step = step};

	return trace_read_source(&(struct trace_source){rewind_text, fill_text, &text}, out, err);
}

#define EVENT(cat, name, ts, dur, args)                                                                                \
	"{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name "\", \"pid\": 0, \"tid\": 7, \"ts\": " ts            \
	", \"dur\": " dur ", \"args\": {" args "}}"
#define KERNEL(name, ts, dur, number)                                                                                  \
	EVENT("kernel", name, ts, dur,                                                                                 \
		"\"device\": 0, \"stream\": 7, \"correlation\": " number ", \"grid\": [1, [2], {}]")
#define LAUNCH(ts, number) EVENT("cuda_runtime", "cudaLaunchKernel", ts, "2", "\"correlation\": " number)
#define TRACE(events)                                                                                                            \
	"{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, " \
	"\"world_size\": 8}, \"baseTimeNanoseconds\": 1767225600000000000, \"traceEvents\": [" events                            \
	"], \"traceName\": \"x\"}"

/* From 100 to 200: computing 100-140 and 150-170, communication 130-160 and 180-190, a copy 195-200, nothing in between. */
#define PLAIN                                                                                                          \
	TRACE(KERNEL("gemm", "100", "40", "1") "," KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "130", "30",   \
		"2") "," KERNEL("void at::native::elementwise<Sum>", "150", "20",                                      \
		"3") "," KERNEL("ncclKernel_ReduceScatter", "180", "10",                                               \
		"4") "," KERNEL("Memcpy DtoH (Device -> Pageable)", "195", "5", "5") "," EVENT("cpu_op", "aten::mm",   \
		"0", "500", "\"External id\": 1"))

TEST(time_of_a_gpu_by_hand)
{
	for (size_t step = 1; step <= 4096; step = step * 3 + 1) {
		struct trace_summary t;
		CHECK_OK(read_text(PLAIN, step, &t, &err));
		CHECK_INT(t.kernels, 5);
		CHECK_INT(t.kernel_us, 100);
		CHECK_INT(t.compute_us, 40 + 20);
		CHECK_INT(t.communication_us, 30 + 10);
		CHECK_INT(t.overlap_us, 10 + 10);
		CHECK_INT(t.idle_us, 10 + 5); /* 170-180 and 190-195 */
		CHECK_INT(t.sums_us[TRACE_MEMORY], 5);
		CHECK_INT(t.rank, 3);
		CHECK_INT(t.devices, 1);
		CHECK_INT(t.steps, 0);
		CHECK_INT(t.first_step, -1);
		CHECK_INT(t.profiled_ms, 1767225600000);
		CHECK(!t.is_last_left_out);
	}
}

TEST(what_the_last_step_launched_is_left_out)
{
	/* The kernel of 12 runs in step 6, but step 5 launched it; that of 13 was launched in step 6, that of 14 by nobody. */
	static const char *const document = TRACE(KERNEL("gemm", "30", "10", "11") "," LAUNCH("110", "13") "," LAUNCH(
		"20", "11") "," LAUNCH("90", "12") "," KERNEL("ncclDevKernel_AllGather", "120", "20",
		"12") "," KERNEL("gemm", "150", "40", "13") "," KERNEL("gemm", "900", "40",
		"14") "," EVENT("user_annotation", "ProfilerStep#5", "10", "90", "") "," EVENT("user_annotation",
		"ProfilerStep#6", "100", "95", "") "," EVENT("user_annotation", "ProfilerStep#4", "0", "10",
		"") "," EVENT("gpu_user_annotation", "ProfilerStep#5", "30", "110", "\"External id\": 4"));
	struct trace_summary t;

	CHECK_OK(read_text(document, 100, &t, &err));
	CHECK_INT(t.kernels, 2);
	CHECK_INT(t.kernel_us, 110);
	CHECK_INT(t.compute_us, 10);
	CHECK_INT(t.communication_us, 20);
	CHECK_INT(t.idle_us, 80);
	CHECK_INT(t.first_step, 4);
	CHECK_INT(t.last_step, 5);
	CHECK_INT(t.steps, 2);
	CHECK_INT(t.step_us, 90); /* of 10 and 90 the upper one */
	CHECK(t.is_last_left_out);
}

TEST(times_are_whole_microseconds_inside_the_event)
{
	struct trace_summary t;

	/* [100.2, 110.9) is 101 to 110, [110.9, 120.0) is 111 to 120, [130.5, 130.9) nothing. */
	CHECK_OK(read_text(
		TRACE(KERNEL("gemm", "100.200", "10.700", "1") "," KERNEL("gemm", "110.9", "9.1", "2") "," KERNEL(
			"gemm", "130.5", "0.4", "3") "," KERNEL("gemm", "1.4e2", "1.0e1", "4")),
		64, &t, &err));
	CHECK_INT(t.compute_us, 9 + 9 + 10);
	CHECK_INT(t.kernel_us, 49);
	CHECK_OK(read_text(TRACE(KERNEL("gemm", "1767225600000000.25", "10.0009", "1")), 64, &t, &err));
	CHECK_INT(t.compute_us, 9);
}

TEST(names_of_kernels_as_hta_sorts_them)
{
	static const struct {
		const char *name;
		enum trace_kernel kind;
	} names[] = {{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", TRACE_COMMUNICATION},
		{"ncclDevKernel_SendRecv(x)", TRACE_COMMUNICATION}, {"void nccl::Kernel", TRACE_COMPUTE},
		{"ncclSync", TRACE_OTHER}, {"Memcpy HtoD (Pinned -> Device)", TRACE_MEMORY},
		{"Memset (Device)", TRACE_MEMORY}, {"dma_copy", TRACE_MEMORY}, {"batchMemcpy", TRACE_OTHER},
		{"Context Sync", TRACE_OTHER}, {"batchMemset", TRACE_COMPUTE}, {"gemm", TRACE_COMPUTE},
		{"", TRACE_COMPUTE}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		CHECK_INT(trace_kernel_of(span_from(names[i].name)), names[i].kind);
}

TEST(traces_that_are_none_or_cut_off)
{
	char cut[sizeof PLAIN];
	struct trace_summary t;

	CHECK_FAILS(read_text("", 1, &t, &err), ERR_INVALID, "byte 0: it is cut off: a value expected");
	CHECK_FAILS(read_text("{}", 1, &t, &err), ERR_INVALID, "no traceEvents");
	CHECK_FAILS(read_text("7", 1, &t, &err), ERR_INVALID, "no traceEvents");
	CHECK_FAILS(read_text("{\"traceEvents\": [7]}", 1, &t, &err), ERR_INVALID, "no object");
	CHECK_FAILS(read_text("{\"traceEvents\": []} x", 1, &t, &err), ERR_INVALID, "byte 20: nothing more expected");
	CHECK_FAILS(read_text("{\"traceEvents\": []}", 1, &t, &err), ERR_NOT_FOUND, "no kernels");
	CHECK_FAILS(
		read_text("[" EVENT("cpu_op", "aten::mm", "1", "2", "") "]", 1, &t, &err), ERR_NOT_FOUND, "no kernels");
	CHECK_OK(read_text("[" KERNEL("gemm", "1", "2", "1") "]", 1, &t, &err));
	for (size_t bytes = 0; bytes + 2 < sizeof cut; bytes++) {
		memcpy(cut, PLAIN, bytes);
		cut[bytes] = 0;
		CHECK_FAILS(read_text(cut, 100, &t, &err), ERR_INVALID, "cut off");
	}
}

TEST(the_same_kernels_have_one_name)
{
	struct trace_summary a, b;

	CHECK_OK(read_text(PLAIN, 7, &a, &err));
	CHECK_OK(read_text(PLAIN, 4096, &b, &err));
	CHECK_TEXT(a.id, b.id);
	CHECK_INT(strlen(a.id), 32);
	CHECK_OK(read_text(TRACE(KERNEL("gemm", "100", "40", "1")), 1, &a, &err));
	CHECK_OK(read_text(TRACE(KERNEL("gemm", "100", "41", "1")), 1, &b, &err));
	CHECK(strcmp(a.id, b.id) != 0);
}

/* ---- intervals ---- */

static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return *state >> 33;
}

TEST(intervals_against_a_field_of_bits)
{
	enum { WIDTH = 20000, ADDED = 9000 };
	AUTO_DONE(intervals) set = {0};
	AUTO_DONE(intervals) other = {0};
	static bool bits[2][WIDTH];
	uint64_t state = 7;
	int64_t length = 0, common = 0, either = 0;

	for (int i = 0; i < ADDED; i++) {
		struct intervals *to = i % 3 ? &set : &other;
		int64_t from = (int64_t)(next_number(&state) % (WIDTH - 4)), bytes = (int64_t)(next_number(&state) % 3);
		CHECK_OK(intervals_add(to, from, from + bytes, WIDTH, &err));
		for (int64_t at = from; at < from + bytes; at++)
			bits[to == &other][at] = true;
	}
	intervals_settle(&set);
	intervals_settle(&other);
	for (int64_t at = 0; at < WIDTH; at++) {
		length += bits[0][at];
		common += bits[0][at] && bits[1][at];
		either += bits[0][at] || bits[1][at];
		CHECK_INT(intervals_have(&set, at), bits[0][at]);
	}
	CHECK_INT(intervals_length(&set), length);
	CHECK_INT(intervals_common_length(&set, &other), common);
	CHECK_INT(intervals_union_length((struct intervals[]){set, other}, 2), either);
	for (size_t i = 1; i < set.count; i++)
		CHECK(set.items[i].from > set.items[i - 1].to);
}

TEST(intervals_have_a_limit)
{
	enum { MOST = 4096 };
	AUTO_DONE(intervals) set = {0};
	AUTO_DONE(intervals) more = {0};
	enum status status = OK;

	for (int64_t i = 0; i < MOST; i++)
		CHECK_OK(intervals_add(&set, i * 2, i * 2 + 1, MOST, &err));
	intervals_settle(&set);
	CHECK_OK(intervals_add(&set, 1, 2, MOST, &err)); /* at the limit: this one joins two */
	intervals_settle(&set);
	CHECK_INT(set.count, MOST - 1);
	for (int64_t i = 0; i < 4 * MOST && status == OK; i++)
		status = intervals_add(&more, i * 2, i * 2 + 1, MOST, NULL);
	CHECK_INT(status, ERR_TOO_LARGE);
	CHECK(more.cap <= (size_t)2 * MOST);
}
