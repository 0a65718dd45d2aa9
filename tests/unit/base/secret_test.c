#include "base/secret.h"
#include "test.h"

TEST(names_of_secrets)
{
	static const char *const secrets[] = {"HF_TOKEN", "WANDB_API_KEY", "--api-key", "aws_secret_access_key",
		"db.password", "auth-token", "PRIVATE_KEY", "tokenizer_token_secret", "token", "access_token",
		"token_budget_secret"};
	static const char *const settings[] = {"lr", "tokenizer", "max_tokens", "tokens_per_step", "num_token_types",
		"pad_token_id", "token_budget", "TOKEN_BUDGET", "token_drop_rate", "moe_token_dispatcher_type",
		"token_count", "loss_per_token", "key", ""};

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

static void check_urls(const char *text, const char *masked)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 10);

	secret_mask_urls(span_from(text), &out);
	CHECK_SPAN(buf_span(&out), span_from(masked));
	CHECK_INT(secret_is_in_url(span_from(text)), strcmp(text, masked) != 0);
	CHECK(!secret_is_in_url(buf_span(&out))); /* once is enough */
}

TEST(passwords_in_addresses)
{
	check_urls("", "");
	check_urls("s3://user:pw@bucket/x", "s3://user:***30c9@bucket/x");
	check_urls("https://tok@host/a", "https://***1a76@host/a");
	check_urls("a=postgresql://u:p@ss@h/db b=https://x:y@z", "a=postgresql://u:***a404@h/db b=https://x:***a1fc@z");
	check_urls("s3://bucket/a@b:c", "s3://bucket/a@b:c");
	check_urls("ssh://git@github.com/x", "ssh://git@github.com/x");
	check_urls("https://host/?mail=a@b", "https://host/?mail=a@b");
	check_urls("git@github.com:a/b", "git@github.com:a/b");
	check_urls("https://user:@host", "https://user:@host");
}

TEST(signatures_and_tokens_in_addresses)
{
	check_urls("https://b.s3.amazonaws.com/x?X-Amz-Expires=60&X-Amz-Signature=ab12&y=1",
		"https://b.s3.amazonaws.com/x?X-Amz-Expires=60&X-Amz-Signature=***59d9&y=1");
	check_urls("https://a.blob.core.windows.net/c?sv=2024&sig=a%2Fb%3D, https://h/#access_token=q",
		"https://a.blob.core.windows.net/c?sv=2024&sig=***a285 https://h/#access_token=***8e35");
	check_urls("https://u:p@h/?token=q 'http://h?password=q' s3://b/k?api_key=q",
		"https://u:***148d@h/?token=***8e35 'http://h?password=***8e35' s3://b/k?api_key=***8e35");
	check_urls("https://h/?max_tokens=5&design=x&token=&token", "https://h/?max_tokens=5&design=x&token=&token");
	check_urls("https://h/?u=https://u:p@h/&token=q", "https://h/?u=https://u:***148d@h/&token=***8e35");
	check_urls("https://a/x?sig=q,https://b/y|s3://c/?token=q,s3://d-1/z",
		"https://a/x?sig=***8e35,https://b/y|s3://c/?token=***8e35,s3://d-1/z"); /* what is a list stays one */
	check_urls("https://h/?a", "https://h/?a");
	check_urls("https://h/?", "https://h/?");
	check_urls("token=x https://h", "token=x https://h");
	check_urls("://", "://");
}
