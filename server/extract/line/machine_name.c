#include "extract/line/machine_name.h"

#include "extract/line/cursor.h"

size_t machine_name_length(struct span text)
{
	size_t len = 0;

	while (len < text.len && len <= MACHINE_NAME_MAX_BYTES && is_name_char(text.ptr[len]))
		len++;
	return len <= MACHINE_NAME_MAX_BYTES ? len : 0;
}

bool machine_name_is_address(struct span host)
{
	size_t dots = 0;

	for (size_t i = 0; i < host.len; i++) {
		if (!is_digit(host.ptr[i]) && host.ptr[i] != '.')
			return false;
		dots += host.ptr[i] == '.';
	}
	return dots == 3 && is_digit(char_at(host, 0));
}

bool machine_name_is_same(struct span a, struct span b)
{
	struct span full = a.len > b.len ? a : b, brief = a.len > b.len ? b : a;

	if (!brief.len || machine_name_is_address(full))
		return a.len && span_equal_fold(a, b);
	return span_equal_fold(span_of(full.ptr, brief.len), brief) &&
	       (full.len == brief.len || (full.ptr[brief.len] == '.' && span_find_char(brief, '.') < 0));
}

bool machine_name_is_in(struct span text, struct span host)
{
	for (size_t at = 0; host.len && at + host.len <= text.len; at++) {
		bool begins = !at || !is_name_char(text.ptr[at - 1]);
		if (begins && !is_name_char(char_at(text, at + host.len)) &&
			span_equal_fold(span_of(text.ptr + at, host.len), host))
			return true;
	}
	return false;
}

struct span machine_name_join(struct span a, struct span b)
{
	if (!a.len || !b.len)
		return a.len ? a : b;
	return machine_name_is_same(a, b) ? a : MACHINE_OF_NOBODY;
}

bool machine_name_is_number(struct span host)
{
	struct span id = host;

	if (machine_name_is_address(host))
		return true;
	if (!span_take(&id, SPAN("i-")) && !span_take(&id, SPAN("mi-")))
		return false;
	for (size_t i = 0; i < id.len; i++)
		if (span_hex_digit(id.ptr[i]) < 0)
			return false;
	return id.len >= 8;
}

/* ---- as machines of a cluster are called ---- */

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
		"bf", "gpt", "eth", "ib", "ens", "eno", "enp", "mlx", "bond", "lo", "docker", "veth", "thread", "pool"};
	struct span last, stem = stem_of(name, &last);
	bool is_word = is_one_of(last, words, sizeof words / sizeof *words);

	*is_part = (is_word && last.len < stem.len && span_find_char(stem, '_') < 0) || may_be_device(name);
	return (is_word && !*is_part) || is_device(stem, name);
}

/* *has_number: of its own, no pod's and no device's. */
static bool is_word_like(struct span host, bool *has_number)
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

/* "cluster", "rack2"; a version's number has no letter, and what is in front of no dot no bytes. */
static bool is_label(struct span label)
{
	bool has_letter = false;

	for (size_t i = 0; i < label.len; i++) {
		if (label.ptr[i] == '_')
			return false;
		has_letter |= is_letter(label.ptr[i]);
	}
	return has_letter;
}

static bool is_domain(struct span domain)
{
	struct span label = SPAN("");
	bool has_other = false;

	while (span_next(&domain, '.', &label))
		if (!is_label(label))
			return false;
	for (size_t i = 0; i < label.len; i++)
		has_other |= !is_letter(label.ptr[i]);
	return label.len >= 2 && !has_other;
}

bool machine_name_is_full(struct span host)
{
	ptrdiff_t dot = span_find_char(host, '.');
	bool has_number, is_local = span_ends_with(host, SPAN(".local")); /* else a word of ranks */

	if (dot <= 0 || (!is_local && !(is_word_like(host, &has_number) && has_number)))
		return false;
	struct span own = span_of(host.ptr, (size_t)dot);
	return is_label(own) && is_word_like(own, &has_number) && (has_number || may_be_device(own)) &&
	       is_domain(span_skip(host, own.len + 1));
}

bool machine_name_is_like(struct span host, bool *has_number)
{
	*has_number = machine_name_is_full(host);
	return *has_number || is_word_like(host, has_number);
}
