#include "cli/process/command_line.h"
#include "cli/process/identity.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct expectation {
	const char *variables[6];
	const char *job, *stream;
};

static struct identity_input input_of(char *const *environment)
{
	return (struct identity_input){.environment = environment,
		.folder = "/nowhere/project",
		.host_name = "box",
		.now = {.tm_year = 126, .tm_mon = 0, .tm_mday = 2, .tm_hour = 3, .tm_min = 4, .tm_sec = 5}};
}

TEST(identity_from_the_schedulers)
{
	static const struct expectation table[] = {
		{{NULL}, "project-20260102-030405", "algo-1"},
		{{"JOB_NAME=j"}, "j", "algo-1"},
		{{"JOB_NAME=j", "SLURM_JOB_NAME=s", "SLURM_JOB_ID=7", "SLURM_NODEID=2"}, "s-7", "algo-3"},
		{{"SLURM_JOB_ID=7", "SLURM_NODEID=0", "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4(x2)"}, "slurm-7",
			"algo-1-r1"},
		{{"SLURM_JOB_ID=7", "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=4(x2)"}, "slurm-7", "algo-1-r0"},
		{{"SLURM_JOB_ID=7", "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=1"}, "slurm-7", "algo-1"},
		{{"TRAINING_JOB_NAME=t", "SLURM_JOB_ID=7", "JOB_COMPLETION_INDEX=4"}, "t", "algo-5"},
		{{"TRAINING_JOB_NAME=t", "SM_TRAINING_ENV={\"job_name\":\"sm\"}", "SM_CURRENT_HOST=algo-9"}, "sm",
			"algo-9"},
		{{"TRAINING_JOB_NAME=t", "SM_TRAINING_ENV={broken", "RANK=3"}, "t", "algo-4"},
		{{"JOB_NAME=j", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_RANK=1"}, "j", "algo-2-r1"},
		{{"JOB_NAME=j", "PMI_RANK=4", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=4"}, "j", "algo-5-r0"},
		{{"JOB_NAME=j", "RANK=9", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8"}, "j", "algo-10-r1"},
		{{"JOB_NAME=", "RANK=x"}, "project-20260102-030405", "algo-1"},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		AUTO(identity) identity = NULL;
		struct identity_input input = input_of((char *const *)table[i].variables);
		CHECK_OK(identity_new(&identity, &input, &err));
		CHECK_TEXT(identity->job, table[i].job);
		CHECK_TEXT(identity->stream, table[i].stream);
	}
}

TEST(identity_of_host_owner_and_counts)
{
	char *environment[] = {"SLURMD_NODENAME=n1", "NODE_NAME=n2", "SLURM_JOB_USER=eve", "USER=root",
		"SLURM_JOB_NUM_NODES=8", "SLURM_RESTART_COUNT=2", "SLURM_PROCID=5", NULL};
	AUTO(identity) identity = NULL;
	struct identity_input input = input_of(environment);
	CHECK_OK(identity_new(&identity, &input, &err));
	CHECK_TEXT(identity->host, "n1");
	CHECK_TEXT(identity->owner, "eve");
	CHECK_INT(identity->instance_count, 8);
	CHECK_INT(identity->attempt, 2);
	CHECK_INT(identity->rank, 5);
}

TEST(the_name_of_a_stream_says_its_rank)
{
	static const struct {
		const char *stream, *variables[2];
		bool has_rank, has_number;
		int64_t rank;
	} table[] = {{NULL, {NULL}, true, true, 0}, {"algo-1", {NULL}, true, true, 0},
		{"algo-3", {NULL}, true, true, 2}, {"algo-1-r0", {NULL}, true, true, 0},
		{"algo-1-r5", {NULL}, true, true, 5}, {"algo-3", {"RANK=7"}, true, true, 7},
		{"algo-3", {"SM_CURRENT_HOST=algo-2"}, true, true, 1},
		/* how many the first machine runs is not known */
		{"algo-2-r0", {NULL}, true, false, 1}, {"algo-2-r3", {"RANK=11"}, true, true, 11},
		{"algo-0", {NULL}, false, false, 0}, {"algo-", {NULL}, false, false, 0},
		{"algo-2x", {NULL}, false, false, 0}, {"algo-2-", {NULL}, false, false, 0},
		{"algo-2-r", {NULL}, false, false, 0}, {"algo-2-r-1", {NULL}, false, false, 0},
		{"gpu-a", {NULL}, false, false, 0}, {"gpu001", {NULL}, false, false, 0},
		/* a host of another name says nothing; the stream still does */
		{"algo-2", {"SM_CURRENT_HOST=gpu-a"}, true, true, 1},
		{NULL, {"SM_CURRENT_HOST=gpu-a"}, false, false, 0}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		AUTO(identity) identity = NULL;
		struct identity_input input = input_of((char *const *)table[i].variables);
		input.stream = table[i].stream;
		CHECK_OK(identity_new(&identity, &input, &err));
		CHECK(identity->has_rank == table[i].has_rank);
		CHECK(identity->has_rank_number == table[i].has_number);
		CHECK_INT(identity->rank, table[i].rank);
	}
}

TEST(identity_of_a_run)
{
	static const struct {
		const char *variables[6];
		const char *run_key;
		int64_t rank, processes;
	} table[] = {
		{{NULL}, "", 0, 1},
		{{"SLURM_JOB_ID=7", "SLURM_PROCID=5", "SLURM_NTASKS=128"}, "slurm-7.0.0", 5, 128},
		{{"SLURM_JOB_ID=7", "SLURM_STEP_ID=3", "SLURM_RESTART_COUNT=2"}, "slurm-7.3.2", 0, 1},
		{{"RANK=3", "WORLD_SIZE=8", "TORCHELASTIC_RUN_ID=none"}, "", 3, 8},
		{{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "PMIX_NAMESPACE=prterun-n1-77@1"},
			"prterun-n1-77@1", 3, 8},
		{{"PMI_RANK=2", "PMI_SIZE=4"}, "", 2, 4},
		{{"JOBSET_UID=1c-9", "JOBSET_RESTART_ATTEMPT=2", "JOB_COMPLETION_INDEX=1"}, "kubernetes-1c-9.2", 1, 2},
		{{"JOB_UID=77", "TORCHELASTIC_RUN_ID=x"}, "kubernetes-77.0", 0, 1},
		{{"SM_CURRENT_HOST=algo-2", "SM_TRAINING_ENV={\"hosts\":[\"algo-1\",\"algo-2\"]}"}, "", 1, 2},
		{{"JOB_COMPLETION_INDEX=6"}, "", 6, 7},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		AUTO(identity) identity = NULL;
		struct identity_input input = input_of((char *const *)table[i].variables);
		CHECK_OK(identity_new(&identity, &input, &err));
		CHECK_TEXT(identity->run_key ? identity->run_key : "", table[i].run_key);
		CHECK_INT(identity->rank, table[i].rank);
		CHECK_INT(identity->process_count, table[i].processes);
	}
}

TEST(identity_takes_the_settings_of_sagemaker)
{
	char *environment[] = {"SM_TRAINING_ENV={\"hosts\":[\"algo-1\",\"algo-2\",\"algo-3\"],"
			       "\"hyperparameters\":{\"lr\":0.1,\"model\":\"gpt\",\"amp\":true}}",
		NULL};
	char *command[] = {"python", "train.py", "--lr", "0.2", NULL};
	AUTO(identity) identity = NULL;
	struct identity_input input = input_of(environment);
	input.command = command;
	CHECK_OK(identity_new(&identity, &input, &err));
	CHECK_INT(identity->instance_count, 3);
	CHECK_INT(identity->hyper_parameters.count, 3);
	CHECK_TEXT(identity->hyper_parameters.items[0].value, "0.2");
	CHECK_TEXT(identity->hyper_parameters.items[1].value, "gpt");
	CHECK_TEXT(identity->hyper_parameters.items[2].value, "true");
}

TEST(identity_options_go_before_variables)
{
	char *environment[] = {"JOB_NAME=j", "RANK=3", "NODE_NAME=n", NULL};
	AUTO(identity) identity = NULL;
	struct identity_input input = input_of(environment);
	input.job = "mine";
	input.stream = "s";
	input.host = "h";
	CHECK_OK(identity_new(&identity, &input, &err));
	CHECK_TEXT(identity->job, "mine");
	CHECK_TEXT(identity->stream, "s");
	CHECK_TEXT(identity->host, "h");
	input.job = "a\nb";
	AUTO(identity) second = NULL;
	CHECK_FAILS(identity_new(&second, &input, &err), ERR_INVALID, "the name of the job holds control characters");
	input.job = "";
	CHECK_FAILS(identity_new(&second, &input, &err), ERR_INVALID, "has 0 bytes");
}

static void check_script(char *const *command, const char *name, size_t index)
{
	struct span script;
	CHECK_INT(command_find_script(command, &script), index);
	CHECK_SPAN(script, span_from(name));
}

TEST(command_scripts_behind_launchers)
{
	check_script((char *[]){"./train", "a.py", NULL}, "train", 0);
	check_script((char *[]){"/usr/bin/python3.11", "-u", "/x/train.py", "--lr", "1", NULL}, "train", 2);
	check_script((char *[]){"torchrun", "--nproc_per_node", "8", "finetune.py", NULL}, "finetune", 3);
	check_script((char *[]){"python", "-m", "pkg.main", "--lr", "1", NULL}, "pkg.main", 2);
	check_script((char *[]){"python", "-c", "print(1)", "x.py", NULL}, "python", 4);
	check_script((char *[]){"srun", "python", "train.py", NULL}, "train", 2);
}

TEST(command_options_are_hyperparameters)
{
	char *command[] = {"torchrun", "--nproc", "8", "t.py", "--lr", "1e-3", "--name=a=b", "--fp16", "--shift",
		"-0.5", "-v", "--", "--last", NULL};
	char *environment[] = {NULL};
	AUTO(identity) identity = NULL;
	struct identity_input input = input_of(environment);
	input.command = command;
	CHECK_OK(identity_new(&identity, &input, &err));
	CHECK_TEXT(identity->job, "t-20260102-030405");
	CHECK_OK(identity_add_setting(identity, &identity->hyper_parameters, "hp", "lr=2", &err));
	CHECK_FAILS(identity_add_setting(identity, &identity->hyper_parameters, "hp", "lr", &err), ERR_INVALID,
		"--hp 'lr' is not of the form NAME=VALUE");
	static const char *const wanted[][2] = {
		{"lr", "2"}, {"name", "a=b"}, {"fp16", "true"}, {"shift", "-0.5"}, {"last", "true"}};
	CHECK_INT(identity->hyper_parameters.count, 5);
	for (size_t i = 0; i < 5; i++) {
		CHECK_TEXT(identity->hyper_parameters.items[i].key, wanted[i][0]);
		CHECK_TEXT(identity->hyper_parameters.items[i].value, wanted[i][1]);
	}
}

TEST(command_text_hides_secrets)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	char *command[] = {
		"python", "a b.py", "--api-key", "abc", "--hf_token=xyz", "WANDB_API_KEY=1", "it's", "--lr", "1", NULL};
	command_put_text(command, &out);
	CHECK_SPAN(buf_span(&out),
		SPAN("python 'a b.py' --api-key *** --hf_token=*** WANDB_API_KEY=*** 'it'\\''s' --lr 1"));
}

TEST(identity_fields)
{
	char *environment[] = {"USER=eve", NULL};
	AUTO(identity) identity = NULL;
	AUTO_DONE(buf) out = BUF_INIT(10000);
	struct setting metric = {"loss", "loss=([0-9.]+)"};
	struct settings metrics = {.items = &metric, .count = 1};
	struct identity_input input = input_of(environment);
	CHECK_OK(identity_new(&identity, &input, &err));
	CHECK_OK(identity_add_setting(identity, &identity->hyper_parameters, "hp", "lr=1", &err));
	CHECK_OK(identity_add_setting(identity, &identity->tags, "tag", "team=nlp", &err));
	struct json_writer w = json_writer_on(&out);
	json_object(&w);
	identity_put_fields(identity, identity->host, &metrics, &w);
	json_object_end(&w);
	CHECK_SPAN(buf_span(&out),
		SPAN("{\"host\":\"box\",\"hp\":{\"lr\":\"1\"},\"metrics\":{\"loss\":\"loss=([0-9.]+)\"},"
		     "\"tags\":{\"owner\":\"eve\",\"host\":\"box\",\"folder\":\"/nowhere/project\",\"team\":\"nlp\"}}"));
}

static void write_text(const char *folder, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	CHECK(file != NULL);
	fputs(text, file);
	fclose(file);
}

TEST(git_commit_is_read_by_hand)
{
	static const char commit[] = "0123456789abcdef0123456789abcdef01234567";
	char folder[] = "/tmp/identity_test_XXXXXX", git[64], below[64], out[65], text[128];
	CHECK(mkdtemp(folder) != NULL);
	snprintf(git, sizeof git, "%s/.git", folder);
	snprintf(below, sizeof below, "%s/below", folder);
	CHECK(mkdir(git, 0700) == 0 && mkdir(below, 0700) == 0);
	write_text(git, "HEAD", commit);
	git_read_commit(below, out);
	CHECK_TEXT(out, commit);
	write_text(git, "HEAD", "ref: refs/heads/main\n");
	git_read_commit(below, out);
	CHECK_TEXT(out, "");
	snprintf(text, sizeof text, "# pack-refs\n%s refs/heads/main\n", commit);
	write_text(git, "packed-refs", text);
	git_read_commit(folder, out);
	CHECK_TEXT(out, commit);
	snprintf(text, sizeof text, "rm -r %s", folder);
	CHECK_INT(system(text), 0);
}
