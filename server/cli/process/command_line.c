#include "cli/process/command_line.h"
#include "base/secret.h"

#include <ctype.h>

static struct span base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return span_from(slash ? slash + 1 : path);
}

/* Programs that run another one, which is what the training is called after. */
static bool is_launcher(struct span name)
{
	static const char *const names[] = {"accelerate", "bash", "composer", "conda", "dash", "deepspeed", "env",
		"horovodrun", "ipython", "julia", "mpiexec", "mpirun", "nice", "nohup", "node", "numactl", "poetry",
		"Rscript", "sh", "srun", "stdbuf", "time", "torchrun", "uv", "zsh"};

	if (span_starts_with(name, SPAN("python")) || span_starts_with(name, SPAN("pypy")))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i])))
			return true;
	return false;
}

static struct span without_ending(struct span name)
{
	static const char *const endings[] = {".py", ".sh", ".bash", ".R", ".jl", ".js", ".ipynb"};

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		struct span ending = span_from(endings[i]);
		if (name.len > ending.len && span_ends_with(name, ending))
			return span_of(name.ptr, name.len - ending.len);
	}
	return name;
}

size_t command_find_script(char *const *command, struct span *script)
{
	*script = without_ending(base_name(command[0]));
	if (!is_launcher(base_name(command[0])))
		return 0;
	for (size_t i = 1; command[i]; i++) {
		struct span name = base_name(command[i]);
		if (strcmp(command[i], "-c") == 0)
			break; /* a program in an argument has no name */
		if (strcmp(command[i], "-m") == 0 && command[i + 1] && command[i + 1][0] != '-') {
			*script = span_from(command[i + 1]);
			return i + 1;
		}
		if (command[i][0] != '-' && without_ending(name).len < name.len) {
			*script = without_ending(name);
			return i;
		}
	}
	size_t count = 0;
	while (command[count])
		count++;
	return count; /* nothing behind it is an option of a script */
}

/* "-0.5" is a value, "-v" and "--x" are not. */
static bool is_value(const char *argument)
{
	return argument && (argument[0] != '-' || isdigit((unsigned char)argument[1]) || argument[1] == '.');
}

bool command_next_option(char *const *command, size_t *at, struct span *key, struct span *value)
{
	for (; command[*at]; ++*at) {
		const char *argument = command[*at];
		if (strncmp(argument, "--", 2) != 0 || argument[2] == 0 || argument[2] == '=')
			continue;
		struct span rest = span_from(argument + 2);
		span_next(&rest, '=', key);
		++*at;
		if (rest.ptr)
			*value = rest;
		else if (is_value(command[*at]))
			*value = span_from(command[(*at)++]);
		else
			*value = SPAN("true");
		return true;
	}
	return false;
}

static void put_quoted(struct buf *out, struct span text)
{
	bool is_plain = text.len > 0;

	for (size_t i = 0; i < text.len; i++)
		is_plain &= isalnum((unsigned char)text.ptr[i]) || strchr("-_./:=,+@%^", text.ptr[i]) != NULL;
	if (is_plain) {
		buf_append_span(out, text);
		return;
	}
	buf_append_char(out, '\'');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\'')
			buf_append_text(out, "'\\'");
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '\'');
}

void command_put_text(char *const *command, struct buf *out)
{
	bool hides_next = false;

	for (size_t i = 0; command[i]; i++) {
		struct span argument = span_from(command[i]);
		ptrdiff_t equals = span_find_char(argument, '=');
		struct span name = equals < 0 ? argument : span_of(argument.ptr, (size_t)equals);
		if (i)
			buf_append_char(out, ' ');
		if (hides_next && is_value(command[i])) {
			buf_append_text(out, "***");
			hides_next = false;
			continue;
		}
		struct span value = equals < 0 ? argument : span_skip(argument, (size_t)equals + 1);
		bool hides = secret_is_name(name) || (equals >= 0 && secret_is_value(value));
		hides_next = hides && equals < 0 && argument.len && argument.ptr[0] == '-';
		if (equals < 0 && secret_is_value(value)) {
			buf_append_text(out, "***");
		} else if (hides && equals >= 0) {
			put_quoted(out, name);
			buf_append_text(out, "=***");
		} else {
			put_quoted(out, argument);
		}
	}
}
