export default {
  "Skip to the content": "跳到正文",
};
