#include "extract/line/named_host.h"

#include "extract/line/part.h"

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

	if (span_take(&text, SPAN("<"))) {
		size_t digits = count_digits(text);
		text = span_skip(text, digits);
		if (!digits || digits > 3 || !span_take(&text, SPAN(">")))
			return false;
		is_5424 = span_take(&text, SPAN("1 "));
	}
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

/* What programs and launchers number themselves. */
static bool is_role(struct span name)
{
	static const char *const words[] = {"rank", "worker", "trainer", "default", "process", "proc", "task", "local",
		"master", "chief", "ps", "launcher", "stage", "device", "cuda", "dp", "tp", "pp", "ep", "cp", "step",
		"iteration", "epoch", "check", "test", "phase", "run", "job", "level", "dcgm", "dcgmi", "diag",
		"stdout", "stderr"};
	size_t len = name.len;

	while (len && !is_letter(name.ptr[len - 1]))
		len--;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(span_of(name.ptr, len), span_from(words[i])))
			return true;
	return false;
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
	bool has_digit = false, has_letter = false;

	for (size_t i = 0; i < host.len; i++) {
		has_digit |= is_digit(host.ptr[i]);
		has_letter |= is_letter(host.ptr[i]);
	}
	*has_number = has_digit;
	return is_address(host) || (has_letter && !is_role(host) && (has_digit || span_find_char(host, '-') > 0));
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

/* What a driver tells the kernel, and no training prints. */
static bool is_kernels(struct span text)
{
	(void)take_stamp(&text);
	(void)!span_take(&text, SPAN("kernel: "));
	(void)take_stamp(&text);
	return span_starts_with(text, SPAN("NVRM: ")) || span_starts_with(text, SPAN("nvidia-nvswitch"));
}

static enum naming name_by_prefix(struct span name, struct span rest, const struct signature *signature)
{
	bool has_number;

	if (!is_machine_like(name, &has_number))
		return NAMING_NONE;
	if (signature->is_check && has_number)
		return NAMING_SURE;
	return is_kernels(rest) ? NAMING_ELSEWHERE : NAMING_GUESS;
}

enum naming named_host_read(struct span text, const struct signature *signature, struct span *host)
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
