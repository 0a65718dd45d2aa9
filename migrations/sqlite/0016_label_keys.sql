-- Labels that are KEY=VALUE are attributes label.KEY, too. A value that is no plain decimal number becomes one for searches when its
-- job is written again.
INSERT INTO attributes (job_id, key, position, text, folded, number)
SELECT job_id, 'label.' || substr(text, 1, instr(text, '=') - 1), position, substr(text, instr(text, '=') + 1),
	substr(folded, instr(folded, '=') + 1),
	CASE WHEN substr(text, instr(text, '=') + 1) GLOB '[0-9]*' AND NOT substr(text, instr(text, '=') + 1) GLOB '*[^0-9.]*'
		AND NOT substr(text, instr(text, '=') + 1) GLOB '*.*.*' THEN CAST(substr(text, instr(text, '=') + 1) AS REAL) END
FROM attributes WHERE key = 'Labels' AND instr(text, '=') > 1;
