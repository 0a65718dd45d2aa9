#include "extract/line/named_host.h"

#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "extract/line/machine_name.h"
#include "extract/line/part.h"

/* ---- "[pod/train-0/pytorch] " ---- */

static bool take_pod(struct span *text, struct span *pod)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[pod/")))
		return false;
	size_t len = machine_name_length(rest);
	*pod = span_of(rest.ptr, len);
	rest = span_skip(rest, len);
	ptrdiff_t end = span_find(span_cut(rest, MACHINE_NAME_MAX_BYTES), SPAN("] "));
	if (!len || end < 2 || rest.ptr[0] != '/')
		return false;
	*text = span_skip(rest, (size_t)end + 2);
	return true;
}

/* ---- "gpu07: " ---- */

static bool is_one_of(struct span name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal_fold(name, span_from(words[i])))
			return true;
	return false;
}

/* The name without the number at its end; *last: its last part. */
static struct span stem_of(struct span name, struct span *last)
{
	size_t len = name.len, from;

	while (len && !is_letter(name.ptr[len - 1]))
		len--;
	for (from = len; from && name.ptr[from - 1] != '-' && name.ptr[from - 1] != '_' && name.ptr[from - 1] != '.';)
		from--;
	*last = span_of(name.ptr + from, len - from);
	return span_of(name.ptr, len);
}

/* "GPU3", "H100": devices, in capitals, as machines are not called; "h100-0": of a model. */
static bool is_device(struct span stem, struct span name)
{
	static const char *const models[] = {"a10", "a100", "b100", "b200", "b300", "gb200", "gb300", "gh200", "h100",
		"h200", "l4", "l40", "l40s", "mi250", "mi300", "t4", "v100"};
	bool is_model = stem.len == 1 && stem.ptr[0] >= 'A' && stem.ptr[0] <= 'Z' && name.len >= 3;
	size_t len = 0;

	while (len < name.len && name.ptr[len] != '-' && name.ptr[len] != '_')
		len++;
	struct span first = span_of(name.ptr, len), rest = span_skip(name, len);
	for (size_t i = 1; i < rest.len; i++)
		if (!is_digit(rest.ptr[i]))
			first = name;
	return is_model || span_equal(stem, SPAN("GPU")) || is_one_of(first, models, sizeof models / sizeof *models);
}

/* "gpu0" may be a device as well as a machine; "gpu07" and "gpu16" are none. */
static bool may_be_device(struct span name)
{
	struct span number = name;

	if (!span_take(&number, SPAN("gpu")) || !number.len || count_digits(number) != number.len)
		return false;
	return number.len == 1 || (number.len == 2 && number.ptr[0] == '1' && number.ptr[1] < '6');
}

/* What programs and launchers number themselves, and what a machine has several of. *is_part: as the end of a longer name, a pod's. */
static bool is_role(struct span name, bool *is_part)
{
	static const char *const words[] = {"rank", "worker", "trainer", "default", "process", "proc", "task", "local",
		"master", "chief", "ps", "launcher", "stage", "device", "cuda", "dp", "tp", "pp", "ep", "cp", "step",
		"iteration", "iter", "epoch", "check", "test", "phase", "run", "job", "level", "dcgm", "dcgmi", "diag",
		"stdout", "stderr", "actor", "layer", "expert", "shard", "batch", "attempt", "loss", "torchrun", "seed",
		"fold", "exporter", "monitor", "watch", "watcher", "detector", "agent", "logger", "dmesg", "syslog",
		"daemon", "collector", "nic", "nvme", "card", "slot", "port", "rail", "hca", "disk", "pci", "v", "fp",
		"bf", "gpt", "eth", "ib", "ens", "eno", "enp", "mlx", "bond", "lo", "docker", "veth"};
	struct span last, stem = stem_of(name, &last);
	bool is_word = is_one_of(last, words, sizeof words / sizeof *words);

	*is_part = (is_word && last.len < stem.len && span_find_char(stem, '_') < 0) || may_be_device(name);
	return (is_word && !*is_part) || is_device(stem, name);
}

/* As machines of a cluster are called: "INFO", "RuntimeError" are none. */
static bool is_machine_like(struct span host, bool *has_number)
{
	bool has_digit = false, has_letter = false, is_pod = false;

	for (size_t i = 0; i < host.len; i++) {
		has_digit |= is_digit(host.ptr[i]);
		has_letter |= is_letter(host.ptr[i]);
	}
	bool is_named = has_letter && !is_role(host, &is_pod) && (has_digit || span_find_char(host, '-') > 0);
	*has_number = has_digit && !is_pod;
	return machine_name_is_address(host) || is_named;
}

static bool take_name(struct span *text, struct span *name)
{
	size_t len = machine_name_length(*text);

	*name = span_of(text->ptr, len);
	struct span rest = span_skip(*text, len);
	bool is_word = len && (is_letter(name->ptr[0]) || machine_name_is_address(*name));
	if (!is_word || !span_take(&rest, SPAN(": ")))
		return false;
	*text = rest;
	return true;
}

static enum naming name_by_prefix(struct span name, struct span rest, const struct signature *signature)
{
	bool has_number;

	if (!is_machine_like(name, &has_number))
		return NAMING_NONE;
	if (signature->is_check && has_number)
		return NAMING_SURE;
	return kernel_line_is(rest) && has_number ? NAMING_ELSEWHERE : NAMING_GUESS;
}

enum naming named_host_read(struct span text, const struct signature_found *found, struct buf *plain, struct span *host)
{
	bool is_machines = found->signature->about == SIGNATURE_NODE;
	enum naming naming = NAMING_NONE;
	struct span rest = text, name;

	*host = SPAN("");
	if (take_pod(&rest, &name))
		naming = NAMING_ELSEWHERE;
	else if (!kernel_line_begins(rest) && take_name(&rest, &name))
		naming = name_by_prefix(name, rest, found->signature);
	if (kernel_line_find(rest, kernel_line_has_header, host))
		return span_equal(*host, MACHINE_OF_NOBODY) ? NAMING_ELSEWHERE : NAMING_KERNEL;
	if (naming == NAMING_NONE && kernel_line_find(rest, kernel_line_is_handed_on, host))
		return NAMING_ELSEWHERE;
	if (naming != NAMING_ELSEWHERE && kernel_record_find(rest, found->said, plain, host))
		return NAMING_ELSEWHERE;
	if (kernel_line_is_headed(rest, found->said, host))
		return NAMING_KERNEL;
	if (!is_machines)
		naming = NAMING_NONE;
	*host = naming == NAMING_NONE ? SPAN("") : name;
	return naming;
}
