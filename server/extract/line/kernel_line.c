#include "extract/line/kernel_line.h"

#include "extract/line/ansi.h"
#include "extract/line/machine_name.h"
#include "extract/line/part.h"
#include "extract/line/prefix.h"

static bool has_letter(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (is_letter(name.ptr[i]))
			return true;
	return false;
}

/* "2026-11-30 01:10:00 INFO kernel: …" is a logger's of that name; "-" is RFC 5424's for none, "3" is a rank's. */
bool kernel_line_names(struct span host)
{
	bool is_own = span_equal(host, SPAN("localhost")) || span_starts_with(host, SPAN("localhost.")) ||
		      span_starts_with(host, SPAN("127.")) || span_equal_fold(host, SPAN("unknown"));

	return host.len && machine_name_length(host) == host.len && !is_own &&
	       (has_letter(host) || machine_name_is_address(host)) && logger_level_length(host) != host.len;
}

/* Blanks and colours in front. */
static struct span skip_space(struct span text)
{
	for (size_t len = 1; len;) {
		len = char_at(text, 0) == ' ' || char_at(text, 0) == '\t' ? 1 : ansi_length(text);
		text = span_skip(text, len);
	}
	return text;
}

/* ---- "Nov 30 01:10:00 gpu07 kernel: ", "<4>1 2026-11-30T01:10:00Z gpu07 kernel - - - " ---- */

static struct span take_name(struct span *text)
{
	struct span name = span_of(text->ptr, machine_name_length(*text));

	*text = span_skip(*text, name.len);
	return name;
}

/* "gpu07 "; of syslog-ng's chains the first is what the machine calls itself: "gpu07/10.0.0.7 ", "s_src@gpu07 ". */
static bool take_host(struct span *text, struct span *host)
{
	*host = take_name(text);
	if (host->len && span_take(text, SPAN("@")))
		*host = take_name(text);
	while (host->len && span_take(text, SPAN("/")))
		if (!take_name(text).len)
			return false;
	return host->len && span_take(text, SPAN(" "));
}

static bool take_stamp(struct span *text)
{
	return text->len && stamp_take(text) != PART_NONE;
}

/* "kern.err " of busybox, in front of the program */
static void take_facility(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("kern.")))
		return;
	rest = span_skip(rest, count_name(rest));
	if (span_take(&rest, SPAN(" ")))
		*text = rest;
}

/* A log's, and no document's that quotes one. */
static bool is_log(struct span path)
{
	static const struct span starts[] = {SPAN("kern"), SPAN("messages"), SPAN("syslog"), SPAN("dmesg")};
	size_t from = path.len;

	while (from && path.ptr[from - 1] != '/')
		from--;
	struct span name = span_skip(path, from);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (span_starts_with(name, starts[i]))
			return true;
	return span_ends_with(name, SPAN(".log")) || span_find(name, SPAN(".log.")) > 0;
}

/* "/var/log/kern.log:", "kern.log.1:" of grep */
static void take_file(struct span *text)
{
	size_t len = 0;

	while (len < text->len && len < MACHINE_NAME_MAX_BYTES &&
		(is_name_char(text->ptr[len]) || text->ptr[len] == '/'))
		len++;
	struct span name = span_of(text->ptr, len);
	bool is_file = span_find_char(name, '/') >= 0 || span_find(name, SPAN(".log")) > 0;
	if (char_at(*text, len) == ':' && is_file && is_log(name))
		*text = span_skip(*text, len + 1);
}

/* "kernel: ", "kernel[0]: " */
static bool take_kernel(struct span *text)
{
	struct span rest = *text, program;

	if (!syslog_take_program(&rest, &program) || !span_equal(program, SPAN("kernel")))
		return false;
	*text = rest;
	return true;
}

bool kernel_line_has_header(struct span text, struct span *host)
{
	bool is_5424 = false;

	text = skip_space(text);
	take_file(&text);
	(void)syslog_take_priority(&text, &is_5424);
	bool is_untimed = is_5424 && span_take(&text, SPAN("- "));
	if (!(is_untimed || take_stamp(&text)) || !take_host(&text, host))
		return false;
	take_facility(&text);
	return (take_kernel(&text) || (is_5424 && span_starts_with(text, SPAN("kernel ")))) && kernel_line_names(*host);
}

/* Of most lines the first bytes say that they are no machine's, and not behind a prefix. */
bool kernel_line_may_have_header(struct span text)
{
	enum { HEADS_BYTES = 128 };
	size_t len = 0;

	while (is_letter(char_at(text, len)))
		len++;
	char next = char_at(text, len);
	struct span rest = span_skip(text, len);
	if (len && next == ' ' && len != 3 && char_at(rest, count_char(rest, ' ')) != '|')
		return false;
	return span_find(span_cut(text, HEADS_BYTES), SPAN(" kernel")) >= 0;
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

/* "kern  :warn  : " of dmesg -x */
static void take_level(struct span *text)
{
	static const struct span levels[] = {SPAN("emerg"), SPAN("alert"), SPAN("crit"), SPAN("err"), SPAN("warn"),
		SPAN("notice"), SPAN("info"), SPAN("debug")};
	struct span rest = *text;
	size_t i = 0;

	if (!span_take(&rest, SPAN("kern")))
		return;
	rest = span_skip(rest, count_char(rest, ' '));
	if (!span_take(&rest, SPAN(":")))
		return;
	while (i < sizeof levels / sizeof *levels && !span_take(&rest, levels[i]))
		i++;
	rest = span_skip(rest, count_char(rest, ' '));
	if (i < sizeof levels / sizeof *levels && span_take(&rest, SPAN(": ")))
		*text = rest;
}

/* "123.456789", "+0.543210" */
static bool take_seconds(struct span *text)
{
	struct span rest = span_skip(*text, count_char(*text, ' '));

	(void)!(span_take(&rest, SPAN("+")) || span_take(&rest, SPAN("-")));
	size_t seconds = count_digits(rest);
	rest = span_skip(rest, seconds);
	if (!seconds || !span_take(&rest, SPAN(".")))
		return false;
	*text = span_skip(rest, count_digits(rest));
	return true;
}

/* "Nov30 15:10" */
static bool take_minute(struct span *text)
{
	if (!is_upper(char_at(*text, 0)) || !is_letter(char_at(*text, 2)) ||
		!(has_form(span_skip(*text, 3), "dd dd:dd") || has_form(span_skip(*text, 3), " d dd:dd")))
		return false;
	*text = span_skip(*text, sizeof "Nov30 15:10" - 1);
	return true;
}

/* "[  123.456789]", "[  123.456789 <    0.543210>]" of dmesg -d, "[Nov30 15:10]" and "[  +0.543210]" of dmesg -H; and the caller
 * "[ T4711]" behind it. */
static bool take_uptime(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("[")) || !(take_minute(&rest) || take_seconds(&rest)))
		return false;
	if (span_take(&rest, SPAN(" <")) && !(take_seconds(&rest) && span_take(&rest, SPAN(">"))))
		return false;
	if (!span_take(&rest, SPAN("]")))
		return false;
	ptrdiff_t end = char_at(rest, 0) == '[' ? span_find_char(span_cut(rest, NAME_MAX_BYTES), ']') : -1;
	rest = span_skip(rest, (size_t)(end + 1));
	if (!span_take(&rest, SPAN(" ")))
		return false;
	*text = rest;
	return true;
}

bool kernel_line_begins(struct span text)
{
	static const struct span words[] = {SPAN("NVRM: "), SPAN("nvidia-nvswitch"), SPAN("mlx5_core "),
		SPAN("Out of memory: Kill"), SPAN("Memory cgroup out of memory: Kill")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_starts_with(text, words[i]))
			return true;
	return false;
}

/* "kernel: "; wall leaves out the blank. */
static void take_program(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("kernel:")) || (char_at(rest, 0) != ' ' && char_at(rest, 0) != '['))
		return;
	(void)!span_take(&rest, SPAN(" "));
	*text = rest;
}

struct span kernel_line_peel(struct span text)
{
	struct span host, rest;
	bool is_5424;

	text = skip_space(text);
	take_file(&text);
	(void)(syslog_take_header(&text) || syslog_take_priority(&text, &is_5424));
	take_kmsg(&text);
	take_level(&text);
	text = skip_space(text);
	(void)(take_uptime(&text) || take_stamp(&text));
	text = rest = skip_space(text);
	if (take_host(&rest, &host)) {
		take_facility(&rest);
		text = take_kernel(&rest) ? rest : text;
	}
	take_program(&text);
	(void)(take_uptime(&text) || take_stamp(&text));
	return skip_space(text);
}

bool kernel_line_is(struct span text)
{
	return kernel_line_begins(kernel_line_peel(text));
}

/* Of "Out of memory: Kill" and "Memory cgroup out of memory: Kill" the signature matches the end. */
bool kernel_line_begins_message(struct span text, struct span said)
{
	enum { OOM_HEAD_BYTES = 16 };
	struct span words = kernel_line_peel(text);

	return said.ptr >= words.ptr && said.ptr <= words.ptr + OOM_HEAD_BYTES && kernel_line_begins(words);
}

bool kernel_line_is_headed(struct span text, struct span said, struct span *host)
{
	enum { HEAD_BYTES = 256 };
	ptrdiff_t words = said.len ? span_find(text, said) : -1, least = words > HEAD_BYTES ? words - HEAD_BYTES : 0;

	*host = SPAN("");
	if (words < 0 || span_find(span_of(text.ptr + least, (size_t)(words - least)), SPAN(" kernel")) < 0)
		return false;
	said = span_of(text.ptr + words, said.len);
	for (ptrdiff_t at = words; at-- > least;) {
		struct span head = span_skip(text, (size_t)at);
		if (kernel_line_has_header(head, host) && kernel_line_begins_message(head, said))
			return true;
	}
	*host = SPAN("");
	return false;
}

static bool is_among(struct span program, const struct span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(program, names[i]))
			return true;
	return false;
}

/* Who hands on what kernels say, and does nothing else. */
static bool is_kernels_relay(struct span program)
{
	static const struct span names[] = {SPAN("journal"), SPAN("systemd-journald"), SPAN("klogd"), SPAN("rsyslogd"),
		SPAN("syslog-ng"), SPAN("nvidia-persistenced")};

	return is_among(program, names, sizeof names / sizeof *names);
}

/* Who hands on all kinds of lines. */
static bool is_any_relay(struct span program)
{
	static const struct span names[] = {SPAN("dmesg"), SPAN("kmsg"), SPAN("npd"), SPAN("docker"), SPAN("dockerd"),
		SPAN("containerd"), SPAN("systemd-journal")};

	return is_among(program, names, sizeof names / sizeof *names);
}

/* Of those that hand on all, the uptime in front of it says that it is a kernel's. */
static bool is_relay(struct span program, struct span said)
{
	return is_kernels_relay(program) || (is_any_relay(program) && take_uptime(&said));
}

/* "Nov 30 01:10:00 gpu07 journal: ", "<4>1 2026-11-30T01:10:00Z gpu07 rag-bot 22 - - ": a syslog's header of any program. */
static bool take_program_header(struct span *text, struct span *host, struct span *program, bool *has_process)
{
	bool is_5424 = false;
	struct span rest = *text;

	(void)syslog_take_priority(&rest, &is_5424);
	if (!take_stamp(&rest) || !take_host(&rest, host))
		return false;
	*program = span_of(rest.ptr, count_name(rest));
	*has_process = is_5424 || char_at(rest, program->len) == '[';
	if (syslog_take_program(&rest, program))
		*text = rest;
	else if (is_5424 && program->len)
		(void)syslog_take_header(text);
	else
		return false;
	return true;
}

bool kernel_line_is_handed_on(struct span text, struct span *host)
{
	struct span program;
	bool has_process;

	return take_program_header(&text, host, &program, &has_process) && kernel_line_is(text) &&
	       kernel_line_names(*host) && is_relay(program, text);
}

bool kernel_line_is_of_program(struct span text, struct span *host)
{
	struct span program;
	bool has_process;

	return take_program_header(&text, host, &program, &has_process) && kernel_line_is(text) &&
	       logger_level_length(*host) != host->len && !span_equal(program, SPAN("kernel")) &&
	       !is_relay(program, text);
}

bool kernel_line_is_logged(struct span text, struct span *host)
{
	bool is_5424, has_process;
	struct span program, inner, stamp = text;

	(void)syslog_take_priority(&stamp, &is_5424);
	bool is_month = is_letter(char_at(stamp, 0));
	if (!is_month && char_at(stamp, sizeof "2026-11-30" - 1) != 'T')
		return false; /* loggers' have a blank there */
	if (!take_program_header(&text, host, &program, &has_process) || (!is_month && !has_process) ||
		!kernel_line_names(*host))
		return false;
	if (kernel_line_is_logged(text, &inner))
		*host = inner;
	return true;
}

bool kernel_line_is_talked_of(struct span text, struct span *host)
{
	struct span program, inner;
	bool has_process;

	return take_program_header(&text, host, &program, &has_process) && has_process &&
	       !span_equal(program, SPAN("kernel")) && !is_kernels_relay(program) && !is_any_relay(program) &&
	       kernel_line_find(text, kernel_line_has_header, &inner);
}

bool kernel_line_find(struct span text, bool (*is_header)(struct span text, struct span *host), struct span *host)
{
	struct span places[PLACES_MAX], one;
	size_t count = line_places(text, places);

	*host = SPAN("");
	for (size_t i = 0; i < count; i++)
		if (is_header(places[i], &one))
			*host = machine_name_join(*host, one);
	return host->len;
}

/* ---- in a text of several ---- */

static bool has_drivers_word(struct span text)
{
	return span_find(text, SPAN("NVRM: ")) >= 0 || span_find(text, SPAN("nvidia-nvswitch")) >= 0 ||
	       span_find(text, SPAN("mlx5_core ")) >= 0;
}

/* By what is common to them: a sieve. */
bool kernel_line_may_be_witness(struct span text)
{
	static const struct span words[] = {SPAN("ncorrectable"), SPAN("NCORRECTABLE"), SPAN("NRT_EXEC_HW_ERR_"),
		SPAN("NEURON_HW_ERR="), SPAN("device handle for "), SPAN("GPU is lost")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_find(text, words[i]) >= 0)
			return true;
	return false;
}

bool kernel_line_may_accuse(struct span text)
{
	return kernel_line_is_quoted(text) || kernel_line_may_be_witness(text);
}

/* A line's end, or '\r' where a record's text is read. */
static size_t line_length(struct span text)
{
	size_t len = 0;

	while (len < text.len && text.ptr[len] != '\n' && text.ptr[len] != '\r')
		len++;
	return len;
}

static bool is_quoted_in_line(struct span line)
{
	for (ptrdiff_t at; (at = span_find_char(line, '"')) >= 0;) {
		line = span_skip(line, (size_t)at + 1);
		if (kernel_line_is(line))
			return true;
	}
	return false;
}

bool kernel_line_is_quoted(struct span text)
{
	if (kernel_line_is(text))
		return true;
	if (!has_drivers_word(text))
		return false;
	while (text.len) {
		struct span line = span_of(text.ptr, line_length(text));
		if (kernel_line_is(line) || is_quoted_in_line(line))
			return true;
		text = span_skip(text, line.len + 1);
	}
	return false;
}

struct span kernel_line_around(struct span text, struct span said)
{
	ptrdiff_t at = said.len ? span_find(text, said) : -1;

	if (at < 0)
		return text;
	size_t begin = (size_t)at;
	while (begin && text.ptr[begin - 1] != '\n' && text.ptr[begin - 1] != '\r')
		begin--;
	text = span_skip(text, begin);
	return span_of(text.ptr, line_length(text));
}
