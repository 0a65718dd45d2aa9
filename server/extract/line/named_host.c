#include "extract/line/named_host.h"

#include "extract/line/part.h"
#include "extract/line/unwrap.h"

enum { HOST_BYTES_MAX = 253 };

static size_t count_host(struct span text)
{
	size_t len = 0;

	while (len < text.len && len <= HOST_BYTES_MAX && is_name_char(text.ptr[len]))
		len++;
	return len <= HOST_BYTES_MAX ? len : 0;
}

static bool is_known_to_nobody(struct span host)
{
	return span_equal(host, SPAN("localhost")) || span_starts_with(host, SPAN("localhost."));
}

/* ---- "Nov 30 01:10:00 gpu07 kernel: ", "<4>1 2026-11-30T01:10:00Z gpu07 kernel - - - " ---- */

static bool take_host(struct span *text, struct span *host)
{
	size_t len = count_host(*text);

	*host = span_of(text->ptr, len);
	*text = span_skip(*text, len);
	return len && span_take(text, SPAN(" "));
}

static bool take_stamp(struct span *text)
{
	return text->len && stamp_take(text) != PART_NONE;
}

static bool read_kernel(struct span text, struct span *host)
{
	bool is_5424 = false;

	(void)syslog_take_priority(&text, &is_5424);
	return take_stamp(&text) && take_host(&text, host) &&
	       (span_starts_with(text, SPAN("kernel: ")) || (is_5424 && span_starts_with(text, SPAN("kernel ")))) &&
	       !is_known_to_nobody(*host);
}

/* ---- "[pod/train-0/pytorch] " ---- */

static bool take_pod(struct span *text, struct span *pod)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[pod/")))
		return false;
	size_t len = count_host(rest);
	*pod = span_of(rest.ptr, len);
	rest = span_skip(rest, len);
	ptrdiff_t end = span_find(span_cut(rest, HOST_BYTES_MAX), SPAN("] "));
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

static bool is_address(struct span host)
{
	size_t dots = 0;

	for (size_t i = 0; i < host.len; i++) {
		if (!is_digit(host.ptr[i]) && host.ptr[i] != '.')
			return false;
		dots += host.ptr[i] == '.';
	}
	return dots == 3 && is_digit(char_at(host, 0));
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
	return is_address(host) || is_named;
}

static bool take_name(struct span *text, struct span *name)
{
	size_t len = count_host(*text);

	*name = span_of(text->ptr, len);
	struct span rest = span_skip(*text, len);
	bool is_word = len && (is_letter(name->ptr[0]) || is_address(*name));
	if (!is_word || !span_take(&rest, SPAN(": ")))
		return false;
	*text = rest;
	return true;
}

/* "4,1234,5678901,-;", in front of a record of /dev/kmsg */
static void take_kmsg(struct span *text)
{
	struct span rest = *text;

	for (int i = 0; i < 3; i++) {
		size_t digits = count_digits(rest);
		rest = span_skip(rest, digits);
		if (!digits || !span_take(&rest, SPAN(",")))
			return;
	}
	ptrdiff_t end = span_find_char(span_cut(rest, NAME_MAX_BYTES), ';');
	*text = end < 0 ? *text : span_skip(rest, (size_t)end + 1);
}

/* "[  123.456789]", and the caller "[ T4711]" behind it, of dmesg */
static bool take_uptime(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[")))
		return false;
	rest = span_skip(rest, count_char(rest, ' '));
	size_t seconds = count_digits(rest);
	rest = span_skip(rest, seconds);
	if (!seconds || !span_take(&rest, SPAN(".")))
		return false;
	rest = span_skip(rest, count_digits(rest));
	if (!span_take(&rest, SPAN("]")))
		return false;
	ptrdiff_t end = char_at(rest, 0) == '[' ? span_find_char(span_cut(rest, NAME_MAX_BYTES), ']') : -1;
	rest = span_skip(rest, (size_t)(end + 1));
	if (!span_take(&rest, SPAN(" ")))
		return false;
	*text = rest;
	return true;
}

/* What a driver tells the kernel, and no training prints. */
static bool is_kernels(struct span text)
{
	struct span host, rest;
	bool is_5424;

	(void)syslog_take_priority(&text, &is_5424);
	take_kmsg(&text);
	(void)(take_uptime(&text) || take_stamp(&text));
	rest = text;
	if (take_host(&rest, &host) && span_starts_with(rest, SPAN("kernel: ")))
		text = rest;
	(void)!span_take(&text, SPAN("kernel: "));
	(void)(take_uptime(&text) || take_stamp(&text));
	return span_starts_with(text, SPAN("NVRM: ")) || span_starts_with(text, SPAN("nvidia-nvswitch")) ||
	       span_starts_with(text, SPAN("mlx5_core "));
}

static enum naming name_by_prefix(struct span name, struct span rest, const struct signature *signature)
{
	bool has_number;

	if (!is_machine_like(name, &has_number))
		return NAMING_NONE;
	if (signature->is_check && has_number)
		return NAMING_SURE;
	return is_kernels(rest) && has_number ? NAMING_ELSEWHERE : NAMING_GUESS;
}

/* "Nov 30 01:10:00 gpu07 journal: NVRM: Xid": another program hands on what the kernel said. */
static bool is_handed_on(struct span text, struct span *host)
{
	bool is_5424;

	(void)syslog_take_priority(&text, &is_5424);
	if (!take_stamp(&text) || !take_host(&text, host) || is_known_to_nobody(*host))
		return false;
	ptrdiff_t end = span_find(span_cut(text, HOST_BYTES_MAX), SPAN(": "));
	return end > 0 && span_find_char(span_cut(text, (size_t)end), ' ') < 0 &&
	       is_kernels(span_skip(text, (size_t)end + 2));
}

/* ---- {"host":"gpu07","message":"NVRM: …"} ---- */

enum { PATH_KEYS = 3 };

/* The best machine so far of those that members name: that of the first of their names. */
struct origin {
	const struct span *names;
	size_t count; /* of the names that are better than the present one */
	struct span host;
};

struct record {
	struct span rest;
	struct span path[PATH_KEYS]; /* the keys of the objects around; "": of a list */
	size_t depth;
	struct origin own;
	struct origin pods; /* where its pod runs */
};

/* What a text says of a kernel's line. */
struct quoted {
	bool is_kernels;
	struct span host; /* whose it is: what stands nearest to it says so; "": nothing does */
};

/* Where a record names the collector as well, journald's and the longer one are the origin's. What is deeper tells of others. */
static const struct span own_names[] = {
	SPAN("_HOSTNAME"), SPAN("hostname"), SPAN("host"), SPAN("host.name"), SPAN("host.hostname")};
/* of Fluent Bit and Fluentd, of Vector, of Filebeat */
static const struct span pods_names[] = {SPAN("kubernetes.host"), SPAN("kubernetes.node_name"),
	SPAN("kubernetes.pod_node_name"), SPAN("kubernetes.node.name")};

static bool is_at(const struct record *record, struct span path)
{
	for (size_t i = 0; i < record->depth; i++)
		if (i >= PATH_KEYS || !record->path[i].len || (i && !span_take(&path, SPAN("."))) ||
			!span_take(&path, record->path[i]))
			return false;
	return !path.len;
}

static bool may_be_host(struct span value)
{
	return value.len && count_host(value) == value.len && !is_known_to_nobody(value);
}

static void note_origin(const struct record *record, struct span value, struct origin *origin)
{
	for (size_t i = 0; i < origin->count; i++)
		if (is_at(record, origin->names[i]) && may_be_host(value)) {
			origin->host = value;
			origin->count = i;
		}
}

/* With its escapes read, in the room that there is for it. */
static struct span make_plain(struct span value, struct buf *plain)
{
	size_t from = plain->len;

	if (span_find_char(value, '\\') < 0)
		return value;
	unwrap_append_plain(value, plain);
	return span_of(plain->ptr + from, plain->len - from);
}

static bool quotes_kernel(struct span text)
{
	bool is_so = is_kernels(text);

	for (ptrdiff_t at; !is_so && (at = span_find_char(text, '"')) >= 0;) {
		text = span_skip(text, (size_t)at + 1);
		is_so = is_kernels(text);
	}
	return is_so;
}

static struct quoted read_record(struct span text, size_t level, struct buf *plain);

static struct quoted read_text(struct span value, size_t level, struct buf *plain)
{
	struct span text = make_plain(value, plain), host;

	if (read_kernel(text, &host) || is_handed_on(text, &host))
		return (struct quoted){true, host};
	if (char_at(text, 0) == '{' && level < UNWRAP_RECORDS_MAX)
		return read_record(text, level + 1, plain);
	return (struct quoted){quotes_kernel(text), SPAN("")};
}

/* False: the line ends within it. */
static bool take_text(struct record *record, struct span *text)
{
	if (take_json_text(&record->rest, text))
		return true;
	*text = span_skip(record->rest, 1);
	record->rest = SPAN("");
	return false;
}

/* The text of a member's value, or in a list; false: what is next is no such text, and is passed over. */
static bool take_value(struct record *record, struct span *text)
{
	char c = char_at(record->rest, 0);

	if (c != '"') {
		record->depth += c == '{' || c == '[';
		if ((c == '{' || c == '[') && record->depth <= PATH_KEYS)
			record->path[record->depth - 1] = SPAN("");
		record->depth -= c == '}' || c == ']';
		record->rest = span_skip(record->rest, 1);
		return false;
	}
	(void)take_text(record, text);
	skip_json_blanks(&record->rest);
	if (!span_take(&record->rest, SPAN(":")))
		return true;
	if (record->depth <= PATH_KEYS)
		record->path[record->depth - 1] = *text;
	skip_json_blanks(&record->rest);
	if (char_at(record->rest, 0) != '"')
		return false;
	if (take_text(record, text)) {
		note_origin(record, *text, &record->own);
		note_origin(record, *text, &record->pods);
	}
	return true;
}

/* Whose it is by its members. Where it names a collector's machine beside the pod's it may be of either; journald's is that of the line. */
static struct span choose(const struct record *record)
{
	struct span own = record->own.host, pods = record->pods.host;

	if (own.len && record->own.count && pods.len && !named_host_is_same(own, pods))
		return NAMED_HOST_OF_NOBODY;
	return own.len ? own : pods;
}

/* It begins with its brace. */
static struct quoted read_record(struct span text, size_t level, struct buf *plain)
{
	struct record record = {
		.rest = text,
		.own = {own_names, sizeof own_names / sizeof *own_names, SPAN("")},
		.pods = {pods_names, sizeof pods_names / sizeof *pods_names, SPAN("")},
	};
	struct quoted quoted = {.host = SPAN("")};
	struct span value;

	do {
		if (!take_value(&record, &value))
			continue;
		struct quoted one = read_text(value, level, plain);
		quoted.is_kernels |= one.is_kernels;
		quoted.host = quoted.host.len ? quoted.host : one.host;
	} while (record.depth && record.rest.len);
	if (quoted.is_kernels && !quoted.host.len)
		quoted.host = choose(&record);
	return quoted;
}

/* A collector's record of what a kernel said. */
static bool find_record(struct span text, struct buf *plain, struct span *host)
{
	ptrdiff_t begin = span_find_char(text, '{');

	if (begin < 0)
		return false;
	struct span record = span_cut(span_skip(text, (size_t)begin), NAMED_HOST_RECORD_BYTES);
	buf_reset(plain);
	if (span_find_char(record, '\\') >= 0 && !buf_reserve(plain, UNWRAP_RECORDS_MAX * record.len))
		return false;
	*host = read_record(record, 1, plain).host;
	return host->len;
}

enum naming named_host_read(struct span text, const struct signature *signature, struct buf *plain, struct span *host)
{
	enum naming naming = NAMING_NONE;
	struct span rest = text, name;

	*host = SPAN("");
	if (take_pod(&rest, &name))
		naming = NAMING_ELSEWHERE;
	else if (take_name(&rest, &name))
		naming = name_by_prefix(name, rest, signature);
	if (read_kernel(rest, host))
		return NAMING_KERNEL;
	if (naming == NAMING_NONE && is_handed_on(rest, host))
		return NAMING_ELSEWHERE;
	if (naming != NAMING_ELSEWHERE && find_record(rest, plain, host))
		return NAMING_ELSEWHERE;
	*host = naming == NAMING_NONE ? SPAN("") : name;
	return naming;
}

bool named_host_is_same(struct span a, struct span b)
{
	struct span full = a.len > b.len ? a : b, brief = a.len > b.len ? b : a;

	if (!brief.len || is_address(full))
		return a.len && span_equal_fold(a, b);
	return span_equal_fold(span_of(full.ptr, brief.len), brief) &&
	       (full.len == brief.len || (full.ptr[brief.len] == '.' && span_find_char(brief, '.') < 0));
}

bool named_host_is_number(struct span host)
{
	struct span id = host;

	if (is_address(host))
		return true;
	if (!span_take(&id, SPAN("i-")) && !span_take(&id, SPAN("mi-")))
		return false;
	for (size_t i = 0; i < id.len; i++)
		if (span_hex_digit(id.ptr[i]) < 0)
			return false;
	return id.len >= 8;
}
