#include "extract/line/status_line.h"

#include "base/text/line_time.h"

enum { TIME_BYTES = sizeof "2020-01-28 08:57:36 " - 1, SECONDS_DIGITS = 12, ESCAPE = 0x1b };

static const struct {
	const char *name;
	const char *message; /* begins so; NULL: any */
} statuses[] = {
	{"Starting", NULL},
	{"Pending", NULL},
	{"LaunchingMLInstances", NULL},
	{"PreparingTrainingStack", NULL},
	{"Downloading", NULL},
	{"DownloadingTrainingImage", NULL},
	{"Training", NULL},
	{"Uploading", NULL},
	{"Interrupted", NULL},
	{"Restarting", NULL},
	{"Stopping", "Stopping the training job"},
	{"Stopped", "Training job stopped"},
	{"MaxRuntimeExceeded", "Training job runtime exceeded"},
	{"MaxWaitTimeExceeded", "Training job wait time exceeded"},
	{"Completed", "Training job completed"},
	{"Failed", "Training job failed"},
};

static bool has_time_form(struct span text)
{
	static const char form[] = "0000-00-00 00:00:00 ";

	for (size_t i = 0; i < TIME_BYTES; i++) {
		bool is_digit = (unsigned char)(text.ptr[i] - '0') < 10;
		if (form[i] == '0' ? !is_digit : text.ptr[i] != form[i])
			return false;
	}
	return true;
}

static bool is_status(struct span name, struct span message)
{
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_equal(span_from(statuses[i].name), name))
			return !statuses[i].message || span_starts_with(message, span_from(statuses[i].message));
	return false;
}

static bool read_seconds(struct span text, struct status_line *out)
{
	out->is_billable = span_starts_with(text, SPAN("Billable seconds: "));
	if (!out->is_billable && !span_starts_with(text, SPAN("Training seconds: ")))
		return false;
	struct span digits = span_trim(span_skip(text, sizeof "Training seconds: " - 1));
	out->status = out->message = SPAN("");
	return digits.len && digits.len <= SECONDS_DIGITS && digits.ptr[0] != '-' && digits.ptr[0] != '+' &&
	       span_parse_i64(digits, &out->seconds);
}

bool status_line_read(struct span text, int64_t arrival_ms, struct status_line *out)
{
	if (!status_line_may_be(text))
		return false;
	if (text.ptr[0] != '2')
		return read_seconds(text, out);
	if (text.len < TIME_BYTES || !has_time_form(text) ||
		!line_time_parse(span_of(text.ptr, TIME_BYTES), arrival_ms, &out->ts_ms))
		return false;
	struct span rest = span_skip(text, TIME_BYTES);
	ptrdiff_t dash = span_find(rest, SPAN(" - "));
	if (dash < 0)
		return false;
	out->status = span_of(rest.ptr, (size_t)dash);
	out->message = span_skip(rest, (size_t)dash + 3);
	ptrdiff_t escape = span_find_char(out->message, ESCAPE); /* the container's first line, in its colour */
	if (escape >= 0)
		out->message.len = (size_t)escape;
	out->message = span_trim(out->message);
	while (out->message.len && out->message.ptr[out->message.len - 1] == '.')
		out->message.len--;
	return out->message.len && is_status(out->status, out->message);
}
