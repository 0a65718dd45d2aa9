#include "cli/search/completion.h"

#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/table/table.h"

enum { MAX_PATH_BYTES = 64 << 10 };

/*
 * A query is best typed in quotes: then it is one word of the shell's. Without them bash parts words at = : < >, so what is before
 * the last part is taken off each answer.
 */
static const char bash_script[] =
	"_sm_search() {\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} word skip='' found IFS=$'\\n'\n"
	"	COMPREPLY=()\n"
	"	case $cur in\n"
	"	--*) COMPREPLY=($(compgen -W \"${_sm_search_options//:/$'\\n'}\" -- \"$cur\")); return ;;\n"
	"	\\'* | \\\"*) word=${cur:1} ;;\n"
	"	*) word=${line##* }; skip=${word%\"$cur\"}; [[ $cur == [=:\\<\\>~] ]] && skip=$word ;;\n"
	"	esac\n"
	"	type compopt >/dev/null 2>&1 && compopt -o nospace 2>/dev/null\n"
	"	while read -r found; do\n"
	"		COMPREPLY+=(\"${found#\"$skip\"}\")\n"
	"	done < <(command sm-search --suggest=\"$word\" 2>/dev/null)\n"
	"}\n"
	"complete -F _sm_search sm-search\n";

static const char zsh_script[] = "_sm_search() {\n"
				 "	local -a found\n"
				 "	if [[ $PREFIX == --* ]]; then\n"
				 "		compadd -- ${(s.:.)_sm_search_options}\n"
				 "		return\n"
				 "	fi\n"
				 "	found=(${(f)\"$(command sm-search --suggest=\"${(Q)PREFIX}\" 2>/dev/null)\"})\n"
				 "	compadd -U -S '' -- $found\n"
				 "}\n"
				 "compdef _sm_search sm-search\n";

enum status completion_put_script(
	const struct option_program *program, const char *shell, struct buf *out, struct error *err)
{
	bool is_zsh = strcmp(shell, "zsh") == 0;

	if (!is_zsh && strcmp(shell, "bash") != 0)
		return error_set_field(err, ERR_INVALID, "completion", "--completion is bash or zsh, not '%s'", shell);
	if (is_zsh)
		buf_append_text(out, "#compdef sm-search\n");
	buf_append_text(out, "_sm_search_options='--help:--version:--config");
	for (const struct option_spec *spec = program->options; spec->name; spec = option_next(spec))
		buf_printf(out, ":--%s", spec->name);
	buf_append_text(out, "'\n");
	buf_append_text(out, is_zsh ? zsh_script : bash_script);
	return buf_status(out, err);
}

enum status completion_put_queries(struct http_client *client, const char *typed, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) found = NULL;
	double from = 0;

	url_put_value(&path, "/api/v1/search/suggestions?limit=100&prefix=", span_from(typed));
	TRY(client_get_json(client, &path, &found, err));
	if (!json_number_of(json_get(found, "from"), &from) || !(from >= 0 && from <= (double)strlen(typed)))
		return error_set(
			err, ERR_UNAVAILABLE, "the reply is no list of suggestions: is this an smfleet server?");
	const struct json *row = json_first(json_get(found, "suggestions"));
	for (; row; row = json_next(row)) {
		text_put_safe(out, span_of(typed, (size_t)from));
		text_put_safe(out, json_string_of(json_get(row, "text")));
		buf_append_char(out, '\n');
	}
	return buf_status(out, err);
}
