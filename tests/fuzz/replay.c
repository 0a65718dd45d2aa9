/* Runs a fuzz target over files and folders: the corpus and past crashes are part of every ordinary test run. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat info;

	if (!file || fstat(fileno(file), &info) != 0) {
		perror(path);
		return -1;
	}
	size_t size = (size_t)info.st_size;
	uint8_t *data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "cannot read %s\n", path);
		return -1;
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int replay(const char *path)
{
	DIR *folder = opendir(path);
	int total = 0;

	if (!folder)
		return 0; /* no regressions yet */
	for (struct dirent *entry; (entry = readdir(folder));) {
		char name[4096];
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		int done = entry->d_name[0] == '.' ? 0 : replay_file(name);
		if (done < 0)
			return -1;
		total += done;
	}
	closedir(folder);
	return total;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		int done = replay(argv[i]);
		if (done < 0)
			return 1;
		total += done;
	}
	printf("%d passed, 0 failed\n", total);
	return total == 0; /* a target without a corpus is a mistake */
}
