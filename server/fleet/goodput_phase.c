/* What secondary statuses and their messages mean. */
#include "fleet/goodput.h"

static bool has_text(struct span text, const char *needle)
{
	struct span wanted = span_from(needle);

	for (size_t i = 0; i + wanted.len <= text.len; i++)
		if (span_equal_fold(span_of(text.ptr + i, wanted.len), wanted))
			return true;
	return false;
}

static bool is_one_of(struct span status, const char *names)
{
	struct span rest = span_from(names), name;

	while (span_next(&rest, ' ', &name))
		if (span_equal(status, name))
			return true;
	return false;
}

/* The messages are those of API_SecondaryStatusTransition.html; a message that nobody knows goes by its status. */
static const struct {
	const char *text;
	enum goodput_bucket bucket;
	const char *cause;
} messages[] = {
	{"insufficient capacity", GOODPUT_CAPACITY, "capacity"},
	{"capacityerror", GOODPUT_CAPACITY, "capacity"},
	{"unhealthy", GOODPUT_UNHEALTHY, "unhealthy instance"},
	{"hardware failure", GOODPUT_UNHEALTHY, "hardware failure"},
	{"training image", GOODPUT_IMAGE, ""},
	{"input data", GOODPUT_DATA, ""},
};

/* What schedulers and people say of what was broken off. */
static const struct {
	const char *text, *cause;
} breaks[] = {
	{"node_fail", GOODPUT_NODE_FAILURE},
	{"node fail", GOODPUT_NODE_FAILURE},
	{"failure of node", GOODPUT_NODE_FAILURE},
	{"maintenance", "maintenance"},
	{"preempt", "preempted"},
};

struct span goodput_said_cause(struct span message)
{
	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
		if (has_text(message, breaks[i].text))
			return span_from(breaks[i].cause);
	return SPAN("");
}

bool goodput_cause_is_general(struct span cause)
{
	return span_equal(cause, SPAN(GOODPUT_NODE_FAILURE)) || span_equal(cause, SPAN(GOODPUT_SPOT)) ||
	       span_equal(cause, SPAN(GOODPUT_BY_USER));
}

static enum goodput_bucket bucket_of(struct span status)
{
	if (span_equal(status, SPAN("DownloadingTrainingImage")))
		return GOODPUT_IMAGE;
	return span_equal(status, SPAN("Downloading")) ? GOODPUT_DATA : GOODPUT_LAUNCH;
}

struct goodput_phase goodput_phase_of(struct span status, struct span message, bool has_trained)
{
	struct goodput_phase phase = {.bucket = bucket_of(status), .cause = SPAN("")};

	/* SageMaker goes to Training before the image is there; "Training image download completed" is said behind it */
	bool is_image = span_equal(status, SPAN("Training")) && has_text(message, "downloading the training image");
	if (span_equal(status, SPAN("Training")) && !is_image) {
		phase.is_training = true;
		return phase;
	}
	bool is_gone = span_equal(status, SPAN("Interrupted")) && span_equal(message, SPAN(GOODPUT_GONE));
	if (is_gone ||
		is_one_of(status,
			"Uploading Stopping Updating Completed Failed Stopped MaxRuntimeExceeded MaxWaitTimeExceeded")) {
		phase.bucket = GOODPUT_IDLE;
		phase.is_done = span_equal(status, SPAN("Completed"));
		phase.cause = is_gone ? SPAN("process gone") : phase.cause;
		return phase;
	}
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
		if (has_text(message, messages[i].text)) {
			phase.bucket = messages[i].bucket;
			phase.cause = span_from(messages[i].cause);
			break;
		}
	bool is_break = is_one_of(status, "Interrupted Restarting");
	bool waits = phase.bucket == GOODPUT_CAPACITY; /* which says for what, and not what broke it off */
	if (is_break || has_trained)
		phase.bucket = GOODPUT_RESTART;
	if (is_break && !phase.cause.len)
		phase.cause = goodput_said_cause(message);
	if (span_equal(status, SPAN("Interrupted")) && (waits || !phase.cause.len))
		phase.cause = SPAN(GOODPUT_SPOT);
	return phase;
}

const char *goodput_bucket_name(enum goodput_bucket bucket)
{
	static const char *const names[GOODPUT_BUCKETS] = {"capacity", "unhealthy_replaced", "launch", "image", "data",
		"first_step", "productive", "evaluation", "checkpoint", "redone", "stalled", "restart", "idle",
		"unmeasured"};

	return names[bucket];
}
