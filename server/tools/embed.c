/*
 * Host tool of the build: puts files into the binary.
 *   embed NAME ROOT OUT.S OUT.c FILES…
 * writes assembly that pulls each file in by .incbin (compiling a hex array of 2 MB takes seconds and 300 MB) and a C
 * table `const struct embedded_file NAME[]`, sorted by name, ended by an entry without a name. See base/embedded.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int fail(const char *path)
{
	perror(path);
	return 1;
}

static int write_assembly(const char *path, char **files, int count)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return fail(path);
	fprintf(out, "\t.section .rodata\n");
	for (int i = 0; i < count; i++)
		fprintf(out, "\t.balign 16\nfile_%d:\n\t.incbin \"%s\"\nfile_%d_end:\n\t.byte 0\n", i, files[i], i);
	fprintf(out, "\t.section .note.GNU-stack,\"\",%%progbits\n");
	return fclose(out) ? fail(path) : 0;
}

/* The labels stay local to the assembly: the table is in it too, so that two tables of one binary cannot collide. */
static int append_table(const char *path, const char *name, size_t root_len, char **files, int count)
{
	FILE *out = fopen(path, "a");

	if (!out)
		return fail(path);
	fprintf(out, "\t.section .data.rel.ro,\"aw\"\n\t.balign 8\n\t.globl %s\n%s:\n", name, name);
	for (int i = 0; i < count; i++)
		fprintf(out, "\t.quad name_%d, file_%d, file_%d_end - file_%d\n", i, i, i, i);
	fprintf(out, "\t.quad 0, 0, 0\n\t.section .rodata\n");
	for (int i = 0; i < count; i++)
		fprintf(out, "name_%d:\n\t.asciz \"%s\"\n", i, files[i] + root_len + 1);
	return fclose(out) ? fail(path) : 0;
}

static int write_declaration(const char *path, const char *name)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return fail(path);
	fprintf(out, "#include \"base/embedded.h\"\nextern const struct embedded_file %s[];\n", name);
	return fclose(out) ? fail(path) : 0;
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: embed NAME ROOT OUT.S OUT.c FILES...\n");
		return 2;
	}
	char **files = argv + 5;
	int count = argc - 5;

	qsort(files, (size_t)count, sizeof *files, compare);
	return write_assembly(argv[3], files, count) || append_table(argv[3], argv[1], strlen(argv[2]), files, count) ||
	       write_declaration(argv[4], argv[1]);
}
