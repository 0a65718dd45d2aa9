/* A spool folder on a share that gives all files to one user, who is not us. */
#include "cli/spool/spool_file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* As the kernel does there: no openat() with O_NOATIME. Of this thread alone. */
static bool refuse_owners_flags(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_NOATIME, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof steps / sizeof *steps, steps};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *open_there(void *context)
{
	struct spool_file *file = context;
	struct error why = {0};

	CHECK(refuse_owners_flags());
	CHECK_OK(spool_file_open(file, "/tmp", "spool", &why, &err));
	return NULL;
}

TEST(a_spool_is_a_file_also_where_files_are_anothers)
{
	AUTO_DONE(spool_file) file = SPOOL_FILE_NONE;
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, open_there, &file), 0);
	pthread_join(thread, NULL);
	CHECK(file.path[0]); /* else it is in memory alone */
}
