-- Whose a fault is that a line names itself; '': whose the line is.
ALTER TABLE signature_hits ADD COLUMN host text COLLATE "C" NOT NULL DEFAULT '';
-- 1: of another machine than the sender, and which one is not known.
ALTER TABLE signature_hits ADD COLUMN is_of_nobody bigint NOT NULL DEFAULT 0;
UPDATE signature_hits SET host = coalesce((SELECT f.host FROM node_faults AS f WHERE f.job_id = signature_hits.job_id AND f.stream_id =
	signature_hits.stream_id AND f.line = signature_hits.first_line AND f.signature = signature_hits.signature LIMIT 1), '')
	WHERE signature IN ('slurm_node_failed', 'megatron_persistent_error', 'megatron_transient_error');
