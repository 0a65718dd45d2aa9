#include "base/secret.h"
#include "test.h"

TEST(names_of_secrets)
{
	static const char *const secrets[] = {"HF_TOKEN", "WANDB_API_KEY", "--api-key", "aws_secret_access_key",
		"db.password", "auth-token", "PRIVATE_KEY", "tokenizer_token_secret"};
	static const char *const settings[] = {
		"lr", "tokenizer", "max_tokens", "tokens_per_step", "num_token_types", "pad_token_id", "key", ""};

	for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
		CHECK(secret_is_name(span_from(secrets[i])));
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		CHECK(!secret_is_name(span_from(settings[i])));
}

TEST(shapes_of_tokens)
{
	CHECK(secret_is_value(SPAN("hf_abcdefghijklmnop")));
	CHECK(secret_is_value(SPAN("AKIAIOSFODNN7EXAMPLE")));
	CHECK(!secret_is_value(SPAN("hf_short")));
	CHECK(!secret_is_value(SPAN("adamw_with_a_long_name")));
}
