/*
 * Job: which settings are secrets, by the words of their name and by the shapes of known tokens.
 * Ownership: none. Threads: values. Pure.
 */
#pragma once

#include "base/buf.h"

/* "HF_TOKEN", "--api-key", "aws_secret_access_key"; but not "tokenizer", "max_tokens", "tokens_per_step". */
bool secret_is_name(struct span name);
/* "hf_…", "sk-…", "ghp_…", "AKIA…" and the like, of a token's length. */
bool secret_is_value(struct span value);

enum { SECRET_MASK_BYTES = 8 };
/* What is kept instead: "***" and four digits of its SHA-256, so that equal ones are seen to be equal. */
void secret_mask(struct span value, char out[SECRET_MASK_BYTES]);
bool secret_is_masked(struct span value); /* what secret_mask made */

/* Where a URL in the text has a password: "s3://user:pw@…"; or a token alone: "https://tok@…"; or one in its query: "?token=…",
 * "&X-Amz-Signature=…". */
bool secret_is_in_url(struct span text);
/* The text with each of these masked. */
void secret_mask_urls(struct span text, struct buf *out);
