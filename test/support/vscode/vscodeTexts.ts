/**
 * What stands in for `vscode` where only texts and addresses are made: messages untranslated, as the editor gives them
 * in English. Everything else of the editor is tested inside a real one.
 */
export const vscodeTexts = {
  l10n: {
    t: (message: string, ...args: (string | number)[]): string =>
      message.replace(/\{(\d+)\}/gu, (whole, index: string) => String(args[Number(index)] ?? whole)),
  },
  env: { language: 'en' },
  Uri: {
    joinPath: (base: { readonly path: string }, ...parts: string[]) => ({ path: [base.path, ...parts].join('/') }),
  },
};
