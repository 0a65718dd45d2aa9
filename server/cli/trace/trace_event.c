#include "cli/trace/trace_event.h"

#include <math.h>

static const int64_t longest_us = (int64_t)1 << 52;

/* An event while it is read. */
struct reading {
	struct trace_event event;
	bool has_time, has_duration, has_category, is_trace;
	double from_us, duration_us;
};

/* ---- numbers and names ---- */

/* Most numbers, faster than any number: digits, and three of a fraction. What has more than 53 bits rounds otherwise. */
static bool read_short(struct span text, double *out)
{
	int64_t thousandths = 0;
	size_t at = 0, places = 0;

	if (text.len > 16)
		return false;
	for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9'; at++)
		thousandths = thousandths * 10 + (text.ptr[at] - '0');
	if (at < text.len && text.ptr[at] == '.')
		for (at++; at < text.len && places < 3 && text.ptr[at] >= '0' && text.ptr[at] <= '9'; at++, places++)
			thousandths = thousandths * 10 + (text.ptr[at] - '0');
	for (; places < 3 && thousandths < longest_us; places++)
		thousandths *= 10;
	*out = (double)thousandths / 1000;
	return at == text.len && places == 3 && thousandths < (int64_t)1 << 53;
}

static bool read_us(struct span text, double *out)
{
	return read_short(text, out) || (span_parse_double(text, out) && fabs(*out) < (double)longest_us);
}

static bool has_word(struct span text, struct span word)
{
	return memmem(text.ptr, text.len, word.ptr, word.len) != NULL;
}

/* hta/utils/utils.py: get_kernel_type. */
enum trace_kernel trace_kernel_of(struct span name)
{
	bool is_nccl = span_starts_with(name, SPAN("nccl"));

	if (is_nccl && has_word(span_skip(name, 4), SPAN("Kernel")))
		return TRACE_COMMUNICATION;
	if (span_starts_with(name, SPAN("Memcpy")) || span_starts_with(name, SPAN("Memset")) ||
		span_starts_with(name, SPAN("dma")))
		return TRACE_MEMORY;
	return has_word(name, SPAN("Sync")) || has_word(name, SPAN("Memcpy")) ? TRACE_OTHER : TRACE_COMPUTE;
}

/* "ProfilerStep#17", with spaces before and behind the #. */
static int64_t read_step(struct span name)
{
	struct span rest = name;
	int64_t step = 0;
	size_t digits = 0;

	if (!span_take(&rest, SPAN("ProfilerStep")))
		return -1;
	rest = span_trim(rest);
	if (!span_take(&rest, SPAN("#")))
		return -1;
	rest = span_trim(rest);
	for (; digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9' && step < longest_us; digits++)
		step = step * 10 + (rest.ptr[digits] - '0');
	return digits && step < longest_us ? step : -1;
}

static void take_name(struct reading *r, struct span name)
{
	struct trace_event *event = &r->event;

	event->kind = trace_kernel_of(name);
	event->is_sync = span_equal(name, SPAN("Event Sync")) || span_equal(name, SPAN("Context Sync"));
	event->is_step = has_word(name, SPAN("ProfilerStep"));
	event->step = event->is_step ? read_step(name) : -1;
}

static void take_whole(struct span text, int64_t *out)
{
	int64_t value;

	if (span_parse_i64(text, &value) && value >= 0 && value <= longest_us)
		*out = value;
}

/* ---- the document ---- */

static enum status read_args(struct json_pull *pull, struct trace_event *event, struct error *err)
{
	enum json_token token;
	struct span text;

	for (;;) {
		int64_t *out = NULL;
		TRY(json_pull_next(pull, &token, &text, err));
		if (token == JSON_PULL_OBJECT_END)
			return OK;
		if (span_equal(text, SPAN("stream")))
			out = &event->stream;
		else if (span_equal(text, SPAN("correlation")))
			out = &event->correlation;
		else if (span_equal(text, SPAN("device")))
			out = &event->device;
		TRY(json_pull_next(pull, &token, &text, err));
		if (out && (token == JSON_PULL_NUMBER || token == JSON_PULL_STRING))
			take_whole(text, out);
		TRY(json_pull_skip(pull, token, err));
	}
}

enum member { MEMBER_OTHER, MEMBER_NAME, MEMBER_CATEGORY, MEMBER_TIME, MEMBER_DURATION, MEMBER_ARGS };

static enum member member_of(struct span key)
{
	static const struct {
		struct span key;
		enum member member;
	} MEMBERS[] = {{{"name", 4}, MEMBER_NAME}, {{"cat", 3}, MEMBER_CATEGORY}, {{"ts", 2}, MEMBER_TIME},
		{{"dur", 3}, MEMBER_DURATION}, {{"args", 4}, MEMBER_ARGS}};

	for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
		if (span_equal(key, MEMBERS[i].key))
			return MEMBERS[i].member;
	return MEMBER_OTHER;
}

static void take_member(struct reading *r, enum member member, enum json_token token, struct span text)
{
	if (member == MEMBER_NAME && token == JSON_PULL_STRING)
		take_name(r, text);
	if (member == MEMBER_CATEGORY && token == JSON_PULL_STRING) {
		r->has_category = true;
		r->is_trace = span_equal(text, SPAN("Trace"));
	}
	if (member == MEMBER_TIME && token == JSON_PULL_NUMBER)
		r->has_time = read_us(text, &r->from_us);
	if (member == MEMBER_DURATION && token == JSON_PULL_NUMBER)
		r->has_duration = read_us(text, &r->duration_us);
}

/* Behind its brace. */
static enum status read_event(struct json_pull *pull, struct reading *r, struct error *err)
{
	enum json_token token;
	struct span text;

	*r = (struct reading){
		.event = {.stream = -1, .correlation = -1, .device = -1, .kind = TRACE_COMPUTE, .step = -1}};
	for (;;) {
		TRY(json_pull_next(pull, &token, &text, err));
		if (token == JSON_PULL_OBJECT_END)
			return OK;
		enum member member = member_of(text);
		TRY(json_pull_next(pull, &token, &text, err));
		take_member(r, member, token, text);
		if (member == MEMBER_ARGS && token == JSON_PULL_OBJECT)
			TRY(read_args(pull, &r->event, err));
		else
			TRY(json_pull_skip(pull, token, err));
	}
}

/* Starts are rounded up and ends down, as hta/common/trace_parser.py does, and like there of doubles: neighbours on a stream must not overlap. */
static enum status hand_on(struct reading *r, trace_take *take, void *context, struct error *err)
{
	struct trace_event *event = &r->event;

	if (!r->has_time || !r->has_duration || !r->has_category || r->is_trace)
		return OK;
	event->from_us = (int64_t)ceil(r->from_us);
	event->to_us = (int64_t)floor(r->from_us + r->duration_us);
	return take(context, event, err);
}

/* Behind the bracket of traceEvents. */
static enum status read_events(struct json_pull *pull, trace_take *take, void *context, struct error *err)
{
	enum json_token token;
	struct span text;
	struct reading r;

	for (;;) {
		TRY(json_pull_next(pull, &token, &text, err));
		if (token == JSON_PULL_ARRAY_END)
			return OK;
		if (token != JSON_PULL_OBJECT)
			return error_set(err, ERR_INVALID, "an event of it is no object");
		TRY(read_event(pull, &r, err));
		TRY(hand_on(&r, take, context, err));
	}
}

static enum status read_rank(struct json_pull *pull, int64_t *rank, struct error *err)
{
	enum json_token token;
	struct span text;

	for (;;) {
		TRY(json_pull_next(pull, &token, &text, err));
		if (token == JSON_PULL_OBJECT_END)
			return OK;
		bool is_rank = span_equal(text, SPAN("rank"));
		TRY(json_pull_next(pull, &token, &text, err));
		if (is_rank && token == JSON_PULL_NUMBER)
			take_whole(text, rank);
		TRY(json_pull_skip(pull, token, err));
	}
}

static void take_base(struct span text, int64_t *base_ns)
{
	int64_t value;

	if (span_parse_i64(text, &value) && value > 0 && value < (int64_t)1 << 62)
		*base_ns = value;
}

/* Behind the first brace of the document. */
static enum status read_document(struct json_pull *pull, struct trace_about *about, bool *has_events, trace_take *take,
	void *context, struct error *err)
{
	enum json_token token;
	struct span text;

	for (;;) {
		TRY(json_pull_next(pull, &token, &text, err));
		if (token == JSON_PULL_OBJECT_END)
			return OK;
		bool is_events = span_equal(text, SPAN("traceEvents")),
		     is_base = span_equal(text, SPAN("baseTimeNanoseconds")),
		     is_distributed = span_equal(text, SPAN("distributedInfo"));
		TRY(json_pull_next(pull, &token, &text, err));
		if (is_events && token == JSON_PULL_ARRAY) {
			*has_events = true;
			TRY(read_events(pull, take, context, err));
			continue;
		}
		if (is_distributed && token == JSON_PULL_OBJECT) {
			TRY(read_rank(pull, &about->rank, err));
			continue;
		}
		if (is_base && token == JSON_PULL_NUMBER)
			take_base(text, &about->base_ns);
		TRY(json_pull_skip(pull, token, err));
	}
}

enum status trace_walk(const struct trace_source *source, struct trace_about *about, trace_take *take, void *context,
	struct error *err)
{
	AUTO(json_pull) pull = NULL;
	enum json_token token;
	struct span text;
	bool has_events = false;

	TRY(source->rewind(source->context, err));
	TRY(json_pull_new(&pull, source->fill, source->context, err));
	TRY(json_pull_next(pull, &token, &text, err));
	if (token == JSON_PULL_ARRAY) { /* Chrome's other form */
		has_events = true;
		TRY(read_events(pull, take, context, err));
	} else if (token == JSON_PULL_OBJECT) {
		TRY(read_document(pull, about, &has_events, take, context, err));
	}
	if (!has_events)
		return error_set(err, ERR_INVALID, "it has no traceEvents: it is no trace of PyTorch's profiler");
	return json_pull_next(pull, &token, &text, err);
}
