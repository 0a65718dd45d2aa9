export default {
  "Download": "下载",
  "Files": "文件",
  "Files of this kind are not shown here, only downloaded.": "此类文件不在此处显示，只能下载。",
  "More files": "更多文件",
  "Next file": "下一个文件",
  "No file stays with this job. Plots, configurations and tables can be sent to it:": "此作业还没有文件。可以向它发送图表、配置和表格：",
  "Only its beginning is shown.": "只显示开头部分。",
  "Previous file": "上一个文件",
  "Text of {path}": "{path} 的文字",
  "The browser cannot show this picture.": "浏览器无法显示此图片。",
  "There is no file {path} here any more.": "这里已没有文件 {path}。",
  "file": "文件",
};
