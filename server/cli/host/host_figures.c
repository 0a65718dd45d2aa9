#include "cli/host/host_figures.h"

#include "base/json/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 1 << 20, SECTOR_BYTES = 512, MAX_LABEL_BYTES = 128, CPU_FIELDS = 8 };

struct totals {
	uint64_t busy, cpu;
	uint64_t read_bytes, written_bytes;
	uint64_t received_bytes, sent_bytes;
	int64_t mono_ms;
};

struct host_figures {
	char *proc, *folder;
	struct totals before; /* mono_ms 0: nothing was read yet */
	struct buf text;
};

void host_points_put(const struct host_points *points, const char *metric, const char *label,
	struct span value_of_label, double value)
{
	struct json_writer w = json_writer_on(points->out);
	AUTO_DONE(buf) name = BUF_INIT(2 * MAX_LABEL_BYTES + 64);

	buf_append_text(&name, metric);
	if (label)
		buf_printf(&name, "{%s=\"", label);
	for (size_t i = 0; label && i < value_of_label.len && i < MAX_LABEL_BYTES; i++) {
		unsigned char c = (unsigned char)value_of_label.ptr[i];
		buf_append_char(&name, c < ' ' || c >= 0x7f || c == '"' || c == '\\' ? '_' : (char)c);
	}
	if (label)
		buf_append_text(&name, "\"}");
	buf_printf(points->out, "@%" PRId64 "\t", points->ts_ms);
	json_object(&w);
	json_put_span(&w, "metric", buf_span(&name));
	json_put_i64(&w, "ts_ms", points->ts_ms);
	json_put_double(&w, "value", value);
	json_object_end(&w);
	buf_append_char(points->out, '\n');
}

enum status host_figures_new(struct host_figures **out, const char *proc, const char *folder, struct error *err)
{
	AUTO(host_figures) figures = mem_zeroed(sizeof *figures);

	if (!figures)
		return error_no_memory(err);
	figures->text = BUF_INIT(MAX_FILE_BYTES);
	figures->proc = mem_copy_string(proc);
	figures->folder = mem_copy_string(folder ? folder : "/");
	if (!figures->proc || !figures->folder)
		return error_no_memory(err);
	*out = TAKE(figures);
	return OK;
}

void host_figures_free(struct host_figures *figures)
{
	if (!figures)
		return;
	mem_free(figures->proc);
	mem_free(figures->folder);
	buf_done(&figures->text);
	mem_free(figures);
}

/* The next word of *rest, between blanks; false at the end. */
static bool next_word(struct span *rest, struct span *word)
{
	while (rest->len && (*rest->ptr == ' ' || *rest->ptr == '\t'))
		*rest = span_skip(*rest, 1);
	size_t len = 0;
	while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t')
		len++;
	*word = span_of(rest->ptr, len);
	*rest = span_skip(*rest, len);
	return len > 0;
}

/* The number that stands `skipped` words further on. */
static bool next_number(struct span *rest, unsigned skipped, uint64_t *number)
{
	struct span word;

	do {
		if (!next_word(rest, &word))
			return false;
	} while (skipped--);
	return span_parse_u64(word, number);
}

bool host_read_cpu(struct span stat, uint64_t *busy, uint64_t *total)
{
	uint64_t fields[CPU_FIELDS]; /* user nice system idle iowait irq softirq steal */
	struct span line, word;

	if (!span_next(&stat, '\n', &line) || !next_word(&line, &word) || !span_equal(word, SPAN("cpu")))
		return false;
	*total = 0;
	for (size_t i = 0; i < CPU_FIELDS; i++) {
		if (!next_number(&line, 0, &fields[i]))
			return false;
		*total += fields[i];
	}
	*busy = *total - fields[3] - fields[4];
	return true;
}

bool host_read_memory(struct span meminfo, uint64_t *used_kib, uint64_t *total_kib)
{
	uint64_t total = 0, available = UINT64_MAX;
	struct span line, word;

	while (span_next(&meminfo, '\n', &line)) {
		if (!next_word(&line, &word))
			continue;
		if (span_equal(word, SPAN("MemTotal:")) && !next_number(&line, 0, &total))
			return false;
		if (span_equal(word, SPAN("MemAvailable:")) && !next_number(&line, 0, &available))
			return false;
	}
	if (!total || available > total)
		return false;
	*used_kib = total - available;
	*total_kib = total;
	return true;
}

/* sda1 of sda, nvme0n1p2 of nvme0n1. */
static bool is_partition(struct span name, struct span disk)
{
	if (!disk.len || name.len <= disk.len || !span_starts_with(name, disk))
		return false;
	struct span rest = span_skip(name, disk.len);
	if (*rest.ptr == 'p')
		rest = span_skip(rest, 1);
	return rest.len && *rest.ptr >= '0' && *rest.ptr <= '9';
}

static bool starts_with_any(struct span name, const char *words)
{
	struct span rest = span_from(words), word;

	while (span_next(&rest, ' ', &word))
		if (span_starts_with(name, word))
			return true;
	return false;
}

void host_read_disks(struct span diskstats, uint64_t *read_bytes, uint64_t *written_bytes)
{
	struct span line, name, disk = {0};
	uint64_t read, written, number;

	*read_bytes = *written_bytes = 0;
	while (span_next(&diskstats, '\n', &line)) {
		if (!next_number(&line, 1, &number) || !next_word(&line, &name) || !next_number(&line, 2, &read) ||
			!next_number(&line, 3, &written))
			continue;
		/* what lies above other disks would be counted twice */
		if (is_partition(name, disk) || starts_with_any(name, "loop ram dm- md zram sr fd"))
			continue;
		disk = name;
		*read_bytes += read * SECTOR_BYTES;
		*written_bytes += written * SECTOR_BYTES;
	}
}

void host_read_network(struct span net_dev, uint64_t *received_bytes, uint64_t *sent_bytes)
{
	struct span line, name;
	uint64_t received, sent;

	*received_bytes = *sent_bytes = 0;
	while (span_next(&net_dev, '\n', &line)) {
		ptrdiff_t colon = span_find_char(line, ':');
		if (colon < 0)
			continue;
		name = span_trim(span_of(line.ptr, (size_t)colon));
		line = span_skip(line, (size_t)colon + 1);
		/* what goes through a bridge or a bond goes through a card as well */
		if (span_equal(name, SPAN("lo")) ||
			starts_with_any(name, "veth docker br- bond virbr cni flannel cali tun tap vlan lxc"))
			continue;
		if (!next_number(&line, 0, &received) || !next_number(&line, 7, &sent))
			continue;
		*received_bytes += received;
		*sent_bytes += sent;
	}
}

static struct span read_proc(struct host_figures *figures, const char *name)
{
	char path[4096];

	buf_reset(&figures->text);
	snprintf(path, sizeof path, "%s/%s", figures->proc, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return SPAN("");
	for (;;) {
		char *room = buf_reserve(&figures->text, 1 << 14);
		ssize_t got = room ? read(fd, room, 1 << 14) : 0;
		if (got <= 0)
			break;
		buf_advance(&figures->text, (size_t)got);
	}
	close(fd);
	return buf_span(&figures->text);
}

/* /proc/net is the reader's own network; a container that has its machine's /proc wants that of its first process. */
static struct span read_network(struct host_figures *figures)
{
	bool is_own = strcmp(figures->proc, "/proc") == 0;
	struct span text = is_own ? SPAN("") : read_proc(figures, "1/net/dev");

	return text.len ? text : read_proc(figures, "net/dev");
}

static void put_rate(
	const struct host_points *points, const char *metric, uint64_t before, uint64_t after, double seconds)
{
	if (after >= before) /* a card or disk that went takes its count with it */
		host_points_put(points, metric, NULL, SPAN(""), (double)(after - before) / 1e6 / seconds);
}

static void put_rates(const struct totals *before, const struct totals *after, const struct host_points *points)
{
	double seconds = (double)(after->mono_ms - before->mono_ms) / 1000;

	if (!before->mono_ms || seconds <= 0)
		return;
	if (after->cpu > before->cpu && after->busy >= before->busy)
		host_points_put(points, "cpu_percent", NULL, SPAN(""),
			100 * (double)(after->busy - before->busy) / (double)(after->cpu - before->cpu));
	put_rate(points, "disk_read_mb_s", before->read_bytes, after->read_bytes, seconds);
	put_rate(points, "disk_written_mb_s", before->written_bytes, after->written_bytes, seconds);
	put_rate(points, "network_received_mb_s", before->received_bytes, after->received_bytes, seconds);
	put_rate(points, "network_sent_mb_s", before->sent_bytes, after->sent_bytes, seconds);
}

static void put_fill(const char *path, const struct host_points *points)
{
	struct statvfs info;

	if (statvfs(path, &info) == 0 && info.f_blocks)
		host_points_put(points, "disk_used_percent", "path", span_from(path),
			100 * (1 - (double)info.f_bavail / (double)info.f_blocks));
}

static bool are_one_file_system(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev;
}

void host_figures_read(struct host_figures *figures, int64_t mono_ms, const struct host_points *points)
{
	struct totals now = {.mono_ms = mono_ms};
	uint64_t used_kib, total_kib;

	if (!host_read_cpu(read_proc(figures, "stat"), &now.busy, &now.cpu))
		now.busy = now.cpu = 0;
	host_read_disks(read_proc(figures, "diskstats"), &now.read_bytes, &now.written_bytes);
	host_read_network(read_network(figures), &now.received_bytes, &now.sent_bytes);
	put_rates(&figures->before, &now, points);
	figures->before = now;
	if (host_read_memory(read_proc(figures, "meminfo"), &used_kib, &total_kib)) {
		host_points_put(points, "memory_used_gib", NULL, SPAN(""), (double)used_kib / (1 << 20));
		host_points_put(
			points, "memory_used_percent", NULL, SPAN(""), 100 * (double)used_kib / (double)total_kib);
	}
	put_fill("/", points);
	if (!are_one_file_system("/", figures->folder))
		put_fill(figures->folder, points);
}
