#include "extract/line/kernel_record.h"

#include "base/json/json_write.h"
#include "extract/line/cursor.h"
#include "extract/line/kernel_line.h"
#include "extract/line/machine_name.h"
#include "extract/line/said_tag.h"
#include "extract/line/unwrap.h"

/* ---- {"host":"gpu07","message":"NVRM: …"} ---- */

enum { PATH_KEYS = 8 };

/* The best machine so far of those that members name: that of the first of their names. */
struct origin {
	const struct span *names;
	size_t count; /* of the names that are better than the present one */
	struct span host;
};

/* What an object or a list is in, from the record on. */
struct around {
	struct origin own;
	bool has_line; /* a kernel's, or the one that is asked for, stands in it and has no header that says whose it is */
};

struct record {
	struct span rest;
	struct span path[PATH_KEYS]; /* the keys of the objects around; "": of a list */
	size_t depth;
	struct around around[PATH_KEYS]; /* the first is the record itself */
	struct origin pods; /* where its pod runs */
	struct span others; /* whom it names beside: a peer, a target */
	struct span inner; /* the machine that objects in it name, around a kernel's line; of nobody: several */
	bool is_programs; /* it says that the kernel wrote its text */
};

struct reading {
	struct span said; /* what whose it is is asked of; "": that is not known */
	bool takes_drivers; /* what a driver says counts, whether that is in it or not */
	bool is_programs; /* of a program's own line */
	struct buf *plain;
	own_line_shape *shape; /* of the line that holds it, if it is a message of its own; NULL: that is not asked */
};

/* What a text says of a kernel's line. */
struct quoted {
	bool is_kernels; /* or the program's that is asked for */
	bool is_sure; /* by more than its words */
	bool is_said; /* it holds what the signature matched */
	bool is_own; /* as a message of its own */
	bool is_free; /* as something else than a pattern */
	struct span machine; /* that a record is of, by its members */
	struct span host; /* whose it is: what stands nearest to it says so; "": nothing does */
};

/* Where a record names the collector as well, journald's and the longer one are the origin's. What is deeper tells of others. The case of a
 * name, and what joins its words, does not matter: each shipper writes them as it likes. */
static const struct span own_names[] = {SPAN("_hostname"), SPAN("hostname"), SPAN("host"), SPAN("host.name"),
	SPAN("host.hostname"), SPAN("nodename"), SPAN("node.name"), SPAN("node"), SPAN("source.host"), SPAN("fromhost"),
	SPAN("sysloghost"), SPAN("logsource"), SPAN("computer"), SPAN("instance")};
enum { JOURNALS_NAMES = 1 };
/* Of whom a program or a collector tells: it may be either's. */
static const struct span others_names[] = {SPAN("remote_host"), SPAN("remote.host"), SPAN("remote_node"),
	SPAN("remote"), SPAN("peer"), SPAN("peer_host"), SPAN("peer_node"), SPAN("target"), SPAN("target_host"),
	SPAN("target_node")};
/* of Fluent Bit and Fluentd, of Vector, of Filebeat */
static const struct span pods_names[] = {SPAN("kubernetes.host"), SPAN("kubernetes.node_name"),
	SPAN("kubernetes.pod_node_name"), SPAN("kubernetes.node.name")};
/* of journald, of Vector, of rsyslog, Logstash, Fluent Bit and Filebeat */
static const struct span programs_names[] = {SPAN("syslog.identifier"), SPAN("_transport"), SPAN("appname"),
	SPAN("program"), SPAN("programname"), SPAN("ident"), SPAN("process.name")};

static char fold(char c)
{
	return c == '.' || c == '-' ? '_' : is_upper(c) ? (char)(c | 0x20) : c;
}

static bool take_key(struct span *path, struct span key)
{
	if (path->len < key.len)
		return false;
	for (size_t i = 0; i < key.len; i++)
		if (fold(path->ptr[i]) != fold(key.ptr[i]))
			return false;
	*path = span_skip(*path, key.len);
	return true;
}

/* from: of the objects around the one that the path begins in */
static bool is_at(const struct record *record, size_t from, struct span path)
{
	for (size_t i = from; i < record->depth; i++)
		if (i >= PATH_KEYS || !record->path[i].len || (i > from && !span_take(&path, SPAN("."))) ||
			!take_key(&path, record->path[i]))
			return false;
	return !path.len;
}

bool kernel_record_names_program(struct span key)
{
	for (size_t i = 0; i < sizeof programs_names / sizeof *programs_names; i++) {
		struct span rest = programs_names[i];
		if (take_key(&rest, key) && !rest.len)
			return true;
	}
	return false;
}

static bool is_others_name(struct span key)
{
	for (size_t i = 0; i < sizeof others_names / sizeof *others_names; i++) {
		struct span rest = others_names[i];
		if (take_key(&rest, key) && !rest.len)
			return true;
	}
	return false;
}

/* Members that programs have for a rank or a role, too. */
static bool may_be_role(struct span name)
{
	return span_equal(name, SPAN("node")) || span_equal(name, SPAN("instance")) ||
	       span_equal(name, SPAN("computer"));
}

static bool names_machine_as(struct span name, struct span value)
{
	bool has_number;

	return kernel_line_names(value) && (!may_be_role(name) || machine_name_is_like(value, &has_number));
}

static void note_origin(const struct record *record, size_t from, struct span value, struct origin *origin)
{
	for (size_t i = 0; i < origin->count; i++)
		if (is_at(record, from, origin->names[i]) && names_machine_as(origin->names[i], value)) {
			origin->host = value;
			origin->count = i;
		}
}

static void note_others(struct record *record, struct span value)
{
	bool has_number;

	if (record->depth == 1 && is_others_name(record->path[0]) && kernel_line_names(value) &&
		machine_name_is_like(value, &has_number))
		record->others = machine_name_join(record->others, value);
}

static void note_program(struct record *record, struct span value)
{
	if (!span_equal(value, SPAN("kernel")))
		return;
	for (size_t i = 0; i < sizeof programs_names / sizeof *programs_names; i++)
		record->is_programs |= is_at(record, 0, programs_names[i]);
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

static struct quoted read_record(struct span text, size_t level, const struct reading *reading);

static bool is_said_in(struct span text, const struct reading *reading)
{
	return reading->said.len && span_find(text, reading->said) >= 0;
}

static bool is_own(struct span text, const struct reading *reading)
{
	return reading->shape &&
	       reading->shape(text, span_of(text.ptr + span_find(text, reading->said), reading->said.len));
}

/* Of its lines that hold what is asked for the first that is a message of its own; else the first. */
static struct span choose_line(struct span text, const struct reading *reading)
{
	struct span first = kernel_line_around(text, reading->said), rest = text;

	while (reading->said.len && span_find(rest, reading->said) >= 0) {
		struct span line = kernel_line_around(rest, reading->said);
		if (reading->shape ? is_own(line, reading) : kernel_line_is(line))
			return line;
		rest = span_skip(text, (size_t)(line.ptr - text.ptr) + line.len +
					       1); /* what is asked for may begin with a line's end */
	}
	return first;
}

static struct quoted read_text(struct span value, size_t level, const struct reading *reading)
{
	struct span text = make_plain(value, reading->plain), host;

	if (char_at(text, 0) == '{' && level < UNWRAP_RECORDS_MAX)
		return read_record(text, level + 1, reading);
	text = choose_line(text, reading);
	bool is_said = is_said_in(text, reading), is_drivers = kernel_line_is_quoted(text);
	struct quoted one = {.is_said = is_said, .host = SPAN("")};
	if (!is_said && !(is_drivers && reading->takes_drivers))
		return one;
	one.is_own = is_said && is_own(text, reading);
	one.is_sure = kernel_line_find(text, kernel_line_has_header, &host);
	one.is_kernels = is_drivers || (is_said && reading->is_programs);
	if (one.is_sure || kernel_line_find(text, kernel_line_is_handed_on, &host) ||
		(reading->is_programs && kernel_line_find(text, kernel_line_is_logged, &host))) {
		one.is_kernels = true;
		one.host = host;
	}
	return one;
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

static const struct origin of_own = {own_names, sizeof own_names / sizeof *own_names, SPAN("")};

static void open_one(struct record *record)
{
	if (record->depth++ >= PATH_KEYS)
		return;
	record->path[record->depth - 1] = SPAN("");
	record->around[record->depth - 1] = (struct around){.own = of_own};
}

static void close_one(struct record *record)
{
	size_t at = --record->depth;

	if (!at || at >= PATH_KEYS || !record->around[at].has_line)
		return;
	record->around[at - 1].has_line = true;
	record->inner = machine_name_join(record->inner, record->around[at].own.host);
}

/* Deeper than what is kept of the objects around it may be anybody's. */
static void note_line(struct record *record)
{
	if (record->depth && record->depth <= PATH_KEYS)
		record->around[record->depth - 1].has_line = true;
	else
		record->inner = MACHINE_OF_NOBODY;
}

/* The text of a member's value, or in a list; false: what is next is no such text, and is passed over. */
static bool take_value(struct record *record, struct span *text)
{
	char c = char_at(record->rest, 0);

	if (c != '"') {
		if (c == '{' || c == '[')
			open_one(record);
		else if (c == '}' || c == ']')
			close_one(record);
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
		for (size_t i = 0; i < record->depth && i < PATH_KEYS; i++)
			note_origin(record, i, *text, &record->around[i].own);
		note_origin(record, 0, *text, &record->pods);
		note_others(record, *text);
		note_program(record, *text);
	}
	return true;
}

/*
 * Whose it is by its members. Where it names a collector's machine beside the pod's it may be of either; journald's is that of the line.
 * So it is where an object in it, around the line, names another one.
 */
static struct span choose(const struct record *record)
{
	const struct origin *own = &record->around[0].own;
	struct span pods = record->pods.host;

	if (own->host.len && own->count >= JOURNALS_NAMES && pods.len && !machine_name_is_same(own->host, pods))
		return MACHINE_OF_NOBODY;
	struct span host = machine_name_join(own->host.len ? own->host : pods, record->inner);
	if (!record->others.len || (own->host.len && own->count < JOURNALS_NAMES))
		return host;
	return host.len ? machine_name_join(host, record->others) : MACHINE_OF_NOBODY;
}

/* Collectors and loggers call it so; "text" is what people write. */
static bool holds_line(struct span key)
{
	return unwrap_is_message(key) && !span_equal(key, SPAN("text"));
}

/* The member just read is what the record is about, and not what it says beside. */
static bool is_at_message(const struct record *record)
{
	return record->depth == 1 && holds_line(record->path[0]);
}

static bool is_in_list(const struct record *record)
{
	for (size_t i = 0; i < record->depth && i < PATH_KEYS; i++)
		if (!record->path[i].len)
			return true;
	return record->depth > PATH_KEYS;
}

static bool is_one_of(struct span name, const struct span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(name, names[i]))
			return true;
	return false;
}

/* The member just read holds a line of a log: the record's own, or one of an object in it. */
static bool is_line(const struct record *record)
{
	static const struct span outer[] = {SPAN("line"), SPAN("error"), SPAN("reason"), SPAN("raw"), SPAN("exc_info"),
		SPAN("exception"), SPAN("stack"), SPAN("stack_trace"), SPAN("traceback"), SPAN("stdout"),
		SPAN("stderr"), SPAN("output")};
	static const struct span inner[] = {SPAN("line"), SPAN("log"), SPAN("message"), SPAN("msg"), SPAN("MESSAGE"),
		SPAN("original"), SPAN("stack_trace")};
	struct span key = record->depth <= PATH_KEYS ? record->path[record->depth - 1] : SPAN("");

	if (record->depth == 1)
		return is_one_of(key, outer, sizeof outer / sizeof *outer) || holds_line(key);
	return is_one_of(key, inner, is_in_list(record) ? 1 : sizeof inner / sizeof *inner);
}

/* It holds what somebody looks for, or an example; a list of texts, what happened by its name alone. */
static bool is_pattern(const struct record *record)
{
	static const struct span patterns[] = {SPAN("pattern"), SPAN("regex"), SPAN("regexp"), SPAN("expr"),
		SPAN("query"), SPAN("match"), SPAN("rule"), SPAN("filter"), SPAN("keyword"), SPAN("example"),
		SPAN("sample"), SPAN("prompt"), SPAN("completion"), SPAN("help"), SPAN("title"), SPAN("description"),
		SPAN("retry_on")};
	static const struct span lists[] = {SPAN("error"), SPAN("errors"), SPAN("exception"), SPAN("exceptions"),
		SPAN("exc_info"), SPAN("lines"), SPAN("log"), SPAN("logs"), SPAN("message"), SPAN("messages"),
		SPAN("stack"), SPAN("traceback"), SPAN("stdout"), SPAN("stderr"), SPAN("output")};
	size_t at = record->depth < PATH_KEYS ? record->depth : PATH_KEYS;
	bool is_item = at && !record->path[at - 1].len;

	while (at && !record->path[at - 1].len)
		at--;
	struct span name = at ? record->path[at - 1] : SPAN("");
	return is_item ? !is_one_of(name, lists, sizeof lists / sizeof *lists)
		       : is_one_of(name, patterns, sizeof patterns / sizeof *patterns);
}

/* It begins with its brace. */
static struct quoted read_record(struct span text, size_t level, const struct reading *reading)
{
	struct record record = {
		.rest = text,
		.inner = SPAN(""),
		.others = SPAN(""),
		.pods = {pods_names, sizeof pods_names / sizeof *pods_names, SPAN("")},
	};
	struct quoted quoted = {.host = SPAN("")};
	struct span value;

	do {
		if (!take_value(&record, &value))
			continue;
		struct quoted one = read_text(value, level, reading);
		quoted.is_kernels |= one.is_kernels;
		quoted.is_sure |= one.is_sure && is_at_message(&record);
		quoted.is_said |= one.is_said;
		bool is_record = char_at(value, 0) == '{'; /* which tells by itself */
		quoted.is_own |= one.is_own && (is_record || is_line(&record));
		quoted.is_free |= is_record ? one.is_free : one.is_said && !is_pattern(&record);
		quoted.host = machine_name_join(quoted.host, one.host);
		if (!one.host.len && (one.is_kernels || one.is_said))
			note_line(&record);
	} while (record.depth && record.rest.len);
	while (record.depth)
		close_one(&record);
	quoted.is_kernels |= record.is_programs;
	quoted.is_sure |= record.is_programs;
	quoted.machine = choose(&record);
	if (quoted.is_kernels && !quoted.host.len)
		quoted.host = quoted.machine;
	return quoted;
}

/* As it stands in a text whose escapes are read, whatever a record had to write for what is behind the first of them; up to the text's end. */
static struct span until_escape(struct span said)
{
	size_t len = 0;

	while (len < said.len && said.ptr[len] != '\\' && (said.ptr[len] != '"' || !len))
		len++;
	return span_cut(said, len);
}

/* The first one in the line; without a machine: there is none of a kernel's. */
static struct quoted find_record_as(struct span text, const struct reading *reading)
{
	ptrdiff_t begin = span_find_char(text, '{');

	buf_reset(reading->plain);
	if (begin < 0)
		return (struct quoted){.host = SPAN(""), .machine = SPAN("")};
	struct span record = span_cut(span_skip(text, (size_t)begin), KERNEL_RECORD_BYTES);
	if (span_find_char(record, '\\') >= 0 && !buf_reserve(reading->plain, UNWRAP_RECORDS_MAX * record.len))
		return (struct quoted){.host = SPAN(""), .machine = SPAN("")};
	return read_record(record, 1, reading);
}

static struct quoted find_record(
	struct span text, struct span said, bool takes_drivers, own_line_shape *shape, struct buf *plain)
{
	struct span plain_said = until_escape(said);
	struct reading reading = {plain_said, takes_drivers || !plain_said.len, false, plain, shape};

	return find_record_as(text, &reading);
}

/* Of a program's line. */
static struct quoted find_programs_record(struct span text, struct span said, struct buf *plain)
{
	struct reading reading = {until_escape(said), false, true, plain, NULL};

	return find_record_as(text, &reading);
}

bool kernel_record_find(struct span text, struct span said, struct buf *plain, struct span *host)
{
	*host = find_record(text, said, false, NULL, plain).host;
	return host->len;
}

bool kernel_record_find_programs(struct span text, struct span said, struct buf *plain, struct span *host)
{
	struct quoted quoted = find_programs_record(text, said, plain);

	*host = quoted.host.len ? quoted.host : quoted.machine;
	return host->len;
}

bool kernel_record_names_machine(struct span key, struct span value, bool *is_other)
{
	bool has_number;

	*is_other = is_others_name(key);
	if (*is_other)
		return kernel_line_names(value) && machine_name_is_like(value, &has_number);
	for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) {
		struct span rest = own_names[i];
		if (take_key(&rest, key) && !rest.len)
			return names_machine_as(own_names[i], value);
	}
	return false;
}

static bool is_tagged(struct span text, struct span said)
{
	ptrdiff_t at = said.len ? span_find(text, said) : -1;

	return at >= 0 && said_tag_is_before(text, span_of(text.ptr + at, said.len));
}

bool kernel_line_is_sure(struct span text, struct span said)
{
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);
	struct span host;

	if (kernel_line_find(text, kernel_line_has_header, &host))
		return !span_equal(host, MACHINE_OF_NOBODY) && !is_tagged(text, said);
	if (char_at(text, 0) != '{')
		return false;
	struct quoted quoted = find_record(text, said, false, NULL, &plain);
	return quoted.is_sure && quoted.host.len;
}

enum record_words kernel_record_words(struct span record, struct span said, own_line_shape *shape, struct buf *plain)
{
	struct quoted quoted = find_record(record, said, false, shape, plain);

	if (quoted.is_own || (quoted.is_sure && quoted.is_said))
		return RECORD_IS_OWN;
	return quoted.is_said && !quoted.is_free ? RECORD_LISTS : RECORD_SAYS;
}

/* Also of a record in the record, whose quotes have a backslash in front. *value: what is behind the colon. */
static bool find_member(struct span record, struct span name, struct span *value)
{
	for (ptrdiff_t at; (at = span_find(record, name)) >= 0;) {
		struct span rest = span_skip(record, (size_t)at + name.len);
		bool is_begun = at && record.ptr[at - 1] == '"';
		record = rest;
		rest = span_skip(rest, count_char(rest, '\\'));
		if (!is_begun || !span_take(&rest, SPAN("\"")))
			continue;
		rest = span_skip(rest, count_char(rest, ' '));
		if (!span_take(&rest, SPAN(":")))
			continue;
		rest = span_skip(rest, count_char(rest, ' '));
		*value = span_skip(rest, count_char(rest, '\\'));
		return true;
	}
	return false;
}

/* "role": "user" of a conversation, "channel" and "user" of a chat's. */
static bool is_of_talk(struct span record)
{
	static const struct span roles[] = {
		SPAN("\"user"), SPAN("\"assistant"), SPAN("\"human"), SPAN("\"bot"), SPAN("\"model"), SPAN("\"tool")};
	struct span value;

	if (find_member(record, SPAN("channel"), &value) && find_member(record, SPAN("user"), &value))
		return true;
	if (!find_member(record, SPAN("role"), &value))
		return false;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		struct span rest = value;
		if (span_take(&rest, roles[i]) && (char_at(rest, 0) == '"' || char_at(rest, 0) == '\\'))
			return true;
	}
	return false;
}

bool kernel_record_is_sample(struct span record)
{
	struct span value;

	record = span_cut(record, KERNEL_RECORD_BYTES);
	return find_member(record, SPAN("prompt"), &value) || find_member(record, SPAN("completion"), &value) ||
	       is_of_talk(record);
}

/* Its text is in "text" alone. */
static bool has_text_alone(struct span record)
{
	static const struct span names[] = {SPAN("message"), SPAN("msg"), SPAN("log"), SPAN("MESSAGE"), SPAN("line"),
		SPAN("event"), SPAN("body"), SPAN("short_message"), SPAN("textPayload")};
	struct span value;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (find_member(record, names[i], &value))
			return false;
	return find_member(record, SPAN("text"), &value);
}

void kernel_record_machine(struct span record, struct buf *plain, struct span *host)
{
	*host = find_record(record, SPAN(""), false, NULL, plain).machine;
}

/* ---- what is kept of one ---- */

static size_t count_breaks(struct span text)
{
	size_t count = 0;

	for (struct span line; span_next(&text, '\n', &line) && text.ptr;)
		count++;
	return count;
}

static bool has_header(struct span line, bool is_programs)
{
	struct span host;

	return kernel_line_has_header(line, &host) || kernel_line_is_handed_on(line, &host) ||
	       (is_programs && kernel_line_find(line, kernel_line_is_logged, &host));
}

/* A program's to which its machine failed. */
static bool is_programs(struct span text)
{
	return kernel_line_may_be_witness(text) && !kernel_line_is_quoted(text);
}

/* The first of them. */
static struct span accusing_line(struct span text)
{
	struct span line = text;

	while (span_next(&text, '\n', &line) && !kernel_line_may_be_witness(line))
		continue;
	return line;
}

static bool names_machine(struct span text, struct buf *plain)
{
	struct span host;

	return has_header(text, is_programs(text)) || kernel_record_find(text, SPAN(""), plain, &host);
}

static void append_line(struct buf *out, struct span line, const struct quoted *quoted)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_span(&w, "message", line);
	json_put_span(&w, "host", quoted->host);
	if (quoted->is_sure)
		json_put_text(&w, "program", "kernel");
	json_object_end(&w);
}

/* Of a line with quotes it must be seen what they are around, which a record's text hides. */
static bool is_witness(struct span line)
{
	return kernel_line_may_be_witness(line) && span_find_char(line, '"') < 0;
}

/* Each by itself: what says of one whose it is does not say it of the next. Of a program's text those alone that accuse. */
static void append_lines(struct buf *out, struct span text, const struct quoted *quoted)
{
	bool are_programs = is_programs(text);

	for (struct span line; span_next(&text, '\n', &line);) {
		bool is_asked = are_programs ? is_witness(line) : line.len > 0;
		if (is_asked && !has_header(line, are_programs))
			append_line(out, line, quoted);
		else
			buf_append_span(out, line);
		if (text.ptr)
			buf_append_char(out, '\n');
	}
}

bool kernel_record_wrap(struct span text, struct span host, bool is_sure, struct buf *plain, struct buf *out)
{
	const struct quoted quoted = {.host = host, .is_sure = is_sure};
	size_t breaks = count_breaks(text);

	if (text.len > KERNEL_RECORD_BYTES || breaks >= KERNEL_LINES_MAX || (!breaks && names_machine(text, plain)))
		return false;
	buf_reset(out);
	append_lines(out, text, &quoted);
	return true;
}

bool kernel_record_keep(struct span record, struct span text, struct buf *plain, struct buf *out)
{
	size_t breaks = count_breaks(text);
	bool is_sample = kernel_record_is_sample(record) || has_text_alone(record);

	if (record.len > KERNEL_RECORD_BYTES || breaks >= KERNEL_LINES_MAX ||
		(!is_sample && !breaks && names_machine(text, plain)))
		return false;
	struct quoted quoted = is_programs(text) ? find_programs_record(record, accusing_line(text), plain)
						 : find_record(record, text, true, NULL, plain);
	if (!quoted.host.len && !is_sample)
		return false;
	buf_reset(out);
	if (is_sample || span_equal(quoted.host, MACHINE_OF_NOBODY))
		buf_append_span(out, record);
	else
		append_lines(out, text, &quoted);
	return true;
}
