#include "cli/relay/relay_scope.h"

#include "base/options/options.h"
#include "base/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* They start processes elsewhere, and hand them this environment: there the address is somebody else's, or nobody's. */
static const char *const launchers[] = {"srun", "sbatch", "salloc", "mpirun", "mpiexec", "mpiexec.hydra", "orterun",
	"prterun", "prun", "jsrun", "aprun", "flux", "pdsh", "clush", "ssh", "ray", "deepspeed", "horovodrun", "dsh",
	"docker", "podman", "apptainer", "singularity", "enroot", "kubectl", "qsub", "bsub", "condor_submit"};

bool relay_scope_has_own(char *const *environment, const char *const *variables, const char *const *files)
{
	for (; *variables; variables++) {
		const char *value = environment_find(environment, *variables);
		if (value && *value)
			return true;
	}
	for (; *files; files++)
		if (access(*files, F_OK) == 0)
			return true;
	return false;
}

static struct span base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return span_from(slash ? slash + 1 : path);
}

static int64_t number_of(char *const *environment, const char *name)
{
	const char *text = environment_find(environment, name);
	int64_t number;

	return text && span_parse_i64(span_from(text), &number) ? number : 0;
}

bool relay_scope_is_local(char *const *environment, char *const *command)
{
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
		if (span_equal(base_name(command[0]), span_from(launchers[i])))
			return false;
	/* the script of a batch job of several machines: what it starts by srun is no longer here */
	bool is_batch = !environment_find(environment, "SLURM_STEP_ID");
	return !(is_batch &&
		 (number_of(environment, "SLURM_JOB_NUM_NODES") > 1 || number_of(environment, "SLURM_NNODES") > 1));
}

static bool has_proxy(char *const *environment)
{
	static const char *const names[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (environment_find(environment, names[i]))
			return true;
	return false;
}

void relay_scope_pass_proxies(char *const *environment)
{
	const char *lower = environment_find(environment, "no_proxy"),
		   *upper = environment_find(environment, "NO_PROXY");
	const char *known = lower && *lower ? lower : upper ? upper : "";
	char value[8192];

	if (!has_proxy(environment))
		return;
	int len = snprintf(value, sizeof value, "%s%s127.0.0.1", known, *known ? "," : "");
	if (len < 0 || (size_t)len >= sizeof value)
		return;
	setenv("no_proxy", value, 1); /* whichever of the two its client reads */
	setenv("NO_PROXY", value, 1);
}
