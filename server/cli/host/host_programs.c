#include "cli/host/host_programs.h"

#include "base/json/json_read.h"
#include "cli/http/client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LINE_BYTES = 4 << 20, READ_BYTES = 64 << 10, RESTART_MS = 60000, NAME_BYTES = 32 };

struct program {
	const char *name;
	const char *const *command;
	bool (*read)(struct span line, const struct host_points *points);
	pid_t pid; /* 0: does not run */
	int fd;
	int64_t start_at_ms; /* of the monotonic clock; INT64_MAX: it is not there */
	struct buf pending;
	bool has_told; /* of a line that it could not read, or of its end */
};

struct host_programs {
	const char *say_as;
	char seconds[NAME_BYTES];
	const char *nvidia_smi[6], *neuron_monitor[2];
	struct program items[HOST_PROGRAM_COUNT];
};

/* nvidia-smi --query-gpu, in its order; a card says [N/A] of what it has not. */
static const char *const gpu_metrics[] = {"gpu_utilization_percent", "gpu_memory_used_mib", "gpu_memory_total_mib",
	"gpu_power_watts", "gpu_temperature_celsius"};
#define GPU_QUERY "--query-gpu=index,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu"

bool nvidia_smi_read(struct span line, const struct host_points *points)
{
	struct span index, word;
	uint64_t number;
	double value;

	if (!span_next(&line, ',', &index) || !span_parse_u64(span_trim(index), &number))
		return false;
	for (size_t i = 0; i < sizeof gpu_metrics / sizeof *gpu_metrics && span_next(&line, ',', &word); i++)
		if (span_parse_double(span_trim(word), &value) && isfinite(value))
			host_points_put(points, gpu_metrics[i], "gpu", span_trim(index), value);
	return true;
}

/* What one process has on the device. */
static void read_neuron_report(
	const struct json *report, const struct host_points *points, double *memory_bytes, bool *has_memory)
{
	const struct json *core = json_first(json_get_path(report, "neuroncore_counters.neuroncores_in_use"));
	double value;

	for (; core; core = json_next(core))
		if (json_number_of(json_get(core, "neuroncore_utilization"), &value))
			host_points_put(points, "neuron_core_utilization_percent", "core", json_key_of(core), value);
	if (json_number_of(json_get_path(report, "memory_used.neuron_runtime_used_bytes.neuron_device"), &value)) {
		*memory_bytes += value;
		*has_memory = true;
	}
}

/* One document a line: https://awsdocs-neuron.readthedocs-hosted.com, neuron-monitor user guide. */
bool neuron_monitor_read(struct span line, const struct host_points *points)
{
	AUTO(json) document = NULL;
	double memory_bytes = 0, index, value;
	bool has_memory = false;
	char device[NAME_BYTES];

	if (json_parse(&document, line, NULL) != OK || json_kind(document) != JSON_OBJECT)
		return false;
	const struct json *runtime = json_first(json_get(document, "neuron_runtime_data"));
	for (; runtime; runtime = json_next(runtime))
		read_neuron_report(json_get(runtime, "report"), points, &memory_bytes, &has_memory);
	if (has_memory)
		host_points_put(points, "neuron_memory_used_mib", NULL, SPAN(""), memory_bytes / (1 << 20));
	const struct json *card = json_first(json_get_path(document, "system_data.neuron_hw_counters.neuron_devices"));
	for (; card; card = json_next(card)) {
		if (!json_number_of(json_get(card, "neuron_device_index"), &index))
			continue;
		snprintf(device, sizeof device, "%.0f", index);
		if (json_number_of(json_get(card, "mem_ecc_uncorrected"), &value))
			host_points_put(points, "neuron_memory_ecc_uncorrected", "device", span_from(device), value);
		if (json_number_of(json_get(card, "sram_ecc_uncorrected"), &value))
			host_points_put(points, "neuron_sram_ecc_uncorrected", "device", span_from(device), value);
	}
	return true;
}

/* The child gets a pipe for its output, nothing to read, and signals as a program expects them. */
static int spawn(struct program *program, int write_fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE); /* by which it ends should we be killed */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, write_fd, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int failure = posix_spawnp(&program->pid, program->command[0], &actions, &attributes,
		(char *const *)program->command /* which it leaves as it is */, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

static void start(struct host_programs *programs, struct program *program)
{
	int ends[2];

	program->start_at_ms = INT64_MAX;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	int failure = spawn(program, ends[1]);
	close(ends[1]);
	if (failure) {
		program->pid = 0;
		close(ends[0]);
		if (failure != ENOENT)
			client_say(programs->say_as, "%s cannot be run: %s", program->name, strerror(failure));
		return;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	program->fd = ends[0];
}

static void stop(struct program *program)
{
	if (!program->pid)
		return;
	close(program->fd);
	program->fd = -1;
	kill(program->pid, SIGTERM);
	/* one that hangs in its driver is left to the system: waiting for it would hang us */
	for (int i = 0; i < 20 && waitpid(program->pid, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 10);
	program->pid = 0;
}

enum status host_programs_new(struct host_programs **out, const char *say_as, int64_t interval_ms, struct error *err)
{
	const char *gpu_name = "nvidia-smi", *neuron_name = "neuron-monitor";
	struct host_programs *programs = mem_zeroed(sizeof *programs);

	if (!programs)
		return error_no_memory(err);
	programs->say_as = say_as;
	snprintf(programs->seconds, sizeof programs->seconds, "%" PRId64, interval_ms < 1000 ? 1 : interval_ms / 1000);
	const char *const nvidia[] = {
		gpu_name, GPU_QUERY, "--format=csv,noheader,nounits", "-l", programs->seconds, NULL};
	memcpy(programs->nvidia_smi, nvidia, sizeof nvidia);
	programs->neuron_monitor[0] = neuron_name;
	programs->items[0] =
		(struct program){.name = gpu_name, .command = programs->nvidia_smi, .read = nvidia_smi_read};
	programs->items[1] =
		(struct program){.name = neuron_name, .command = programs->neuron_monitor, .read = neuron_monitor_read};
	for (size_t i = 0; i < HOST_PROGRAM_COUNT; i++) {
		programs->items[i].pending = BUF_INIT(MAX_LINE_BYTES);
		programs->items[i].fd = -1;
		start(programs, &programs->items[i]);
	}
	*out = programs;
	return OK;
}

void host_programs_free(struct host_programs *programs)
{
	if (!programs)
		return;
	for (size_t i = 0; i < HOST_PROGRAM_COUNT; i++) {
		stop(&programs->items[i]);
		buf_done(&programs->items[i].pending);
	}
	mem_free(programs);
}

void host_programs_poll(const struct host_programs *programs, struct pollfd items[HOST_PROGRAM_COUNT])
{
	for (size_t i = 0; i < HOST_PROGRAM_COUNT; i++)
		items[i] = (struct pollfd){.fd = programs->items[i].fd, .events = POLLIN};
}

static void take_lines(struct host_programs *programs, struct program *program, const struct host_points *points)
{
	struct span text = buf_span(&program->pending), line;
	const char *end = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t whole = end ? (size_t)(end - text.ptr) + 1 : 0;
	struct span lines = span_of(text.ptr, whole);

	while (lines.len && span_next(&lines, '\n', &line)) {
		if (span_trim(line).len == 0 || program->read(line, points) || program->has_told)
			continue;
		program->has_told = true;
		client_say(
			programs->say_as, "%s: %.*s", program->name, (int)(line.len < 200 ? line.len : 200), line.ptr);
	}
	if (whole)
		memmove(program->pending.ptr, program->pending.ptr + whole, text.len - whole);
	program->pending.len -= whole;
}

static void end(struct host_programs *programs, struct program *program, int64_t mono_ms)
{
	stop(program);
	buf_reset(&program->pending);
	program->start_at_ms = mono_ms + RESTART_MS;
	if (!program->has_told)
		client_say(programs->say_as, "%s has ended; it is started again in a minute", program->name);
	program->has_told = true;
}

static void read_one(
	struct host_programs *programs, struct program *program, int64_t mono_ms, const struct host_points *points)
{
	while (program->pid) {
		char *room = buf_reserve(&program->pending, READ_BYTES);
		ssize_t got = room ? read(program->fd, room, READ_BYTES) : 0;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			end(programs, program, mono_ms);
			return;
		}
		buf_advance(&program->pending, (size_t)got);
		take_lines(programs, program, points);
	}
	if (mono_ms >= program->start_at_ms)
		start(programs, program);
}

void host_programs_read(struct host_programs *programs, int64_t mono_ms, const struct host_points *points)
{
	for (size_t i = 0; i < HOST_PROGRAM_COUNT; i++)
		read_one(programs, &programs->items[i], mono_ms, points);
}
