#include "extract/line/named_host.h"

#include "extract/line/kernel_line.h"
#include "extract/line/kernel_record.h"
#include "extract/line/machine_name.h"
#include "extract/line/part.h"
#include "extract/line/voice.h"

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

bool named_host_is_pods(struct span line)
{
	struct span pod;

	return take_pod(&line, &pod);
}

/* ---- "gpu07: " ---- */

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

	if (!machine_name_is_like(name, &has_number))
		return NAMING_NONE;
	if (signature->is_check && has_number)
		return NAMING_SURE;
	return kernel_line_is(rest) && has_number ? NAMING_ELSEWHERE : NAMING_GUESS;
}

/* ---- "host=gpu07 msg=\"…\"", behind the words as well as in front of them ---- */

static bool drop_end(struct span *text, char c)
{
	if (!text->len || text->ptr[text->len - 1] != c)
		return false;
	text->len--;
	return true;
}

/* The machine that a pair with its sign at `at` names; "": none. "key"=>"value" is Fluent Bit's. */
static struct span read_pair(struct span line, size_t at, bool *is_other)
{
	struct span key = span_of(line.ptr, at), value = span_skip(line, at + 1);

	(void)!span_take(&value, SPAN(">"));
	(void)!span_take(&value, SPAN("\""));
	(void)!drop_end(&key, '"');
	size_t from = key.len;
	while (from && is_name_char(key.ptr[from - 1]))
		from--;
	value = span_of(value.ptr, machine_name_length(value));
	return kernel_record_names_machine(span_skip(key, from), value, is_other) ? value : SPAN("");
}

/* Of nobody: it names two. What the signature matched names none, nor what a record in it has. */
static struct span name_in_pairs(struct span line, struct span said)
{
	struct span own = SPAN(""), other = SPAN("");

	for (size_t at = 0; at < line.len; at++) {
		bool is_other, is_said = line.ptr + at >= said.ptr && line.ptr + at < said.ptr + said.len;
		if (line.ptr[at] != '=' || is_said)
			continue;
		struct span name = read_pair(line, at, &is_other);
		if (is_other)
			other = machine_name_join(other, name);
		else
			own = own.len ? own : name;
	}
	return !other.len ? own : own.len ? machine_name_join(own, other) : MACHINE_OF_NOBODY;
}

/* ---- "(RayTrainWorker pid=2244, ip=10.1.2.3) ", "ok: [gpu07] => " ---- */

static bool name_by_launcher(struct span front, struct span *name)
{
	static const struct span results[] = {SPAN("ok: ["), SPAN("changed: ["), SPAN("fatal: ["), SPAN("failed: [")};
	ptrdiff_t at = span_find(front, SPAN(", ip="));

	if (at > 0 && span_find_char(span_cut(front, (size_t)at), '(') >= 0) {
		struct span rest = span_skip(front, (size_t)at + sizeof ", ip=" - 1);
		*name = span_of(rest.ptr, machine_name_length(rest));
		if (char_at(rest, name->len) != ')') /* of IPv6 */
			*name = MACHINE_OF_NOBODY;
		return name->len;
	}
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		struct span rest = front;
		if (!span_take(&rest, results[i]))
			continue;
		*name = span_of(rest.ptr, machine_name_length(rest));
		return name->len && char_at(rest, name->len) == ']' && kernel_line_names(*name);
	}
	return false;
}

/* ---- "[gpu07] ", "2026-11-30T01:10:00Z gpu07: ", "gpu07 kernel: " ---- */

/* Nothing but a time stands in front of it. */
static bool begins_line(struct span front, size_t from)
{
	while (from && memchr(" [", front.ptr[from - 1], 2))
		from--;
	return !from || is_digit(front.ptr[from - 1]) || front.ptr[from - 1] == 'Z';
}

/* What stands there is a machine for certain where a driver speaks behind it. */
static bool is_tag(struct span behind)
{
	return span_starts_with(behind, SPAN(": ")) || span_starts_with(behind, SPAN(" kernel: ")) ||
	       span_starts_with(behind, SPAN("] out: "));
}

/* "[gpu07.cluster.local] ": no program's word looks so. */
static bool is_full_in_brackets(struct span name, char before, struct span behind)
{
	return before == '[' && char_at(behind, 0) == ']' && machine_name_is_full(name);
}

/* A machine's name at that place, marked as one: by what encloses it, or as the line's first word. */
static enum naming name_at(struct span front, size_t at, struct span name, bool is_drivers)
{
	struct span behind = span_skip(front, at + name.len);
	char before = at ? front.ptr[at - 1] : ' ';
	bool has_number, may_be = is_letter(name.ptr[0]) || machine_name_is_address(name);

	if (!may_be || memchr("/=@", before, 3) || char_at(behind, 0) == '/' || !kernel_line_names(name) ||
		!machine_name_is_like(name, &has_number) || !has_number)
		return NAMING_NONE;
	bool is_kernels = span_starts_with(behind, SPAN(" kernel: "));
	if (char_at(behind, 0) == ' ' && !is_kernels && (before != ' ' || !begins_line(front, at)))
		return NAMING_NONE;
	bool is_sure = (is_tag(behind) && begins_line(front, at)) || is_full_in_brackets(name, before, behind);
	return is_drivers && is_sure ? NAMING_ELSEWHERE : NAMING_GUESS;
}

/* Of the names in front of the words the innermost, up to a quote, a record or an exception's own words; a tag outdoes others. */
static enum naming name_in_front(struct span front, bool is_drivers, struct span *name)
{
	enum naming naming = NAMING_NONE;

	for (size_t at = 0, len; at < front.len && !memchr("\"{", front.ptr[at], 2); at += len ? len : 1) {
		struct span rest = span_skip(front, at);
		len = machine_name_length(rest);
		struct span one = span_of(rest.ptr, len);
		if (span_ends_with(one, SPAN("Error")) || span_ends_with(one, SPAN("Exception")))
			break;
		enum naming now = len ? name_at(front, at, one, is_drivers) : NAMING_NONE;
		if (now == NAMING_NONE || now < naming)
			continue;
		naming = now;
		*name = one;
	}
	return naming;
}

/* What the line names in whatever other form, and may be the machine. */
static enum naming name_elsewhere(struct span text, struct span said, bool is_drivers, struct span *name)
{
	enum naming sure = is_drivers ? NAMING_ELSEWHERE : NAMING_GUESS;
	ptrdiff_t at = span_find(text, said);
	struct span front = span_cut(text, at < 0 ? 0 : (size_t)at);

	if (name_by_launcher(front, name))
		return NAMING_ELSEWHERE;
	*name = name_in_pairs(text, said);
	if (name->len)
		return span_equal(*name, MACHINE_OF_NOBODY) ? NAMING_ELSEWHERE : sure;
	return name_in_front(front, is_drivers, name);
}

/* Of a program to which its machine failed, or of a check, a syslog's header says for certain where it runs; what stands nearer to the words outdoes it. */
static bool is_logged(struct span text, struct span nearest, struct span *host)
{
	return kernel_line_find(text, kernel_line_is_logged, host) &&
	       (!nearest.len || span_equal(*host, MACHINE_OF_NOBODY) || machine_name_is_same(*host, nearest));
}

/* A record of a program's: its machine may be the one that it only asks. */
static enum naming name_by_record(struct span text, struct span said, struct buf *plain, struct span *name)
{
	ptrdiff_t begin = span_find_char(text, '{');

	if (begin < 0 || char_at(span_skip(text, (size_t)begin), 1) != '"')
		return NAMING_NONE;
	if (!kernel_record_find_programs(text, said, plain, name))
		return NAMING_NONE;
	return span_equal(*name, MACHINE_OF_NOBODY) ? NAMING_ELSEWHERE : NAMING_GUESS;
}

/* The kernel's, also whom it killed, which is no fault of a machine. */
static bool is_kernels(struct span said)
{
	return voice_is_drivers(said) || span_starts_with(said, SPAN("Memory cgroup out of memory")) ||
	       span_starts_with(said, SPAN("oom-kill:"));
}

enum naming named_host_read(struct span text, const struct signature_found *found, struct buf *plain, struct span *host)
{
	bool is_drivers = is_kernels(found->said);
	enum naming naming = NAMING_NONE, other;
	struct span rest = text, name = SPAN(""), nearest = SPAN("");

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
	if (found->signature->about != SIGNATURE_NODE && !is_drivers)
		return NAMING_NONE;
	other = naming < NAMING_ELSEWHERE ? name_elsewhere(text, found->said, is_drivers, &nearest) : NAMING_NONE;
	if (naming == NAMING_NONE && !is_drivers && !found->signature->is_kernel && is_logged(rest, nearest, host))
		return span_equal(*host, MACHINE_OF_NOBODY) ? NAMING_ELSEWHERE : NAMING_KERNEL;
	if (other > naming) {
		*host = nearest;
		return other;
	}
	if (!is_drivers && naming == NAMING_NONE &&
		(other = name_by_record(rest, found->said, plain, host)) != NAMING_NONE)
		return other;
	*host = naming == NAMING_NONE ? SPAN("") : name;
	return naming;
}

/* ---- journalctl -o export, -o verbose: a member a line ---- */

enum record_part named_host_record_part(struct span line, struct span *host)
{
	struct span rest = span_skip(line, count_char(line, ' '));

	*host = SPAN("");
	if (!rest.len || span_starts_with(rest, SPAN("__CURSOR=")))
		return RECORD_PART_BEGIN;
	if (span_starts_with(rest, SPAN("MESSAGE=")))
		return RECORD_PART_MESSAGE;
	if (!span_take(&rest, SPAN("_HOSTNAME=")))
		return RECORD_PART_NONE;
	*host = rest.len == machine_name_length(rest) && kernel_line_names(rest) ? rest : SPAN("");
	return RECORD_PART_HOST;
}
