export default {
  "Best checkpoints": "最佳检查点",
  "Checkpoints that have the score": "有此得分的检查点数",
  "No job here has scores: POST /api/v1/jobs/JOB/evaluations or sm-ship FILE sends them.": "这里的作业都没有得分：用 POST /api/v1/jobs/JOB/evaluations 或 sm-ship FILE 发送。",
  "What has a row": "每行是什么",
  "Which jobs, as a query": "哪些作业（查询）",
  "checkpoints": "检查点",
  "compared": "已比较",
  "go to the best checkpoints": "前往最佳检查点",
  "runs": "运行链",
};
