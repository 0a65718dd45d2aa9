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

/* Of a program to which its machine failed, or of a check: a syslog's header, or a record, says on which one it runs. */
static enum naming name_programs(
	struct span text, const struct signature_found *found, struct buf *plain, struct span *host)
{
	enum naming naming = NAMING_NONE;

	if (kernel_line_find(text, kernel_line_is_logged, host))
		naming = NAMING_KERNEL;
	else if (kernel_record_find_programs(text, found->said, plain, host))
		naming = NAMING_GUESS; /* it may be a role or a pod */
	return span_equal(*host, MACHINE_OF_NOBODY) ? NAMING_ELSEWHERE : naming;
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
	else if (naming == NAMING_NONE && !found->signature->is_kernel && !voice_is_drivers(found->said))
		return name_programs(rest, found, plain, host);
	*host = naming == NAMING_NONE ? SPAN("") : name;
	return naming;
}
