#include "cli/host/kernel_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
	MAX_RECORD_BYTES = 8192, /* the kernel's own limit */
	MAX_ROUND_BYTES = 256 << 10, /* a storm of messages must not fill the spool at one go */
	MAX_LOWER_BYTES = 1024,
};

struct kernel_log {
	int fd;
	struct buf pending; /* a plain file gives records cut in two */
};

enum status kernel_log_new(struct kernel_log **out, const char *path, struct error *err)
{
	struct kernel_log *log = mem_zeroed(sizeof *log);

	if (!log)
		return error_no_memory(err);
	log->pending = BUF_INIT(2 * MAX_RECORD_BYTES);
	log->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log->fd < 0) {
		bool is_denied = errno == EPERM || errno == EACCES;
		error_set(err, ERR_IO, "kernel lines (Xid, ECC, out of memory …) cannot be read from '%s': %s%s", path,
			strerror(errno),
			is_denied ? "; it takes root, CAP_SYSLOG, or sysctl kernel.dmesg_restrict=0" : "");
		mem_free(log);
		return ERR_IO;
	}
	lseek(log->fd, 0, SEEK_END);
	*out = log;
	return OK;
}

void kernel_log_free(struct kernel_log *log)
{
	if (!log)
		return;
	close(log->fd);
	buf_done(&log->pending);
	mem_free(log);
}

struct span kernel_log_message(struct span record)
{
	ptrdiff_t semicolon = span_find_char(record, ';');

	if (!record.len || !isdigit((unsigned char)*record.ptr) || semicolon < 0)
		return SPAN(""); /* " SUBSYSTEM=pci": said of the line before */
	return span_skip(record, (size_t)semicolon + 1);
}

bool kernel_log_matters(struct span message)
{
	static const char *const words[] = {"nvrm", "xid", "nvlink", "nvswitch", "fallen off the bus", "edac",
		"ecc error", "uncorrect", "aer:", "pcie bus error", "hardware error", "machine check",
		"mce:", "memory failure", "link is down", "link down", "link is not ready", "link becomes ready",
		"link is up", "carrier lost", "tx timeout", "transmit queue", "out of memory", "oom-kill", "oom_reaper",
		"killed process", "not responding", "nfs: server", "lustreerror", "i/o error", "medium error",
		"remounting filesystem read-only", "ext4-fs error", "xfs_", "blocked for more than", "soft lockup",
		"hard lockup", "rcu_sched", "rcu_preempt", "kernel panic", "timeout, aborting",
		"timeout, reset controller", "timeout, completion polled", "controller is down", "probe failure",
		"has been shut down", "dpc: containment", "temperature above", "throttled", "segfault", "neuron",
		"efa ", "mlx5_core"};
	char lower[MAX_LOWER_BYTES];
	size_t len = message.len < sizeof lower ? message.len : sizeof lower;

	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)message.ptr[i]);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_find(span_of(lower, len), span_from(words[i])) >= 0)
			return true;
	return false;
}

static void take_records(struct kernel_log *log, struct buf *lines)
{
	struct span text = buf_span(&log->pending), record;
	const char *end = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t whole = end ? (size_t)(end - text.ptr) + 1 : 0;
	struct span records = span_of(text.ptr, whole);

	while (records.len && span_next(&records, '\n', &record)) {
		struct span message = kernel_log_message(record);
		if (!message.len || !kernel_log_matters(message))
			continue;
		buf_append_text(lines, "kernel: ");
		buf_append_span(lines, message);
		buf_append_char(lines, '\n');
	}
	if (!whole && text.len > MAX_RECORD_BYTES)
		whole = text.len; /* no kernel writes such a line */
	if (whole)
		memmove(log->pending.ptr, log->pending.ptr + whole, text.len - whole);
	log->pending.len -= whole;
}

void kernel_log_read(struct kernel_log *log, struct buf *lines)
{
	while (lines->len < MAX_ROUND_BYTES) {
		char *room = buf_reserve(&log->pending, MAX_RECORD_BYTES);
		ssize_t got = room ? read(log->fd, room, MAX_RECORD_BYTES) : 0;
		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* EPIPE: the kernel has written over what was to come: on with what there is */
		if (got <= 0)
			return;
		buf_advance(&log->pending, (size_t)got);
		take_records(log, lines);
	}
}
