export default {
  extends: ["stylelint-config-standard"],
  rules: {
    // Obsidian names its classes and variables so; ours stand beside them.
    "selector-class-pattern": "^[a-z][a-z0-9-]*$",
    "no-descending-specificity": null,
    "declaration-no-important": true,
    // A plugin's styles may load nothing.
    "at-rule-disallowed-list": ["import"],
    "function-url-scheme-allowed-list": ["data"],
  },
};
