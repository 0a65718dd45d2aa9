/* The small file that a test and sm-server-faults or sm-ship-faults share, to say what is to fail while it runs. */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* variable: of the environment, names the file. NULL: it is not set, or there is none. */
static inline void *control_map(const char *variable, size_t bytes)
{
	const char *path = getenv(variable);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return NULL;
	void *control = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (control == MAP_FAILED)
		abort();
	return control;
}
