#include "base/buf.h"
#include "extract/settings/settings.h"
#include "test.h"

#include <stdio.h>

static void feed(struct settings *settings, uint64_t number, const char *text)
{
	CHECK_OK(settings_feed(settings, span_from(text), number, &err));
}

static struct settings *settings_of(const char *const *lines)
{
	struct settings *settings = settings_new();

	CHECK(settings);
	for (uint64_t i = 0; lines[i]; i++)
		feed(settings, i, lines[i]);
	return settings;
}

static struct span value_of(const struct settings *settings, const char *key)
{
	for (size_t i = 0; i < settings_count(settings); i++)
		if (span_equal(settings_get(settings, i)->key, span_from(key)))
			return settings_get(settings, i)->value;
	return SPAN("(none)");
}

TEST(a_namespace_in_one_line)
{
	static const char *const lines[] = {
		"[1,2]<stderr>:INFO:root:Namespace(amp=True, batch_size=192, dataset='coco', "
		"lr_decay_epoch='10,14', betas=(0.9, 0.999), resume=None, note='a, b=\"c\")')",
		"Namespace(batch_size=7)", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "amp"), SPAN("true"));
	CHECK_SPAN(value_of(s, "batch_size"), SPAN("192")); /* the first print wins */
	CHECK_SPAN(value_of(s, "dataset"), SPAN("coco"));
	CHECK_SPAN(value_of(s, "lr_decay_epoch"), SPAN("10,14"));
	CHECK_SPAN(value_of(s, "betas"), SPAN("(0.9, 0.999)"));
	CHECK_SPAN(value_of(s, "note"), SPAN("a, b=\"c\")"));
	CHECK_INT(settings_count(s), 6);
	CHECK_INT(settings_get(s, 0)->line, 0);
}

TEST(settings_behind_prefixes_and_in_records)
{
	static const char *const before[] = {"[pod/train-0/pytorch] ", "trainer-1  | ",
		"INFO:root:", "2024-06-25 12:34:56,789 - __main__ - INFO - ", "[12:34:56] INFO     ",
		"I0625 12:34:56.123456 12 a.py:4] ", "Jun 25 12:34:56 gpu01 python[12]: "};
	static const char *const wrapped[] = {"{\"log\":\"--- arguments ---\\n\",\"stream\":\"stdout\"}",
		"{\"log\":\"  lr ............ 0.5\\n\",\"stream\":\"stdout\"}", NULL};

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		char head[128], row[128];
		snprintf(head, sizeof head, "%s------ arguments ------", before[i]);
		snprintf(row, sizeof row, "%s  batch_size ............ 192", before[i]);
		const char *const lines[] = {head, row, NULL};
		AUTO(settings) s = settings_of(lines);
		CHECK_SPAN(value_of(s, "batch_size"), SPAN("192"));
	}
	AUTO(settings) s = settings_of(wrapped);
	CHECK_SPAN(value_of(s, "lr"), SPAN("0.5"));
}

TEST(nested_dataclasses_have_dotted_keys)
{
	static const char *const lines[] = {
		"train:98	INFO	TrainConfig(run_name='OLMo-1B', model=ModelConfig(d_model=2048, rope=True), "
		"optimizer=OptimizerConfig(name='adamw', learning_rate=0.0003), strategy=<Strategy.NO: 'no'>)",
		NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "run_name"), SPAN("OLMo-1B"));
	CHECK_SPAN(value_of(s, "model.d_model"), SPAN("2048"));
	CHECK_SPAN(value_of(s, "optimizer.learning_rate"), SPAN("0.0003"));
	CHECK_SPAN(value_of(s, "strategy"), SPAN("no"));
	CHECK_INT(settings_count(s), 6);
}

TEST(a_call_over_several_lines)
{
	static const char *const lines[] = {"Training/evaluation parameters TrainingArguments(", "_n_gpu=1,",
		"learning_rate=5e-05,", "output_dir=/tmp/x,", ")", "loss=3", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "learning_rate"), SPAN("5e-05"));
	CHECK_SPAN(value_of(s, "output_dir"), SPAN("/tmp/x"));
	CHECK_INT(settings_count(s), 3);
	CHECK_INT(settings_get(s, 0)->line, 4);
}

TEST(a_block_of_arguments)
{
	static const char *const lines[] = {"------------------------ arguments ------------------------",
		"  accumulate_allreduce_grads_in_fp32 .............. False",
		"  adam_beta1 ...................................... 0.9",
		"  data_path ....................................... ['/a b/c']", "  fp16_lm ... None",
		"-------------------- end of arguments ---------------------", "  after .......... 1", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "accumulate_allreduce_grads_in_fp32"), SPAN("false"));
	CHECK_SPAN(value_of(s, "adam_beta1"), SPAN("0.9"));
	CHECK_SPAN(value_of(s, "data_path"), SPAN("['/a b/c']"));
	CHECK_INT(settings_count(s), 3);
}

TEST(what_sagemaker_prints)
{
	static const char *const lines[] = {"\x1b[34mTraining Env:", "\x1b[0m", "\x1b[34m{",
		"    \"current_host\": \"algo-1\",", "    \"hyperparameters\": {", "        \"epochs\": 30,",
		"        \"optimizer\": \"\\\"adamw\\\"\"", "    },", "    \"num_gpus\": 0", "}\x1b[0m",
		"\x1b[34mSM_HPS={\"epochs\":31,\"node_count\":34}\x1b[0m", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "epochs"), SPAN("30"));
	CHECK_SPAN(value_of(s, "optimizer"), SPAN("adamw"));
	CHECK_SPAN(value_of(s, "node_count"), SPAN("34"));
	CHECK_INT(settings_count(s), 3);
}

TEST(json_and_yaml_configurations)
{
	static const char *const lines[] = {"[INFO] [config.py:989:print_user_config]   json = {",
		"    \"train_batch_size\": 32,", "    \"fp16\": {", "        \"enabled\": true,",
		"        \"betas\": [0.9, 0.95]", "    }", "}", "Config:", "trainer:", "  max_steps: 1000",
		"  optim:", "    lr: 3e-4", "  precision: 'bf16'", "seed: 7", "2026-01-01 12:00:00 INFO started",
		"loss: 3", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "train_batch_size"), SPAN("32"));
	CHECK_SPAN(value_of(s, "fp16.enabled"), SPAN("true"));
	CHECK_SPAN(value_of(s, "fp16.betas"), SPAN("0.9, 0.95"));
	CHECK_SPAN(value_of(s, "trainer.max_steps"), SPAN("1000"));
	CHECK_SPAN(value_of(s, "trainer.optim.lr"), SPAN("3e-4"));
	CHECK_SPAN(value_of(s, "trainer.precision"), SPAN("bf16"));
	CHECK_SPAN(value_of(s, "seed"), SPAN("7"));
	CHECK_INT(settings_count(s), 7);
}

TEST(options_of_the_script_not_of_its_launcher)
{
	static const char *const lines[] = {
		"+ srun --nodes 4 python -m torch.distributed.run --nproc_per_node=8 train.py --lr 0.00015 "
		"--lr-decay-style cosine --fp16 --split '949,50,1' --min-lr=-1 --files a b | tee --append log",
		NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "lr"), SPAN("0.00015"));
	CHECK_SPAN(value_of(s, "lr_decay_style"), SPAN("cosine"));
	CHECK_SPAN(value_of(s, "fp16"), SPAN("true"));
	CHECK_SPAN(value_of(s, "split"), SPAN("949,50,1"));
	CHECK_SPAN(value_of(s, "min_lr"), SPAN("-1"));
	CHECK_SPAN(value_of(s, "files"), SPAN("a b"));
	CHECK_INT(settings_count(s), 6);
}

TEST(mlperf_names_hyperparameters)
{
	static const char *const lines[] = {
		"1::::MLLOG {\"namespace\": \"main\", \"key\": \"opt_base_learning_rate\", \"value\": 6.2, \"metadata\": {}}",
		":::MLLOG {\"key\": \"epoch_start\", \"value\": 3}", ":::MLLOG {\"key\": \"seed\", \"value\": null}",
		":::MLLOG {\"key\": \"opt_name\", \"value\": \"lars\"}", ":::MLLOG broken {", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "opt_base_learning_rate"), SPAN("6.2"));
	CHECK_SPAN(value_of(s, "opt_name"), SPAN("lars"));
	CHECK_INT(settings_count(s), 2);
}

TEST(chatter_is_no_setting)
{
	static const char *const lines[] = {"step 3 | loss: 2.5 | lr: 1e-4", "f(x)",
		"Traceback (most recent call last):", "RuntimeError(message='x')", "DistributedDataParallel(",
		"  (module): OLMo(", "iter 3: loss 2.0", "{'loss': 3.4}", "see config: none", "-- done --", "a -- b",
		"Dropout(p=0.0, inplace=False)", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_INT(settings_count(s), 0);
}

TEST(limits_of_keys_values_and_dumps)
{
	AUTO(settings) s = settings_new();
	char key[SETTING_KEY_MAX_BYTES + 2], line[SETTING_VALUE_MAX_BYTES + 600];

	memset(key, 'k', sizeof key);
	snprintf(line, sizeof line, "Namespace(%.*s=1)", SETTING_KEY_MAX_BYTES, key);
	feed(s, 0, line);
	CHECK_INT(settings_count(s), 1);
	snprintf(line, sizeof line, "Namespace(%.*s=1)", SETTING_KEY_MAX_BYTES + 1, key);
	feed(s, 1, line);
	CHECK_INT(settings_count(s), 1);
	for (int extra = 0; extra < 2; extra++) {
		AUTO_DONE(buf) long_line = BUF_INIT(1 << 20);
		buf_printf(&long_line, "Namespace(v%d=", extra);
		for (int i = 0; i < SETTING_VALUE_MAX_BYTES + extra; i++)
			buf_append_char(&long_line, 'v');
		buf_append_char(&long_line, ')');
		CHECK_OK(settings_feed(s, buf_span(&long_line), 2, &err));
	}
	CHECK_INT(settings_count(s), 2);
	feed(s, 3, "json = {"); /* never closed: given up, and the next dump is read */
	for (int i = 0; i < 300; i++) {
		AUTO_DONE(buf) filler = BUF_INIT(1 << 20);
		for (int j = 0; j < 1000; j++)
			buf_append_char(&filler, 'x');
		CHECK_OK(settings_feed(s, buf_span(&filler), 4, &err));
	}
	feed(s, 5, "Namespace(late=1)");
	CHECK_SPAN(value_of(s, "late"), SPAN("1"));
	for (int i = 0; i < SETTINGS_MAX + 10; i++) {
		snprintf(line, sizeof line, "Namespace(n%d=1)", i);
		feed(s, 6, line);
	}
	CHECK_INT(settings_count(s), SETTINGS_MAX);
}

/* Packed and unpacked between any two lines, it finds what it would have found. */
TEST(a_dump_goes_on_after_a_restart)
{
	static const char *const lines[] = {"json = {", "\"train\": {\"lr\": 0.5,", "\"steps\": 7}}",
		"args: TrainConfig(", "  width=3,", "  name='x')", "Config:", "model:", "  inner:", "    d: 4",
		"  e: 5", "loss 3", "-------- arguments --------", "  lr_decay ........ cosine", "  seed ...... 3",
		"--- end of arguments ---", "SageMaker Training Env:", "{\"hyperparameters\": {", "\"batch\": 9}}",
		NULL};
	AUTO(settings) whole = settings_of(lines);
	AUTO(settings) cut = settings_new();
	size_t taken = 0;

	CHECK_INT(settings_count(whole), 9);
	for (uint64_t i = 0; lines[i]; i++) {
		AUTO_DONE(buf) state = BUF_INIT(1 << 20);
		feed(cut, i, lines[i]);
		for (size_t j = 0; j < settings_count(cut); j++, taken++) {
			CHECK_SPAN(settings_get(cut, j)->key, settings_get(whole, taken)->key);
			CHECK_SPAN(settings_get(cut, j)->value, settings_get(whole, taken)->value);
			CHECK_INT(settings_get(cut, j)->line, settings_get(whole, taken)->line);
		}
		settings_forget(cut);
		CHECK_INT(settings_count(cut), 0);
		settings_pack(cut, &state);
		settings_free(cut);
		cut = NULL;
		struct unpacker in = unpacker_on(buf_span(&state));
		CHECK_OK(settings_unpack(&cut, &in, &err));
		CHECK_OK(unpacker_end(&in, "state", &err));
		for (size_t len = 0; len < state.len; len++) {
			AUTO(settings) damaged = NULL;
			struct unpacker part = unpacker_on(span_of(state.ptr, len));
			CHECK_FAILS(settings_unpack(&damaged, &part, &err), ERR_INVALID, "damaged");
		}
	}
	CHECK_INT(taken, 9);
}

TEST(what_comes_after_the_start_is_not_looked_at)
{
	AUTO(settings) s = settings_new();

	for (uint64_t i = 0; i + 1 < SETTINGS_LINES_MAX; i++)
		feed(s, i, "");
	CHECK(!settings_has_ended(s));
	feed(s, SETTINGS_LINES_MAX - 1, "Namespace(last=1)");
	CHECK_SPAN(value_of(s, "last"), SPAN("1"));
	CHECK(settings_has_ended(s));
	feed(s, SETTINGS_LINES_MAX, "Namespace(late=1)");
	CHECK_INT(settings_count(s), 1);
}

TEST(settings_said_in_a_sentence)
{
	static const char *const lines[] = {"number of parameters: 10.65M", "tokens per iteration will be: 491,520",
		"[INFO|trainer.py:1147] 2021-05-25 06:30:55,249 >>   Total train batch size (w. parallel, distributed & "
		"accumulation) = 256",
		"  Total optimization steps = 1,000.", "  Number of trainable parameters = 109,483,778",
		"num decayed parameter tensors: 26, with 10,690,944 parameters", "number of parameters: many",
		"Total time: 4", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "num_parameters"), SPAN("10.65M"));
	CHECK_SPAN(value_of(s, "tokens_per_iteration"), SPAN("491520"));
	CHECK_SPAN(value_of(s, "total_train_batch_size"), SPAN("256"));
	CHECK_SPAN(value_of(s, "total_optimization_steps"), SPAN("1000"));
	CHECK_SPAN(value_of(s, "num_trainable_parameters"), SPAN("109483778"));
	CHECK_INT(settings_count(s), 5);
}

/* megatron/training/checkpointing.py: what a run goes on from, and where it saves to. */
TEST(folders_of_checkpoints_that_are_loaded_and_saved)
{
	static const struct {
		const char *line, *load, *save;
	} cases[] = {{" loading checkpoint from /fsx/ckpt/a at iteration 1200", "/fsx/ckpt/a", NULL},
		{"[rank0]:  loading distributed checkpoint from s3://b/a at iteration 7", "s3://b/a", NULL},
		{"  successfully loaded checkpoint from /fsx/ckpt/a [ t 1/8, p 1/4 ] at iteration 1200", "/fsx/ckpt/a",
			NULL},
		{"  successfully saved checkpoint from iteration    1300 to /fsx/ckpt/a [ t 1/8, p 1/4 ]", NULL,
			"/fsx/ckpt/a"},
		{"  successfully saved checkpoint at iteration    1300 to ./out", NULL, "./out"},
		{"saving checkpoint at iteration    1300 to /fsx/ckpt/a in torch_dist format", NULL, NULL},
		{" loading checkpoint from the newest folder at iteration 7", NULL, NULL},
		{" loading checkpoint from /fsx/ckpt/a", NULL, NULL},
		{"  successfully saved checkpoint from iteration    1300 to ", NULL, NULL}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const lines[] = {cases[i].line, NULL};
		AUTO(settings) s = settings_of(lines);
		CHECK_SPAN(value_of(s, "load"), span_from(cases[i].load ? cases[i].load : "(none)"));
		CHECK_SPAN(value_of(s, "save"), span_from(cases[i].save ? cases[i].save : "(none)"));
		CHECK_INT(settings_count(s), (cases[i].load || cases[i].save) ? 1 : 0);
	}
}

/* nemo/utils/formatters: what a message has behind its first line is four blanks in; OmegaConf.to_yaml prints the rest. */
TEST(nemo_s_experiment_configuration)
{
	static const char *const lines[] = {"[NeMo I 2023-09-25 08:15:59 train_reward_model:43] ", "    ",
		"    ************** Experiment configuration ***********",
		"[NeMo I 2023-09-25 08:15:59 train_reward_model:44] ", "    trainer:", "      num_nodes: 8",
		"      max_time: 00:10:00:00", "      callbacks:", "      - _target_: a.B", "        every: 7",
		"    model:", "      micro_batch_size: 1", "      resume: ???",
		"      hidden_dropout: ${model.dropout}", "      data:", "        data_prefix:", "        - 1.0",
		"        - /fsx/a", "        seq_length: 4096", "      optim:", "        lr: 0.0001",
		"        betas:", "        - 0.9", "        - 0.98", "        sched:", "          warmup_steps: 500",
		"    ", "[NeMo W 2023-09-25 08:16:00 nemo_logging:349] GPU available: True (cuda), used: True",
		"loss: 2.5", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "trainer.num_nodes"), SPAN("8"));
	CHECK_SPAN(value_of(s, "trainer.max_time"), SPAN("00:10:00:00"));
	CHECK_SPAN(value_of(s, "model.micro_batch_size"), SPAN("1"));
	CHECK_SPAN(value_of(s, "model.data.seq_length"), SPAN("4096"));
	CHECK_SPAN(value_of(s, "model.optim.lr"), SPAN("0.0001"));
	CHECK_SPAN(value_of(s, "model.optim.sched.warmup_steps"), SPAN("500"));
	CHECK_INT(settings_count(s), 6); /* no item of a list, nothing that is missing or stands elsewhere, no loss */
}

/* MaxText, pyconfig.py: max_logging.log(f"Config param {k}: {v}"). */
TEST(maxtext_s_parameters)
{
	static const char *const lines[] = {"Config param base_emb_dim: 4096", "Config param learning_rate: 3e-05",
		"Config param enable_dropout: False",
		"Config param load_parameters_path: ", "Config param eval_interval: None",
		"Config param run_name: my config",
		"I0214 10:00:00.123456 140 max_logging.py:24] Config param steps: 1000", "the Config param loss: 2.5",
		"Config param 7: 8", "Config param without", "completed step: 7, seconds: 1.2, loss: 2.5", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "base_emb_dim"), SPAN("4096"));
	CHECK_SPAN(value_of(s, "learning_rate"), SPAN("3e-05"));
	CHECK_SPAN(value_of(s, "enable_dropout"), SPAN("false"));
	CHECK_SPAN(value_of(s, "run_name"), SPAN("my config"));
	CHECK_SPAN(value_of(s, "steps"), SPAN("1000"));
	CHECK_INT(settings_count(s), 5);
}

/* deepspeed/runtime/config.py: a line for each attribute, some of which print over several, then what the user gave as JSON. */
TEST(deepspeed_s_table)
{
#define BEFORE "[2024-06-25 12:34:56,789] [INFO] [config.py:1001:print] "
	static const char *const lines[] = {"async_io ............... [NO] ....... [OKAY]",
		BEFORE "DeepSpeedEngine configuration:", BEFORE "  activation_checkpointing_config  {",
		"    \"partition_activations\": false, ", "    \"number_checkpoints\": null", "}",
		BEFORE "  aio_config ................... {'block_size': 1048576, 'queue_depth': 8}",
		BEFORE "  amp_params ................... False",
		BEFORE "  comms_config ................. <deepspeed.comm.config.DeepSpeedCommsConfig object at 0x7f0a>",
		BEFORE "  gradient_clipping ............ 1.0", BEFORE "  optimizer_name ............... None",
		BEFORE "  train_batch_size ............. 256",
		BEFORE "  zero_config .................. stage=2 contiguous_gradients=True",
		"[2024-06-25 12:34:56,790] [INFO] [config.py:987:print_user_config]   json = {",
		"    \"train_batch_size\": 256, ", "    \"steps_per_print\": 10", "}", "loss ............ 2.5", NULL};
#undef BEFORE
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "amp_params"), SPAN("false"));
	CHECK_SPAN(value_of(s, "gradient_clipping"), SPAN("1.0"));
	CHECK_SPAN(value_of(s, "train_batch_size"), SPAN("256"));
	CHECK_SPAN(value_of(s, "steps_per_print"), SPAN("10"));
	CHECK_INT(settings_count(s), 4);
}

/* torchtitan/config_manager.py: logger.info(f"Running with args: {self.to_dict()}"). */
TEST(a_configuration_as_a_dictionary_of_python)
{
	static const char *const lines[] = {
		"[rank0]:[titan] 2024-10-14 12:00:00,123 - root - INFO - Running with args: {'job': {'dump_folder': './outputs', "
		"'description': \"Llama 3, it's big\", 'print_args': True}, 'profiling': {'save_traces_folder': None}, 'optimizer': {'name': 'AdamW', 'lr': 0.0003, "
		"'fused': False}, 'training': {'batch_size': 8, 'steps': 1000, 'betas': [0.9, 0.95], 'nothing': {}, 3: 4}}",
		"{'loss': 2.5, 'learning_rate': 0.1}", "metrics {'eval_loss': 2.5}",
		"Running with args: {'lr', 'loss'}", "Running with args: {loss: 2.5}", NULL};
	AUTO(settings) s = settings_of(lines);

	CHECK_SPAN(value_of(s, "job.dump_folder"), SPAN("./outputs"));
	CHECK_SPAN(value_of(s, "job.description"), SPAN("Llama 3, it's big"));
	CHECK_SPAN(value_of(s, "job.print_args"), SPAN("true"));
	CHECK_SPAN(value_of(s, "optimizer.name"), SPAN("AdamW"));
	CHECK_SPAN(value_of(s, "optimizer.lr"), SPAN("0.0003"));
	CHECK_SPAN(value_of(s, "optimizer.fused"), SPAN("false"));
	CHECK_SPAN(value_of(s, "training.batch_size"), SPAN("8"));
	CHECK_SPAN(value_of(s, "training.steps"), SPAN("1000"));
	CHECK_SPAN(value_of(s, "training.betas"), SPAN("[0.9, 0.95]"));
	CHECK_INT(settings_count(s), 9);
}
