#include "cli/input/file_kind.h"

#include "cli/input/tf_events.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { START_BYTES = 4096 };

static bool is_packed(struct span start)
{
	static const struct span starts[] = {
		{"\x1f\x8b", 2}, {"\x28\xb5\x2f\xfd", 4}, {"\xfd\x37zXZ", 5}, {"BZh", 3}, {"PK\x03\x04", 4}};

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (span_starts_with(start, starts[i]))
			return true;
	return false;
}

/* A log that was truncated under its writer begins with a hole, which reads as NUL bytes. */
static bool has_nul(struct span start)
{
	while (start.len && start.ptr[0] == 0)
		start = span_skip(start, 1);
	return start.len && memchr(start.ptr, 0, start.len);
}

bool file_kind_is_trace(const char *name)
{
	struct span text = span_from(name);

	return span_ends_with(text, SPAN(".pt.trace.json")) || span_ends_with(text, SPAN(".pt.trace.json.gz"));
}

enum file_kind file_kind_of(struct span start, const char *name)
{
	bool is_called_events = strstr(name, ".tfevents.") != NULL;

	if (file_kind_is_trace(name))
		return FILE_OF_TRACE;
	if (start.len == 0)
		return is_called_events ? FILE_OF_EVENTS : FILE_OF_LINES;
	switch (tf_events_sniff(start)) {
	case TF_EVENTS_NO_RECORD:
		break;
	case TF_EVENTS_RECORD: /* TFRecord files also hold training data */
		return is_called_events ? FILE_OF_EVENTS : FILE_BINARY;
	case TF_EVENTS_VERSION:
		return FILE_OF_EVENTS;
	}
	if (is_packed(start))
		return FILE_PACKED;
	if (!has_nul(start))
		return FILE_OF_LINES;
	return start.len < TF_EVENTS_SNIFF_BYTES ? FILE_TOO_SHORT : FILE_BINARY;
}

enum file_kind file_kind_read(const char *path)
{
	char start[START_BYTES];
	const char *slash = strrchr(path, '/');
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd >= 0 ? pread(fd, start, sizeof start, 0) : -1;

	if (fd >= 0)
		close(fd);
	return got < 0 ? FILE_OF_LINES : file_kind_of(span_of(start, (size_t)got), slash ? slash + 1 : path);
}

const char *file_kind_refusal(enum file_kind kind)
{
	switch (kind) {
	case FILE_PACKED:
		return "compressed: unpack it, or let the pattern pass it over";
	case FILE_OF_TRACE:
		return "a trace of a profiler, and no log: sm-ship --trace sums it up";
	case FILE_BINARY:
	case FILE_TOO_SHORT:
		return "binary and no event file of TensorBoard's: nothing of it is sent";
	case FILE_OF_LINES:
	case FILE_OF_EVENTS:
	case FILE_OF_TABLE:
		break;
	}
	return NULL;
}
